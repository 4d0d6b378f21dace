"""Worst case of missing values: how far unknown outcomes, truths, groups and strata can move an effect."""

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from assay.methods.outcomes.task import LEAST_PEOPLE, MOST_STRATA, TRUTH_CLASSES, Mask, Output, Task
from assay.methods.shared.outcome_tables.decision_table import Grouping
from assay.methods.shared.outcome_tables.effects import Sample, largest_mean_change, largest_rate_change
from assay.methods.shared.outcome_tables.group_tables import sample_of
from assay.model import Floats
from assay.rating.component import Lost
from assay.rating.losses import lost_replies


@dataclass(frozen=True)
class MissingValues:
    """Missing values of one outcome, compared between the groups of one column or intersection."""

    task: Task
    output: Output
    grouping: Grouping
    """The compared groups; all other cells have the code -1."""
    no_group: Mask
    """Whether the group of each cell's people is unknown, shape (cells,), as all masks."""
    outcome_range: float
    """Range of known outcomes without outliers: the middle 95 %."""

    def changes(self) -> Lost:
        """Return how much unknown decisions, truths (`_unproved`), groups and strata could at most change effects."""
        people, is_lost = self.task.table.people, self._undecided | self._unproved | self._no_stratum  # masks
        usable_counts, lost_counts = self._count(~is_lost, people), self._count(is_lost, people)
        by_group = {
            name: Counter(usable=int(usable), failed=int(lost))
            for name, usable, lost in zip(self.grouping.labels, usable_counts, lost_counts, strict=True)
        }
        overall_change = self._change(~self._nobody, self._nobody, self._undecided)
        alike_by_stratum, stratum_change = self._changes_by_stratum()
        alike_change = max(overall_change, self._change_by_truth(), alike_by_stratum)
        of_no_group = int(people[self.no_group].sum())
        # any limit but ``None`` will do: a letter must then survive the worst case of the missing values
        lost = lost_replies(by_group, 1.0, alike_change, overall_change, of_no_group=of_no_group)
        return replace(lost, stratum=stratum_change)

    @cached_property
    def _nobody(self) -> Mask:
        return np.zeros_like(self.no_group)

    @cached_property
    def _undecided(self) -> Mask:
        return np.isnan(self.output.values)

    @cached_property
    def _unproved(self) -> Mask:
        return self._nobody if self.task.truth is None else np.isnan(self.task.truth)

    @cached_property
    def _no_stratum(self) -> Mask:
        return self._nobody if self.task.strata is None else self.task.strata.codes < 0

    @cached_property
    def _proved(self) -> list[Mask]:
        """For each true outcome (1 and 0), whether each cell's people have it; empty for a file without a truth."""
        return [] if self.task.truth is None else [self.task.truth == truth for truth, _ in TRUTH_CLASSES]

    @property
    def _is_unplaced(self) -> bool:
        """Whether the group or the stratum of some people is unknown."""
        return bool((self.no_group | self._no_stratum).any())

    def _count(self, cells: Mask, numbers: Floats) -> Floats:
        """Add up `numbers` (of each cell) over the selected cells by compared group, shape (groups,)."""
        counted = cells & (self.grouping.codes >= 0)
        return np.bincount(self.grouping.codes[counted], numbers[counted], len(self.grouping.labels)).astype(float)

    def _sample(self, cells: Mask) -> Sample:
        """Return the known scores of the compared people in the selected cells."""
        counted = cells & ~self._undecided & (self.grouping.codes >= 0)
        return sample_of(self.task.table, self.grouping, self.output.values, counted, binary=False)

    def _change(self, compared: Mask, unsure: Mask, unknown: Mask, used: Floats | float = 1, least: int = 0) -> float:
        """Return the largest change that missing values can make to a difference between groups of `compared` people.

        Cells are people with equal data: `unsure` ones may or may not be compared, and `unknown` ones lack an outcome.
        `used` is the share of each group that is compared. Groups of fewer than `least` people are left out.
        """
        weight_sums, is_positive = self.task.table.weight_sums, self.output.values == 1
        positive, negative = ~unknown & is_positive, ~unknown & ~is_positive
        may_join = self.no_group & (compared | unsure)  # people who may be of any group
        # by group: people without an outcome, and those who may add a positive or a negative one
        kinds = ((unknown, compared), (positive, unsure), (negative, unsure))
        lost = [self._count(kind & cells, weight_sums) + weight_sums[kind & may_join].sum() for kind, cells in kinds]
        observed = [self._count(kind & compared, weight_sums) * used for kind in (positive, ~unknown)]
        counts = np.stack([*lost, *observed])  # in the order of the parameters of `largest_rate_change`
        counts = counts[:, self._count(~unknown & compared, self.task.table.people) >= least]
        if self.output.binary or counts.shape[1] < 2:
            return largest_rate_change(*counts) if counts.shape[1] > 1 else 0.0
        lost_shares = counts[:3].sum(axis=0) / (counts[-1] + counts[:3].sum(axis=0))
        return float(np.sort(lost_shares)[-2:].sum() * self.outcome_range)  # the two groups with the most lost people

    def _change_by_truth(self) -> float:
        """Return the largest change of the effect among people of one true outcome; 0 if these are not known."""
        largest_change = 0.0
        both_unknown, ignores_scores = self._undecided & self._unproved, self.output.binary or self._is_unplaced
        for proved in self._proved:  # masks of the people with each true outcome
            unsure = self._unproved if ignores_scores else self._nobody
            change = self._change(proved | both_unknown, unsure, self._undecided, least=LEAST_PEOPLE)
            if not ignores_scores:  # the known scores of people with an unknown truth bound the change
                change += largest_mean_change(self._sample(proved), self._sample(self._unproved), LEAST_PEOPLE)
            largest_change = max(largest_change, change)
        return largest_change

    def _changes_by_stratum(self) -> tuple[float, float]:
        """Return the largest changes of the effect: over all strata together, and in one stratum; 0 without strata."""
        task, groups = self.task, self.grouping
        if task.strata is None or not (self._is_unplaced or (self._undecided | self._unproved).any()):
            return 0.0, 0.0
        strata, is_known = task.strata.codes, (groups.codes >= 0) & ~self._undecided & ~self._no_stratum
        shape = (len(task.strata.labels), len(groups.labels))  # (strata, groups)
        flat_index = strata[is_known] * shape[1] + groups.codes[is_known]
        weights = np.bincount(flat_index, task.table.weight_sums[is_known], math.prod(shape)).reshape(shape)
        stratum_weights, group_weights = (np.maximum(1e-300, weights.sum(axis=axis)) for axis in (1, 0))  # never 0
        # mean share of a group in its people's strata: people are only compared with others of their stratum
        own_share = (weights**2 / stratum_weights[:, None]).sum(axis=0) / group_weights
        comparable_share = np.maximum(1e-9, 1 - own_share)  # above 0, so that every group has a rate
        unknown = self._undecided | self._no_stratum | self.no_group  # people whom no stratum can count
        stratum_changes = [0.0]
        for of_kind in (~self._nobody, *self._proved):  # everybody, then people with each true outcome
            may_be_of_kind, counted = of_kind | self._unproved, of_kind & is_known
            sizes = np.bincount(strata[counted], task.table.people[counted], shape[0])
            for stratum in np.argsort(-sizes, kind="stable")[:MOST_STRATA]:
                in_stratum = strata == stratum
                compared = in_stratum & may_be_of_kind & (of_kind | self._undecided)
                unsure = (in_stratum | self._no_stratum) & may_be_of_kind & ~(in_stratum & of_kind)  # may belong
                stratum_changes.append(self._change(compared, unsure, self._undecided, least=LEAST_PEOPLE))
        return self._change(~self._nobody, self._nobody, unknown, comparable_share), max(stratum_changes)
