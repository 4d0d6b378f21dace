"""Bodies of webhook requests: Standard Webhooks or CloudEvents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from store.core.clock import iso

Envelope = Literal["standard", "cloudevents"]

MOST_BYTES = 20_000
"""Maximum size of a body; Standard Webhooks recommends less than 20 kB."""

CUT_TEXT = 500
"""Maximum characters of each text in a body that would otherwise be too long."""

CONTENT_TYPES: Mapping[str, str] = {"standard": "application/json", "cloudevents": "application/cloudevents+json"}


def wrap(
    envelope: str, message_id: str, kind: str, at: int, data: Mapping[str, Any], *, source: str = "/"
) -> dict[str, Any]:
    """Build the payload of a notice in the format of its receiver.

    `envelope` is ``standard``, or ``cloudevents`` (CloudEvents 1.0, structured mode). `message_id` is the
    webhook-id and the id of a CloudEvent. `at` is the time of the event, in milliseconds since 1970. `source` is
    the URL of the subject, relative if the service's public URL is not set; only CloudEvents have it.
    """
    facts = _shortened(data)
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
    """Serialise a payload; the bytes, which are signed, are the same for every attempt."""
    return json.dumps(payload, separators=(",", ":"), allow_nan=False).encode("ascii")


def content_type_of(payload: Mapping[str, Any]) -> str:
    """Return the media type of a payload from `wrap`."""
    return CONTENT_TYPES["cloudevents" if "specversion" in payload else "standard"]


def _shortened(data: Mapping[str, Any]) -> dict[str, Any]:
    """Shorten facts that make a body too long; the receiver can read all of them by the remaining ids."""
    facts = dict(data)
    if len(body_of(facts)) <= MOST_BYTES - 1_000:  # 1,000 bytes are reserved for the envelope
        return facts
    scalars = ((name, value) for name, value in facts.items() if isinstance(value, str | int | float | None))
    short = {name: value[:CUT_TEXT] if isinstance(value, str) else value for name, value in scalars}
    return dict(list(short.items())[:20]) | {"cut": True}
