"""Comparison of labels: symmetry of paired labels (Bowker), divergence, and base rates of groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import OutOfBounds, TooFewObservations
from assay.model import Floats, Integers, Interval
from assay.statistics.hypothesis_tests import divergence
from assay.statistics.hypothesis_tests.samples import check_paired
from assay.statistics.intervals.credible import equal_tailed
from assay.statistics.special import special

EXACT_UP_TO = 100_000
"""Maximum number of distinct statistics for which the distribution is exact (tens of milliseconds)."""

MERGED_DIGITS = 9
"""Decimal places at which statistics are equal: the same counts in another order must tie."""

TIE_SLACK = 1e-8
"""Rounding slack of a statistic, for each pair of labels."""

RATIO_DRAWS = 4_000
"""Number of posterior draws for the interval of a ratio."""


@dataclass(frozen=True)
class MatchedTest:
    """Result of a test for symmetric changes of labels."""

    statistic: float
    """``sum (n_ij - n_ji)**2 / (n_ij + n_ji)``; for two labels that is McNemar's."""
    df: int
    """Number of pairs of labels between which at least one profile changed."""
    p: float
    """Two-sided. It is 1 where no label changed."""
    distribution: Literal["exact", "chi-squared"]
    """``"exact"`` (conditional on the number of changes between every two labels) or ``"chi-squared"``."""


@dataclass(frozen=True)
class BaseRate:
    """Share of positive outputs of a group."""

    value: str
    records: int
    positives: int


@dataclass(frozen=True)
class ImpactRatio:
    """Ratio of two groups' base rates."""

    of: str
    to: str
    ratio: Interval | None
    """``rate(of) / rate(to)``; ``None`` if it does not exist (`why` then gives the reason)."""
    why: str | None = None


@dataclass(frozen=True)
class DisparateImpact:
    """Base rates of groups, and the ratio of every ordered pair."""

    rates: tuple[BaseRate, ...]
    ratios: tuple[ImpactRatio, ...]


def bowker(a: ArrayLike, b: ArrayLike) -> MatchedTest:
    """Test the symmetry of a table of paired labels.

    Parameters
    ----------
    a, b : array_like, shape (n,)
        Labels of the same profiles with two values of the attribute.

    Returns
    -------
    MatchedTest
        Exact if the changes are few enough to enumerate the possible outcomes; for few changes, the
        chi-squared distribution would be wrong.

    Raises
    ------
    TooFewObservations
        If there are no pairs.
    OutOfBounds
        If the two sides differ in the number of labels.

    References
    ----------
    .. [1] Bowker (1948), "A test for symmetry in contingency tables", J. Am. Stat. Assoc. 43.
    """
    table = _paired_counts(a, b)
    above = np.triu_indices(len(table), 1)
    first, second = table[above], table.T[above]
    changed = first + second > 0
    first, second = first[changed], second[changed]
    total = first + second
    statistic, df = float(((first - second) ** 2 / total).sum()), int(changed.sum())
    exact = _exact_p(statistic, total)
    if exact is not None:
        return MatchedTest(statistic, df, exact, "exact")
    return MatchedTest(statistic, df, float(special.chdtrc(df, statistic)), "chi-squared")


def jensen_shannon(a: ArrayLike, b: ArrayLike) -> float:
    """Compute the Jensen-Shannon divergence of two samples of labels.

    Returns
    -------
    float
        In [0, log 2] nats.

    Raises
    ------
    TooFewObservations
        If there are no labels on one side.
    """
    first, second = _labels(a), _labels(b)
    outcomes = np.union1d(first, second)
    counts = [np.bincount(np.searchsorted(outcomes, side), minlength=len(outcomes)) for side in (first, second)]
    return divergence.jensen_shannon(*counts)


