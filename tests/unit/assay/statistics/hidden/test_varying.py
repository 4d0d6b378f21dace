"""Tests of effects that vary between strata: exact posterior, coverage, and strata that do not differ."""

from __future__ import annotations

import numpy as np
import pytest

from assay.errors import OutOfBounds
from assay.statistics.hidden.varying import adjusted_means, cluster_means, shared_preference, varying_effect

SCALE = 0.1


@pytest.fixture
def rng():
    return np.random.default_rng(17)


def quadrature(estimates: np.ndarray, variances: np.ndarray) -> float:
    """Return the posterior mean of the spread by brute force; half of the prior is at 0, half is half-normal."""
    grid = (np.arange(20_000) + 0.5) / 20_000 * 10 * SCALE

    def likelihood(spread: np.ndarray) -> np.ndarray:
        weight = 1 / (variances + np.atleast_1d(spread)[:, None] ** 2)
        total = weight.sum(axis=1)
        centre = (weight * estimates).sum(axis=1) / total
        away = (weight * (estimates - centre[:, None]) ** 2).sum(axis=1)
        return np.sqrt(weight.prod(axis=1) / total) * np.exp(-away / 2)

    slab = np.exp(-((grid / SCALE) ** 2) / 2)
    slab = slab / slab.sum() * likelihood(grid)
    return float((slab * grid).sum() / (slab.sum() + likelihood(np.zeros(1))[0]))


@pytest.mark.parametrize("estimates", [[0.05, -0.05], [0.3, -0.2, 0.1, 0.0], [0.01] * 6])
def test_the_posterior_mean_of_the_spread_equals_its_numerical_integral(estimates, rng):
    found, errors = np.array(estimates), np.full(len(estimates), 0.03**2)
    drawn = varying_effect(found, errors, SCALE, rng, 40_000)
    assert drawn.spread.mean() == pytest.approx(quadrature(found, errors), rel=0.05)


def test_strata_that_do_not_differ_have_little_more_error_than_their_mean(rng):
    drawn = varying_effect(np.full(12, 0.02), np.full(12, 0.05**2), SCALE, rng)
    assert drawn.strata.std(axis=0).max() < 0.025  # a stratum alone would have .05
    assert drawn.strata.mean(axis=0) == pytest.approx(np.full(12, 0.02), abs=0.005)


def test_strata_that_differ_keep_their_own_estimates(rng):
    drawn = varying_effect([0.5, -0.5], [0.02**2, 0.02**2], SCALE, rng)
    assert drawn.strata.mean(axis=0) == pytest.approx([0.5, -0.5], abs=0.02)
    assert drawn.mean.std() > 0.05


def test_opposite_estimates_have_opposite_effects(rng):
    there = varying_effect([0.2, 0.0, -0.1], [0.03**2] * 3, SCALE, np.random.default_rng(3))
    back = varying_effect([-0.2, 0.0, 0.1], [0.03**2] * 3, SCALE, np.random.default_rng(3))
    assert there.strata.mean(axis=0) == pytest.approx(-back.strata.mean(axis=0), abs=0.005)


def test_intervals_of_effects_in_strata_have_their_nominal_coverage(rng):
    inside = []
    for _ in range(300):
        spread = 0.0 if rng.random() < 0.5 else abs(rng.normal(0, SCALE))
        truth = rng.normal(0.05, spread, 6)
        errors = rng.uniform(0.02, 0.06, 6)
        drawn = varying_effect(truth + rng.normal(0, errors), errors**2, SCALE, rng, 1000).strata
        low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
        inside.append((low <= truth) & (truth <= high))
    assert 0.93 < np.mean(inside) < 0.97


def test_an_error_shared_by_all_estimates_does_not_count_as_spread_between_them(rng):
    shared = np.full((4, 4), 0.2**2) + np.eye(4) * 0.01**2
    drawn = varying_effect(np.array([0.3, 0.31, 0.3, 0.29]), shared, SCALE, rng)
    assert drawn.spread.mean() < 0.02
    assert drawn.mean.std() == pytest.approx(0.2, rel=0.1)


def test_a_number_of_errors_that_differs_from_the_number_of_estimates_is_refused(rng):
    with pytest.raises(OutOfBounds, match="as many errors"):
        varying_effect([0.1, 0.2], [0.1], SCALE, rng)


def test_cluster_means_exclude_the_effects_of_the_other_kind_of_cluster():
    person, frame = (each.ravel() for each in np.meshgrid(np.arange(30), np.arange(5), indexing="ij"))
    values = np.arange(30)[person] * 1.0 + np.array([0.0, 1.0, 2.0, 3.0, 4.0])[frame]
    means, errors = cluster_means(values, frame, (person,))
    assert means - means.mean() == pytest.approx([-2, -1, 0, 1, 2])
    assert errors == pytest.approx(np.zeros(5), abs=1e-12)


def test_the_shared_deviation_of_two_lists_is_zero_where_they_deviate_in_opposite_directions():
    assert shared_preference([[0.2, 0.2, -0.1, 0.4, 0.0], [0.2, -0.1, -0.4, 0.1, 0.3]]) == pytest.approx(
        [0.2, 0, 0.2, 0.2, 0]
    )


def test_the_shared_deviation_does_not_depend_on_the_order_or_the_sign():
    leans = np.random.default_rng(3).normal(size=(3, 50))
    np.testing.assert_array_equal(shared_preference(leans), shared_preference(-leans))
    np.testing.assert_allclose(shared_preference(leans), shared_preference(leans[::-1]))


def test_adjusted_means_compare_frames_at_equal_shares_of_the_words(rng):
    frames, words = rng.integers(0, 4, 4000), rng.integers(0, 3, 4000)
    words = np.where(rng.random(4000) < 0.7, frames % 3, words)  # 70 % of the cases of a frame have the same word
    values = np.array([0.1, -0.1, 0.2, 0.0])[frames] + np.array([1.0, -1.0, 0.3])[words] + rng.normal(0, 0.3, 4000)
    estimates, covariance = adjusted_means(values, frames.astype(str), [words.astype(str)])
    assert estimates == pytest.approx(np.array([0.1, -0.1, 0.2, 0.0]) + 0.1, abs=0.05)  # words add .1 on average
    assert np.sqrt(np.diag(covariance)) == pytest.approx(np.full(4, 0.3 / np.sqrt(1000)), rel=0.5)
    plain = np.array([values[frames == frame].mean() for frame in range(4)])
    assert np.abs(plain - estimates).max() > 0.3


def test_frames_that_each_occur_with_one_word_only_have_no_adjusted_means(rng):
    frames = rng.integers(0, 4, 400).astype(str)
    assert adjusted_means(rng.normal(size=400), frames, [frames]) is None


def test_draws_do_not_depend_on_the_signs_that_a_processor_gives_to_eigenvectors(monkeypatch):
    estimates, covariance = np.array([0.1, -0.2, 0.3]), np.array([[1.0, 0.3, 0.1], [0.3, 2.0, 0.2], [0.1, 0.2, 0.5]])
    drawn = varying_effect(estimates, covariance, 0.1, np.random.default_rng(1), 500)
    eigh = np.linalg.eigh

    def with_other_signs(matrix):
        values, vectors = eigh(matrix)
        return values, vectors * [-1, 1, -1]

    monkeypatch.setattr(np.linalg, "eigh", with_other_signs)
    other = varying_effect(estimates, covariance, 0.1, np.random.default_rng(1), 500)
    np.testing.assert_allclose(other.strata, drawn.strata, rtol=1e-9)
