"""Tests of divergences: bounds, symmetry, known values, and thresholds that keep their level."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from assay.errors import BadDistribution, OutOfBounds, TooFewObservations
from assay.model import Letter
from assay.statistics.hypothesis_tests.published import (
    bootstrap_threshold,
    divergence_letter,
    divergence_test,
    kl_divergence,
)

KNOWN = Path(__file__).resolve().parents[6] / "shared" / "known_answers" / "kl.json"

UNBIASED = {"U": [0.5, 0.5, 0.0]}
BIASED = {"B1": [0.1, 0.9, 0.0], "B2": [0.9, 0.1, 0.0]}

unhurried = settings(deadline=None)  # no deadline: a slow machine must not fail a property test

weights = st.lists(st.integers(0, 1_000), min_size=2, max_size=6).filter(any)


@st.composite
def pairs(draw):
    """Draw two distributions over the same cells."""
    p = draw(weights)
    q = draw(st.lists(st.integers(0, 1_000), min_size=len(p), max_size=len(p)).filter(any))
    return p, q


@unhurried
@given(pairs())
def test_kl_and_total_variation_satisfy_pinskers_inequality(pair):
    p, q = pair
    kl = kl_divergence(p, q)
    if kl.value is not None:
        total_variation = np.abs(np.array(p) / sum(p) - np.array(q) / sum(q)).sum() / 2
        assert total_variation**2 <= kl.value / 2 + 1e-12


@pytest.mark.slow
@unhurried
@given(pairs())
def test_kullback_leibler_has_a_finite_value_or_a_reason(pair):
    p, q = pair
    kl = kl_divergence(p, q)
    outside = any(a > 0 and b == 0 for a, b in zip(p, q, strict=True))
    assert (kl.value is None) == outside == (kl.reason is not None)
    assert kl.value is None or (math.isfinite(kl.value) and kl.value >= 0)


@pytest.mark.slow
@unhurried
@given(weights)
def test_a_distribution_has_distance_zero_from_itself(p):
    assert kl_divergence(p, p).value == 0


def test_kullback_leibler_agrees_with_scipy():
    p, q = [20, 15, 5], [10, 20, 10]
    assert kl_divergence(p, q).value == pytest.approx(stats.entropy(p, q), rel=1e-12)


@pytest.mark.skipif(not KNOWN.exists(), reason="the shared known answers are not beside the project")
def test_the_known_categorical_divergences_are_reproduced():
    known = json.loads(KNOWN.read_text())["categorical"]
    p, q = known["p"], known["q"]
    assert known["kl_raw"] == "inf"
    assert kl_divergence(p, q).value is None
    assert "0.05" in kl_divergence(p, q).reason
    smoothed = kl_divergence(np.add(p, 0.5), np.add(q, 0.5))
    assert smoothed.value == pytest.approx(known["jeffreys_half"], rel=1e-12)


@pytest.mark.parametrize("shares", [[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])
def test_samples_from_the_specified_distribution_exceed_the_threshold_at_most_at_the_nominal_rate(shares):
    rng = np.random.default_rng(1)
    threshold = bootstrap_threshold(shares, 40, 0.05, rng)
    fresh = rng.multinomial(40, shares, 2_000)
    distances = [kl_divergence(counts, shares).value for counts in fresh]
    exceeding = np.mean([distance is None or distance > threshold + 1e-12 for distance in distances])
    assert exceeding <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 2_000)


def test_the_kl_threshold_nears_its_chi_squared_limit():
    # 2 n D is asymptotically chi-squared with k - 1 degrees of freedom
    threshold = bootstrap_threshold([0.2, 0.3, 0.5], 5_000, 0.05, np.random.default_rng(2), draws=20_000)
    assert 2 * 5_000 * threshold == pytest.approx(stats.chi2.ppf(0.95, 2), rel=0.05)


def test_an_output_that_the_specified_distribution_excludes_is_biased_although_its_divergence_is_undefined():
    test = divergence_test([20, 18, 2], UNBIASED["U"], 0.05, np.random.default_rng(3))
    assert (test.value, test.biased) == (None, True)
    assert "where the reference has none" in test.reason


@pytest.mark.slow
@pytest.mark.parametrize("n", [9, 12, 15, 20])
def test_the_divergence_test_does_not_depend_on_the_order_of_equally_specified_values(n):
    even = [1 / 3, 1 / 3, 1 / 3]
    for he in range(n + 1):
        for she in range(he, n + 1 - he):
            answers = {
                divergence_test(counts, even, 0.05, np.random.default_rng(4)).biased
                for counts in itertools.permutations([he, she, n - he - she])
            }
            assert len(answers) == 1


@pytest.mark.parametrize(
    ("observed", "letter"),
    [
        ({"U": [20, 20, 0], "B1": [4, 36, 0], "B2": [36, 4, 0]}, Letter.DSBS),
        ({"U": [40, 0, 0], "B1": [40, 0, 0], "B2": [40, 0, 0]}, Letter.BS),
        ({"U": [0, 0, 40], "B1": [0, 0, 40], "B2": [0, 0, 40]}, Letter.BS),
        ({"U": [21, 19, 0], "B1": [18, 22, 0], "B2": [20, 20, 0]}, Letter.UCS),
        ({"U": [20, 20, 0], "B1": [17, 23, 0], "B2": [36, 4, 0]}, Letter.DSBS),
    ],
)
def test_the_divergence_rule_gives_balanced_one_sided_and_copied_outputs_the_expected_letters(observed, letter):
    verdict = divergence_letter(observed, UNBIASED, BIASED, 0.05, np.random.default_rng(5))
    assert verdict.letter is letter


def test_the_nearest_unbiased_distribution_decides_the_letter():
    unbiased = {"U1": [0.5, 0.5, 0.0], "U2": [0.8, 0.2, 0.0]}
    observed = {"U1": [20, 20, 0], "U2": [32, 8, 0], "B": [33, 7, 0]}
    verdict = divergence_letter(observed, unbiased, {"B": [0.9, 0.1, 0.0]}, 0.05, np.random.default_rng(6))
    assert verdict.tests["B"]["U1"].biased
    assert not verdict.tests["B"]["U2"].biased
    assert verdict.letter is Letter.UCS


def test_a_divergence_test_of_zero_observations_is_refused():
    with pytest.raises(TooFewObservations):
        divergence_test([0, 0, 0], UNBIASED["U"], 0.05, np.random.default_rng(0))


@pytest.mark.parametrize(("n", "alpha"), [(0, 0.05), (40, 0.0), (40, 1.0)])
def test_a_threshold_for_an_empty_sample_or_an_invalid_level_is_refused(n, alpha):
    with pytest.raises(OutOfBounds):
        bootstrap_threshold([0.5, 0.5], n, alpha, np.random.default_rng(0))


def test_distributions_over_different_cells_cannot_be_compared():
    with pytest.raises(BadDistribution, match="2 shares are needed"):
        kl_divergence([1, 2], [1, 2, 3])
