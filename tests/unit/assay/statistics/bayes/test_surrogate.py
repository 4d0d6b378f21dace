"""Tests of the surrogate (a logistic regression): recovery, a second implementation, three ways to its posterior."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import kstest, spearmanr

from assay.errors import EvidenceError, OutOfBounds, TooFewObservations, ZeroVariance
from assay.statistics.bayes.importance import weigh
from assay.statistics.bayes.surrogate import (
    NormalPrior,
    Surrogate,
    fit_surrogate,
    log_mean_probability,
    sample_posterior,
)


def rng_of(seed):
    return np.random.default_rng(seed)


DIMS = 8
SLOPE = np.array([1.5, -1.0, 0.5, 0, 0, 0, 0.8, 0])
PRIOR = NormalPrior(np.linspace(-1, 1, DIMS), np.diag(np.linspace(0.5, 2, DIMS)))


def service(vectors):
    """Return P(yes) of a simulated service: a logit with a sine term that no logit can fit; yes answers are rare."""
    return 0.95 * expit(vectors @ SLOPE - 7 + 0.8 * np.sin(2 * vectors[:, 0]))


@pytest.fixture(scope="module")
def truth():
    """Return the true posterior mean, computed from very many inputs."""
    vectors = PRIOR.draw(400_000, rng_of(1))
    weights = weigh(service(vectors))
    assert weights.efficiency < 0.1  # yes answers are so rare that weights alone would not suffice
    return weights.shares @ vectors


@pytest.fixture(scope="module")
def surrogate():
    vectors = PRIOR.draw(500, rng_of(2))
    return fit_surrogate(vectors, service(vectors), ridge=0.01)


def means(vectors, weights):
    found = weights.shares @ vectors
    return found, np.sqrt(weights.shares**2 @ (vectors - found) ** 2)


def test_importance_corrected_surrogate_draws_recover_the_posterior(truth, surrogate):
    vectors = sample_posterior(surrogate, PRIOR, 6000, rng_of(3))
    weights = weigh(service(vectors), surrogate.probability(vectors))
    assert weights.enough
    found, error = means(vectors, weights)
    assert found == pytest.approx(truth, abs=0.1)
    assert (np.abs(found - truth) < 5 * error).all()


def test_importance_weights_without_a_surrogate_recover_the_posterior_with_many_more_calls(truth):
    vectors = PRIOR.draw(20_000, rng_of(6))
    found, error = means(vectors, weigh(service(vectors)))
    assert (np.abs(found - truth) < 5 * error).all()


def test_surrogate_draws_without_importance_correction_are_less_accurate(truth, surrogate):
    vectors = sample_posterior(surrogate, PRIOR, 6000, rng_of(3))
    corrected = means(vectors, weigh(service(vectors), surrogate.probability(vectors)))[0]
    assert np.abs(corrected - truth).max() < np.abs(vectors.mean(axis=0) - truth).max()


def test_the_weights_of_a_logistic_function_are_recovered_from_its_probabilities():
    vectors = rng_of(7).normal(3, [0.1, 1, 10], (400, 3))
    said = expit(vectors @ [5.0, -1.0, 0.2] - 13)
    fitted = fit_surrogate(vectors, said, ridge=1e-8)
    assert fitted.weights == pytest.approx([5.0, -1.0, 0.2], rel=1e-3)
    assert fitted.constant == pytest.approx(-13, rel=1e-3)
    assert fitted.probability(vectors) == pytest.approx(said, abs=1e-4)


def test_surrogate_equals_scikit_learns_ridge_logistic_regression():
    linear = pytest.importorskip("sklearn.linear_model")
    rng = rng_of(8)
    vectors = rng.normal(size=(300, 5))
    vectors = (vectors - vectors.mean(axis=0)) / vectors.std(axis=0)
    labels = (rng.random(300) < expit(vectors @ [1, -1, 0.5, 0, 2])).astype(float)
    other = linear.LogisticRegression(C=1 / 3.0, tol=1e-10, max_iter=1000).fit(vectors, labels)
    ours = fit_surrogate(vectors, labels, ridge=3.0)
    assert ours.weights == pytest.approx(other.coef_[0], abs=1e-4)
    assert ours.constant == pytest.approx(float(other.intercept_[0]), abs=1e-4)


def test_swapping_yes_and_no_changes_only_the_sign_of_the_surrogate():
    vectors = rng_of(9).normal(size=(200, 4))
    said = expit(vectors @ [1, 2, 0, -1])
    yes, no = fit_surrogate(vectors, said), fit_surrogate(vectors, 1 - said)
    assert no.weights == pytest.approx(-yes.weights, abs=1e-5)
    assert no.constant == pytest.approx(-yes.constant, abs=1e-5)


def test_the_surrogate_does_not_depend_on_the_scale_and_offset_of_the_inputs():
    vectors = rng_of(10).normal(size=(200, 3))
    said = expit(vectors @ [1, 2, -1])
    plain, moved = fit_surrogate(vectors, said), fit_surrogate(100 + vectors * [1e-3, 1, 1e3], said)
    assert moved.probability(100 + vectors * [1e-3, 1, 1e3]) == pytest.approx(plain.probability(vectors), abs=1e-4)


def test_a_ridge_penalty_allows_a_surrogate_with_more_dimensions_than_replies():
    vectors = rng_of(11).normal(size=(50, 300))
    fitted = fit_surrogate(vectors, (vectors[:, 0] > 0).astype(float))
    assert np.isfinite(fitted.weights).all()
    assert ((fitted.probability(vectors) > 0.5) == (vectors[:, 0] > 0)).mean() > 0.9


def test_a_constant_dimension_gets_no_weight():
    vectors = np.column_stack([rng_of(12).normal(size=100), np.full(100, 7.0)])
    assert fit_surrogate(vectors, expit(vectors[:, 0])).weights[1] == 0


# ---------------------------------------------------------------------------- the posterior
UNIT = (SLOPE @ PRIOR.factor) / np.linalg.norm(SLOPE @ PRIOR.factor)


def along_and_across(vectors, slope=SLOPE, prior=PRIOR):
    """Return the parts of vectors along and orthogonal to the slope, in standard deviations of the prior."""
    standard = np.linalg.solve(prior.factor, (vectors - prior.mean).T).T
    unit = slope @ prior.factor / np.linalg.norm(slope @ prior.factor)
    along = standard @ unit
    return along, standard - np.outer(along, unit)


def posterior_along(steepness, constant):
    """Return mean, sd, cdf and normalising constant of the posterior along the slope, by adaptive integration."""

    def weight(at):
        return np.exp(-(at**2) / 2 - np.logaddexp(0, -(steepness * at + constant)))

    edge = -constant / steepness
    points = sorted({-12.0, min(max(edge, -12.0), 30.0), min(steepness, 30.0), 12.0, 30.0})

    def integral(of, upto=30.0):
        ends = [point for point in points if point < upto] + [upto]
        return sum(quad(of, a, b, epsabs=0, epsrel=1e-10, limit=400)[0] for a, b in pairwise(ends))

    whole = integral(weight)
    mean = integral(lambda at: at * weight(at)) / whole
    variance = integral(lambda at: (at - mean) ** 2 * weight(at)) / whole
    return mean, np.sqrt(variance), lambda at: np.array([integral(weight, one) / whole for one in at]), whole


LOGITS = {
    "gentle": (0.3, 0.5),
    "moderate": (2.0, -3.0),
    "rare, so that the posterior is another normal distribution": (4.0, -60.0),
    "far beyond the prior": (12.0, -250.0),
    "nearly always": (1.0, 40.0),
    "steep": (60.0, -90.0),
    "a step": (1e6, -1e6),
}


@pytest.mark.slow
@pytest.mark.parametrize(("steepness", "constant"), LOGITS.values(), ids=LOGITS)
def test_surrogate_posterior_draws_have_the_moments_and_distribution_of_numerical_integration(steepness, constant):
    slope = steepness * np.linalg.solve(PRIOR.factor.T, UNIT)
    surrogate = Surrogate(slope, float(constant - slope @ PRIOR.mean))
    mean, sd, distribution, whole = posterior_along(steepness, constant)
    along, across = along_and_across(sample_posterior(surrogate, PRIOR, 20_000, rng_of(19)), slope)
    assert along.mean() == pytest.approx(mean, abs=4 * sd / np.sqrt(20_000))
    assert along.std() == pytest.approx(sd, rel=0.04)
    assert kstest(along[:2000], distribution).pvalue > 0.01
    assert across.mean(axis=0) == pytest.approx(np.zeros(DIMS), abs=0.03)
    assert np.cov(across.T) == pytest.approx(np.eye(DIMS) - np.outer(UNIT, UNIT), abs=0.05)
    # a very steep curve is a step between two grid points, so the integral is less exact
    close = 5e-3 if steepness > 1e3 else 1e-9
    assert log_mean_probability(surrogate, PRIOR) == pytest.approx(np.log(whole / np.sqrt(2 * np.pi)), abs=close)


def test_surrogate_posterior_draws_are_independent_along_and_across_the_slope():
    along, across = along_and_across(sample_posterior(Surrogate(SLOPE, -7.0), PRIOR, 20_000, rng_of(20)))
    for lag in (1, 2, 3, 10):
        assert abs(spearmanr(along[lag:], along[:-lag]).statistic) < 4 / np.sqrt(20_000)
        assert abs(spearmanr(across[lag:, 3], across[:-lag, 3]).statistic) < 4 / np.sqrt(20_000)
    others = np.linalg.svd(UNIT[None])[2][1:]  # directions orthogonal to the slope
    for axis in others:
        assert abs(spearmanr(along, across @ axis).statistic) < 4 / np.sqrt(20_000)
        assert abs(spearmanr(along**2, (across @ axis) ** 2).statistic) < 4 / np.sqrt(20_000)
        assert kstest(across @ axis, "norm").pvalue > 1e-3


def test_a_reversed_slope_mirrors_the_posterior():
    prior = NormalPrior(np.zeros(DIMS), PRIOR.factor)
    one = sample_posterior(Surrogate(SLOPE, -2.0), prior, 1000, rng_of(21))
    other = sample_posterior(Surrogate(-SLOPE, -2.0), prior, 1000, rng_of(21))
    assert other @ SLOPE == pytest.approx(-(one @ SLOPE))


@pytest.mark.parametrize("constant", [-800.0, 0.0, 800.0])
def test_without_a_slope_the_posterior_is_the_prior(constant):
    flat = Surrogate(np.zeros(DIMS), constant)
    along, across = along_and_across(sample_posterior(flat, PRIOR, 20_000, rng_of(22)))
    assert kstest(along, "norm").pvalue > 1e-3
    assert np.cov((across + np.outer(along, UNIT)).T) == pytest.approx(np.eye(DIMS), abs=0.05)
    assert log_mean_probability(flat, PRIOR) == pytest.approx(min(constant, 0.0) + np.log(0.5) * (constant == 0))


def test_the_same_generator_draws_the_same_vectors():
    one, other = (sample_posterior(Surrogate(SLOPE, -7.0), PRIOR, 50, rng_of(23)) for _ in range(2))
    assert (one == other).all()


def test_draws_under_a_prior_of_lower_rank_stay_within_the_directions_of_the_prior():
    # the first two dimensions are identical
    prior = NormalPrior(np.ones(3), np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]]))
    vectors = sample_posterior(Surrogate(np.array([1.0, 1.0, 0.5]), -4.0), prior, 20_000, rng_of(24))
    plain = prior.draw(400_000, rng_of(25))
    weights = weigh(expit(plain @ [1.0, 1.0, 0.5] - 4))
    assert vectors[:, 0] == pytest.approx(vectors[:, 1])
    assert vectors.mean(axis=0) == pytest.approx(weights.shares @ plain, abs=0.05)


def test_a_prior_has_the_mean_and_covariance_of_its_inputs():
    inputs = rng_of(14).normal(size=(50, 3)) @ rng_of(15).normal(size=(3, 5)) + 4  # five dimensions of rank three
    prior = NormalPrior.of(inputs)
    assert prior.rank == 3
    assert prior.mean == pytest.approx(inputs.mean(axis=0))
    assert prior.factor @ prior.factor.T == pytest.approx(np.cov(inputs.T))
    drawn = prior.draw(100_000, rng_of(16))
    assert np.cov(drawn.T) == pytest.approx(np.cov(inputs.T), abs=0.15)


@pytest.mark.parametrize("said", [np.zeros(10), np.ones(10)])
def test_a_surrogate_fit_to_identical_replies_is_refused(said):
    with pytest.raises(ZeroVariance):
        fit_surrogate(rng_of(0).normal(size=(10, 2)), said)


def test_a_surrogate_fit_with_invalid_arguments_is_refused():
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
