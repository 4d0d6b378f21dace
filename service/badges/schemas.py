"""OpenAPI descriptions of badges and other embeds."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

from assay.document import JsonObject
from reports.embeds import Embed, PublicView
from service.http.openapi.responses import FRESHNESS, NOT_MODIFIED

RATED_AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

EXAMPLE: JsonObject = {
    "id": "rat_01KA8Z6M3YQ8V5T2N7R4W9X0CD",
    "letter": "DSBS",
    "declared": True,
    "probabilities": {"BS": 0.004, "DSBS": 0.996, "UCS": 0.0},
    "method": "round-trip",
    "attribute": "gender",
    "target": {"name": "Apertium eng-spa", "kind": "translator", "url": "http://127.0.0.1:5000"},
    "methodology": {"version": "1.3.0"},
    "requester": {"role": "owner", "host_proved": True, "description": "default"},
    "rated_at": RATED_AT.isoformat(),
    "expires_at": (RATED_AT + timedelta(days=90)).isoformat(),
}
"""Rating that is rendered in the examples of the OpenAPI document."""


def operation(prefix: str, embed: Embed) -> str:
    """Return the operationId of an embed, such as ``getRatingBadgeSvg``."""
    return prefix + "".join(part.capitalize() for part in re.split(r"[.-]", embed.file))


def answers(embed: Embed) -> dict[int | str, JsonObject]:
    """Return the OpenAPI responses of an embed's operation, with an example."""
    shown_at = RATED_AT + timedelta(days=3)
    example = PublicView(EXAMPLE, shown_at, base_url="http://127.0.0.1:8000", visibility="public")
    media_type = embed.media_type.partition(";")[0]
    content: JsonObject = {"schema": {"type": "string"}, "example": embed.render(example)}
    if embed.content is not None:  # for YAML, the documented schema and example are those of its data
        document = embed.content(example)
        list_schema: JsonObject = {"type": "array", "items": {"type": "object"}}
        content = {"schema": list_schema if isinstance(document, list) else {"type": "object"}, "example": document}
    elif media_type.endswith("json"):
        content = {"schema": {"type": "object"}, "example": json.loads(embed.render(example))}
    success = {"description": "The current state.", "headers": _HEADERS, "content": {media_type: content}}
    return {200: success, 304: NOT_MODIFIED}


_HEADERS = {
    "ETag": {
        "description": "Identifies these bytes, which change with the rating, its age and its state.",
        "required": True,
        "schema": {"type": "string"},
    },
    **FRESHNESS,
}
