"""Tests of the beta-binomial hierarchy: known answers, quadrature, symmetries, coverage and errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from scipy.special import betaln
from scipy.stats import betabinom, kstest

from assay.errors import OutOfBounds, TooFewObservations
from assay.statistics.bayes.beta_binomial import fit_shares
from assay.statistics.intervals.credible import wilson
from tests.support.simulated.stereotype_shares import Asked, coverage

KNOWN = Path(__file__).resolve().parents[6] / "shared" / "known_answers" / "stereotype.json"

WON, LOST = [8, 3, 9, 5, 7, 10], [2, 7, 1, 5, 3, 0]


@pytest.fixture
def rng():
    return np.random.default_rng(41)


def integrated(won, lost, m_within=(0.0, 1.0), rho_within=(0.0, 1.0), points=160):
    """Return the means of m, of rho and of each share by quadrature over a fixed rectangle."""
    node, weight = leggauss(points)
    axes = [low + (high - low) * (node + 1) / 2 for low, high in (m_within, rho_within)]
    m, rho = axes[0][:, None], axes[1][None, :]
    k = (1 - rho) / rho
    log = 2 * np.log1p(-rho) + sum(
        betaln(one + m * k, other + (1 - m) * k) - betaln(m * k, (1 - m) * k)
        for one, other in zip(won, lost, strict=True)
    )
    mass = np.exp(log - log.max()) * np.outer(weight, weight)
    mass /= mass.sum()
    shares = [float(((one + m * k) / (one + other + k) * mass).sum()) for one, other in zip(won, lost, strict=True)]
    return float((m * mass).sum()), float((rho * mass).sum()), shares


# ---------------------------------------------------------------------------- known answers, a second computation
@pytest.mark.skipif(not KNOWN.exists(), reason="the shared known answers are not beside the project")
def test_the_beta_binomial_posterior_equals_its_known_answer():
    known = json.loads(KNOWN.read_text())["hierarchical"]
    won = np.array(known["k"])
    found = fit_shares(won, np.array(known["n"]) - won)
    assert found.overall.estimate == pytest.approx(known["overall_mean"], abs=known["tol"] / 20)
    assert found.means == pytest.approx(known["theta_mean"], abs=known["tol"] / 20)


@pytest.mark.parametrize(
    ("won", "lost"),
    [
        (WON, LOST),
        ([0, 0, 0, 0], [10, 10, 10, 10]),
        ([10, 0, 10, 0], [0, 10, 0, 10]),
        ([1, 40], [2, 3]),
        ([1, 0], [0, 1]),
    ],
)
def test_the_moments_of_the_posterior_agree_with_quadrature_on_a_fixed_grid(won, lost):
    mean, spread, shares = integrated(won, lost)
    found = fit_shares(won, lost)
    assert found.overall.estimate == pytest.approx(mean, abs=2e-3)
    assert found.spread.estimate == pytest.approx(spread, abs=2e-3)
    assert found.means == pytest.approx(shares, abs=2e-3)


def test_the_grid_resolves_the_narrow_posterior_of_many_trials_of_similar_terms(rng):
    won = rng.binomial(1_000_000, 0.5, 20)
    found, pooled = fit_shares(won, 1_000_000 - won), wilson(int(won.sum()), 20_000_000)
    mean, spread, _ = integrated(won, 1_000_000 - won, (0.499, 0.501), (1e-12, 5e-6), points=120)
    assert found.overall.estimate == pytest.approx(mean, abs=1e-5)
    assert found.spread.estimate == pytest.approx(spread, rel=0.02)
    assert found.overall.high - found.overall.low < 1.5 * (pooled.high - pooled.low)


def test_the_grid_resolves_the_posterior_of_many_trials_of_terms_with_different_shares(rng):
    share = rng.beta(6, 4, 50)
    won = rng.binomial(100_000, share)
    found = fit_shares(won, 100_000 - won)
    assert found.means == pytest.approx(share, abs=0.01)
    assert found.overall.low < 0.6 < found.overall.high
    assert found.overall.high - found.overall.low == pytest.approx(2 * 1.96 * share.std() / np.sqrt(50), rel=0.15)


# ---------------------------------------------------------------------------- symmetries
def test_swapping_successes_and_failures_mirrors_the_posterior():
    one, other = fit_shares(WON, LOST, [1, 0, 3, 0, 2, 0]), fit_shares(LOST, WON, [1, 0, 3, 0, 2, 0])
    assert one.overall.estimate == pytest.approx(1 - other.overall.estimate, abs=1e-6)
    assert [one.overall.low, one.overall.high] == pytest.approx(
        [1 - other.overall.high, 1 - other.overall.low], abs=1e-3
    )
    assert one.means == pytest.approx(1 - other.means, abs=1e-6)


def test_the_posterior_does_not_depend_on_the_order_of_the_terms():
    order = [3, 0, 5, 1, 4, 2]
    shuffled = fit_shares(np.array(WON)[order], np.array(LOST)[order])
    assert shuffled.overall == fit_shares(WON, LOST).overall
    assert shuffled.means == pytest.approx(fit_shares(WON, LOST).means[order])


def test_a_share_of_few_trials_shrinks_towards_the_others():
    found = fit_shares([90, 85, 88, 0], [10, 15, 12, 2])
    assert 0.5 < found.means[3] < found.overall.estimate


def test_a_tie_counts_as_half_a_success():
    for tied in (1, 2, 40):
        assert fit_shares([4, 2], [2, 4], [tied, tied]).overall.estimate == pytest.approx(0.5, abs=1e-6)
    assert fit_shares([10] * 20, [0] * 20, [15] * 20).overall.estimate == pytest.approx(0.7, abs=0.01)


def test_trials_with_ties_give_a_narrower_interval_than_decided_trials():
    """If half of the trials tie, their variance is halved, so they count as about twice as many trials."""
    votes, decisions, twice = (
        fit_shares([each] * 40, [each] * 40, [ties] * 40).overall for each, ties in ((5, 10), (10, 0), (20, 0))
    )
    assert votes.high - votes.low == pytest.approx(twice.high - twice.low, rel=0.01)
    assert votes.high - votes.low < 0.8 * (decisions.high - decisions.low)


def test_mostly_ties_give_a_wide_interval():
    one_decided = fit_shares([1, 0], [0, 0], [9, 10]).overall
    assert one_decided.low < 0.5 < one_decided.high
    assert one_decided.high - one_decided.low > 0.1


# ---------------------------------------------------------------------------- draws
def test_draws_follow_the_posterior(rng):
    found = fit_shares(WON, LOST)
    overall, shares = found.draw_overall(rng, 40_000), found.shares(rng, 40_000)
    assert overall.mean() == pytest.approx(found.overall.estimate, abs=0.003)
    assert np.quantile(overall, [0.025, 0.975]) == pytest.approx([found.overall.low, found.overall.high], abs=0.01)
    assert [one.estimate for one in shares] == pytest.approx(found.means, abs=0.003)
    assert all(0 <= one.low < one.estimate < one.high <= 1 for one in shares)


def test_terms_with_equal_counts_have_equal_intervals(rng):
    shares = fit_shares([1, 2, 1, 2], [1, 0, 1, 0]).shares(rng)
    assert shares[0] == shares[2]
    assert shares[1] == shares[3]
    assert shares[0].estimate < shares[1].estimate
    assert all(one.low < one.estimate < one.high for one in shares)


def test_draws_depend_on_the_generator_alone():
    found = fit_shares(WON, LOST)
    assert (found.draw_overall(np.random.default_rng(3)) == found.draw_overall(np.random.default_rng(3))).all()


# ---------------------------------------------------------------------------- recovery and coverage
@pytest.mark.slow
def test_the_posterior_is_calibrated_for_truths_from_the_prior(rng):
    """Simulation-based calibration: ranks of the truth among draws are uniform (Talts et al. 2018)."""
    ranks = []
    for _ in range(400):
        m, rho = rng.uniform(), rng.beta(1, 3)
        k = 1 / rho - 1
        won = betabinom.rvs(6, m * k, (1 - m) * k, size=8, random_state=rng)
        ranks.append(np.mean(fit_shares(won, 6 - won).draw_overall(rng, 400) < m))
    assert kstest(ranks, "uniform").pvalue > 0.01


@pytest.mark.slow
def test_intervals_of_the_hierarchy_cover_the_truth_if_terms_differ_and_pooled_intervals_do_not():
    hierarchy, pooled = coverage(Asked(), 300, seed=12)
    assert hierarchy.held > 0.93
    assert pooled.held < 0.89


@pytest.mark.slow
@pytest.mark.parametrize("ties", [0.15, 0.4, 0.7])
def test_intervals_have_about_their_nominal_coverage_if_many_trials_tie(ties):
    """If ties were counted as decisions, coverage would be .985 with 40 % ties and 1 with 70 %."""
    hierarchy, _ = coverage(Asked(ties=ties), 300, seed=13)
    assert 0.93 < hierarchy.held < 0.98


# ---------------------------------------------------------------------------- bad input
@pytest.mark.parametrize(("won", "lost"), [([], []), ([7], [3]), (7, 3)])
def test_a_beta_binomial_fit_of_a_single_term_is_refused(won, lost):
    with pytest.raises(TooFewObservations, match="needs 2"):
        fit_shares(won, lost)


def test_a_beta_binomial_fit_of_trials_that_all_tie_is_refused():
    with pytest.raises(TooFewObservations, match="all 9 trials are ties"):
        fit_shares([0, 0], [0, 0], [4, 5])


@pytest.mark.parametrize(
    ("won", "lost", "ties", "message"),
    [
        ([1, 2], [1], 0, "the same shape"),
        ([1, 2], [1, 2], [1, 2, 3], "the same shape"),
        ([[1, 2]], [[1, 2]], 0, "the same shape"),
        ([-1, 2], [1, 2], 0, "whole numbers"),
        ([1.5, 2], [1, 2], 0, "whole numbers"),
        ([np.nan, 2], [1, 2], 0, "whole numbers"),
        ([1, 2], [1, 2], [0, -1], "whole numbers"),
        ([1, 0], [1, 0], 0, r"trials\[1\] is 0"),
    ],
)
def test_a_beta_binomial_fit_of_invalid_counts_is_refused(won, lost, ties, message):
    with pytest.raises(OutOfBounds, match=message):
        fit_shares(won, lost, ties)
