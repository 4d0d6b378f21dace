"""Tests of correlation and slope: a second implementation, recovery and errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.errors import OutOfBounds, TooFewObservations, ZeroVariance
from assay.statistics.intervals.correlation import pearson, slope


def correlated(seed, n=30, rho=0.6):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return x, rho * x + np.sqrt(1 - rho * rho) * rng.normal(size=n)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [4, 10, 200])
def test_pearson_with_p_and_interval_agrees_with_scipy(seed, n):
    x, y = correlated(seed, n)
    ours, theirs = pearson(x, y), stats.pearsonr(x, y)
    limits = theirs.confidence_interval(0.95)
    assert (ours.r, ours.p, ours.n) == pytest.approx((theirs.statistic, theirs.pvalue, n), rel=1e-9, abs=1e-14)
    assert (ours.low, ours.high) == pytest.approx((limits.low, limits.high), rel=1e-9)


def test_pearson_is_symmetric_and_does_not_depend_on_the_units():
    x, y = correlated(1)
    assert pearson(y, x).r == pytest.approx(pearson(x, y).r)
    assert pearson(-3 * x + 5, 1e6 * y).r == pytest.approx(-pearson(x, y).r)


@pytest.mark.parametrize("sign", [1, -1])
def test_numbers_on_a_line_correlate_perfectly_with_an_interval_of_no_width_or_none(sign):
    found = pearson([0, 1, 2, 3], [0, sign, 2 * sign, 3 * sign])
    assert found.r == pytest.approx(sign)
    assert found.p < 1e-10
    assert found.low is None or found.low == pytest.approx(found.high)


def test_a_correlation_of_one_has_p_zero_and_a_correlation_of_zero_has_p_one():
    across, along = [-1, 1, -1, 1], [-1, -1, 1, 1]
    same, none = pearson(across, across), pearson(across, along)
    assert (same.r, same.p, same.low, same.high) == (1, 0, None, None)
    assert (none.r, none.p) == (0, pytest.approx(1))
    assert (none.low, none.high) == pytest.approx((-np.tanh(1.959964), np.tanh(1.959964)))


def test_a_correlation_of_three_pairs_has_a_coefficient_but_no_interval():
    found = pearson([0, 1, 2], [0, 2, 1])
    assert (found.r, found.low, found.high) == (pytest.approx(0.5), None, None)


def test_the_slope_equals_the_least_squares_slope():
    x, y = correlated(2, 60)
    assert slope(x, y, np.random.default_rng(0)).estimate == pytest.approx(stats.linregress(x, y).slope)


def test_the_interval_of_a_slope_equals_the_textbook_interval_if_all_errors_have_one_variance():
    x, y = correlated(3, 400)
    found, usual = slope(x, y, np.random.default_rng(1)), stats.linregress(x, y)
    half = 1.96 * usual.stderr
    assert (found.low, found.high) == pytest.approx((usual.slope - half, usual.slope + half), abs=0.3 * usual.stderr)


@pytest.mark.slow
def test_the_interval_of_a_slope_has_about_its_nominal_coverage_if_errors_grow_with_x():
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(400):
        x = rng.uniform(0, 1, 90)
        found = slope(x, 0.3 + 0.5 * x + rng.normal(0, 0.05 + 0.2 * x), rng, draws=800)
        held += found.low <= 0.5 <= found.high
    assert 0.91 <= held / 400 <= 0.98


def test_a_flat_line_has_slope_zero():
    found = slope([0, 1, 2, 3], [7, 7, 7, 7], np.random.default_rng(5))
    assert (found.estimate, found.low, found.high) == pytest.approx((0, 0, 0), abs=1e-9)


@pytest.mark.parametrize("work", [pearson, lambda x, y: slope(x, y, np.random.default_rng(0))])
class TestRefusals:
    def test_a_correlation_or_slope_of_two_pairs_is_refused(self, work):
        with pytest.raises(TooFewObservations, match="2 pairs"):
            work([0, 1], [0, 1])

    def test_a_correlation_or_slope_with_a_constant_first_variable_is_refused(self, work):
        with pytest.raises(ZeroVariance, match="first of the two numbers is always 4"):
            work([4, 4, 4], [0, 1, 2])

    def test_a_correlation_or_slope_of_lists_of_different_lengths_is_refused(self, work):
        with pytest.raises(OutOfBounds, match="not pairs"):
            work([0, 1, 2, 3], [0])


def test_a_correlation_with_a_constant_second_variable_is_refused():
    with pytest.raises(ZeroVariance, match="second of the two numbers is always 7"):
        pearson([0, 1, 2], [7, 7, 7])
