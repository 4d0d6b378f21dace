"""Audits of recorded decisions as data: ``outcome-audit/1``, and several as ``outcome-audits/1``, with JSON Schemas."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files
from typing import Any

from assay.methods.outcomes.suppression import LEAST_SHOWN
from reports.regulators.audit import Audit

MEDIA_TYPE = "application/json"
FORM = "outcome-audit/1"
FORM_OF_SEVERAL = "outcome-audits/1"


def schema(form: str = FORM) -> Mapping[str, Any]:
    """Return the JSON Schema (2020-12) of a form; that of several audits holds that of one."""
    text = files(__package__).joinpath("outcome-audit-1.schema.json").read_text(encoding="utf-8")
    of_one: dict[str, Any] = json.loads(text)
    if form == FORM:
        return of_one
    return {
        "$schema": of_one["$schema"],
        "$id": "urn:assay:outcome-audits:1",
        "title": "Several audits of recorded decisions (outcome-audits/1)",
        "type": "object",
        "properties": {
            "form": {"const": FORM_OF_SEVERAL},
            "audits": {"type": "array", "minItems": 2, "items": of_one},
        },
        "required": ["form", "audits"],
        "additionalProperties": False,
    }


def outcome_audit(audits: Sequence[Audit]) -> str:
    """Write one audit, or several, as JSON; masked counts are ``null``."""
    written = [_audit(audit) for audit in audits]
    document = written[0] if len(written) == 1 else {"form": FORM_OF_SEVERAL, "audits": written}
    return json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _audit(audit: Audit) -> dict[str, Any]:
    verdict, document = audit.rating.verdict, audit.rating.document
    return {
        "form": FORM,
        "tool": audit.rating.target,
        "rating": document.id,
        "letter": None if verdict.letter is None else verdict.letter.value,
        "declared": verdict.declared,
        "audited_at": document.rated_at,
        "methodology": document.methodology.version,
        "data": asdict(audit.data),
        "least_shown": LEAST_SHOWN,
        "tables": [
            {
                "by": table.by,
                "outcome": table.outcome,
                "reference": table.reference,
                "unknown": table.unknown.people,
                "even_flagged": table.even_flagged,
                "median": table.median,
                "groups": [asdict(row, dict_factory=_fields) for row in table.groups],
            }
            for table in audit.tables
        ],
    }


def _fields(items: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object; the reason why there is no number is in ``why``."""
    return {name: value for name, value in items if name != "error"}
