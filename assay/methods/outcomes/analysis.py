"""Components of a rating of recorded decisions: effects and letter for each column of groups or intersection."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any
from unicodedata import normalize

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
from assay.model import Component, Evidence, Floats, HiddenEffect, Integers, Interval, Letter, Reason
from assay.rating.component import TOO_FEW, Counts, Measurement, Tolerance, Units, insufficient, keep_bs_only
from assay.rating.losses import hidden_documents
from assay.statistics.hidden.chance import CONFIDENCE_AGAINST_CHANCE, may_be_chance
from assay.statistics.hidden.strata import NO_FALSE_STRATUM, fitted_together
from assay.statistics.intervals.worst_block import largest_interval
from assay.statistics.special import special

LEAST_CLUSTERS = 8
"""Minimum number of clusters in which each compared group has people."""

MOST_UNKNOWN = 0.2
"""Largest share of people with an unknown group, decision or truth, or in groups not compared, for a letter."""

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
        comparison = _Comparison(name, task, grouping, output, confidence)
        components.append(comparison.add_notes(comparison.judge(child_rng)))
    return components


def _similar_names(labels: Sequence[str]) -> list[str]:
    """Return the groups whose names differ from another's only by case, blanks or invisible characters."""
    keys = ["".join(filter(str.isprintable, normalize("NFKC", label).casefold())).replace(" ", "") for label in labels]
    return [label for label, key in zip(labels, keys, strict=True) if keys.count(key) > 1]


@dataclass(frozen=True)
class _Kind:
    """People whose mean outcomes are compared between groups: everybody, or those with one true outcome."""

    alike: str
    """As in `_Means`."""
    cells: Mask
    counts: Floats
    """Number of people by group, shape (groups,)."""
    compared: list[int]
    """Indices of the groups with enough of these people."""
    missing: list[str]
    """Names of the other groups that are not excluded; of groups that are not compared in step 2, only there."""
    facts: Mapping[str, str]
    """Facts that name these people in a reason; empty for everybody."""


@dataclass(frozen=True)
class _Means:
    """Mean outcomes by group among comparable people: everybody, those with the same true outcome, or within strata."""

    alike: str
    """Property that all compared people share, such as a true outcome; empty if all people are compared."""
    means: Floats
    """Draws of each group's mean outcome; within strata, of the group's effect on it; shape (draws, groups)."""
    labels: Sequence[str]
    """Names of the groups, shape (groups,)."""
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
        variances = np.diag(covariance)[:, None] + np.diag(covariance) - 2 * covariance  # of the differences
        critical = float(special.ndtri(1 - (1 - NO_FALSE_STRATUM) / 2 / comparisons))  # two-sided
        return float((np.abs(centre[:, None] - centre) - critical * np.sqrt(np.maximum(variances, 0))).max())

    @cached_property
    def p_value(self) -> float:
        """P-value of a test that all groups have the same mean outcome."""
        return wald_p_value(self.means, rates=self.rates is not None)


def _gap_interval(families: Sequence[_Means], fitted: Floats) -> Interval:
    """Return the interval of the largest difference between groups; `families` are their means among alike people.

    Of three or more groups, the largest observed difference tends to exceed the true one. So their interval is widened
    to include that of `fitted` (draws from a joint fit), and also 0 unless a test rejects that all groups are equal.
    """
    interval = largest_interval(np.hstack([family.gaps for family in families]))
    if max(family.means.shape[1] for family in families) < 3:  # two groups have a single difference
        return interval
    low, high = np.quantile(fitted, [(1 - interval.level) / 2, (1 + interval.level) / 2])
    may_be_equal = _smallest_p(families) > 1 - interval.level
    lower_end = 0.0 if may_be_equal else min(interval.low, float(low))
    return Interval(interval.estimate, lower_end, max(interval.high, float(high)), interval.level)


def _smallest_p(families: Sequence[_Means]) -> float:
    """Return the smallest p-value of the families, times their number (Bonferroni)."""
    return min(family.p_value for family in families) * len(families)


