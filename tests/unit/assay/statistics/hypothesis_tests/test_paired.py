"""Tests of the hypothesis tests within pairs: exact p-values, level and power."""

from __future__ import annotations

import itertools
import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from assay.errors import OutOfBounds, TooFewObservations, ZeroVariance
from assay.statistics.hypothesis_tests.paired import d_z, sign_flip_test

KNOWN = Path(__file__).resolve().parents[6] / "shared" / "known_answers" / "kl.json"


@pytest.fixture(scope="module")
def known():
    if not KNOWN.exists():
        pytest.skip("the shared known answers are not beside this project")
    return json.loads(KNOWN.read_text())["samples"]


@pytest.fixture
def rng():
    return np.random.default_rng(41)


# ---------------------------------------------------------------------------- sign flips
def test_the_sign_flip_test_has_its_known_value(known, rng):
    assert sign_flip_test(np.subtract(known["y"], known["x"]), rng) == known["sign_flip_p_two_sided"]


def test_the_sign_flip_test_of_signed_ranks_equals_the_wilcoxon_test(known, rng):
    differences = np.subtract(known["y"], known["x"])
    ranks = stats.rankdata(np.abs(differences)) * np.sign(differences)
    assert sign_flip_test(ranks, rng) == known["wilcoxon_exact_p"]


def test_the_sign_flip_test_of_few_pairs_equals_brute_force(rng):
    for n in range(1, 10):
        differences = rng.integers(-5, 6, n).astype(float)
        every = [abs(np.dot(signs, differences)) for signs in itertools.product((1, -1), repeat=n)]
        assert sign_flip_test(differences, rng) == np.mean(np.array(every) >= abs(differences.sum()))


def test_the_sampled_sign_flip_test_of_many_pairs_agrees_with_the_exact_p_value(rng):
    differences = np.array([3, -1, 4, 1, -5, 9, 2, 6, -5, 3, 5, 8, 9, -7, 9, 3, -2, 4, 6, -12], dtype=float)
    # exact distribution: count how often each sum occurs over all signs
    ways = {0: 1}
    for one in differences.astype(int).tolist():
        grown = {}
        for total, count in ways.items():
            for signed in (total + one, total - one):
                grown[signed] = grown.get(signed, 0) + count
        ways = grown
    exact = sum(count for total, count in ways.items() if abs(total) >= abs(differences.sum())) / 2**20
    assert sign_flip_test(differences, rng) == pytest.approx(exact, abs=0.012)


def test_pairs_without_a_difference_do_not_change_the_p_value(rng):
    some = [1.0, 2.0, 3.5, -0.5]
    assert sign_flip_test([*some, *[0.0] * 500], rng) == sign_flip_test(some, rng)
    assert sign_flip_test([0.0] * 30, rng) == 1


def test_negated_differences_keep_the_p_value_and_change_the_sign_of_the_statistic(rng):
    differences = rng.normal(0.4, 1, 12)
    assert sign_flip_test(differences, rng) == sign_flip_test(-differences, rng)


def test_a_sampled_p_value_is_never_zero(rng):
    assert sign_flip_test(np.full(200, 1.0), rng, draws=999) == 1 / 1_000


@pytest.mark.parametrize("n", [10, 40])
def test_the_sign_flip_test_keeps_its_level(n, rng):
    below = [sign_flip_test(rng.standard_t(3, n), rng, draws=399) <= 0.05 for _ in range(1_000)]
    assert 0.03 <= np.mean(below) <= 0.07


def test_differences_of_one_name_count_as_one_cluster(rng):
    names = np.repeat(np.arange(20), 50)
    differences = np.where(names == 7, 0.6, 0.0) + 1e-3 * np.tile([1, -1], 500)
    assert sign_flip_test(differences, rng) < 0.001
    assert sign_flip_test(differences, rng, clusters=names) == 1


def test_clusters_of_one_pair_each_do_not_change_the_p_value(rng):
    differences = rng.normal(0.5, 1, 10)
    assert sign_flip_test(differences, rng, clusters=np.arange(10)) == sign_flip_test(differences, rng)


def test_the_memory_of_the_sign_flip_test_does_not_grow_with_pairs_times_draws(rng):
    differences = rng.normal(size=50_000)
    tracemalloc.start()
    sign_flip_test(differences, rng, draws=400)  # all draws in one array would take 160 MB
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6


def test_an_empty_sample_and_mismatched_clusters_are_refused(rng):
    with pytest.raises(TooFewObservations):
        sign_flip_test([], rng)
    with pytest.raises(OutOfBounds, match="same length"):
        sign_flip_test([1.0, 2.0], rng, clusters=[0])


# ---------------------------------------------------------------------------- d_z
def test_cohens_d_z_has_its_known_value(known):
    assert d_z(np.subtract(known["y"], known["x"])) == pytest.approx(known["cohen_dz"], rel=1e-12)


@pytest.mark.parametrize("differences", [[0.1] * 10, [249.14, 249.14 + 1e-13] * 5, [0.0] * 10])
def test_cohens_d_z_of_equal_differences_is_refused(differences):
    with pytest.raises(ZeroVariance, match="no unit"):
        d_z(differences)
