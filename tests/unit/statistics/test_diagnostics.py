"""Convergence of chains: closed forms of AR(1), symmetries, and chains that visibly disagree."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import rankdata

from assay.errors import EvidenceError, OutOfBounds, TooFewObservations
from assay.statistics import diagnostics
from assay.statistics.diagnostics import autocorrelation, convergence, effective_size


def ar1(phi, chains=4, draws=5000, dims=3, seed=1):
    """Chains with correlation phi between neighbours, and a standard normal distribution."""
    noise = np.random.default_rng(seed).standard_normal((chains, draws, dims))
    noise[:, 1:] *= np.sqrt(1 - phi**2)
    return lfilter([1.0], [1.0, -phi], noise, axis=1)


@pytest.mark.parametrize("phi", [-0.5, 0.0, 0.5, 0.8])
def test_the_effective_size_of_an_ar1_chain_is_its_closed_form(phi):
    draws = ar1(phi, draws=20_000)
    expected = 80_000 * (1 - phi) / (1 + phi)
    assert effective_size(draws) == pytest.approx(np.full(3, expected), rel=0.1)
    # ranks of a Gaussian chain are nearly as correlated as its draws
    assert convergence(draws).ess_bulk == pytest.approx(np.full(3, expected), rel=0.1)


@pytest.mark.parametrize("phi", [-0.5, 0.0, 0.8])
def test_the_autocorrelation_of_an_ar1_chain_falls_by_its_powers(phi):
    found = autocorrelation(ar1(phi, draws=20_000), lags=12)
    assert found.shape == (3, 13)
    assert found == pytest.approx(np.tile(phi ** np.arange(13.0), (3, 1)), abs=0.04)
    assert (found[:, 0] == 1).all()


def test_the_error_of_a_mean_is_how_far_means_of_such_chains_scatter():
    draws = ar1(0.8, chains=800, draws=400, dims=1)
    groups = draws.reshape(200, 4, 400, 1)
    means = groups.mean(axis=(1, 2))
    told = np.mean([convergence(group).error for group in groups[:60]])
    assert told == pytest.approx(means.std(), rel=0.15)


def test_chains_of_one_distribution_agree_and_converge():
    judged = convergence(ar1(0.3))
    assert judged.worst_r_hat < 1.005
    assert judged.converged
    assert judged.as_json()["converged"] is True


def test_a_chain_in_another_place_shows():
    draws = ar1(0.0)
    draws[0] += 1.0
    judged = convergence(draws)
    assert (judged.r_hat > 1.05).all()
    assert not judged.converged


def test_a_chain_of_another_width_in_the_same_place_shows():
    draws = ar1(0.0)
    draws[0] *= 3.0
    assert (convergence(draws).r_hat > 1.05).all()


def test_a_chain_that_drifts_disagrees_with_itself():
    drift = np.linspace(-2, 2, 1000)[None, :, None]
    assert (convergence(ar1(0.0, draws=1000) + drift).r_hat > 1.2).all()


def test_a_heavy_tail_does_not_hide_a_disagreement():
    """Of Cauchy draws there is no variance for the classical R-hat to compare; of ranks there is."""
    draws = np.random.default_rng(2).standard_cauchy((4, 1000))
    assert convergence(draws).worst_r_hat < 1.01
    draws[0] += 3
    assert convergence(draws).worst_r_hat > 1.1


def test_any_increasing_change_of_scale_leaves_ranks_as_they_are():
    draws = ar1(0.6, draws=500)
    plain, bent = convergence(draws), convergence(np.exp(draws))
    assert bent.ess_bulk == pytest.approx(plain.ess_bulk)
    # a half-way quantile lies between two draws, so that tails may differ by the draw at the cut
    assert bent.ess_tail == pytest.approx(plain.ess_tail, rel=0.02)


def test_the_order_of_the_chains_does_not_matter_and_that_of_the_draws_does():
    draws = ar1(0.9, draws=1000)
    plain, other = convergence(draws), convergence(draws[[2, 0, 3, 1]])
    assert other.r_hat == pytest.approx(plain.r_hat)
    assert other.ess_bulk == pytest.approx(plain.ess_bulk)
    shuffled = np.random.default_rng(3).permutation(draws, axis=1)
    assert (convergence(shuffled).ess_bulk > 5 * plain.ess_bulk).all()


def test_dimensions_are_judged_one_by_one():
    draws = np.concatenate([ar1(0.0, dims=1), ar1(0.9, dims=1, seed=4)], axis=2)
    whole = convergence(draws)
    for at in range(2):
        alone = convergence(draws[:, :, at])
        assert alone.r_hat[0] == pytest.approx(whole.r_hat[at])
        assert alone.ess_bulk[0] == pytest.approx(whole.ess_bulk[at])


def test_ranks_share_ties_as_scipy_has_it():
    values = np.random.default_rng(5).integers(0, 9, 60).astype(float)
    assert diagnostics._ranks(values) == pytest.approx(rankdata(values))


def test_a_constant_has_no_error_and_chains_of_different_constants_disagree_without_bound():
    same = convergence(np.ones((4, 100)))
    assert (same.r_hat[0], same.ess_bulk[0], same.error[0]) == (1.0, 400.0, 0.0)
    assert autocorrelation(np.ones((4, 100)), 5).tolist() == [[1.0] * 6]
    apart = convergence(np.repeat(np.arange(4.0)[:, None], 100, axis=1))
    assert apart.r_hat[0] > 100
    assert not apart.converged


def test_one_chain_is_judged_by_its_halves():
    assert convergence(ar1(0.2, chains=1)).converged


@pytest.mark.parametrize(
    ("draws", "error"),
    [
        (np.zeros(5), OutOfBounds),
        (np.zeros((0, 10, 2)), OutOfBounds),
        (np.zeros((4, 7)), TooFewObservations),
        (np.full((4, 20), np.nan), EvidenceError),
    ],
)
def test_what_cannot_be_judged_is_refused(draws, error):
    with pytest.raises(error):
        convergence(draws)


@pytest.mark.parametrize("lags", [0, 20])
def test_lags_are_less_than_the_draws(lags):
    with pytest.raises(OutOfBounds, match="lags"):
        autocorrelation(np.zeros((2, 20)), lags)
