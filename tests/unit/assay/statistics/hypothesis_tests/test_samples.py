"""Tests of distances between samples: second implementations, and differences that a Gaussian fit misses."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from assay.errors import EvidenceError, OutOfBounds, TooFewObservations
from assay.methods.alternation.gaussian_divergence import gaussian_kl
from assay.statistics.hypothesis_tests.divergence import kl_divergence
from assay.statistics.hypothesis_tests.ordered import kolmogorov_smirnov
from assay.statistics.hypothesis_tests.samples import NoOverlap, energy_distance, knn_kl, wasserstein

KNOWN = Path(__file__).resolve().parents[6] / "shared" / "known_answers" / "kl.json"

unhurried = settings(deadline=None)  # no deadline: a slow machine must not fail a property test

values = st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=25)


@pytest.fixture
def rng():
    return np.random.default_rng(53)


# ---------------------------------------------------------------------------- distances
def test_distances_have_their_known_values():
    if not KNOWN.exists():
        pytest.skip("the shared known answers are not beside this project")
    known = json.loads(KNOWN.read_text())["distances"]
    x, y = known["x"], known["y"]
    assert wasserstein(x, y) == pytest.approx(known["wasserstein"], rel=1e-12)
    assert energy_distance(x, y) == pytest.approx(known["energy"], rel=1e-12)
    assert kolmogorov_smirnov(x, y, scale="continuous").statistic == pytest.approx(known["ks"], rel=1e-12)


@unhurried
@given(values, values)
def test_distances_agree_with_scipy(x, y):
    assert wasserstein(x, y) == pytest.approx(stats.wasserstein_distance(x, y), rel=1e-9, abs=1e-9)
    assert energy_distance(x, y) == pytest.approx(stats.energy_distance(x, y), rel=1e-6, abs=1e-6)


@pytest.mark.slow
@unhurried
@given(values, values)
def test_distances_are_symmetric_and_zero_between_equal_samples(x, y):
    assert wasserstein(x, y) == pytest.approx(wasserstein(y, x))
    assert energy_distance(x, y) == pytest.approx(energy_distance(y, x))
    assert wasserstein(x, x) == energy_distance(x, x) == 0


def test_the_wasserstein_distance_of_a_shift_is_the_shift(rng):
    x = rng.normal(size=100)
    assert wasserstein(x, x + 2.5) == pytest.approx(2.5)


@pytest.mark.parametrize("distance", [wasserstein, energy_distance])
def test_distances_refuse_empty_and_infinite_samples(distance):
    with pytest.raises(TooFewObservations):
        distance([], [1.0])
    with pytest.raises(EvidenceError, match="not finite"):
        distance([1.0, math.inf], [1.0])
    with pytest.raises(OutOfBounds, match="row of numbers"):
        distance([[1.0]], [1.0])


# ---------------------------------------------------------------------------- divergence by neighbours
@pytest.mark.parametrize(("shift", "ratio"), [(0.0, 1.0), (0.5, 1.0), (1.0, 1.0), (1.0, 1.5), (0.0, 2.0)])
def test_nearest_neighbours_recover_the_divergence_of_gaussians(shift, ratio, rng):
    truth = math.log(ratio) + (1 + shift**2) / (2 * ratio**2) - 0.5
    found = [knn_kl(rng.normal(size=2_000), rng.normal(shift, ratio, 2_000)) for _ in range(20)]
    assert np.mean(found) == pytest.approx(truth, abs=0.03)


def test_nearest_neighbours_detect_two_modes_and_a_gaussian_does_not(rng):
    x = rng.normal(size=1_000)
    split = rng.choice([-0.95, 0.95], 1_000) + rng.normal(0, math.sqrt(1 - 0.95**2), 1_000)
    assert gaussian_kl(split, x) < 0.01
    assert knn_kl(split, x) > 0.3


def test_correlated_pairs_do_not_distort_the_nearest_neighbour_divergence(rng):
    x = rng.normal(size=2_000)
    y = 0.95 * x + math.sqrt(1 - 0.95**2) * rng.normal(size=2_000)
    assert knn_kl(x, y) == pytest.approx(0, abs=0.03)


def test_identical_pairs_have_divergence_zero(rng):
    x = rng.normal(size=100)
    assert knn_kl(x, x) == 0
    assert knn_kl(np.round(x), np.round(x)) == 0
    assert knn_kl(np.full(10, 0.1), np.full(10, 0.1)) == 0


def test_nearest_neighbours_of_discrete_samples_give_the_divergence_of_shares(rng):
    x, y = rng.integers(0, 3, 400), rng.choice(3, 400, p=[0.5, 0.3, 0.2])
    shares = [np.bincount(one, minlength=3) for one in (x, y)]
    assert knn_kl(x, y) == pytest.approx(kl_divergence(*shares).value, rel=1e-9)


def test_the_divergence_of_repeated_and_distinct_values_is_the_sum_over_both_parts(rng):
    """In one sample, half of the values are equal; in the other, a quarter; the remaining values are distinct."""
    n = 4_000
    x = np.where(rng.random(n) < 0.5, 0.0, rng.normal(size=n))
    y = np.where(rng.random(n) < 0.25, 0.0, rng.normal(size=n))
    assert knn_kl(x, y) == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(2 / 3), abs=0.05)


def test_nearest_neighbour_divergence_does_not_depend_on_the_units(rng):
    x, y = rng.normal(size=(2, 200))
    assert knn_kl(4 * x, 4 * y) == pytest.approx(knn_kl(x, y), rel=1e-12)


def test_a_repeated_value_that_the_other_sample_lacks_is_refused(rng):
    x = np.concatenate([np.full(20, 3.0), rng.normal(size=80)])
    with pytest.raises(NoOverlap, match="3 came 20 times of 100"):
        knn_kl(x, rng.normal(size=100))


def test_the_nearest_neighbour_divergence_of_too_few_or_mismatched_pairs_is_refused():
    with pytest.raises(TooFewObservations, match="at least 7"):
        knn_kl([1, 2, 3], [1, 2, 4])
    with pytest.raises(OutOfBounds, match="one length"):
        knn_kl(range(10), range(12))
    with pytest.raises(OutOfBounds, match="neighbour"):
        knn_kl(range(10), range(10), neighbours=0)
