"""Tests of Wilson's interval: a second implementation, symmetry and coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.errors import OutOfBounds, TooFewObservations
from assay.statistics.intervals.credible import wilson


@pytest.mark.parametrize(("k", "n"), [(0, 10), (1, 7), (5, 10), (37, 40), (40, 40), (500, 12_345)])
def test_the_wilson_interval_agrees_with_scipy(k, n):
    ours, scipys = wilson(k, n), stats.binomtest(k, n).proportion_ci(method="wilson")
    assert (ours.low, ours.high) == pytest.approx((scipys.low, scipys.high), abs=1e-12)
    assert (ours.estimate, ours.level) == (k / n, 0.95)


@pytest.mark.parametrize("k", range(11))
def test_swapping_successes_and_failures_mirrors_the_interval(k):
    one, other = wilson(k, 10), wilson(10 - k, 10)
    assert (1 - other.high, 1 - other.low) == pytest.approx((one.low, one.high), abs=1e-12)


@pytest.mark.parametrize("k", [0, 10])
def test_the_wilson_interval_stays_within_zero_and_one_and_contains_its_estimate(k):
    interval = wilson(k, 10)
    assert 0 <= interval.low <= interval.estimate <= interval.high <= 1
    assert interval.high - interval.low > 0.2


@pytest.mark.parametrize("truth", [0.05, 0.3, 0.5, 0.9])
def test_the_wilson_interval_has_about_its_nominal_coverage(truth):
    outcomes = np.arange(41)
    held = [wilson(int(k), 40).low <= truth <= wilson(int(k), 40).high for k in outcomes]
    coverage = stats.binom.pmf(outcomes, 40, truth)[held].sum()  # exact, not simulated
    assert coverage == pytest.approx(0.95, abs=0.025)


def test_a_wilson_interval_of_zero_trials_is_refused():
    with pytest.raises(TooFewObservations):
        wilson(0, 0)


@pytest.mark.parametrize(("k", "n"), [(3, 2), (-1, 2)])
def test_a_wilson_interval_of_impossible_counts_is_refused(k, n):
    with pytest.raises(OutOfBounds):
        wilson(k, n)
