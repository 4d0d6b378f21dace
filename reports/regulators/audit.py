"""A rating of recorded decisions as the files for regulators need it: tables of groups, and facts about the data."""

from __future__ import annotations

from dataclasses import dataclass, replace

from assay.document import Json, read_json
from assay.methods.outcomes.detail import DataDocument, GroupOutcome, OutcomesAggregation, OutcomesComponent
from reports.plain import visible
from reports.reading import RatingView, read

LEAST_SHOWN = 5
"""Number of people from which a group's counts are shown; a smaller group could betray single persons."""

MASKED = f"fewer than {LEAST_SHOWN}"


@dataclass(frozen=True)
class Audit:
    """A rating, and its tables of groups, of which very small ones are masked."""

    rating: RatingView
    data: DataDocument
    tables: tuple[OutcomesComponent, ...]

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was audited, from which data, and by which rating: label and text."""
        document, rows = self.rating.document, self.data.rows
        text_by_label = {
            "Tool": self.rating.target,
            "Period of the data": self.data.period,
            "Rows of the file": "" if rows is None else f"{rows:,}",
            "Digest of the file": self.data.digest,
            **{f"Column of {part}": column for part, column in self.data.columns.items()},
            "Rating": document.id,
            "Audited on": (document.rated_at or "")[:10],
            "Methodology": document.methodology.version,
        }
        return tuple((label, text) for label, text in text_by_label.items() if text)


def read_audit(document: Json) -> Audit:
    """Read a rating document of the method ``outcomes``; absent fields are left out."""
    rating = read(document)
    tables = tuple(_masked(part) for part in rating.document.components if isinstance(part, OutcomesComponent))
    return Audit(rating, read_json(OutcomesAggregation, rating.document.aggregation.json, visible).data, tables)


def is_masked(row: GroupOutcome) -> bool:
    """Return whether a group has so few people that its counts are not shown."""
    return row.people is not None and row.people < LEAST_SHOWN


def _masked(table: OutcomesComponent) -> OutcomesComponent:
    """Remove the numbers of very small groups."""
    rows = tuple(
        GroupOutcome(group=row.group, people=row.people, excluded=row.excluded) if is_masked(row) else row
        for row in table.groups
    )
    unknown = table.unknown
    if is_masked(unknown) and unknown.people:
        unknown = GroupOutcome(group=unknown.group, people=unknown.people)
    return replace(table, groups=rows, unknown=unknown)
