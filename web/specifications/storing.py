"""Storage of entered words: as a new specification, or as the next version of an existing one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from web.frame import Refused, Visit
from web.specifications.words import name_for, words_of

TRIES = 50
"""Largest number that is added to a name that is already taken."""


def body_of(kind: str, typed: Mapping[str, str], name: str) -> dict[str, Any]:
    """Return the request that stores the entered words."""
    title = typed.get("title", "").strip()
    return {
        "name": name,
        "title": title,
        "kind": kind,
        "language": typed.get("language", "").strip() or "en",
        "citation": typed.get("citation", "").strip() or title,
        "words": words_of(kind, typed),
    }


async def store_new(visit: Visit, kind: str, typed: Mapping[str, str]) -> dict[str, Any]:
    """Store a new specification, named after its title; a name that is taken gets a number.

    Raises
    ------
    Refused
        If the API refuses the words.
    """
    name = name_for(typed.get("title", ""))
    for number in range(1, TRIES):
        body = body_of(kind, typed, name if number == 1 else f"{name}-{number}")
        try:
            return dict((await visit.api.ask("POST", "/v1/specifications", body=body)).document)
        except Refused as refused:
            if refused.code != "name-taken" or number == TRIES - 1:
                raise
    raise AssertionError


async def store_version(visit: Visit, kind: str, typed: Mapping[str, str], name: str) -> dict[str, Any]:
    """Store the next version of the caller's own specification."""
    path, body = f"/v1/specifications/{name}/versions", body_of(kind, typed, name)
    return dict((await visit.api.ask("POST", path, body=body)).document)
