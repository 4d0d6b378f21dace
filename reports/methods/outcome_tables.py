"""Tables of outcomes by group, for ratings of recorded decisions and of records with a column of true outcomes."""

from __future__ import annotations

from assay.methods.alternation.detail import RecordOutcomes
from assay.methods.outcomes.detail import OutcomesComponent
from assay.methods.shared.outcome_tables.rows import GroupOutcome
from reports import cells
from reports.units import hundredths
from reports.view import Table

OutcomeRows = OutcomesComponent | RecordOutcomes

ERRORS = (
    ("tpr", "Favourable, of those proved right (TPR)"),
    ("fpr", "Favourable, of those proved wrong (FPR)"),
    ("fnr", "Unfavourable, of those proved right (FNR)"),
    ("ppv", "Proved right, of the favourable (PPV)"),
    ("for", "Proved right, of the unfavourable (FOR)"),
    ("prevalence", "Proved right"),
)
"""Error rates in the table: name and column head."""


def of_audits(chance: float) -> str:
    """Format the estimated probability of a flag as a number of 100 audits; never 0, as simulations are finite."""
    return f"{hundredths(max(chance, 1e-4))} of 100 audits"


def favourable_count(row: GroupOutcome) -> str:
    """Format the number of favourable outcomes of a group, which with weights is no whole number."""
    count = row.favourable or 0.0
    return f"{count:,.0f}" if float(count).is_integer() else cells.number(count)


def outcomes_table(part: OutcomeRows) -> Table:
    """Return the table of rates and impact ratios by group."""
    rows = [*part.groups, *([part.unknown] if part.unknown.people or part.unknown.undecided else [])]
    columns = (
        tuple(row.group or "not known" for row in rows),
        cells.numbers([row.people for row in rows]),
        cells.numbers([row.favourable for row in rows]),
        cells.intervals([row.rate for row in rows]),
        cells.intervals([row.ratio for row in rows]),
        tuple(_group_note(row, part) for row in rows),
    )
    title = f"Outcomes by {part.by}: {part.outcome}"
    heads = ("Group", "People", "Favourable", "Rate", "Impact ratio", "Note")
    return Table(title, heads, tuple(zip(*columns, strict=True)))


def _group_note(row: GroupOutcome, part: OutcomeRows) -> str:
    notes = []
    if row.group is not None and row.group == part.reference:
        notes.append("reference")
    if row.excluded:
        notes.append(f"excluded: {row.excluded}")
    if row.not_compared and row.group is not None:  # people whose group is not known are no group to compare
        notes.append("too few for a letter")
    if row.flagged:
        notes.append("below four fifths")
    if row.undecided:
        notes.append(f"{row.undecided:,} without a known outcome")
    return "; ".join(notes) or cells.ABSENT


def tests_table(part: OutcomeRows) -> Table | None:
    """Return the table of tests that compare each group with the reference group."""
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
    flag_note = "" if part.even_flagged is None else f" (an even service: flagged in {of_audits(part.even_flagged)})"
    title = f"Compared with {part.reference}{flag_note}"
    heads = (
        *("Group", "Difference of rates", "People short of an equal rate"),
        *("Difference in standard deviations (z)", "Probability if all were equal (p)"),
        *("p, corrected for several groups (Holm)", "Probability below four fifths"),
    )
    return Table(title, heads, tuple(zip(*columns, strict=True)))


def error_rates_table(part: OutcomeRows) -> Table | None:
    """Return the table of error rates by group."""
    rows = [row for row in part.groups if row.error_rates]
    if not rows:
        return None
    columns = [cells.intervals([row.error_rates.get(name) for row in rows]) for name, _ in ERRORS]
    auc_cells = cells.numbers([row.auc for row in rows])
    heads = ("Group", *(head for _, head in ERRORS))
    if set(auc_cells) != {cells.ABSENT}:
        columns, heads = [*columns, auc_cells], (*heads, "Pairs that the score ranks right (AUC)")
    table_rows = tuple(zip((row.group or "" for row in rows), *columns, strict=True))
    return Table(f"Error rates by {part.by}", heads, table_rows)
