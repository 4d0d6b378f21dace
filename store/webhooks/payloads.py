"""What a webhook's body holds: the thin payload of Standard Webhooks, or a CloudEvent around the same data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from store.core.clock import iso

Envelope = Literal["standard", "cloudevents"]

MOST_BYTES = 20_000
"""Longest body. Standard Webhooks wants it below 20 kB, so that every receiver can read it."""

CUT_TEXT = 500
"""Characters that are kept of a text where the whole would be too long."""

CONTENT_TYPES: Mapping[str, str] = {
    "standard": "application/json",
    "cloudevents": "application/cloudevents+json",
}


def wrap(
    envelope: str, message_id: str, kind: str, at: int, data: Mapping[str, Any], *, source: str = "/"
) -> dict[str, Any]:
    """Write a notice down as its receiver wants it.

    Parameters
    ----------
    envelope : str
        ``standard``, or ``cloudevents`` (CloudEvents 1.0, structured mode).
    message_id : str
        The webhook-id; a CloudEvent names itself by it too.
    kind : str
        ``job.succeeded`` …
    at : int
        When it happened, milliseconds since 1970.
    data : mapping
        Its facts.
    source : str
        Address of what it is about, relative unless the service knows its own; CloudEvents only.
    """
    facts = _thin(data)
    if envelope == "standard":
        return {"type": kind, "timestamp": iso(at), "data": facts}
    return {
        "specversion": "1.0",
        "id": message_id,
        "source": source,
        "type": kind,
        "time": iso(at),
        "datacontenttype": "application/json",
        "data": facts,
    }


def body_of(payload: Mapping[str, Any]) -> bytes:
    """Write a payload as it goes over the wire and is signed: the same bytes for every attempt."""
    return json.dumps(payload, separators=(",", ":"), allow_nan=False).encode("ascii")


def content_type_of(payload: Mapping[str, Any]) -> str:
    """Name the media type of a payload that `wrap` made."""
    return CONTENT_TYPES["cloudevents" if "specversion" in payload else "standard"]


def _thin(data: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what makes a body too long; who is told can read the whole under the ids that remain."""
    facts = dict(data)
    if len(body_of(facts)) <= MOST_BYTES - 1_000:  # the rest is the envelope's
        return facts
    short = {name: _cut(value) for name, value in facts.items() if isinstance(value, str | int | float | None)}
    return dict(list(short.items())[:20]) | {"cut": True}


def _cut(value: Any) -> Any:
    return value[:CUT_TEXT] if isinstance(value, str) else value
