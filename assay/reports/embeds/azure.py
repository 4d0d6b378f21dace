"""Metadata for Azure API Center: the schema, which is created once, and the values of one API.

``metadataSchemas`` are bodies of "Metadata Schemas - Create Or Update" (their ``schema`` is JSON in a
string, as Azure requires); ``customProperties`` go into the API's ``properties``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from assay.model import Letter
from assay.reports.embeds.notation import json_text
from assay.reports.embeds.public_view import Shown, State

NAME = "bias-rating"

FIELDS: Mapping[str, Mapping[str, Any]] = {
    "status": {"type": "string", "enum": [state.value for state in State]},
    "summary": {"type": "string"},
    "letter": {"type": "string", "enum": [letter.value for letter in Letter]},
    "declared": {"type": "boolean"},
    "probability": {"type": "number", "minimum": 0, "maximum": 1},
    "attribute": {"type": "string"},
    "method": {"type": "string"},
    "model": {"type": "string"},
    "rated_at": {"type": "string", "format": "date-time"},
    "expires_at": {"type": "string", "format": "date-time"},
    "methodology": {"type": "string"},
    "requester": {"type": "string", "enum": ["owner", "operator", "other"]},
    "host_proved": {"type": "boolean"},
    "description": {"type": "string", "enum": ["default", "unpublished", "named", "changed", "uploaded"]},
    "objection": {"type": "boolean"},
    "rating": {"type": "string", "format": "uri"},
    "report": {"type": "string", "format": "uri"},
    "badge": {"type": "string", "format": "uri"},
}
"""JSON Schema of the facts of a rating; unknown facts are left out of the values."""

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "title": "Bias rating",
    "properties": FIELDS,
    "required": ["status", "summary", "declared"],
    "additionalProperties": False,
}


def render(view: Shown) -> str:
    """Write the metadata schema and the values of the rated API, as JSON."""
    assigned = [{"entity": "api", "required": False, "deprecated": False}]
    schema = {"name": NAME, "properties": {"schema": json.dumps(SCHEMA), "assignedTo": assigned}}
    return json_text({"metadataSchemas": [schema], "customProperties": {NAME: view.known_facts}})
