"""The author of a job: a second service that writes sentences or draws images for the experiment.

An author is called only if the request names it. Its key stays with its saved target, so that a job holds at
most one secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.errors import SpecificationError
from assay.methods import AnyMethod
from assay.model import Kind
from service.dependencies import Service
from service.http.authentication import Caller
from service.http.problem_mapping import located
from service.targets.schemas import TargetDescription, TargetReference
from service.targets.target_resolution import ResolvedTarget, check_target, of_saved
from store.targets import targets

ONLY_AUTHORS = frozenset({"openai-images"})
"""Protocols of services that can be authors only (they are implemented in `workers.targets`)."""


def check_rated(target: Mapping[str, Any]) -> None:
    """Refuse to rate a service that can be an author only.

    Raises
    ------
    SpecificationError
        With the field ``"protocol"``.
    """
    if target["protocol"] in ONLY_AUTHORS:
        why = f"{target['protocol']} generates images and answers no question; it can only be the author of a job"
        raise SpecificationError(why, "protocol")


async def resolve_author(
    here: Service, caller: Caller, asked: TargetDescription | TargetReference | None
) -> dict[str, Any] | None:
    """Return the author of a request, saved or described, after checking its description.

    Returns
    -------
    dict or None
        Its descriptor, with the ``id`` of its saved target if there is one.

    Raises
    ------
    SpecificationError
        Pointing into ``author``.
    """
    if asked is None:
        return None
    with located("author"):
        ordered = await _ordered(here, caller, asked)
        if ordered.descriptor["kind"] != Kind.LANGUAGE_MODEL:
            kind = ordered.descriptor["kind"]
            raise SpecificationError(f"an author must be a language-model, not a {kind}", "kind")
        check_target(here, ordered)
    saved = {} if ordered.saved_id is None else {"id": ordered.saved_id}
    return {**saved, **ordered.descriptor}


def check_author(method: AnyMethod, author: dict[str, Any] | None) -> None:
    """Refuse a missing author, and one that the experiment does not use.

    Raises
    ------
    SpecificationError
        With the field ``"author"``.
    """
    needed = bool(getattr(method, "needs_author", False))
    if needed and author is None:
        raise SpecificationError(
            "the experiment's material is generated; name the service that generates it, or send the material",
            "author",
        )
    if author is not None and not needed:
        raise SpecificationError("this experiment generates no material; leave the author out", "author")


async def _ordered(here: Service, caller: Caller, asked: TargetDescription | TargetReference) -> ResolvedTarget:
    if isinstance(asked, TargetReference):
        row = await here.database.read(targets.find, asked.id, caller.tenant)
        if row is None:
            raise SpecificationError(f"no target has the id {asked.id!r}; POST /v1/targets saves one", "id")
        return of_saved(here, row)
    if asked.secret is not None:
        raise SpecificationError(
            "an author's key must be stored with a saved target; POST /v1/targets, and name its id", "secret"
        )
    return ResolvedTarget(asked.descriptor(), None)
