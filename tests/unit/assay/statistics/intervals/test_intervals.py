"""Tests of intervals from draws: analytic posteriors, and highest density compared with equal tails."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.errors import EvidenceError, OutOfBounds, TooFewObservations
from assay.model import Interval
from assay.statistics.intervals.credible import (
    absolute_value_interval,
    bounded_interval,
    equal_tailed,
    hpdi,
    interval_of,
)

NORMAL = stats.norm(2.0, 3.0).ppf((np.arange(20_000) + 0.5) / 20_000)
EXPONENTIAL = stats.expon.ppf((np.arange(20_000) + 0.5) / 20_000)


@pytest.mark.parametrize("level", [0.5, 0.89, 0.95])
def test_highest_density_and_equal_tailed_intervals_of_a_normal_are_the_central_interval(level):
    low, high = stats.norm(2.0, 3.0).interval(level)
    for limits in (hpdi(NORMAL, level), equal_tailed(NORMAL, level)):
        assert (limits.low, limits.high) == pytest.approx((low, high), abs=0.02)


def test_the_highest_density_interval_of_an_exponential_starts_at_zero():
    limits = hpdi(EXPONENTIAL, 0.89)
    assert limits.low == pytest.approx(0.0, abs=1e-3)
    assert limits.high == pytest.approx(-np.log(0.11), abs=0.01)


@pytest.mark.parametrize("level", [0.3, 0.89, 0.95])
def test_the_highest_density_interval_is_not_longer_than_the_equal_tailed_interval(level):
    draws = np.random.default_rng(1).gamma(2.0, size=3_000)
    shortest, tails = hpdi(draws, level), equal_tailed(draws, level)
    assert shortest.high - shortest.low <= tails.high - tails.low
    assert np.mean((draws >= shortest.low) & (draws <= shortest.high)) >= level


@pytest.mark.parametrize("kind", [hpdi, equal_tailed])
def test_scaling_and_shifting_the_draws_scales_and_shifts_the_limits(kind):
    draws = np.random.default_rng(2).gamma(2.0, size=999)
    plain, moved = kind(draws), kind(5 + 2 * draws)
    assert (moved.low, moved.high) == pytest.approx((5 + 2 * plain.low, 5 + 2 * plain.high))


def test_a_summary_has_the_mean_of_the_draws_and_equal_tailed_limits():
    limits = equal_tailed(EXPONENTIAL, 0.9)
    assert interval_of(EXPONENTIAL, 0.9) == Interval(float(EXPONENTIAL.mean()), limits.low, limits.high, 0.9)


@pytest.mark.parametrize("kind", [hpdi, equal_tailed, interval_of])
def test_the_interval_of_a_single_draw_has_the_draw_as_both_limits(kind):
    assert (kind([0.25]).low, kind([0.25]).high) == (0.25, 0.25)


@pytest.mark.parametrize("kind", [hpdi, equal_tailed, interval_of])
def test_an_interval_of_an_empty_list_of_draws_is_refused(kind):
    with pytest.raises(TooFewObservations):
        kind([])


@pytest.mark.parametrize("kind", [hpdi, equal_tailed, interval_of])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_draw_that_is_not_finite_is_refused(kind, wrong):
    with pytest.raises(EvidenceError, match="1 of 3 draws"):
        kind([0.1, wrong, 0.2])


@pytest.mark.parametrize("kind", [hpdi, equal_tailed, interval_of])
def test_draws_with_two_dimensions_and_impossible_levels_are_refused(kind):
    with pytest.raises(OutOfBounds, match="one-dimensional"):
        kind(np.ones((3, 2)))
    with pytest.raises(OutOfBounds, match="level"):
        kind([0.1, 0.2], 1.0)


STANDARD = stats.norm.ppf((np.arange(400) + 0.5) / 400)


@pytest.mark.slow
@pytest.mark.parametrize("interval", [absolute_value_interval, bounded_interval])
@pytest.mark.parametrize("truth", [0.0, 0.5, 1.5, 3.0, 5.5, 9.0])
def test_bounded_intervals_have_their_nominal_coverage(interval, truth):
    seen = np.random.default_rng(11).normal(truth, 1, 700)
    held = [found.low - 0.02 <= truth <= found.high + 0.02 for found in (interval(one + STANDARD) for one in seen)]
    assert np.mean(held) == pytest.approx(0.95, abs=0.02)


def test_an_estimate_far_below_the_bound_does_not_narrow_the_interval():
    below, far = (bounded_interval(STANDARD + one) for one in (-2.0, -50.0))
    assert below.low == far.low == 0.0
    assert 0.3 < far.high < below.high < 1.0
    assert below.estimate == far.estimate == 0.0


def test_far_from_the_bound_intervals_have_equal_tails():
    tails = equal_tailed(STANDARD + 9.0)
    for interval in (absolute_value_interval, bounded_interval):
        assert (interval(STANDARD + 9.0).low, interval(STANDARD + 9.0).high) == (tails.low, tails.high)
    assert absolute_value_interval(STANDARD - 9.0).low == pytest.approx(tails.low)
