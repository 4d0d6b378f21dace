"""The ``webhooks`` section of the OpenAPI document: one entry per type of notice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from service.http.openapi.common_schemas import Instant, ResponseModel
from store.webhooks.webhooks import EventType

_JOB = {"job_id": "job_01KA8Z6M3YQ8V5T2N7R4W9X0CD"}
_ENDED = _JOB | {"kind": "rating"}
_RATING = {
    "rating_id": "rat_01KA8Z7Q0JX4M6C9E2B5H8N3VT",
    "letter": "DSBS",
    "declared": True,
    "requester": {"role": "owner", "host_proved": True, "description": "default"},
}
_TARGET = {"target_url": "http://127.0.0.1:5000"}
_QUESTION = {"method": "round-trip", "attribute": "gender"}
_CHANGE = {
    "before": {"rating_id": "rat_01KA1B2C3D4E5F6G7H8J9K0MNP", "letter": "UCS", "rated_at": "2025-12-26T03:04:05Z"},
    "after": {"rating_id": _RATING["rating_id"], "letter": "DSBS", "rated_at": "2026-01-02T03:04:05Z"},
    "probability": 0.996,
    "also_differed": ["seed"],
}
_REFUSED = {
    "type": "/problems/target_refused",
    "title": "The target refused",
    "detail": "127.0.0.1:5000 refused access (HTTP 401); the key is missing, wrong or banned",
    "code": "target_refused",
}

NOTICES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "job.succeeded": ("A job has ended with a rating.", _ENDED | {"status": "succeeded"} | _TARGET | _RATING),
    "job.failed": ("A job has ended without a rating.", _ENDED | {"status": "failed", "error": _REFUSED}),
    "job.cancelled": ("A job was cancelled.", _ENDED | {"status": "cancelled"}),
    "rating.published": (
        "A rating can be read by others for the first time.",
        _JOB | _TARGET | _RATING | {"visibility": "public"},
    ),
    "rating.changed": (
        "A target's letter has changed, and the change is larger than the measuring error.",
        _JOB | _TARGET | _RATING | _QUESTION | _CHANGE,
    ),
    "rating.expiring": (
        "A rating expires soon; rate its target again.",
        _JOB | _TARGET | _RATING | _QUESTION | {"expires_at": "2026-04-02T03:04:05Z"},
    ),
    "rating.withdrawn": (
        "A rating was withdrawn.",
        _JOB | _TARGET | _RATING | {"visibility": "public", "reason": "The target answered from a cache."},
    ),
    "webhook.challenge": (
        (
            "The first request to an endpoint, or to the host of a callback (with `job_id`): answer 2xx with the "
            "challenge as the whole body, or in the same JSON field."
        ),
        {"webhook_id": "whk_01KA8Z5D7T3B9W2F6K1R0P4QXS", "challenge": "Sm5lTz1kZ0xXb2pQd3VhVnJ5TmM4QWhF"},
    ),
    "ping": ("A test notice that you requested.", {"webhook_id": "whk_01KA8Z5D7T3B9W2F6K1R0P4QXS"}),
}
"""Every type of notice: its meaning, and an example of its ``data``."""

_HEADERS = {
    "webhook-id": (
        "Id of the notice, the same in every attempt. Use it to ignore repeated notices.",
        "dlv_01KA8Z8W5RBH2C7N4T9V6Y3XQK",
    ),
    "webhook-timestamp": (
        "Time of the attempt, in seconds since 1970. Refuse it if it is off by five minutes.",
        "1767323045",
    ),
    "webhook-signature": (
        "Signatures of `id.timestamp.body`, separated by blanks: `v1,` HMAC-SHA256, `v1a,` Ed25519. Verify one.",
        "v1,fKF4lPjswX0ikMKNVan+cDq2Gm5NwMfoJDA5ViWH4QE=",
    ),
}


class Notice(ResponseModel):
    """Body of a notice (Standard Webhooks 1.0)."""

    type: EventType | Literal["ping", "webhook.challenge"]
    timestamp: Instant
    """Time of the event, not of the delivery."""
    data: dict[str, Any]
    """Ids and main facts of the event. Read further details by the ids."""


class CloudEvent(ResponseModel):
    """Body of a notice to an endpoint with the envelope `cloudevents` (CloudEvents 1.0, structured mode)."""

    specversion: Literal["1.0"]
    id: Annotated[str, Field(min_length=1)]
    """The `webhook-id`."""
    source: Annotated[str, Field(min_length=1, json_schema_extra={"format": "uri-reference"})]
    """Address of the job, or of the webhook for a ping."""
    type: EventType | Literal["ping", "webhook.challenge"]
    time: Instant
    datacontenttype: Literal["application/json"]
    data: dict[str, Any]


def describe_notices(document: dict[str, Any]) -> None:
    """Add the section ``webhooks`` and its two schemas to an OpenAPI document."""
    for kind in (Notice, CloudEvent):
        document["components"]["schemas"][kind.__name__] = kind.model_json_schema()
    document["webhooks"] = {kind: {"post": _received(kind, *documented)} for kind, documented in NOTICES.items()}


def _received(kind: str, summary: str, data: Mapping[str, Any]) -> dict[str, Any]:
    first, _, second = kind.partition(".")
    return {
        "operationId": f"on{first.capitalize()}{second.capitalize()}",
        "tags": ["webhooks"],
        "summary": summary.rstrip("."),
        "description": f"{summary} Answer 2xx within 15 seconds, or 410 to unsubscribe.",
        "security": [{}],
        "parameters": [
            {
                "name": name,
                "in": "header",
                "required": True,
                "description": text,
                "schema": {"type": "string"},
                "example": example,
            }
            for name, (text, example) in _HEADERS.items()
        ],
        "requestBody": {"required": True, "content": _content(kind, data)},
        "responses": {
            "204": {"description": "Received. Any 2xx status is accepted."},
            "410": {"description": "Unsubscribe: the endpoint is disabled."},
            "503": {"description": "Busy. The notice is sent again, after `Retry-After` if given."},
        },
    }


def _content(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    facts, when = dict(data), "2026-01-02T03:04:05Z"
    source = f"/v1/jobs/{facts['job_id']}" if "job_id" in facts else f"/v1/webhooks/{facts['webhook_id']}"
    event = {"specversion": "1.0", "id": "dlv_01KA8Z8W5RBH2C7N4T9V6Y3XQK", "source": source, "type": kind, "time": when}
    return {
        "application/json": {
            "schema": {"$ref": "#/components/schemas/Notice"},
            "example": {"type": kind, "timestamp": when, "data": facts},
        },
        "application/cloudevents+json": {
            "schema": {"$ref": "#/components/schemas/CloudEvent"},
            "example": event | {"datacontenttype": "application/json", "data": facts},
        },
    }
