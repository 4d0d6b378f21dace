"""Components of a rating of recorded decisions: effects and letter for each column of groups or intersection."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from assay.errors import EvidenceError
from assay.methods.outcomes.detail import NO_FUNNEL, NO_MAP, FunnelDocument, OutcomesComponent, ThresholdMap
from assay.methods.outcomes.missing_values import MissingValues
from assay.methods.outcomes.steps import funnel
from assay.methods.outcomes.task import LEAST_PEOPLE, MOST_STRATA, TRUTH_CLASSES, Mask, Output, Task
from assay.methods.outcomes.thresholds import threshold_map
from assay.methods.shared.outcome_tables.decision_table import Grouping
from assay.methods.shared.outcome_tables.effects import (
    DRAWS,
    Sample,
    differences,
    stratified_means,
    wald_p_value,
    within_strata,
)
from assay.methods.shared.outcome_tables.group_tables import outcome_table, sample_of, tenths_of
from assay.methods.shared.outcome_tables.rates import quantile
from assay.model import Component, Evidence, Floats, HiddenEffect, Interval, Letter, Reason
from assay.rating.component import TOO_FEW, Counts, Measurement, Tolerance, Units, insufficient, keep_bs_only
from assay.rating.losses import hidden_documents
from assay.statistics.hidden.chance import CONFIDENCE_AGAINST_CHANCE, may_be_chance
from assay.statistics.hidden.strata import NO_FALSE_STRATUM, fitted_together
from assay.statistics.intervals.worst_block import largest_interval
from assay.statistics.special import special

LEAST_CLUSTERS = 8
"""Minimum number of clusters in which each compared group has people."""

NOT_COMPARED = f"fewer than {LEAST_PEOPLE} people, or {LEAST_PEOPLE} of a kind of truth"

MOST_UNKNOWN = 0.2
"""Largest share of people with an unknown group, decision or true outcome for which a letter is given."""

MOST_GROUPS = 50
"""Maximum number of groups that are compared; of more, the largest are."""

LARGEST_ERROR = 2 / 3
"""An undeclared rating names a most probable letter only up to this standard error, as a multiple of the tolerance."""


def judge_outcomes(task: Task, rng: np.random.Generator) -> list[Component]:
    """Judge each outcome (decision or score) for each grouping of the people; return a component for each pair."""
    comparisons = [(grouping, output) for grouping in task.groupings for output in task.outputs]
    confidence = task.confidence ** (1 / len(comparisons))  # so that all letters together have the confidence
    components = []
    for (grouping, output), child_rng in zip(comparisons, rng.spawn(len(comparisons)), strict=True):
        name = grouping.name if len(task.outputs) == 1 else f"{grouping.name}: {output.name}"
        components.append(_Comparison(name, task, grouping, output, confidence).judge(child_rng))
    return components


@dataclass(frozen=True)
class _Family:
    """Mean outcomes by group among comparable people: everybody, those with the same true outcome, or within strata."""

    alike: str
    """Property that all compared people share, such as a true outcome; empty if all people are compared."""
    means: Floats
    """Draws of each group's mean outcome; within strata, of the group's effect on it; shape (draws, groups)."""
    rates: Floats | None = None
    """Observed rate of each group, shape (groups,); ``None`` for scores and within strata."""

    @cached_property
    def gaps(self) -> Floats:
        """Draws of the signed difference of each pair of groups; shape (draws, pairs)."""
        return differences(self.means)

    @property
    def error(self) -> float:
        """Largest standard error of a group's mean outcome."""
        return float(self.means.std(axis=0).max())

    def sure_gap(self, comparisons: int) -> float:
        """Return the largest lower limit of a difference between groups, adjusted (Bonferroni) for `comparisons`."""
        centre, covariance = self.means.mean(axis=0), np.cov(self.means.T)
        variances = np.diag(covariance)[:, None] + np.diag(covariance) - 2 * covariance
        critical = float(special.ndtri(1 - (1 - NO_FALSE_STRATUM) / 2 / comparisons))  # two-sided
        return float((np.abs(centre[:, None] - centre) - critical * np.sqrt(np.maximum(variances, 0))).max())

    @cached_property
    def p_value(self) -> float:
        """P-value of a test that all groups have the same mean outcome."""
        return wald_p_value(self.means, rates=self.rates is not None)