def _may_be_chance(families: Sequence[_Means]) -> bool:
    """Return whether chance can explain all of a step's differences (`families`: groups' means among alike people).

    With three or more groups, chance is only ruled out if a test also rejects that all groups are equal: of 14 equal
    groups of 100 people, the interval of the largest difference alone excludes 0 in 2 % of files.
    """
    if may_be_chance(np.hstack([family.gaps for family in families])):
        return True
    has_many_groups = any(family.means.shape[1] > 2 for family in families)
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
        everybody, *truth_kinds = self._kinds  # all people, then those with each true outcome
        measurement = Measurement(
            self.name,
            Counts(usable=int(people[everybody.cells].sum()), unusable=int(people[~everybody.cells].sum())),
            Tolerance.around(output.delta, self.confidence),
            self._group_tables(table_rng),
        )
        if unknown_reason := self._unknown_reason():
            return measurement.give_up(unknown_reason)
        step_1_kinds = truth_kinds if truth_kinds and task.strata is None else [everybody]  # compared in step 1
        group_count = max(len(kind.compared) for kind in step_1_kinds)
        measurement.units = [Units("sufficiently large group", group_count, needed=2)]
        if group_count < 2:
            return measurement.give_up(*measurement.too_few)
        sample = self._sample(output.values, everybody.cells, binary=output.binary)
        if sample.bundles is not None:  # bundles of clusters are the independent units, and not people
            cluster_units = Units("cluster", int(sample.bundles_of_group.min()), needed=LEAST_CLUSTERS)
            measurement.units = [*measurement.units, cluster_units]
        overall = self._draw_kind(everybody, step_2_rng)  # step 2
        step_2 = self._draw_largest(overall, step_2_rng)
        intervals: dict[str, Interval | None] = {"step_1": None, "step_2": _gap_interval([overall], step_2)}
        if task.truth is None and task.strata is None:
            return measurement.give_up(Reason("only-outcomes-known", {}, self.name), measured_effects=intervals)
        try:
            families, hidden = self._draw_alike(step_1_rng), self._draw_within_strata(strata_rng)
        except EvidenceError as error:
            return measurement.give_up(insufficient(error, self.name), measured_effects=intervals)
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
        if not component.declared and (reason := self._too_few_reason([overall, *families])):
            return measurement.give_up(reason, measured_effects=intervals)
        component = self._withhold_by_thresholds(component, table_rng)
        component = self._withhold_if_few_are_compared(keep_bs_only(component) if output.by_few else component)
        component = self._add_steps_reason(component, measurement.detail.funnel)
        return self._add_calibration_reason(component, strata_rng)

    def _too_few_reason(self, families: Sequence[_Means]) -> Reason | None:
        """Return a reason to name no most probable letter if standard errors are too large; otherwise ``None``.

        Each family has the groups' mean outcomes among one kind of people, such as those who proved right. The caller
        asks only if no letter is declared, because few people can show a large difference.
        """
        excess = max(family.error for family in families) / (LARGEST_ERROR * self.output.delta)
        if excess <= 1:
            return None
        # standard errors are proportional to 1 / sqrt(people), hence `excess**2`
        smallest = min(float(kind.counts[kind.compared].min()) for kind in self._kinds if kind.compared)
        usable = f"{smallest:,.0f} people of the smallest group compared"
        facts = {"unit": "person", "count": int(smallest), "needed": math.ceil(smallest * excess**2), "usable": usable}
        return Reason(TOO_FEW, facts, self.name)

    # ------------------------------------------------------------------------ people who are compared
    @property
    def _excluded(self) -> Mapping[str, str]:
        """Groups that the request excludes from comparisons, each with its reason."""
        return self.task.excluded.get(self.grouping.name, {})

    @cached_property
    def _kinds(self) -> list[_Kind]:
        """Kinds of people to compare: everybody with a known outcome, then those with each true outcome.

        Each group needs `LEAST_PEOPLE` people of a kind. At most `MOST_GROUPS` are compared, and no excluded ones.
        """
        is_known = (self.grouping.codes >= 0) & ~np.isnan(self.output.values)
        selections, kinds = {"": is_known}, list[_Kind]()  # by what is alike: masks of cells (people with equal data)
        if self.task.truth is not None:
            selections |= {alike: is_known & (self.task.truth == truth) for truth, alike in TRUTH_CLASSES}
        size, people = len(self.grouping.labels), self.task.table.people
        candidates = [index for index, label in enumerate(self.grouping.labels) if label not in self._excluded]
        for alike, cells in selections.items():
            counts = np.bincount(self.grouping.codes[cells], people[cells], size).astype(float)
            largest = sorted(candidates, key=counts.__getitem__, reverse=True)[:MOST_GROUPS]
            compared = sorted(index for index in largest if counts[index] >= LEAST_PEOPLE)
            if kinds and len(compared) < 2:
                compared = []  # there is nothing to compare the only group with
            missing = [self.grouping.labels[index] for index in candidates if index not in compared]
            kinds.append(_Kind(alike, cells, counts, compared, missing, {"alike": alike} if alike else {}))
            candidates = kinds[0].compared  # for the next kinds: the groups that are compared among everybody
        return kinds

    @cached_property
    def _compared_grouping(self) -> Grouping:
        """Grouping with the groups compared in step 2 only; all other cells have the code -1."""
        return self.grouping.only(self._kinds[0].compared)

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
            # groups that are compared among everybody (the first kind), or all groups if none is
            for index in self._kinds[0].compared or range(len(self.grouping.labels)):
                # if the truth were only known of people with one of the decisions, error rates would be 0 or 1
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
    def _draw_kind(self, kind: _Kind, rng: np.random.Generator) -> _Means:
        """Draw the mean outcome of each group that has enough people of a kind (all, or of one true outcome)."""
        output, grouping = self.output, self.grouping.only(kind.compared)
        cells = kind.cells & (grouping.codes >= 0)
        sample = sample_of(self.task.table, grouping, output.values, cells, binary=output.binary)
        return _Means(kind.alike, sample.draw_means(rng), grouping.labels, sample.means if output.binary else None)

    def _draw_alike(self, rng: np.random.Generator, *, with_all: bool = False) -> list[_Means]:
        """Draw mean outcomes by group of people with the same true outcome, within strata and, `with_all`, of all."""
        kinds = self._kinds if with_all else self._kinds[1:]
        families = [self._draw_kind(kind, rng.spawn(1)[0]) for kind in kinds if kind.compared]
        if self.task.strata is not None:
            sample, codes = self._sample_by_stratum(self.task.strata, self._kinds[0].cells)
            means = stratified_means(sample, codes, rng.spawn(1)[0], DRAWS)
            families.append(_Means(f"with the same {self.task.strata.name}", means, self._compared_grouping.labels))
        return families

    def _draw_within_strata(self, rng: np.random.Generator) -> tuple[HiddenEffect, ...]:
        """Draw the differences between groups within each large stratum and, with a truth, those by stratum and truth.

        Two groups have a single effect by stratum and truth: the root of the mean square of its differences.
        """
        strata, truth, labels = self.task.strata, self.task.truth, self._compared_grouping.labels
        if strata is None:
            return ()
        everybody, *truth_kinds = self._kinds
        fit = partial(
            within_strata, labels=labels, scale=self.output.delta, least=LEAST_PEOPLE, kinds=1 if truth is None else 2
        )
        sample, codes = self._sample_by_stratum(strata, everybody.cells)
        names = [f"{strata.name}: {label}" for label in strata.labels]
        hidden = fit(sample, codes, names, rng=rng, max_strata=MOST_STRATA)
        if truth is None:
            return hidden
        codes_by_truth = np.where(strata.codes >= 0, 2 * strata.codes + (truth == 1), -1)  # two for each stratum
        cells = np.logical_or.reduce([kind.cells for kind in truth_kinds])
        sample, codes = self._sample_by_stratum(replace(strata, codes=codes_by_truth), cells)
        truth_rng, typical = rng.spawn(1)[0], f"{strata.name}, by truth"
        return hidden + fit(sample, codes, 2 * names, rng=truth_rng, max_strata=2 * MOST_STRATA, typical=typical)

    def _sample_by_stratum(self, strata: Grouping, cells: Mask) -> tuple[Sample, Integers]:
        """Return the sample of those people of the selected cells whose stratum is known, and its cells' strata."""
        has_stratum = cells & (strata.codes >= 0)
        sample = self._sample(self.output.values, has_stratum, binary=self.output.binary)
        return sample, strata.codes[has_stratum & (self._compared_grouping.codes >= 0)]

    def _draw_largest(self, family: _Means, rng: np.random.Generator) -> Floats:
        """Draw the largest absolute difference between groups; three or more groups are fitted jointly."""
        return np.asarray(np.abs(fitted_together(family.gaps, self.output.delta, rng.spawn(1)[0])).max(axis=1))

    def _missing_values(self, sample: Sample) -> MissingValues:
        low, high = (quantile(sample.values, sample.people, share) for share in (0.025, 0.975))  # without outliers
        return MissingValues(self.task, self.output, self._compared_grouping, self.grouping.codes < 0, high - low)

    # ------------------------------------------------------------------------ words and tables
    def _reason_for(self, letter: Letter, families: Sequence[_Means], overall: _Means, evidence: Evidence) -> Reason:
        """Return a letter's reason; `families` are groups' means among alike people, `overall` among all people."""
        if letter is Letter.UCS:
            return Reason("outcomes-even", {"effect": float(evidence.step_2.mean())}, self.name)
        if letter is Letter.DSBS:
            return Reason("outcomes-differ", self._gap_facts(overall), self.name)
        worst_family = max(families, key=lambda family: float(np.abs(family.gaps.mean(axis=0)).max()))
        return Reason("unequal-among-alike", {"alike": worst_family.alike, **self._gap_facts(worst_family)}, self.name)

    def _gap_facts(self, family: _Means) -> dict[str, Any]:
        """Return facts for a reason: names, rates (of decisions) and difference of the two most different groups."""
        gaps = family.gaps.mean(axis=0)  # for each pair, the second group's mean less the first's
        index = int(np.abs(gaps).argmax())
        pair = [*combinations(range(len(family.labels)), 2)][index]
        low, high = pair if gaps[index] > 0 else pair[::-1]
        facts = {"low": family.labels[low], "high": family.labels[high], "effect": float(abs(gaps[index]))}
        if family.rates is None:
            return facts
        return facts | {"low_rate": float(family.rates[low]), "high_rate": float(family.rates[high])}

    def _add_calibration_reason(self, component: Component, rng: np.random.Generator) -> Component:
        """Add a reason if the letter is BS although the score is calibrated in all groups (Kleinberg's theorem)."""
        task = self.task
        if component.letter is not Letter.BS or task.truth is None or task.scores is None:
            return component
        has_truth = (self.grouping.codes >= 0) & ~np.isnan(task.truth) & ~np.isnan(task.scores)
        sample = self._sample(task.truth, has_truth, binary=True)
        tenth_of_cell = tenths_of(task.table, task.scores).codes[has_truth & (self._compared_grouping.codes >= 0)]
        try:
            gaps = differences(stratified_means(sample, tenth_of_cell, rng.spawn(1)[0], DRAWS))
        except EvidenceError:
            return component  # groups without a common tenth of the scores: nothing can be said of calibration
        if largest_interval(gaps).high > self.output.delta:
            return component  # with equal scores, groups may prove right unequally often: not calibrated
        return replace(component, reasons=(*component.reasons, Reason("calibrated-but-unequal", {}, self.name)))

    def _withhold_if_few_are_compared(self, component: Component) -> Component:
        """Withhold UCS and DSBS if too many people, of all or of one kind, are in groups that are not compared."""
        for kind in self._kinds:
            if kind.counts[kind.compared].sum() < (1 - MOST_UNKNOWN) * kind.counts.sum():
                return keep_bs_only(component, Reason("letter-covers-too-few", kind.facts, self.name))
        return component

    def add_notes(self, component: Component) -> Component:
        """Add reasons that name the groups that the letter does not cover, and groups with nearly the same names."""
        kinds = self._kinds if component.effects["step_2"] is not None else ()
        facts = [("groups-not-compared", {"groups": kind.missing, **kind.facts}) for kind in kinds]
        facts.append(("similar-group-names", {"groups": _similar_names(self.grouping.labels)}))
        notes = [Reason(code, names, self.name) for code, names in facts if names["groups"]]
        return replace(component, reasons=(*component.reasons, *notes))

    def _withhold_by_thresholds(self, component: Component, rng: np.random.Generator) -> Component:
        """Withhold UCS and DSBS of scores if groups surely differ at a threshold of the map by more than is tolerated.

        The map (`ThresholdMap`) has thresholds over the range of scores. At each, the shares of people with at least
        this score are compared: of people alike in truth or stratum and, for UCS, of everybody.
        """
        rows, scores = self._threshold_map.thresholds, self.task.scores
        if component.letter in {None, Letter.BS} or scores is None:
            return component
        largest_gap, reasons = self.task.delta, component.reasons
        for threshold in (row.threshold or 0.0 for row in rows):
            selected = np.where(np.isnan(self.output.values), np.nan, scores >= threshold)
            at_threshold = replace(self, output=replace(self.output, values=selected, binary=True))
            families = at_threshold._draw_alike(rng, with_all=component.letter is Letter.UCS)  # noqa: SLF001
            pair_count = sum(math.comb(len(family.labels), 2) for family in families)
            for family in families:
                sure_gap = family.sure_gap(len(rows) * pair_count)
                if sure_gap > largest_gap:
                    facts = {"threshold": f"{threshold:.6g}", "alike": family.alike, **self._gap_facts(family)}
                    reason = Reason("letter-depends-on-threshold", facts, self.name)
                    largest_gap, reasons = sure_gap, (reason, *component.reasons)
        return replace(component, declared=component.declared and reasons == component.reasons, reasons=reasons)

    def _add_steps_reason(self, component: Component, document: FunnelDocument) -> Component:
        """Add a reason that names the steps at which groups surely differ, since the letter covers the end only."""
        names = [
            step.step
            for step in document.steps
            if any(row.suspicious or (row.difference.high or 0.0) < -self.task.delta for row in step.groups)
        ]
        if component.letter is None or len(document.steps) < 2 or not names:
            return component
        return replace(component, reasons=(*component.reasons, Reason("steps-differ", {"steps": names}, self.name)))

    def _group_tables(self, rng: np.random.Generator) -> OutcomesComponent:
        """Return the tables of the component: rows of all groups, threshold map of a score, funnel of the steps."""
        task, output = self.task, self.output
        result = outcome_table(task.table, self.grouping, task.outcomes(output), self._excluded, task.confidence, rng)
        notes = {alike: f"not compared among people who {alike}: too few" for _, alike in TRUTH_CLASSES}  # by kind
        notes[""] = f"not compared: fewer than {LEAST_PEOPLE} people, or not one of the {MOST_GROUPS} largest groups"
        groups = []
        for row in result.groups:
            texts = [notes[kind.alike] for kind in self._kinds if row.group in kind.missing]
            groups.append(replace(row, not_compared="; ".join(texts) or None))
        return OutcomesComponent(
            **vars(replace(result, groups=tuple(groups))),
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
        if self.output.binary or task.scores is None or len(self._kinds[0].compared) < 2:
            return NO_MAP
        return threshold_map(task.table, self._compared_grouping, task.scores, task.truth, task.threshold)

    def _funnel(self, rng: np.random.Generator) -> FunnelDocument:
        """Return the outcomes by step of the process; empty without steps, and for all outcomes but the first."""
        task = self.task
        if not task.steps or self.output is not task.outputs[0]:
            return NO_FUNNEL
        return funnel(
            task.table, (self.grouping, self._compared_grouping), task.steps, self._excluded, task.confidence, rng
        )
