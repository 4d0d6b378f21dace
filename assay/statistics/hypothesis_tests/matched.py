"""Comparison of labels: symmetry of paired labels (Bowker), divergence, and base rates of groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import OutOfBounds, TooFewObservations
from assay.model import Floats, Integers, Interval
from assay.statistics.hypothesis_tests.distribution import check_paired
from assay.statistics.intervals.credible import equal_tailed

RATIO_DRAWS = 4_000
"""Number of posterior draws for the interval of a ratio."""


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
        raise OutOfBounds(f"groups must be indices of {len(values)} values, not {groups.min()} to {groups.max()}")
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