def _gap_interval(families: Sequence[_Family], fitted: Floats) -> Interval:
    """Return the interval of the largest difference between groups; `fitted` are its draws from a joint fit of groups.

    Of three or more groups, the largest observed difference tends to exceed the true one. So their interval is widened
    to include that of `fitted`, and also 0 unless a test rejects that all groups are equal.
    """
    interval = largest_interval(np.hstack([family.gaps for family in families]))
    if families[0].means.shape[1] < 3:  # two groups have a single difference
        return interval
    low, high = np.quantile(fitted, [(1 - interval.level) / 2, (1 + interval.level) / 2])
    may_be_equal = _smallest_p(families) > 1 - interval.level
    lower_end = 0.0 if may_be_equal else min(interval.low, float(low))
    return Interval(interval.estimate, lower_end, max(interval.high, float(high)), interval.level)


def _smallest_p(families: Sequence[_Family]) -> float:
    """Return the smallest p-value of the families, times their number (Bonferroni)."""
    return min(family.p_value for family in families) * len(families)


def _may_be_chance(families: Sequence[_Family]) -> bool:
    """Return whether chance alone can explain all differences of a step (`assay.statistics.hidden.chance`).

    With three or more groups, chance is only ruled out if a test also rejects that all groups are equal: of 14 equal
    groups of 100 people, the interval of the largest difference alone excludes 0 in 2 % of files.
    """
    if may_be_chance(np.hstack([family.gaps for family in families])):
        return True
    has_many_groups = families[0].means.shape[1] > 2
    return has_many_groups and _smallest_p(families) > 1 - CONFIDENCE_AGAINST_CHANCE


