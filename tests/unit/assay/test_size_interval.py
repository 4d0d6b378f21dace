"""Tests of the interval for the size of a signed quantity: coverage of every size, including zero."""

from __future__ import annotations

import numpy as np
import pytest

from assay.errors import EvidenceError, OutOfBounds, TooFewObservations
from assay.statistics.intervals.credible import absolute_value_interval, equal_tailed


@pytest.mark.parametrize("sign", [1, -1])
def test_if_the_sign_is_clear_the_interval_of_an_absolute_value_is_that_of_the_signed_quantity(sign):
    draws = np.random.default_rng(1).normal(0.5, 0.05, 4000)
    found, limits = absolute_value_interval(sign * draws), equal_tailed(draws)
    assert (found.low, found.high) == pytest.approx((limits.low, limits.high))
    assert found.estimate == pytest.approx(draws.mean())


def test_the_interval_of_an_absolute_value_begins_at_zero_if_the_sign_is_unclear():
    draws = np.random.default_rng(3).normal(0.1, 0.1, 4000)
    found, mirrored = absolute_value_interval(draws), absolute_value_interval(-draws)
    assert found.low == mirrored.low == 0.0
    assert found.high == pytest.approx(mirrored.high)
    assert found.high == pytest.approx(0.1 + 1.96 * 0.1, abs=0.02)


def test_the_interval_of_an_absolute_value_excludes_zero_if_the_signed_interval_does():
    draws = np.random.default_rng(4).normal(0, 1, 4000)
    draws = (draws - draws.mean()) / draws.std()
    assert absolute_value_interval(draws + 1.85).low == 0.0
    assert absolute_value_interval(draws + 2.1).low > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("truth", [0.0, 0.5, 1.5, 2.0, 2.5, 3.0, 5.0, 8.0])
def test_intervals_of_absolute_values_have_their_nominal_coverage(truth):
    """Sizes are in standard errors of the draws."""
    rng = np.random.default_rng(2)
    quantity = rng.normal(0, 1, 2000)
    held = 0
    for _ in range(500):
        found = absolute_value_interval(rng.normal(truth, 1) + quantity)
        held += found.low <= truth <= found.high
    assert 0.92 <= held / 500 <= 0.98


@pytest.mark.parametrize(
    ("draws", "level", "error"),
    [([], 0.95, TooFewObservations), ([0.1, np.nan], 0.95, EvidenceError), ([0.1], 1.5, OutOfBounds)],
)
def test_an_interval_of_an_absolute_value_of_empty_or_non_finite_draws_is_refused(draws, level, error):
    with pytest.raises(error):
        absolute_value_interval(draws, level)
