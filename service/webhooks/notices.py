"""The ``webhooks`` section of the OpenAPI document: one entry per type of notice."""

import json
from importlib.resources import files
from typing import Annotated, Literal

from pydantic import Field

from assay.document import Json, JsonObject
from service.http.openapi.common_schemas import Instant, ResponseModel
from store.webhooks.webhooks import EventType

_DOCUMENTED: Json = json.loads(files(__package__).joinpath("notices.json").read_text("utf-8"))
"""Every type of notice, with its meaning and an example of its ``data``; and the headers of a notice."""


class Notice(ResponseModel):
    """Body of a notice (Standard Webhooks 1.0)."""

    type: EventType | Literal["ping", "webhook.challenge"]
    timestamp: Instant
    """Time of the event, not of the delivery."""
    data: JsonObject
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
    data: JsonObject


def describe_notices(document: JsonObject) -> None:
    """Add the section ``webhooks`` (notices of events) and the schemas of their two forms to an OpenAPI document."""
    for body_model in (Notice, CloudEvent):
        document["components"]["schemas"][body_model.__name__] = body_model.model_json_schema()
    notices = _DOCUMENTED["notices"]
    document["webhooks"] = {name: {"post": _notice_operation(name, **texts)} for name, texts in notices.items()}


def _notice_operation(notice_name: str, summary: str, data: Json) -> JsonObject:
    """Return the OpenAPI operation of a notice; `data` are the facts of an example."""
    subject, _, event = notice_name.partition(".")
    return {
        "operationId": f"on{subject.capitalize()}{event.capitalize()}",
        "tags": ["webhooks"],
        "summary": summary.rstrip("."),
        "description": f"{summary} Answer 2xx within 15 seconds, or 410 to unsubscribe.",
        "security": [{}],
        "parameters": [
            {"name": header, "in": "header", "required": True, "schema": {"type": "string"}, **texts}
            for header, texts in _DOCUMENTED["headers"].items()
        ],
        "requestBody": {"required": True, "content": _notice_content(notice_name, data)},
        "responses": {
            "204": {"description": "Received. Any 2xx status is accepted."},
            "410": {"description": "Unsubscribe: the endpoint is disabled."},
            "503": {"description": "Busy. The notice is sent again, after `Retry-After` if given."},
        },
    }


def _notice_content(name: str, data: Json) -> JsonObject:
    """Return the schemas and examples of a notice's body in its two forms; `data` are the facts of the example."""
    facts, time = dict(data), "2026-01-02T03:04:05Z"
    source = f"/v1/jobs/{facts['job_id']}" if "job_id" in facts else f"/v1/webhooks/{facts['webhook_id']}"
    event = {"specversion": "1.0", "id": "dlv_01KA8Z8W5RBH2C7N4T9V6Y3XQK", "source": source, "type": name, "time": time}
    return {
        "application/json": {
            "schema": {"$ref": "#/components/schemas/Notice"},
            "example": {"type": name, "timestamp": time, "data": facts},
        },
        "application/cloudevents+json": {
            "schema": {"$ref": "#/components/schemas/CloudEvent"},
            "example": event | {"datacontenttype": "application/json", "data": facts},
        },
    }
