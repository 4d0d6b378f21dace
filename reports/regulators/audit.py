"""Content of files for regulators from one rating of recorded decisions: tables by group, facts about the data."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from assay.document import Json, read_json
from assay.errors import SpecificationError
from assay.methods.outcomes.detail import DataDocument, OutcomesAggregation, OutcomesComponent
from assay.methods.outcomes.suppression import LEAST_SHOWN, PEOPLE
from assay.methods.shared.outcome_tables.rows import GroupOutcome
from reports.methods.outcome_tables import certain_rows
from reports.plain import visible
from reports.reading import RatingView, read

MASKED = "masked"

MASKING = (
    f"Counts of fewer than {LEAST_SHOWN} people are masked, and with them counts from which they could be computed. "
    "Rates and ratios compare the categories that are shown."
)


@dataclass(frozen=True)
class Audit:
    """The public form of a rating of recorded decisions (small counts are masked), with its tables by group."""

    rating: RatingView
    data: DataDocument
    tables: tuple[OutcomesComponent, ...]

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """Pairs of label and text: the audited tool, the data, and the rating; unknown facts are left out."""
        document, rows = self.rating.document, self.data.rows
        text_by_label = {
            "Tool": self.rating.target,
            "Period of the data": self.data.period,
            "Rows of the file": "" if rows is None else f"{rows:,}",
            "Digest of the file": self.data.digest,
            **{f"Column of {role}": column for role, column in self.data.columns.items()},
            "Rating": document.id,
            "Audited on": (document.rated_at or "")[:10],
            "Methodology": document.methodology.version,
        }
        return tuple((label, text) for label, text in text_by_label.items() if text)

    @property
    def has_masked(self) -> bool:
        """Whether any count of a table or of a step of the process is masked."""
        rows = (
            *(row for table in self.tables for row in (*table.groups, table.unknown)),
            *(row for table in self.tables for step in table.funnel.steps for row in step.groups),
        )
        return any(row.masked for row in rows)


def read_audit(document: Json) -> Audit:
    """Read a rating by ``outcomes`` in its public form; raise `SpecificationError` for the owner's, unmasked form."""
    rating = read(document)
    if rating.document.masked is None:
        raise SpecificationError("files for regulators need the public form of a rating; this is the owner's form")
    parts = [part for part in rating.document.components if isinstance(part, OutcomesComponent)]
    tables = tuple(replace(part, groups=certain_rows(part)) for part in parts)
    return Audit(rating, read_json(OutcomesAggregation, rating.document.aggregation.json, visible).data, tables)


def is_masked(row: GroupOutcome) -> bool:
    """Return whether the number of people in a row is masked."""
    return PEOPLE in row.masked


MEDIA_TYPE = "application/json"
FORM, FORM_OF_SEVERAL = "outcome-audit/1", "outcome-audits/1"
"""Values of ``form`` in the JSON of one audit (its schema: ``outcome-audit-1.schema.json``), and of several."""


def outcome_audit(audits: Sequence[Audit]) -> str:
    """Return one audit, or several, as JSON text; masked counts are ``null``."""
    entries = [_audit_json(audit) for audit in audits]
    document = entries[0] if len(entries) == 1 else {"form": FORM_OF_SEVERAL, "audits": entries}
    return json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _audit_json(audit: Audit) -> dict[str, Any]:
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
                "groups": [asdict(row, dict_factory=_omit_error) for row in table.groups],
            }
            for table in audit.tables
        ],
    }


def _omit_error(items: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the items as a dict without ``error``: the code of why a number is missing, which ``why`` has in words."""
    return {name: value for name, value in items if name != "error"}