def disparate_impact(
    positive: ArrayLike, groups: ArrayLike, values: Sequence[str], rng: np.random.Generator, level: float = 0.95
) -> DisparateImpact:
    """Compute the ratio of the base rates of every ordered pair of groups.

    Parameters
    ----------
    positive : array_like of bool, shape (n,)
        Whether a record's output is the positive one.
    groups : array_like of int, shape (n,)
        Index in `values` of each record's group.
    values : sequence of str
        Names of the groups.
    rng : Generator
        Draws base rates from their posteriors under Jeffreys' prior, independent of each other.
    level : float
        Share of the drawn ratios between the limits.

    Returns
    -------
    DisparateImpact
        A ratio is ``None``, with a reason, if a group has no records or the group `to` has no positives.

    Raises
    ------
    TooFewObservations
        If fewer than two groups have records, or no record is positive.
    OutOfBounds
        If there is not one group for each record, or a group is not an index of `values`.
    """
    rates = _base_rates(np.asarray(positive, dtype=bool), np.asarray(groups), values)
    present = [rate.value for rate in rates if rate.records]
    if len(present) < 2:
        raise TooFewObservations(f"base rates of two groups are needed; records are of {present or 'none'} only")
    if not any(rate.positives for rate in rates):
        raise TooFewObservations(
            f"none of {sum(rate.records for rate in rates)} records has the positive output; a ratio of base rates "
            "needs one at least"
        )
    samples = {
        rate.value: rng.beta(rate.positives + 0.5, rate.records - rate.positives + 0.5, RATIO_DRAWS) for rate in rates
    }
    return DisparateImpact(
        rates, tuple(_ratio(of, to, samples[of.value] / samples[to.value], level) for of, to in permutations(rates, 2))
    )


def _base_rates(positive: NDArray[np.bool_], groups: Integers, values: Sequence[str]) -> tuple[BaseRate, ...]:
    check_paired(positive, groups)
    if groups.size and (groups.min() < 0 or groups.max() >= len(values)):
        raise OutOfBounds(f"groups are places among {len(values)} values, not {groups.min()} to {groups.max()}")
    return tuple(
        BaseRate(name, int((groups == index).sum()), int(positive[groups == index].sum()))
        for index, name in enumerate(values)
    )


def _ratio(of: BaseRate, to: BaseRate, samples: Floats, level: float) -> ImpactRatio:
    for rate in (of, to):
        if rate.records == 0:
            return ImpactRatio(of.value, to.value, None, f"no record is of {rate.value!r}")
    if to.positives == 0:
        reason = f"none of {to.records} records of {to.value!r} has the positive output"
        return ImpactRatio(of.value, to.value, None, reason)
    estimate = (of.positives / of.records) / (to.positives / to.records)
    limits = equal_tailed(samples, level)
    # if none or all are positive, the estimate lies outside the posterior's limits
    return ImpactRatio(
        of.value, to.value, Interval(estimate, min(limits.low, estimate), max(limits.high, estimate), level)
    )


def _labels(labels: ArrayLike) -> NDArray[Any]:
    label_array = np.asarray(labels)
    if label_array.ndim != 1:
        raise OutOfBounds(f"labels are a row, not an array of shape {label_array.shape}")
    if label_array.size == 0:
        raise TooFewObservations("there are no labels; one at least is needed")
    return label_array


def _paired_counts(a: ArrayLike, b: ArrayLike) -> Floats:
    """Count pairs of labels, shape (labels, labels)."""
    first, second = _labels(a), _labels(b)
    check_paired(first, second)
    outcomes = np.union1d(first, second)
    table = np.zeros((len(outcomes), len(outcomes)))
    np.add.at(table, (np.searchsorted(outcomes, first), np.searchsorted(outcomes, second)), 1)
    return table


def _exact_p(statistic: float, totals: Floats) -> float | None:
    """Return the probability of a statistic as large if both directions of a change are equally likely.

    The number of changes in one direction is binomial for each pair of labels. Pairs of labels are added one
    by one, and equal sums are merged. Return ``None`` if there are too many sums.
    """
    values: Floats = np.zeros(1)
    probabilities: Floats = np.ones(1)
    for total in totals:
        one_way = np.arange(total + 1)
        if values.size * one_way.size > EXACT_UP_TO:
            return None
        log_p = (
            special.gammaln(total + 1)
            - special.gammaln(one_way + 1)
            - special.gammaln(total - one_way + 1)
            - total * np.log(2)
        )
        sums = np.add.outer(values, (2 * one_way - total) ** 2 / total).ravel()
        weights = np.multiply.outer(probabilities, np.exp(log_p)).ravel()
        values, places = np.unique(np.round(sums, MERGED_DIGITS), return_inverse=True)
        probabilities = np.asarray(np.bincount(places, weights=weights))
    slack = TIE_SLACK * (1 + len(totals))
    return min(1.0, float(probabilities[values >= statistic - slack].sum()))