@dataclass(frozen=True)
class _Comparison:
    """Comparison of one outcome between the groups of one column, or of one intersection of columns."""

    name: str
    task: Task
    grouping: Grouping
    output: Output
    confidence: float

    def judge(self, rng: np.random.Generator) -> Component:
        """Return the component with its tables, and with its letter if both steps can be measured."""
        task, output, people = self.task, self.output, self.task.table.people
        table_rng, step_2_rng, step_1_rng, strata_rng = rng.spawn(4)
        known_cells = self._known_cells
        measurement = Measurement(
            self.name,
            Counts(usable=int(people[known_cells].sum()), unusable=int(people[~known_cells].sum())),
            Tolerance.around(output.delta, self.confidence),
            self._group_tables(table_rng),
        )
        if (unknown_reason := self._unknown_reason()) is not None:
            return measurement.give_up(unknown_reason)
        group_count = len(self._compared_groups)
        measurement.units = [Units("sufficiently large group", group_count, needed=2)]
        if group_count < 2:
            return measurement.give_up(*measurement.too_few)
        sample = self._sample(output.values, known_cells, binary=output.binary)
        if sample.bundles is not None:  # bundles of clusters are the independent units, and not people
            cluster_units = Units("cluster", int(sample.bundles_of_group.min()), needed=LEAST_CLUSTERS)
            measurement.units = [*measurement.units, cluster_units]
        rates = sample.means if output.binary else None
        overall = _Family(alike="", means=sample.draw_means(step_2_rng, DRAWS), rates=rates)  # step 2: everybody
        step_2 = self._draw_largest(overall, step_2_rng)
        intervals: dict[str, Interval | None] = {"step_1": None, "step_2": _gap_interval([overall], step_2)}
        if task.truth is None and task.strata is None:
            reason = Reason("only-outcomes-known", {}, self.name)
            return self._add_uncompared_groups(measurement.give_up(reason, measured_effects=intervals))
        try:
            families, hidden = self._draw_alike(step_1_rng), self._draw_within_strata(strata_rng)
        except EvidenceError as error:
            reason = insufficient(error, self.name)
            return self._add_uncompared_groups(measurement.give_up(reason, measured_effects=intervals))
        step_1 = np.max([self._draw_largest(family, step_1_rng) for family in families], axis=0)  # comparable people
        intervals["step_1"] = _gap_interval(families, step_1)
        chance_1, chance_2 = _may_be_chance(families), _may_be_chance([overall])
        evidence = Evidence(step_1, step_2, hidden=hidden, chance_1=chance_1, chance_2=chance_2)
        conditional = ", ".join(dict.fromkeys(family.alike for family in families))
        measurement.detail = replace(measurement.detail, conditional=conditional, hidden=hidden_documents(hidden))
        component = measurement.conclude(
            evidence,
            lambda letter: self._reason_for(letter, families, overall, evidence),
            intervals,
            lost=self._missing_values(sample).changes(),
        )
        too_few_reason = None if component.declared else self._too_few_reason([overall, *families])
        if too_few_reason is not None:
            return self._add_uncompared_groups(measurement.give_up(too_few_reason, measured_effects=intervals))
        component = self._withhold_by_thresholds(component, table_rng)
        component = keep_bs_only(component) if output.by_few else component
        component = self._add_steps_reason(component, measurement.detail.funnel)
        return self._add_uncompared_groups(self._add_calibration_reason(component, strata_rng))

    def _too_few_reason(self, families: Sequence[_Family]) -> Reason | None:
        """Return a reason to name no most probable letter if standard errors are too large; otherwise ``None``.

        The limit `LARGEST_ERROR` applies to undeclared letters only, because few people can show a large difference.
        """
        excess = max(family.error for family in families) / (LARGEST_ERROR * self.output.delta)
        if excess <= 1:
            return None
        # standard errors are proportional to 1 / sqrt(people), hence `excess**2`
        smallest = min(float(counts[self._compared_groups].min()) for counts in self._people_counts)
        usable = f"{smallest:,.0f} people of the smallest group compared"
        facts = {"unit": "person", "count": int(smallest), "needed": math.ceil(smallest * excess**2), "usable": usable}
        return Reason(TOO_FEW, facts, self.name)

    # ------------------------------------------------------------------------ people who are compared
    @cached_property
    def _known_cells(self) -> Mask:
        """Whether each cell (combination of values) of the table has a known group and outcome, shape (cells,)."""
        return np.asarray((self.grouping.codes >= 0) & ~np.isnan(self.output.values))

    @property
    def _excluded(self) -> Mapping[str, str]:
        """Groups that the request excludes from comparisons, each with its reason."""
        return self.task.excluded.get(self.grouping.name, {})

    @cached_property
    def _people_counts(self) -> list[Floats]:
        """Numbers of people by group, shape (groups,): first with a known outcome, then with each true outcome."""
        selections = [self._known_cells]
        if self.task.truth is not None:
            selections += [self._known_cells & (self.task.truth == truth) for truth, _ in TRUTH_CLASSES]
        size, people = len(self.grouping.labels), self.task.table.people
        return [np.bincount(self.grouping.codes[cells], people[cells], size).astype(float) for cells in selections]

    @cached_property
    def _compared_groups(self) -> list[int]:
        """Indices of the groups that affect the letter: at most `MOST_GROUPS`, not excluded, with enough people."""
        known_outcome_counts, *_ = self._people_counts
        is_large = np.min(self._people_counts, axis=0) >= LEAST_PEOPLE
        judged = [is_large[index] and label not in self._excluded for index, label in enumerate(self.grouping.labels)]
        largest_first = sorted(np.flatnonzero(judged).tolist(), key=lambda index: -known_outcome_counts[index])
        return sorted(largest_first[:MOST_GROUPS])

    @property
    def _labels(self) -> list[str]:
        return [self.grouping.labels[index] for index in self._compared_groups]

    @cached_property
    def _compared_grouping(self) -> Grouping:
        """Grouping with the compared groups only; all other cells have the code -1."""
        # new code for each old code; the last entry is for the old code -1, an unknown group
        new_codes = np.full(len(self.grouping.labels) + 1, -1, dtype=np.int64)
        new_codes[self._compared_groups] = np.arange(len(self._compared_groups))
        return Grouping(self.grouping.name, tuple(self._labels), new_codes[self.grouping.codes])

    def _sample(self, values: Floats, cells: Mask, *, binary: bool) -> Sample:
        grouping = self._compared_grouping
        return sample_of(self.task.table, grouping, values, cells & (grouping.codes >= 0), binary=binary)

    def _unknown_reason(self) -> Reason | None:
        """Return a reason if too many people have an unknown group, outcome or true outcome; otherwise ``None``."""
        people, codes = self.task.table.people, self.grouping.codes
        no_group = float(people[codes < 0].sum() / people.sum())
        if no_group > MOST_UNKNOWN:
            return Reason("mostly-unknown", {"column": self.grouping.name, "share": no_group}, self.name)
        columns = {self.output.name: self.output.values}
        if self.task.truth is not None:
            columns["truth"] = self.task.truth
        for column, values in columns.items():
            for index in self._compared_groups or range(len(self.grouping.labels)):  # all groups if none is compared
                # truth must be known after both decisions: known after one alone, it would make error rates 0 or 1
                in_group = codes == index
                by_decision = [in_group & (self.output.favourable == decision) for decision in (1.0, 0.0)]
                for cells in by_decision if column == "truth" else [in_group]:
                    total = float(people[cells].sum())
                    share = float(people[cells & np.isnan(values)].sum()) / total if total else 0.0
                    if share > MOST_UNKNOWN and total >= LEAST_PEOPLE:
                        facts = {"column": column, "share": share, "group": self.grouping.labels[index]}
                        return Reason("mostly-unknown", facts, self.name)
        return None

    # ------------------------------------------------------------------------ effects
    def _draw_alike(self, rng: np.random.Generator, *, with_all: bool = False) -> list[_Family]:
        """Draw mean outcomes by group of people with the same true outcome, within strata and, `with_all`, of all."""
        families, output, truth = [], self.output, self.task.truth
        selections = [("", self._known_cells)] if with_all else []
        if truth is not None:
            selections += [(alike, self._known_cells & (truth == proved)) for proved, alike in TRUTH_CLASSES]
        for alike, cells in selections:
            sample = self._sample(output.values, cells, binary=output.binary)
            rates = sample.means if output.binary else None
            families.append(_Family(alike, sample.draw_means(rng.spawn(1)[0], DRAWS), rates))
        if self._strata_sample is not None:
            sample, strata = self._strata_sample
            means = stratified_means(sample, strata.codes, rng.spawn(1)[0], DRAWS)
            families.append(_Family(f"with the same {strata.name}", means))
        return families

    def _draw_within_strata(self, rng: np.random.Generator) -> tuple[HiddenEffect, ...]:
        """Draw the differences between groups within each large stratum; empty if the request names no strata."""
        if self._strata_sample is None:
            return ()
        sample, strata = self._strata_sample
        names = [f"{strata.name}: {label}" for label in strata.labels]
        limits = {"least": LEAST_PEOPLE, "max_strata": MOST_STRATA}
        return within_strata(sample, strata.codes, names, self._labels, self.output.delta, rng, **limits)

    @cached_property
    def _strata_sample(self) -> tuple[Sample, Grouping] | None:
        """The sample of people with a known stratum, and its cells grouped by stratum; ``None`` without strata."""
        strata = self.task.strata
        if strata is None:
            return None
        has_stratum = self._known_cells & (strata.codes >= 0)
        sample = self._sample(self.output.values, has_stratum, binary=self.output.binary)
        return sample, replace(strata, codes=strata.codes[has_stratum & (self._compared_grouping.codes >= 0)])

    def _draw_largest(self, family: _Family, rng: np.random.Generator) -> Floats:
        """Draw the largest absolute difference between groups; three or more groups are fitted jointly."""
        return np.asarray(np.abs(fitted_together(family.gaps, self.output.delta, rng.spawn(1)[0])).max(axis=1))

    def _missing_values(self, sample: Sample) -> MissingValues:
        low, high = (quantile(sample.values, sample.people, share) for share in (0.025, 0.975))  # without outliers
        return MissingValues(self.task, self.output, self._compared_grouping, self.grouping.codes < 0, high - low)

    # ------------------------------------------------------------------------ words and tables
    def _reason_for(self, letter: Letter, families: Sequence[_Family], overall: _Family, evidence: Evidence) -> Reason:
        if letter is Letter.UCS:
            return Reason("outcomes-even", {"effect": float(evidence.step_2.mean())}, self.name)
        if letter is Letter.DSBS:
            return Reason("outcomes-differ", self._gap_facts(overall), self.name)
        worst_family = max(families, key=lambda family: float(np.abs(family.gaps.mean(axis=0)).max()))
        return Reason("unequal-among-alike", {"alike": worst_family.alike, **self._gap_facts(worst_family)}, self.name)

    def _gap_facts(self, family: _Family) -> dict[str, Any]:
        """Return facts for a reason: names, rates (of decisions) and difference of the two groups that differ most."""
        gaps = family.gaps.mean(axis=0)  # for each pair, the second group's mean less the first's
        index = int(np.abs(gaps).argmax())
        pair = [*combinations(range(len(self._compared_groups)), 2)][index]
        low, high = pair if gaps[index] > 0 else pair[::-1]
        facts: dict[str, Any] = {"low": self._labels[low], "high": self._labels[high]}
        facts["effect"] = float(abs(gaps[index]))
        if family.rates is not None:
            facts.update(low_rate=float(family.rates[low]), high_rate=float(family.rates[high]))
        return facts

    def _add_calibration_reason(self, component: Component, rng: np.random.Generator) -> Component:
        """Add a reason if the letter is BS although the score is calibrated in all groups (Kleinberg's theorem)."""
        task = self.task
        if component.letter is not Letter.BS or task.truth is None or task.scores is None:
            return component
        has_truth = (self.grouping.codes >= 0) & ~np.isnan(task.truth) & ~np.isnan(task.scores)
        sample = self._sample(task.truth, has_truth, binary=True)
        tenths = tenths_of(task.table, task.scores).codes[has_truth & (self._compared_grouping.codes >= 0)]
        try:
            gaps = differences(stratified_means(sample, tenths, rng.spawn(1)[0], DRAWS))
        except EvidenceError:
            return component  # groups without a common tenth of the scores: nothing can be said of calibration
        if largest_interval(gaps).high > self.output.delta:
            return component  # with equal scores, groups may prove right unequally often: not calibrated
        return replace(component, reasons=(*component.reasons, Reason("calibrated-but-unequal", {}, self.name)))

    def _withhold_by_thresholds(self, component: Component, rng: np.random.Generator) -> Component:
        """Withhold UCS and DSBS of scores if groups surely differ at a threshold of the map by more than is tolerated.

        The shares of people at or above each threshold are compared: of comparable people and, for UCS, of everybody.
        """
        rows, scores = self._threshold_map.thresholds, self.task.scores
        if component.letter in {None, Letter.BS} or scores is None:
            return component
        largest, reasons = self.task.delta, component.reasons
        for threshold in (row.threshold or 0.0 for row in rows):
            selected = np.where(np.isnan(self.output.values), np.nan, scores >= threshold)
            at_threshold = replace(self, output=replace(self.output, values=selected, binary=True))
            families = at_threshold._draw_alike(rng, with_all=component.letter is Letter.UCS)  # noqa: SLF001
            for family in families:
                sure_gap = family.sure_gap(len(rows) * len(families) * math.comb(len(self._compared_groups), 2))
                if sure_gap > largest:
                    facts = {"threshold": f"{threshold:.6g}", "alike": family.alike, **self._gap_facts(family)}
                    reason = Reason("letter-depends-on-threshold", facts, self.name)
                    largest, reasons = sure_gap, (reason, *component.reasons)
        return replace(component, declared=component.declared and reasons == component.reasons, reasons=reasons)

    def _add_steps_reason(self, component: Component, steps: FunnelDocument) -> Component:
        """Add a reason that names the steps at which groups surely differ, since the letter covers the end only."""
        names = [
            step.step
            for step in steps.steps
            if any(row.suspicious or (row.difference.high or 0.0) < -self.task.delta for row in step.groups)
        ]
        if component.letter is None or len(steps.steps) < 2 or not names:
            return component
        return replace(component, reasons=(*component.reasons, Reason("steps-differ", {"steps": names}, self.name)))

    def _add_uncompared_groups(self, component: Component) -> Component:
        """Add a reason that names the groups that the letter does not cover, if there are any."""
        missing = [label for label in self.grouping.labels if label not in self._labels and label not in self._excluded]
        if not missing:
            return component
        note = Reason("groups-not-compared", {"groups": missing}, self.name)
        return replace(component, reasons=(*component.reasons, note))

    def _group_tables(self, rng: np.random.Generator) -> OutcomesComponent:
        """Return the tables of the component: rows of all groups, threshold map of a score, funnel of the steps."""
        task, output = self.task, self.output
        result = outcome_table(task.table, self.grouping, task.outcomes(output), self._excluded, task.confidence, rng)
        compared_labels = set(self._labels)
        groups = tuple(
            row if row.group in compared_labels or row.excluded else replace(row, not_compared=NOT_COMPARED)
            for row in result.groups
        )
        return OutcomesComponent(
            **vars(replace(result, groups=groups)),
            by=self.grouping.name,
            outcome=output.words,
            clusters=task.table.clusters or None,
            threshold_map=self._threshold_map,
            funnel=self._funnel(rng),
            **output.facts,
        )

    @cached_property
    def _threshold_map(self) -> ThresholdMap:
        """Return the threshold map of a score; empty for a decision, or with fewer than two groups to compare."""
        task = self.task
        if self.output.binary or task.scores is None or len(self._compared_groups) < 2:
            return NO_MAP
        return threshold_map(task.table, self._compared_grouping, task.scores, task.truth, task.threshold)

    def _funnel(self, rng: np.random.Generator) -> FunnelDocument:
        """Return the outcomes by step of the process; empty without steps, and for all outcomes but the first."""
        task = self.task
        if not task.steps or self.output is not task.outputs[0]:
            return NO_FUNNEL
        groupings = (self.grouping, self._compared_grouping)
        return funnel(task.table, groupings, task.steps, self._excluded, task.confidence, rng)
