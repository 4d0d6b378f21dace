"""Questions and replies in one line each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from web.ratings.observations import asked, written

LONGEST = 300


@dataclass(frozen=True)
class Exchange:
    """A question with its reply. Languages are empty where the question names none."""

    label: str
    question: str
    language: str
    reply: str
    reply_language: str
    failure: str | None


def exchange_of(observation: Mapping[str, Any]) -> Exchange:
    """Return an observation of the API as texts."""
    ask, failure = observation["ask"], observation["failure"]
    source, target = ask.get("source") or "", ask.get("target") or ""
    return Exchange(
        f"{source} → {target}" if target else ask["asks"],
        asked(ask)[:LONGEST],
        source,
        written(observation["value"])[:LONGEST],
        target,
        None if failure is None else failure.get("detail") or failure.get("code", ""),
    )
