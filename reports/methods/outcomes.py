"""Tables of outcomes in a report, and sentences for readers who know no statistics."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from assay.document import RatingDocument, read_json
from assay.methods.outcomes.detail import GroupOutcome, OutcomesAggregation, OutcomesComponent
from assay.methods.outcomes.method import Outcomes
from reports import cells
from reports.method_report import MethodReport
from reports.units import hundredths, of_hundred
from reports.view import Table

STEPS = ("people alike in what may matter", "people as they came")

LETTERS: Mapping[str, str] = {
    "UCS": "Recorded outcomes differ little between groups, neither as people came nor among people alike.",
    "DSBS": "Recorded outcomes differ between groups as people came, but little among people alike in what may matter.",
    "BS": "Recorded outcomes differ between groups even among people alike in what may matter.",
    "inconclusive": "It is not settled whether recorded outcomes differ between groups, or among people alike.",
}

ERRORS = (
    ("tpr", "TPR"),
    ("fpr", "FPR"),
    ("fnr", "FNR"),
    ("ppv", "PPV"),
    ("for", "FOR"),
    ("prevalence", "Proved right"),
)
"""Error rates of the table, with their heads."""


def in_words(document: RatingDocument, part: OutcomesComponent) -> Iterator[str | None]:
    """Yield sentences: the groups that differ most, how often chance flags an even service, what was not judged."""
    compared = [row for row in part.groups if row.rate.estimate is not None and row.excluded is None]
    if len(compared) > 1:
        low = min(compared, key=lambda row: row.rate.estimate or 0.0)
        high = max(compared, key=lambda row: row.rate.estimate or 0.0)
        yield (
            f"By {part.by}, {_count(high)} of {high.people:,} people of “{high.group}” have the favourable outcome "
            f"({part.outcome}), and {_count(low)} of {low.people:,} of “{low.group}”."
        )
    if part.even_flagged is not None:
        flags = sum(bool(row.flagged) for row in compared)
        yield (
            f"The four-fifths rule flags {flags} of {len(compared)} groups. It would flag a perfectly even service "
            f"with these numbers of people in an estimated {_of_audits(part.even_flagged)}."
        )
    if "truth" in _columns(document):
        yield (
            "Step 1 takes the recorded truth as it is: where yesterday's decisions shaped it, or were biased, step 1 "
            "cannot see that."
        )


def _of_audits(chance: float) -> str:
    """Write the estimated chance of a flag; it is never 0, because the number of simulated audits is finite."""
    return f"{hundredths(max(chance, 1e-4))} of 100 audits"


def _count(row: GroupOutcome) -> str:
    count = row.favourable or 0.0
    return f"{count:,.0f}" if float(count).is_integer() else cells.number(count)


def _columns(document: RatingDocument) -> Container[str]:
    return read_json(OutcomesAggregation, document.aggregation.json).data.columns


def tables(part: OutcomesComponent) -> Iterator[Table | None]:
    """Make the tables of a component: outcomes, tests, error rates and calibration by group."""
    if not part.groups:
        return
    yield _outcomes(part)
    yield _tests(part)
    yield _error_rates(part)
    yield _calibration(part)


def _outcomes(part: OutcomesComponent) -> Table:
    rows = [*part.groups, *([part.unknown] if part.unknown.people or part.unknown.undecided else [])]
    columns = (
        tuple(row.group or "not known" for row in rows),
        cells.numbers([row.people for row in rows]),
        cells.numbers([row.favourable for row in rows]),
        cells.intervals([row.rate for row in rows]),
        cells.intervals([row.ratio for row in rows]),
        tuple(_note(row, part) for row in rows),
    )
    title = f"Outcomes by {part.by}: {part.outcome}"
    heads = ("Group", "People", "Favourable", "Rate", "Impact ratio", "Note")
    return Table(title, heads, tuple(zip(*columns, strict=True)))


def _note(row: GroupOutcome, part: OutcomesComponent) -> str:
    notes = []
    if row.group is not None and row.group == part.reference:
        notes.append("reference")
    if row.excluded:
        notes.append(f"excluded: {row.excluded}")
    if row.not_compared and row.group is not None:
        notes.append("too few for a letter")
    if row.flagged:
        notes.append("below four fifths")
    if row.undecided:
        notes.append(f"{row.undecided:,} without a known outcome")
    return "; ".join(notes) or cells.ABSENT


def _tests(part: OutcomesComponent) -> Table | None:
    rows = [row for row in part.groups if row.ratio.estimate is not None and row.group != part.reference]
    if not rows:
        return None
    columns = (
        tuple(row.group or "" for row in rows),
        cells.intervals([row.difference for row in rows]),
        cells.numbers([row.shortfall for row in rows]),
        cells.numbers([row.z for row in rows]),
        cells.p_values([row.p for row in rows]),
        cells.p_values([row.holm for row in rows]),
        cells.p_values([row.below_four_fifths for row in rows]),
    )
    chance = "" if part.even_flagged is None else f" (an even service: flagged in {_of_audits(part.even_flagged)})"
    title = f"Compared with {part.reference}{chance}"
    heads = ("Group", "Difference", "Shortfall", "z", "p", "p (Holm)", "P(ratio < .8)")
    return Table(title, heads, tuple(zip(*columns, strict=True)))


def _error_rates(part: OutcomesComponent) -> Table | None:
    rows = [row for row in part.groups if row.error_rates]
    if not rows:
        return None
    columns = [cells.intervals([row.error_rates.get(name) for row in rows]) for name, _ in ERRORS]
    areas = cells.numbers([row.auc for row in rows])
    heads = ("Group", *(head for _, head in ERRORS))
    if set(areas) != {cells.ABSENT}:
        columns, heads = [*columns, areas], (*heads, "AUC")
    table_rows = tuple(zip((row.group or "" for row in rows), *columns, strict=True))
    return Table(f"Error rates by {part.by}", heads, table_rows)


def _calibration(part: OutcomesComponent) -> Table | None:
    rows = [(row.group or "", tenth) for row in part.groups for tenth in row.tenths]
    if not rows:
        return None
    columns = (
        tuple(group for group, _ in rows),
        cells.numbers([tenth.mean for _, tenth in rows]),
        cells.numbers([tenth.people for _, tenth in rows]),
        cells.intervals([tenth.truth for _, tenth in rows]),
    )
    heads = ("Group", "Mean score", "People", "Proved right")
    return Table(f"Calibration by tenths of the score, by {part.by}", heads, tuple(zip(*columns, strict=True)))


REPORT: MethodReport = MethodReport(
    Outcomes, STEPS, LETTERS, in_words, tables, unit=of_hundred, counted=lambda _: "People"
)
"""Report of outcomes."""
