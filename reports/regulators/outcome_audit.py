"""An audit of recorded decisions as data: the form ``outcome-audit/1``, with its JSON Schema."""

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


def schema() -> Mapping[str, Any]:
    """Return the JSON Schema (2020-12) of the form."""
    text = files(__package__).joinpath("outcome-audit-1.schema.json").read_text(encoding="utf-8")
    read: dict[str, Any] = json.loads(text)
    return read


def outcome_audit(audit: Audit) -> str:
    """Write an audit as JSON; masked counts are ``null``."""
    verdict, document = audit.rating.verdict, audit.rating.document
    return (
        json.dumps(
            {
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
            },
            ensure_ascii=False,
            indent=1,
            allow_nan=False,
        )
        + "\n"
    )


def _fields(items: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object; the reason why there is no number is in ``why``."""
    return {name: value for name, value in items if name != "error"}
