"""Steps of a process, such as screening, interview and hire: who passes each step, and where a gap arises."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from assay.methods.outcomes.detail import FunnelDocument, GapDocument, OutOfOrder, StepDocument
from assay.methods.shared.outcome_tables.decision_table import DecisionTable, Grouping
from assay.methods.shared.outcome_tables.effects import DRAWS, fitted_rates
from assay.methods.shared.outcome_tables.group_tables import Outcomes, drawn_interval, outcome_table, sample_of
from assay.model import Floats

NOT_REACHED = -2
"""Code of the group of people who did not reach a step."""


@dataclass(frozen=True)
class Step:
    """A step of a process; `passed`, shape (cells,), is 1 or 0, and NaN if it is not known."""

    name: str
    passed: Floats


@dataclass(frozen=True)
class ReachedStep:
    """People who reached a step, because they passed all steps before it, and whether they passed it."""

    name: str
    """Name of the step."""
    grouping: Grouping
    """The groups; people who did not reach the step have the code `NOT_REACHED`."""
    passed: Floats
    """Shape (cells,): whether people passed the step: 1 or 0, NaN if it is not known."""
    out_of_order: NDArray[np.bool_]
    """Shape (cells,): whether people passed the step without having reached it."""


def reached_steps(steps: Sequence[Step], grouping: Grouping) -> Iterator[ReachedStep]:
    """Yield the people who reached each step of a process: those who passed every step before it."""
    has_reached = np.ones(len(grouping.codes), dtype=bool)
    for step in steps:
        has_passed = step.passed == 1
        reached_groups = replace(grouping, codes=np.where(has_reached, grouping.codes, NOT_REACHED))
        yield ReachedStep(step.name, reached_groups, step.passed, out_of_order=~has_reached & has_passed)
        has_reached = has_reached & has_passed


def funnel(
    table: DecisionTable,
    groupings: tuple[Grouping, Grouping],
    steps: Sequence[Step],
    exclusions: Mapping[str, str],
    confidence: float,
    rng: np.random.Generator,
) -> FunnelDocument:
    """Compute a table for each step and, by step, the ratio of each group's rate to that of a reference group.

    Parameters
    ----------
    groupings : (Grouping, Grouping)
        All groups, and the groups that are compared over all steps.
    exclusions, confidence
        As in `outcome_table`.
    """
    all_groups, compared_groups = groupings
    documents = []
    for step in reached_steps(steps, all_groups):
        outcomes = Outcomes(step.passed, truth=None, scores=None)
        result = outcome_table(table, step.grouping, outcomes, exclusions, confidence, rng.spawn(1)[0])
        out_of_order = tuple(_count_out_of_order(table, all_groups, step.out_of_order))
        documents.append(StepDocument(**vars(result), step=step.name, out_of_order=out_of_order))
    return _add_gaps(FunnelDocument(steps=tuple(documents)), table, compared_groups, steps, rng)


def _count_out_of_order(table: DecisionTable, grouping: Grouping, cells: NDArray[np.bool_]) -> Iterator[OutOfOrder]:
    for code, label in [*enumerate(grouping.labels), (-1, None)]:  # the last one: people of an unknown group
        people = int(table.people[cells & (grouping.codes == code)].sum())
        if people:
            yield OutOfOrder(label, people)


def _add_gaps(
    document: FunnelDocument, table: DecisionTable, grouping: Grouping, steps: Sequence[Step], rng: np.random.Generator
) -> FunnelDocument:
    """Add, for each step, the ratio of a group's pass rate to that of the reference group.

    The reference passes all steps most often. The ratio over all steps is the product of the ratios by step. Intervals
    combine draws of rates fitted by group and jointly (`outcome_table`). Add nothing if fewer than two groups reach
    every step, or no group passes all steps.
    """
    samples = []
    for step in reached_steps(steps, grouping):
        is_known = (step.grouping.codes >= 0) & ~np.isnan(step.passed)
        samples.append(sample_of(table, step.grouping, step.passed, is_known, binary=True))
    codes = np.flatnonzero(np.min([sample.totals for sample in samples], axis=0) > 0)  # groups that reach every step
    if len(codes) < 2:
        return document
    rates = np.stack([sample.means[codes] for sample in samples])  # shape (steps, groups)
    reference = int(np.prod(rates, axis=0).argmax())
    if not rates[:, reference].all():  # no group passes all steps
        return document
    # draws of the rates, shape (steps, draws, groups)
    separate_rates = np.stack([sample.draw_means(rng.spawn(1)[0], DRAWS)[:, codes] for sample in samples])
    joint_rates = np.stack([fitted_rates(rates_of_step, rng.spawn(1)[0]) for rates_of_step in separate_rates])
    gaps = []
    for index, group in enumerate(grouping.labels[code] for code in codes):
        if index == reference:
            continue
        ratios = rates[:, index] / rates[:, reference]
        separate_ratios, joint_ratios = (  # 1e-300: no division by 0
            draws[:, :, index] / np.maximum(draws[:, :, reference], 1e-300) for draws in (separate_rates, joint_rates)
        )
        by_step = {
            step.name: drawn_interval(float(ratio), *draws)
            for step, ratio, *draws in zip(steps, ratios, separate_ratios, joint_ratios, strict=True)
        }
        products = (np.prod(draws, axis=0) for draws in (separate_ratios, joint_ratios))
        overall = drawn_interval(float(np.prod(ratios)), *products)
        smallest = int(ratios.argmin())
        p_smallest = float((separate_ratios.argmin(axis=0) == smallest).mean())
        step_name = steps[smallest].name
        gaps.append(GapDocument(group, by_step, overall, smallest=step_name, probability=p_smallest))
    return replace(document, reference=grouping.labels[codes[reference]], gaps=tuple(gaps))
