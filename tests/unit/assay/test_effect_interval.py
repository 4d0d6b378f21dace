"""Tests of the interval of a non-negative effect: unlike an equal-tailed interval, it can contain zero."""

from __future__ import annotations

import numpy as np
import pytest

from assay.errors import EvidenceError, OutOfBounds, TooFewObservations
from assay.statistics.intervals.credible import effect_interval, equal_tailed, hpdi


def test_a_zero_effect_has_an_interval_that_begins_at_zero():
    draws = np.abs(np.random.default_rng(1).normal(0, 0.1, 4000))
    found = effect_interval(draws)
    assert found.low == 0.0
    assert found.high == pytest.approx(np.quantile(draws, 0.95), abs=0.005)
    assert equal_tailed(draws).low > 0


def test_the_interval_of_an_effect_far_from_zero_is_its_highest_density_interval():
    draws = np.random.default_rng(2).normal(0.5, 0.05, 4000)
    found = effect_interval(draws)
    assert (found.low, found.high) == (hpdi(draws).low, hpdi(draws).high)
    assert (found.low, found.high) == pytest.approx((0.402, 0.598), abs=0.02)


def test_the_estimate_of_an_effect_is_the_mean_of_its_draws():
    draws = np.random.default_rng(3).gamma(2, 0.1, 500)
    assert effect_interval(draws, 0.8).estimate == pytest.approx(draws.mean())
    assert effect_interval(draws, 0.8).level == 0.8


def test_the_interval_of_an_effect_that_is_zero_in_most_draws_begins_at_zero():
    draws = np.concatenate([np.zeros(900), np.linspace(0.001, 0.1, 100)])
    found = effect_interval(draws)
    assert found.low == 0.0
    assert 0.04 < found.high < 0.06


@pytest.mark.parametrize("truth", [0.0, 0.5, 3.0, 5.0])
def test_effect_intervals_cover_zero_nearly_as_often_as_a_large_effect(truth):
    """Coverage for the size of a mean of unknown sign: .94 at 0, .97 at .5, .92 at 3, and .94 at 5 standard errors.

    Equal-tailed intervals of the same draws never contain an effect of 0.
    """
    rng = np.random.default_rng(4)
    held = tails = 0
    for _ in range(1000):
        draws = np.abs(rng.normal(truth, 1) + rng.normal(0, 1, 800))
        found, cut = effect_interval(draws), equal_tailed(draws)
        held += found.low <= truth <= found.high
        tails += cut.low <= truth <= cut.high
    assert 0.9 <= held / 1000 <= 0.98
    assert (tails == 0) is (truth == 0)


@pytest.mark.parametrize(
    ("draws", "level", "error"),
    [([], 0.95, TooFewObservations), ([0.1, np.nan], 0.95, EvidenceError), ([0.1], 1.5, OutOfBounds)],
)
def test_an_effect_interval_of_empty_or_non_finite_draws_is_refused(draws, level, error):
    with pytest.raises(error):
        effect_interval(draws, level)
