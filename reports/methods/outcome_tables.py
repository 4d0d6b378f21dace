"""Tables of outcomes by group, for ratings of recorded decisions and of records with a column of true outcomes."""

from collections.abc import Sequence
from dataclasses import replace

from assay.methods.alternation.detail import RecordOutcomes
from assay.methods.outcomes.detail import OutcomesComponent
from assay.methods.outcomes.suppression import PEOPLE
from assay.methods.shared.outcome_tables.rows import GroupOutcome
from reports import cells
from reports.units import hundredths
from reports.view import Table

OutcomeRows = OutcomesComponent | RecordOutcomes

ERRORS = {
    "tpr": "Favourable, of those proved right (TPR)",
    "fpr": "Favourable, of those proved wrong (FPR)",
    "fnr": "Unfavourable, of those proved right (FNR)",
    "ppv": "Proved right, of the favourable (PPV)",
    "for": "Proved right, of the unfavourable (FOR)",
    "prevalence": "Proved right",
}
"""Column heads of the error rates in the table."""


def may_mask_highest(part: OutcomeRows) -> bool:
    """Return whether a masked group could have the highest rate, although ratios use the highest rate shown."""
    return any(PEOPLE in row.masked and row.excluded is None for row in part.groups)


def certain_rows(part: OutcomeRows) -> tuple[GroupOutcome, ...]:
    """Return the groups' rows, without results of the four-fifths rule that a masked group's rate could refute."""
    if not may_mask_highest(part):
        return part.groups
    # "below" is certain: it is also below four fifths of a higher rate; "not below" becomes unknown (``None``)
    certain = [replace(row, flagged=row.flagged or None, suspicious=row.suspicious or None) for row in part.groups]
    return tuple(replace(row, below_four_fifths=None) for row in certain)


def flags_text(part: OutcomesComponent, groups: Sequence[GroupOutcome]) -> str | None:
    """Return a sentence on how many `groups` the four-fifths rule flags, and how often chance does; or ``None``."""
    if part.even_flagged is None:
        return None
    flags = sum(bool(row.flagged) for row in groups)
    highest, noun = ("highest of those shown", "groups shown") if may_mask_highest(part) else ("highest", "groups")
    return (
        f"The four-fifths rule (a rate below 80 % of the {highest}) flags {flags} of {len(groups)} {noun}. "
        f"Where all groups had one rate, it would flag some of them in an estimated {of_audits(part.even_flagged)}."
    )


def of_audits(chance: float) -> str:
    """Format a probability as "N of 100 audits"; 0, which comes from a finite simulation, is "fewer than 1"."""
    return f"{hundredths(max(chance, 1e-4))} of 100 audits"


def favourable_count(row: GroupOutcome) -> str:
    """Format the number of favourable outcomes of a group, which may be a fraction if people have weights."""
    count = row.favourable or 0.0
    return f"{count:,.0f}" if float(count).is_integer() else cells.number(count)


def outcomes_table(part: OutcomeRows) -> Table:
    """Return the table of rates and impact ratios by group."""
    rows = [*part.groups, *([part.unknown] if part.unknown.people or part.unknown.undecided else [])]
    columns = {
        "Group": [row.group or "not known" for row in rows],
        "People": cells.numbers([row.people for row in rows]),
        "Favourable": cells.numbers([row.favourable for row in rows]),
        "Rate": cells.intervals([row.rate for row in rows]),
        "Impact ratio": cells.intervals([row.ratio for row in rows]),
        "Note": [_group_note(row, part) for row in rows],
    }
    return Table.of_columns(f"Outcomes by {part.by}: {part.outcome}", columns)


def _group_note(row: GroupOutcome, part: OutcomeRows) -> str:
    notes = []
    if row.group is not None and row.group == part.reference:
        notes.append("reference")
    if row.excluded:
        notes.append(f"excluded: {row.excluded}")
    if row.not_compared and row.group is not None:  # people whose group is not known are no group to compare
        notes.append(row.not_compared)
    if row.flagged:
        notes.append("below four fifths")
    if row.undecided:
        notes.append(f"{row.undecided:,} without a known outcome")
    return "; ".join(notes) or cells.ABSENT


def tests_table(part: OutcomeRows) -> Table | None:
    """Return the table of tests that compare groups with the reference group; ``None`` if none can be compared."""
    rows = [row for row in certain_rows(part) if row.ratio.estimate is not None and row.group != part.reference]
    if not rows:
        return None
    columns = {
        "Group": [row.group or "" for row in rows],
        "Difference of rates": cells.intervals([row.difference for row in rows]),
        "People short of an equal rate": cells.numbers([row.shortfall for row in rows]),
        "Difference in standard deviations (z)": cells.numbers([row.z for row in rows]),
        "Probability if all were equal (p)": cells.p_values([row.p for row in rows]),
        "p, corrected for several groups (Holm)": cells.p_values([row.holm for row in rows]),
        "Probability below four fifths": cells.p_values([row.below_four_fifths for row in rows]),
    }
    flag_note = "" if part.even_flagged is None else f" (an even service: flagged in {of_audits(part.even_flagged)})"
    return Table.of_columns(f"Compared with {part.reference}{flag_note}", columns)


def error_rates_table(part: OutcomeRows) -> Table | None:
    """Return the table of error rates by group; ``None`` without error rates."""
    rows = [row for row in part.groups if row.error_rates]
    if not rows:
        return None
    columns: dict[str, Sequence[str]] = {"Group": [row.group or "" for row in rows]}
    columns |= {head: cells.intervals([row.error_rates.get(name) for row in rows]) for name, head in ERRORS.items()}
    auc_cells = cells.numbers([row.auc for row in rows])
    if set(auc_cells) != {cells.ABSENT}:
        columns["Pairs that the score ranks right (AUC)"] = auc_cells
    return Table.of_columns(f"Error rates by {part.by}", columns)
