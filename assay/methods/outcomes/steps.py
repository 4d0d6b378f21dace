"""Steps of a process, such as screening, interview and hire: who passes each step, and where a gap arises."""

from __future__ import annotations

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
class Reached:
    """People who reached a step, because they passed all steps before it, and whether they passed it."""

    name: str
    """Name of the step."""
    grouping: Grouping
    """The groups; people who did not reach the step have the code `NOT_REACHED`."""
    passed: Floats
    """Shape (cells,): whether people passed the step: 1 or 0, NaN if it is not known."""
    out_of_order: NDArray[np.bool_]
    """Shape (cells,): whether people passed the step without having reached it."""


def reached_steps(steps: Sequence[Step], grouping: Grouping) -> Iterator[Reached]:
    """Yield the people who reached each step. People who passed a step out of order reach no later step."""
    has_reached = np.ones(len(grouping.codes), dtype=bool)
    for step in steps:
        codes = np.where(has_reached, grouping.codes, NOT_REACHED)
        yield Reached(step.name, replace(grouping, codes=codes), step.passed, ~has_reached & (step.passed == 1))
        has_reached = has_reached & (step.passed == 1)


def funnel(
    table: DecisionTable,
    groupings: tuple[Grouping, Grouping],
    steps: Sequence[Step],
    exclusions: Mapping[str, str],
    confidence: float,
    rng: np.random.Generator,
) -> FunnelDocument:
    """Compute the table of each step, and each group's ratio of rates to a reference group by step.

    Parameters
    ----------
    groupings : (Grouping, Grouping)
        All groups, and the groups that are compared over all steps.
    exclusions, confidence
        As in `outcome_table`.
    """
    documents = []
    for step in reached_steps(steps, groupings[0]):
        outcomes = Outcomes(step.passed, None, None)
        result = outcome_table(table, step.grouping, outcomes, exclusions, confidence, rng.spawn(1)[0])
        out_of_order = tuple(_count_out_of_order(table, groupings[0], step.out_of_order))
        documents.append(StepDocument(**vars(result), step=step.name, out_of_order=out_of_order))
    return _add_gaps(FunnelDocument(steps=tuple(documents)), table, groupings[1], steps, rng)


def _count_out_of_order(table: DecisionTable, grouping: Grouping, cells: NDArray[np.bool_]) -> Iterator[OutOfOrder]:
    for code, label in [*enumerate(grouping.labels), (-1, None)]:
        people = int(table.people[cells & (grouping.codes == code)].sum())
        if people:
            yield OutOfOrder(label, people)


def _add_gaps(
    document: FunnelDocument, table: DecisionTable, grouping: Grouping, steps: Sequence[Step], rng: np.random.Generator
) -> FunnelDocument:
    """Add, by step, each group's pass rate divided by that of the group that passes all steps most often.

    The share that passes all steps is the product of the rates of single steps, and its ratio is the product of their
    ratios. Intervals use draws of separate rates and of rates fitted jointly, as in `outcome_table`.
    """
    samples = [
        sample_of(table, step_people.grouping, step_people.passed, is_known, binary=True)
        for step_people in reached_steps(steps, grouping)
        for is_known in [(step_people.grouping.codes >= 0) & ~np.isnan(step_people.passed)]
    ]
    codes = np.flatnonzero(np.min([sample.totals for sample in samples], axis=0) > 0)
    if len(codes) < 2:
        return document
    rates = np.stack([sample.means[codes] for sample in samples])
    reference = int(np.prod(rates, axis=0).argmax())
    if not rates[:, reference].all():
        return document
    single = np.stack([sample.draw_means(rng.spawn(1)[0], DRAWS)[:, codes] for sample in samples])
    joint = np.stack([fitted_rates(means, rng.spawn(1)[0]) for means in single])
    gaps = []
    for index, group in enumerate(grouping.labels[code] for code in codes):
        if index == reference:
            continue
        ratios = rates[:, index] / rates[:, reference]
        ratio_draws = [means[:, :, index] / np.maximum(means[:, :, reference], 1e-300) for means in (single, joint)]
        by_step = {
            step.name: drawn_interval(float(ratio), *(ratios_of[step_index] for ratios_of in ratio_draws))
            for step_index, (step, ratio) in enumerate(zip(steps, ratios, strict=True))
        }
        overall = drawn_interval(float(np.prod(ratios)), *(np.prod(ratios_of, axis=0) for ratios_of in ratio_draws))
        smallest = int(ratios.argmin())
        chance = float((ratio_draws[0].argmin(axis=0) == smallest).mean())
        gaps.append(GapDocument(group, by_step, overall, steps[smallest].name, chance))
    return replace(document, reference=grouping.labels[codes[reference]], gaps=tuple(gaps))
