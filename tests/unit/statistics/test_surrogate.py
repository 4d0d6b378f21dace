"""The surrogate: recovery, its fit against another, and three routes to one posterior that agree."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from assay.errors import EvidenceError, OutOfBounds, TooFewObservations, ZeroVariance
from assay.statistics.importance import posterior_mean, weigh
from assay.statistics.surrogate import (
    DEFENCE,
    NormalPrior,
    Surrogate,
    fit_surrogate,
    pick,
    posterior_target,
    sample_posterior,
)


def rng_of(seed):
    return np.random.default_rng(seed)


DIMS = 8
SLOPE = np.array([1.5, -1.0, 0.5, 0, 0, 0, 0.8, 0])
PRIOR = NormalPrior(np.linspace(-1, 1, DIMS), np.diag(np.linspace(0.5, 2, DIMS)))


def service(vectors):
    """A simulated service: mostly a logit, with a bend that no logit follows, and a rare yes."""
    return 0.95 * expit(vectors @ SLOPE - 7 + 0.8 * np.sin(2 * vectors[:, 0]))


@pytest.fixture(scope="module")
def truth():
    """What makes it say yes, from very many inputs."""
    vectors = PRIOR.draw(400_000, rng_of(1))
    weights = weigh(service(vectors))
    assert weights.efficiency < 0.1  # rare: weights alone would not do
    return np.array([posterior_mean(vectors[:, at], weights).value for at in range(DIMS)])


@pytest.fixture(scope="module")
def surrogate():
    vectors = PRIOR.draw(500, rng_of(2))
    return fit_surrogate(vectors, service(vectors), ridge=0.01)


def means(vectors, weights):
    found = [posterior_mean(vectors[:, at], weights) for at in range(vectors.shape[1])]
    return np.array([one.value for one in found]), np.array([one.error for one in found])


def test_nuts_on_the_surrogate_corrected_by_the_service_gives_the_posterior(truth, surrogate):
    sampled = sample_posterior(surrogate, PRIOR, rng_of(3), draws=1500)
    vectors = PRIOR.place(sampled.together)
    weights = weigh(service(vectors), surrogate.probability(vectors))
    assert weights.enough
    found, error = means(vectors, weights)
    assert found == pytest.approx(truth, abs=0.1)
    assert (np.abs(found - truth) < 5 * error).all()


def test_picking_from_a_pool_gives_the_same_posterior(truth, surrogate):
    pool = PRIOR.draw(30_000, rng_of(4))
    picked = pick(surrogate, pool, 4000, rng_of(5))
    vectors = pool[picked.which]
    weights = weigh(service(vectors), picked.density)
    assert weights.efficiency > 0.3
    found, error = means(vectors, weights)
    assert (np.abs(found - truth) < 5 * error + 0.05).all()


def test_weights_alone_give_the_same_posterior_with_many_more_calls(truth):
    vectors = PRIOR.draw(20_000, rng_of(6))
    found, error = means(vectors, weigh(service(vectors)))
    assert (np.abs(found - truth) < 5 * error).all()


def test_without_the_correction_the_surrogate_s_own_error_would_stay(truth, surrogate):
    vectors = PRIOR.place(sample_posterior(surrogate, PRIOR, rng_of(3), draws=1500).together)
    corrected = means(vectors, weigh(service(vectors), surrogate.probability(vectors)))[0]
    assert np.abs(corrected - truth).max() < np.abs(vectors.mean(axis=0) - truth).max()


def test_a_logit_is_recovered_from_its_probabilities():
    vectors = rng_of(7).normal(3, [0.1, 1, 10], (400, 3))
    said = expit(vectors @ [5.0, -1.0, 0.2] - 13)
    fitted = fit_surrogate(vectors, said, ridge=1e-8)
    assert fitted.weights == pytest.approx([5.0, -1.0, 0.2], rel=1e-3)
    assert fitted.constant == pytest.approx(-13, rel=1e-3)
    assert fitted.probability(vectors) == pytest.approx(said, abs=1e-4)


def test_it_is_the_ridge_regression_of_scikit_learn():
    linear = pytest.importorskip("sklearn.linear_model")
    rng = rng_of(8)
    vectors = rng.normal(size=(300, 5))
    vectors = (vectors - vectors.mean(axis=0)) / vectors.std(axis=0)
    labels = (rng.random(300) < expit(vectors @ [1, -1, 0.5, 0, 2])).astype(float)
    other = linear.LogisticRegression(C=1 / 3.0, tol=1e-10, max_iter=1000).fit(vectors, labels)
    ours = fit_surrogate(vectors, labels, ridge=3.0)
    assert ours.weights == pytest.approx(other.coef_[0], abs=1e-4)
    assert ours.constant == pytest.approx(float(other.intercept_[0]), abs=1e-4)


def test_swapping_yes_and_no_changes_the_sign_only():
    vectors = rng_of(9).normal(size=(200, 4))
    said = expit(vectors @ [1, 2, 0, -1])
    yes, no = fit_surrogate(vectors, said), fit_surrogate(vectors, 1 - said)
    assert no.weights == pytest.approx(-yes.weights, abs=1e-5)
    assert no.constant == pytest.approx(-yes.constant, abs=1e-5)


def test_the_scale_and_place_of_the_inputs_do_not_matter():
    vectors = rng_of(10).normal(size=(200, 3))
    said = expit(vectors @ [1, 2, -1])
    plain, moved = fit_surrogate(vectors, said), fit_surrogate(100 + vectors * [1e-3, 1, 1e3], said)
    assert moved.probability(100 + vectors * [1e-3, 1, 1e3]) == pytest.approx(plain.probability(vectors), abs=1e-4)


def test_more_dimensions_than_replies_are_held_by_the_ridge():
    vectors = rng_of(11).normal(size=(50, 300))
    fitted = fit_surrogate(vectors, (vectors[:, 0] > 0).astype(float))
    assert np.isfinite(fitted.weights).all()
    assert ((fitted.probability(vectors) > 0.5) == (vectors[:, 0] > 0)).mean() > 0.9


def test_a_constant_dimension_gets_no_weight():
    vectors = np.column_stack([rng_of(12).normal(size=100), np.full(100, 7.0)])
    assert fit_surrogate(vectors, expit(vectors[:, 0])).weights[1] == 0


def test_the_gradient_is_that_of_the_density():
    target = posterior_target(Surrogate(SLOPE, -2.0), PRIOR)
    at, small = rng_of(13).normal(size=(3, DIMS)), 1e-6
    _, gradient = target(at)
    for dim in range(DIMS):
        step = np.zeros(DIMS)
        step[dim] = small
        numeric = (target(at + step)[0] - target(at - step)[0]) / (2 * small)
        assert gradient[:, dim] == pytest.approx(numeric, abs=1e-6)


def test_a_prior_has_the_mean_and_covariance_of_its_inputs():
    inputs = rng_of(14).normal(size=(50, 3)) @ rng_of(15).normal(size=(3, 5)) + 4  # five dimensions, three that vary
    prior = NormalPrior.of(inputs)
    assert prior.rank == 3
    assert prior.mean == pytest.approx(inputs.mean(axis=0))
    assert prior.factor @ prior.factor.T == pytest.approx(np.cov(inputs.T))
    drawn = prior.draw(100_000, rng_of(16))
    assert np.cov(drawn.T) == pytest.approx(np.cov(inputs.T), abs=0.15)


def test_no_pick_weighs_more_than_the_defence_allows(surrogate):
    pool = PRIOR.draw(5000, rng_of(17))
    assert pick(surrogate, pool, 3000, rng_of(18)).density.min() >= DEFENCE


@pytest.mark.parametrize("said", [np.zeros(10), np.ones(10)])
def test_replies_that_are_all_alike_are_refused(said):
    with pytest.raises(ZeroVariance):
        fit_surrogate(rng_of(0).normal(size=(10, 2)), said)


def test_what_makes_no_sense_is_refused():
    vectors = rng_of(0).normal(size=(4, 2))
    for said, error in (
        ([0.5], OutOfBounds),
        ([0.1, 0.2, 0.3, 1.4], OutOfBounds),
        ([0.1, 0.2, 0.3, np.nan], EvidenceError),
    ):
        with pytest.raises(error):
            fit_surrogate(vectors, said)
    with pytest.raises(OutOfBounds, match="ridge"):
        fit_surrogate(vectors, [0.1, 0.2, 0.3, 0.4], ridge=0)
    with pytest.raises(TooFewObservations):
        fit_surrogate(vectors[:1], [0.5])
    with pytest.raises(ZeroVariance):
        NormalPrior.of(np.ones((5, 3)))
    with pytest.raises(OutOfBounds):
        pick(Surrogate(np.zeros(2), 0.0), vectors, 0, rng_of(0))
