"""Badges and other embeds, as the API's documentation tells of them."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from assay.reports import EMBEDS, Embed, Shown

RATED_AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

EXAMPLE: dict[str, Any] = {
    "id": "rat_01KA8Z6M3YQ8V5T2N7R4W9X0CD",
    "letter": "DSBS",
    "declared": True,
    "probabilities": {"BS": 0.004, "DSBS": 0.996, "UCS": 0.0},
    "method": "round-trip",
    "attribute": "gender",
    "target": {"name": "Apertium eng-spa", "kind": "translator", "url": "http://127.0.0.1:5000"},
    "methodology": {"version": "1.0.0"},
    "rated_at": RATED_AT.isoformat(),
    "expires_at": (RATED_AT + timedelta(days=90)).isoformat(),
}
"""What the examples show."""


def operation(prefix: str, form: Embed) -> str:
    """Name the operation that gives a form: ``getRatingBadgeSvg``."""
    return prefix + "".join(part.capitalize() for part in re.split(r"[.-]", form.file))


RATING_OPERATIONS = tuple(operation("getRating", form) for form in EMBEDS)
"""Operations that show a rating to everyone who may see it."""


def answers(form: Embed) -> dict[int | str, dict[str, Any]]:
    """Describe what an operation that gives a form answers, with an example."""
    example = Shown(EXAMPLE, RATED_AT + timedelta(days=3), "http://127.0.0.1:8000", "public")
    essence = form.media_type.partition(";")[0]
    content = {"schema": {"type": "string"}, "example": form.render(example)}
    if form.content is not None:  # YAML, too, is described by what it says
        content = {"schema": {"type": "object"}, "example": form.content(example)}
    elif essence.endswith("json"):
        content = {"schema": {"type": "object"}, "example": json.loads(form.render(example))}
    shown = {"description": "As of now.", "headers": _HEADERS, "content": {essence: content}}
    return {200: shown, 304: {"description": "Nothing has changed since the version in If-None-Match."}}


FRESHNESS = {
    "X-Assay-Rated-At": {
        "description": "When the rating was made.",
        "schema": {"type": "string", "format": "date-time"},
    },
    "X-Assay-Expires-At": {"description": "Until when it holds.", "schema": {"type": "string", "format": "date-time"}},
    "X-Assay-Methodology": {"description": "Version of the methodology.", "schema": {"type": "string"}},
}
"""Headers of whatever shows a rating: how fresh it is, and by which rules."""

_HEADERS = {
    "ETag": {
        "description": "Names these bytes, which change with the rating, its age and its standing.",
        "required": True,
        "schema": {"type": "string"},
    },
    **FRESHNESS,
}
