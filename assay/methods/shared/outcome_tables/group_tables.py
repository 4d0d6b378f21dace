"""Table of outcomes by the groups of a column or an intersection of columns: rates, intervals, tests, error rates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from assay.document import EffectDocument
from assay.methods.shared.outcome_tables.decision_table import UNKNOWN, DecisionTable, Grouping
from assay.methods.shared.outcome_tables.effects import (
    DRAWS,
    FOUR_FIFTHS,
    Sample,
    below_four_fifths,
    differences,
    fitted_rates,
)
from assay.methods.shared.outcome_tables.rates import (
    CI_LEVEL,
    ERROR_RATES,
    FEW_EXPECTED,
    auc,
    disparity,
    error_rates,
    fisher_mid_p,
    flagged_by_chance,
    jeffreys,
    least_expected,
    quantile,
    two_proportion_z,
)
from assay.methods.shared.outcome_tables.rows import GroupOutcome, OutcomeTable, TenthDocument
from assay.model import Floats
from assay.statistics.hypothesis_tests.distribution import holm
from assay.statistics.intervals.credible import equal_tailed
from assay.statistics.intervals.worst_block import largest_interval
from assay.statistics.special import special

NO_PEOPLE = EffectDocument(why="not estimable: nobody with a known outcome")
NO_RATIO = EffectDocument(why="not estimable: the reference rate is 0")
NO_REFERENCE = EffectDocument(why="not estimable: no group has a rate")


@dataclass(frozen=True)
class Outcomes:
    """Decision, truth and score of each cell of a `DecisionTable`."""

    favourable: Floats
    """Shape (cells,): 1 or 0, NaN if the outcome is unknown."""
    truth: Floats | None
    """Shape (cells,): 1 if the favourable decision is right, 0 if it is wrong, NaN if that is unknown."""
    scores: Floats | None
    """Shape (cells,): scores, NaN if unknown. With scores, tables have AUC and calibration instead of error rates."""


def outcome_table(
    table: DecisionTable,
    grouping: Grouping,
    outcomes: Outcomes,
    exclusions: Mapping[str, str],
    confidence: float,
    rng: np.random.Generator,
) -> OutcomeTable:
    """Compute the row of each group of a grouping, and compare the groups with the one that has the highest rate.

    `exclusions` are excluded groups, each with its reason: they have a row, but are not compared. A group is suspicious
    if its ratio is below four fifths with at least the probability `confidence`.
    """
    table_counts = _TableCounts(table, grouping, outcomes)
    rows = [table_counts.row(index) for index in range(len(grouping.labels))]
    rows = [replace(row, excluded=exclusions.get(row.group or "")) for row in rows]
    indices = [index for index, row in enumerate(rows) if row.people and row.excluded is None]  # of compared groups
    unknown_row = table_counts.row(UNKNOWN)
    if not indices:
        return OutcomeTable(tuple(rows), unknown_row)
    # the group with the highest rate; of several, the largest
    reference = max(indices, key=lambda index: (rows[index].rate.estimate or 0.0, rows[index].people or 0))
    sample = table_counts.sample()
    separate_means = sample.draw_means(rng.spawn(1)[0], DRAWS)
    joint_means = np.zeros_like(separate_means)  # fitted to all groups together: the highest of many rates is too high
    joint_means[:, indices] = fitted_rates(separate_means[:, indices], rng.spawn(1)[0])
    interval_level = _adjusted_level(separate_means[:, indices])
    for index in indices:  # the reference too, whose difference from itself is 0
        draws_of_both = [(draws[:, index], draws[:, reference]) for draws in (separate_means, joint_means)]
        rows[index] = _compare_row(rows[index], rows[reference], draws_of_both, interval_level)
        if index != reference and not table.weights and not table.bundles:  # the tests need independent people
            rows[index] = _add_test(rows[index], rows[reference])
    if len(indices) > 1:
        for index, chance in zip(indices, below_four_fifths(joint_means[:, indices]).tolist(), strict=True):
            rows[index] = replace(rows[index], below_four_fifths=chance, suspicious=chance >= confidence)
        p_values = {index: p for index in indices if (p := rows[index].p) is not None}
        for index, p in zip(p_values, holm([*p_values.values()]).tolist(), strict=True):
            rows[index] = replace(rows[index], holm=p)
    totals = sample.totals[indices]
    pooled_rate = float(np.nansum(sample.means[indices] * totals) / totals.sum())
    effective_sizes = table_counts.effective_people(separate_means)[indices]
    # `even_flagged`: how often the four-fifths rule would flag a service with the same rate for all groups
    even_flagged = flagged_by_chance(effective_sizes, pooled_rate, rng.spawn(1)[0]) if len(indices) > 1 else None
    return OutcomeTable(tuple(rows), unknown_row, reference=rows[reference].group, even_flagged=even_flagged)


def _adjusted_level(rate_draws: Floats) -> float:
    """Return the level of the interval of each comparison with the reference group, so that coverage is .95.

    The reference was chosen for its high rate among groups that may have the highest. The effective number of these
    groups (inverse Simpson index of their probabilities) adjusts the level as Bonferroni's number of tests does. With
    two groups, no adjustment is needed. `rate_draws` have the shape (draws, groups).
    """
    if rate_draws.shape[1] < 3:
        return CI_LEVEL
    p_highest = np.bincount(rate_draws.argmax(axis=1), minlength=rate_draws.shape[1]) / len(rate_draws)
    return 1 - (1 - CI_LEVEL) * float((p_highest**2).sum())


def _compare_row(
    row: GroupOutcome, reference: GroupOutcome, draws_of_both: Sequence[tuple[Floats, Floats]], level: float
) -> GroupOutcome:
    """Return the row of a group, compared with the reference group.

    `draws_of_both` are draws of both rates: separate ones, and ones fitted jointly with all groups. Intervals cover
    both kinds: the reference was chosen for its high rate, and with 14 groups, separate draws covered .83 of ratios.
    """
    rate, reference_rate = row.rate.estimate, reference.rate.estimate
    if rate is None or reference_rate is None:
        return replace(row, ratio=NO_REFERENCE, difference=NO_REFERENCE)
    observed_ratio = disparity(rate, reference_rate).ratio
    ratio = NO_RATIO
    if row.group == reference.group:
        difference = EffectDocument(0.0)
        ratio = EffectDocument(1.0) if reference_rate else NO_RATIO
    else:
        gaps = [draws - reference_draws for draws, reference_draws in draws_of_both]
        difference = drawn_interval(rate - reference_rate, *gaps, level=level)
        if observed_ratio is not None:  # `maximum`: never divides by 0
            ratios = [draws / np.maximum(reference_draws, 1e-300) for draws, reference_draws in draws_of_both]
            ratio = drawn_interval(observed_ratio, *ratios, level=level)
    return replace(
        row,
        ratio=ratio,
        difference=difference,
        shortfall=max(0.0, (reference_rate - rate) * (row.people or 0)),
        flagged=None if observed_ratio is None else observed_ratio < FOUR_FIFTHS - 1e-12,  # four fifths is not below
        disparities={
            name: disparity(error.estimate, reference.error_rates.get(name, EffectDocument()).estimate)
            for name, error in row.error_rates.items()
        },
    )


def _add_test(row: GroupOutcome, reference: GroupOutcome) -> GroupOutcome:
    """Add the z statistic and the p-value of the comparison with the reference group."""
    sizes = [reference.people or 0, row.people or 0]
    successes = [(group.rate.estimate or 0.0) * size for group, size in zip((reference, row), sizes, strict=True)]
    z = two_proportion_z(successes, sizes)
    if z is None:
        return row
    counts = [round(number) for number in successes]
    if least_expected(successes, sizes) < FEW_EXPECTED:
        return replace(row, z=z, p=fisher_mid_p(counts, sizes), test="fisher-mid-p")
    return replace(row, z=z, p=float(2 * special.ndtr(-abs(z))), test="z")


def drawn_interval(estimate: float, *samples: Floats, level: float = CI_LEVEL) -> EffectDocument:
    """Return an estimate with the smallest interval that contains it and the interval of each of the `samples`."""
    limits = [equal_tailed(draws, level) for draws in samples]
    low, high = min(ends.low for ends in limits), max(ends.high for ends in limits)
    # `level` may be adjusted for several comparisons, so that the interval covers with the probability `CI_LEVEL`
    return EffectDocument(estimate, min(low, estimate), max(high, estimate), CI_LEVEL)


def largest_gap(sample: Sample, rng: np.random.Generator, least: int, draws: int = DRAWS) -> EffectDocument:
    """Return the largest difference of means between groups of at least `least` people, or why there is none."""
    indices = np.flatnonzero((sample.totals > 0) & (sample.per_group(sample.people) >= least))
    if len(indices) < 2:
        return EffectDocument(why="not estimable: fewer than two groups have such people")
    interval = largest_interval(differences(sample.draw_means(rng, draws)[:, indices]))
    gap = float(np.ptp(sample.means[indices]))  # as observed: the interval of the draws may miss it, so it is widened
    return EffectDocument(gap, min(interval.low, gap), max(interval.high, gap), interval.level)


@dataclass(frozen=True)
class _TableCounts:
    """The cells of a table with groups and outcomes; computes the rows of single groups from them."""

    table: DecisionTable
    grouping: Grouping
    outcomes: Outcomes

    def sample(self) -> Sample:
        """Return the known outcomes of people with a known group."""
        known_cells = ~np.isnan(self.outcomes.favourable) & (self.grouping.codes >= 0)
        return sample_of(self.table, self.grouping, self.outcomes.favourable, known_cells, binary=True)

    def effective_people(self, means: Floats) -> Floats:
        """Return the effective number of people of each group, from weights or from the variance between clusters."""
        sample = self.sample()
        if sample.bundles is None:
            return sample.effective
        rates = np.clip(np.nan_to_num(sample.means), 0.01, 0.99)  # at 0 or 1, the binomial variance would be 0
        variance = np.maximum(means.var(axis=0), 1e-12)  # never divides by 0
        return np.asarray(np.minimum(sample.per_group(sample.people), np.maximum(1.0, rates * (1 - rates) / variance)))

    def row(self, code: int) -> GroupOutcome:
        """Return the row of the group with index `code`, or of people of `UNKNOWN` group, without comparisons."""
        outcomes, table = self.outcomes, self.table
        in_group = self.grouping.codes == code
        known_cells = in_group & ~np.isnan(outcomes.favourable)
        row = GroupOutcome(
            group=None if code == UNKNOWN else self.grouping.labels[code],
            people=int(table.people[known_cells].sum()),
            undecided=int(table.people[in_group & ~known_cells].sum()),
            favourable=float((table.weight_sums[known_cells] * outcomes.favourable[known_cells]).sum()),
        )
        if not row.people:
            return replace(row, rate=NO_PEOPLE)
        row = replace(row, rate=self._rate_interval(known_cells, outcomes.favourable))
        if code == UNKNOWN:
            return row
        if outcomes.scores is not None:
            has_score = in_group & ~np.isnan(outcomes.scores)
            if has_score.any():
                row = replace(row, mean_score=self._mean_interval(has_score, outcomes.scores))
        return row if outcomes.truth is None else self._add_errors(row, in_group, known_cells, outcomes.truth)

    def _add_errors(
        self, row: GroupOutcome, in_group: NDArray[np.bool_], known_cells: NDArray[np.bool_], truth: Floats
    ) -> GroupOutcome:
        """Add confusion matrix and error rates (with scores: AUC and calibration) of the people with a known truth."""
        table, favourable = self.table, self.outcomes.favourable
        has_truth = known_cells & ~np.isnan(truth)
        masks = {
            name: has_truth & (favourable == decision) & (truth == truth_value)
            for name, decision, truth_value in (("tp", 1, 1), ("fp", 1, 0), ("fn", 0, 1), ("tn", 0, 0))
        }
        matrix = {name: float(table.weight_sums[mask].sum()) for name, mask in masks.items()}
        sample = sample_of(table, self.grouping, favourable, has_truth, binary=True)
        effective_people = sample.effective[self.grouping.labels.index(row.group or "")]
        if self.outcomes.scores is None:
            total = max(sum(matrix.values()), 1e-300)  # never divides by 0
            rates = error_rates(matrix, people_per_count=float(effective_people / total))
            if table.bundles:  # people of a cluster are no independent people
                for name, (top_cells, bottom_cells) in ERROR_RATES.items():
                    if rates[name].estimate is not None:
                        favoured = _union_of(masks, top_cells).astype(float)
                        rates[name] = self._rate_interval(_union_of(masks, bottom_cells), favoured)
            return replace(row, matrix=matrix, error_rates=rates)
        has_score = in_group & ~np.isnan(truth) & ~np.isnan(self.outcomes.scores)
        scores = self.outcomes.scores[has_score]
        auc_of_scores = auc(scores, table.weight_sums[has_score], truth[has_score] == 1)
        return replace(row, auc=auc_of_scores, tenths=self._tenths(has_score, truth))

    def _tenths(self, has_score: NDArray[np.bool_], truth: Floats) -> tuple[TenthDocument, ...]:
        """Return a group's mean score and share of people proved right, in each tenth of all people's scores."""
        assert self.outcomes.scores is not None  # noqa: S101  called for scores only
        tenths = tenths_of(self.table, self.outcomes.scores)
        rows = []
        for tenth, above in enumerate(tenths.ends):  # above: the end that all scores of the tenth exceed
            in_tenth = has_score & (tenths.codes == tenth)
            people = int(self.table.people[in_tenth].sum())
            if people:
                mean = float(np.average(self.outcomes.scores[in_tenth], weights=self.table.weight_sums[in_tenth]))
                rows.append(TenthDocument(above, people, mean, self._rate_interval(in_tenth, truth)))
        return tuple(rows)

    def _rate_interval(self, cells: NDArray[np.bool_], values: Floats) -> EffectDocument:
        """Return the share of 1 among the `values` (0 or 1) of the selected cells, with its interval."""
        weights = self.table.weight_sums[cells]
        positives, total = float((weights * values[cells]).sum()), float(weights.sum())
        if not self.table.bundles:
            return jeffreys(positives, total, total**2 / float(self.table.squared_weight_sums[cells].sum()))
        return drawn_interval(positives / total, self._draw_mean(cells, values, binary=True))

    def _mean_interval(self, cells: NDArray[np.bool_], values: Floats) -> EffectDocument:
        mean = float(np.average(values[cells], weights=self.table.weight_sums[cells]))
        return drawn_interval(mean, self._draw_mean(cells, values, binary=False))

    def _draw_mean(self, cells: NDArray[np.bool_], values: Floats, *, binary: bool) -> Floats:
        """Draw the mean of selected cells, shape (draws,); the seed is fixed, so that equal data give equal draws."""
        one_group = Grouping(self.grouping.name, ("all",), np.zeros_like(self.grouping.codes))
        sample = sample_of(self.table, one_group, values, cells, binary=binary)
        return sample.draw_means(np.random.Generator(np.random.PCG64(0)), DRAWS)[:, 0]


def _union_of(cells: Mapping[str, NDArray[np.bool_]], names: str) -> NDArray[np.bool_]:
    """Return the union of cells of the confusion matrix; `names` are separated by blanks, such as "tp fn"."""
    return np.asarray(np.any([cells[name] for name in names.split()], axis=0))


def sample_of(
    table: DecisionTable, grouping: Grouping, values: Floats, cells: NDArray[np.bool_], *, binary: bool
) -> Sample:
    """Return the outcomes (`values`) of the selected cells of a table as a sample by group."""
    return Sample(
        values=values[cells],
        groups=grouping.codes[cells],
        people=table.people[cells],
        weight_sums=table.weight_sums[cells],
        squares=table.squared_weight_sums[cells],
        bundles=np.array(table.bundles, dtype=np.int64)[cells] if table.bundles else None,
        size=len(grouping.labels),
        binary=binary,
    )


@dataclass(frozen=True)
class Tenths:
    """Tenths of a score: the lower end of each, ``None`` for the first, and the index (code) of each cell's tenth."""

    ends: tuple[float | None, ...]
    codes: NDArray[np.int64]


def tenths_of(table: DecisionTable, scores: Floats) -> Tenths:
    """Split all people at the deciles of their score; equal scores are in one tenth, and empty tenths are left out."""
    is_known = ~np.isnan(scores)
    cuts = [quantile(scores[is_known], table.people[is_known], tenth / 10) for tenth in range(1, 10)]
    ends = np.unique(cuts)
    # unknown scores get the code of the last tenth
    codes = np.searchsorted(ends, np.where(is_known, scores, np.inf), side="left").astype(np.int64)
    return Tenths((None, *ends.tolist()), codes)
