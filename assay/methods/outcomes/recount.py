"""Verification of a rating of recorded decisions: its file is counted again, and each count is compared."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from assay.document import RatingDocument
from assay.errors import SpecificationError
from assay.evidence.verification import Check
from assay.experiment import Method
from assay.methods.outcomes.detail import OutcomesAggregation, OutcomesComponent
from assay.methods.outcomes.method import Outcomes
from assay.methods.outcomes.steps import reached_steps
from assay.methods.outcomes.task import Task
from assay.methods.shared.outcome_tables.decision_table import DecisionTable, Grouping
from assay.methods.shared.outcome_tables.rows import GroupOutcome
from assay.model import Floats

ROUNDING = 1e-9
"""Largest relative difference of two sums of weights that is attributed to rounding."""

MOST_NAMED = 5
"""Maximum number of differences that the result of a check lists."""


def experiment_without_counts(rating: RatingDocument) -> Mapping[str, Any]:
    """Return a rating's experiment without its table; raise `SpecificationError` for another method's rating."""
    method = rating.experiment.get("method")
    if not isinstance(rating.aggregation, OutcomesAggregation) or method != Outcomes.method:
        raise SpecificationError(f"only ratings of recorded decisions have a file; this one is by {method}")
    return {**rating.experiment, "table": None}


def check_recount(rating: RatingDocument, method: Method, counts: Mapping[str, Any], file: str) -> Iterator[Check]:
    """Yield two checks: that the file's digest equals the rated one, and that every count equals the rating's.

    Parameters
    ----------
    rating : RatingDocument
        A rating of recorded decisions; masked counts are not compared.
    method : Method
        The method that the experiment returned by `experiment_without_counts` describes.
    counts : mapping
        The file, counted by the columns that `method` names.
    file : str
        Name of the file, for the texts of the checks.
    """
    assert isinstance(method, Outcomes)  # noqa: S101  as the rating is of recorded decisions
    assert isinstance(rating.aggregation, OutcomesAggregation)  # noqa: S101
    digest, rated_digest = counts["digest"], rating.aggregation.data.digest
    difference = f"{file} has the digest {digest}, and the rated file had {rated_digest}"
    yield Check("file", wrong=None if digest == rated_digest else difference, found=digest)
    try:
        task = replace(method, table=DecisionTable.read(counts)).task()
    except SpecificationError as error:
        yield Check("counts", wrong=f"{file} does not fit the request: {error}", found="")
        return
    differences = [*recount(rating, task)]
    rated_table = rating.experiment.get("table")
    if not differences and rated_table is not None:
        rated_cells = _count_cells(DecisionTable.read(rated_table))
        if rated_cells != _count_cells(task.table):
            differences = ["a combination of the named columns has another number of people than in the rating"]
    if len(differences) > MOST_NAMED:
        differences[MOST_NAMED:] = [f"and {len(differences) - MOST_NAMED} more counts differ"]
    yield Check("counts", wrong="; ".join(differences) or None, found=f"of {task.table.rows:,} people, as rated")


def _count_cells(table: DecisionTable) -> Counter[tuple[object, ...]]:
    """Count the people of each combination of values; scores are rounded, because their sums depend on the order."""
    names_by_column = [[*column.values, None] for column in table.columns]  # the code -1 selects the last: unknown
    cells = Counter[tuple[object, ...]]()
    for index, count in enumerate(table.counts):
        values = [names[column.codes[index]] for names, column in zip(names_by_column, table.columns, strict=True)]
        score = table.scores[index] if table.scores else None
        cells[(*values, None if score is None else float(f"{score:.9g}"))] += count
    return cells


def recount(rating: RatingDocument, task: Task) -> Iterator[str]:
    """Yield a sentence for each unmasked count of a rating that differs from that of its recounted file (`task`)."""
    tables = [(grouping, output) for grouping in task.groupings for output in task.outputs]
    if len(tables) != len(rating.components):
        yield f"the rating has {len(rating.components)} tables, and its request names {len(tables)}"
        return
    for component, (grouping, output) in zip(rating.components, tables, strict=True):
        rows = component.groups if isinstance(component, OutcomesComponent) else ()
        labels = {row.group for row in rows}
        for label in grouping.labels:
            if label not in labels:
                yield f"the file has people of {grouping.name} {label}, and the rating has none"
        yield from _recount_rows(rows, task.table, grouping, output.favourable, "have the favourable outcome")
        if isinstance(component, OutcomesComponent):
            yield from _recount_thresholds(component, task, grouping)
            # a component without a funnel has no steps
            for step, reached_step in zip(component.funnel.steps, reached_steps(task.steps, grouping), strict=False):
                outcome = f"who reached “{reached_step.name}” pass it"
                yield from _recount_rows(step.groups, task.table, reached_step.grouping, reached_step.passed, outcome)


def _recount_rows(
    rows: Sequence[GroupOutcome], table: DecisionTable, grouping: Grouping, favourable: Floats, outcome: str
) -> Iterator[str]:
    """Yield a sentence for each row whose counts differ from the file's; `outcome` says in words what is favourable."""
    for row in rows:
        if row.people is None:
            continue
        # no cell has the code ``None``: the file has nobody of a group that only the rating has
        code = grouping.labels.index(row.group) if row.group in grouping.labels else None
        in_group = (grouping.codes == code) & ~np.isnan(favourable)
        people = int(table.people[in_group].sum())
        count = float((table.weight_sums[in_group] * favourable[in_group]).sum())
        rated_count = row.favourable or 0.0
        if people != row.people or abs(count - rated_count) > ROUNDING * max(1.0, rated_count):
            yield (
                f"{grouping.name} {row.group}: {count:,.12g} of {people:,} people {outcome} in the file, and "
                f"{rated_count:,.12g} of {row.people:,} in the rating"
            )


def _recount_thresholds(component: OutcomesComponent, task: Task, grouping: Grouping) -> Iterator[str]:
    """Yield a sentence for each count of a threshold map that differs from that of the recounted file."""
    if task.scores is None:
        return
    for index, group in enumerate(component.threshold_map.groups):
        in_group = grouping.codes == grouping.labels.index(group.group) if group.group in grouping.labels else False
        for row in component.threshold_map.thresholds:
            at_least = in_group & (task.scores >= (row.threshold or 0.0))
            comparisons = {"": (row.selected, at_least)}  # rated counts by group, and the cells to count again
            if task.truth is not None:
                comparisons[" proved right"] = (row.right, at_least & (task.truth == 1))
                comparisons[" proved wrong"] = (row.wrong, at_least & (task.truth == 0))
            for outcome, (rated_counts, is_counted) in comparisons.items():
                rated_count, people = rated_counts[index], float(task.table.weight_sums[is_counted].sum())
                if abs(rated_count - people) > ROUNDING * max(1.0, people):
                    yield (
                        f"{grouping.name} {group.group}: {people:,.12g} people{outcome} have a score of "
                        f"{row.threshold:g} or more in the file, and {rated_count:,.12g} in the rating"
                    )
