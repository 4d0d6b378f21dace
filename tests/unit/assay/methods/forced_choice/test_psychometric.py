"""Tests of psychometric curves fitted to counted choices: known answers, recovery, symmetry, interval coverage."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from scipy.special import ndtr
from scipy.stats import norm

from assay.errors import NoTransition, OutOfBounds, TooFewObservations
from assay.methods.forced_choice.psychometric_fit import fit_psychometric

KNOWN = Path(__file__).resolve().parents[6] / "shared" / "known_answers" / "two_afc.json"
LEVEL = np.linspace(0, 1, 9)
CHOSE = np.array([0, 0, 1, 4, 9, 16, 18, 20, 20])
TRIALS = np.full(9, 20)


def curve(level, mu, sigma, lapse):
    return lapse / 2 + (1 - lapse) * ndtr((level - mu) / sigma)


def sd_of(fit):
    return np.sqrt(fit.point.variance)


def limits(interval):
    return interval.low, interval.estimate, interval.high


# ---------------------------------------------------------------------------- known answers
@pytest.fixture(scope="module")
def known():
    if not KNOWN.exists():
        pytest.skip("the shared known answers are not beside the project")
    return json.loads(KNOWN.read_text())["fit"]


def test_the_posterior_of_a_psychometric_curve_equals_its_known_answer(known):
    expected = known["bayes_grid_lapse_beta1_20_flat_mu_logsigma"]
    fit = fit_psychometric(known["x"], known["k"], known["n"])
    assert fit.pse.estimate == pytest.approx(expected["pse_mean"], abs=expected["tol"])
    assert (fit.pse.low, fit.pse.high) == pytest.approx(expected["pse_ci95"], abs=expected["tol"])
    assert fit.sigma.estimate == pytest.approx(expected["sigma_median"], abs=expected["tol"])
    assert (fit.sigma.low, fit.sigma.high) == pytest.approx(expected["sigma_ci95"], abs=expected["tol"])
    assert fit.jnd_75.estimate == pytest.approx(0.67449 * fit.sigma.estimate, rel=1e-5)


def test_the_point_of_subjective_equality_is_near_its_maximum_likelihood_estimate(known):
    fit = fit_psychometric(known["x"], known["k"], known["n"])
    assert fit.pse.estimate == pytest.approx(known["ml_probit_no_lapse"]["pse"], abs=0.1 * sd_of(fit))


def integrated(level, chose, trials):
    """Return the mean and sd of mu and the mean lapse, by Gauss-Legendre quadrature of the posterior on a wide grid."""
    low, span = level.min(), np.ptp(level)
    axes = []
    for one, other, pieces in (
        (low - span, low + 2 * span, 60),
        (np.log(span / 200), np.log(5 * span), 30),
        (0, 0.5, 20),
    ):
        nodes, weights = leggauss(4)
        edges = np.linspace(one, other, pieces + 1)
        middle, half = (edges[1:] + edges[:-1])[:, None] / 2, np.diff(edges)[:, None] / 2
        axes.append(((middle + half * nodes).ravel(), (half * weights).ravel()))
    (mu, over_mu), (log_sigma, over_sigma), (lapse, over_lapse) = axes
    away = (level - mu[:, None, None]) / np.exp(log_sigma)[:, None]
    log_mass = np.stack(
        [
            np.log(one / 2 + (1 - one) * ndtr(away)) @ chose
            + np.log(one / 2 + (1 - one) * ndtr(-away)) @ (trials - chose)
            + 19 * np.log1p(-one)
            for one in lapse
        ],
        axis=2,
    )
    mass = np.exp(log_mass - log_mass.max()) * over_mu[:, None, None] * over_sigma[:, None] * over_lapse
    mass /= mass.sum()
    of_mu = mass.sum(axis=(1, 2))
    mean = of_mu @ mu
    return mean, np.sqrt(of_mu @ (mu - mean) ** 2), mass.sum(axis=(0, 1)) @ lapse


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chose", "trials"),
    [
        (CHOSE, TRIALS),
        ([0, 0, 0, 0, 2, 3, 3, 3, 3], np.full(9, 3)),  # steeper than the spacing of the levels can resolve
        ([5, 5, 8, 9, 10, 12, 13, 15, 17], TRIALS),  # a shallow curve
        ([0, 1, 1, 2, 1, 1, 2, 2, 2], np.full(9, 3)),  # almost no information
        ([3, 2, 3, 3, 10, 17, 17, 17, 17], TRIALS),  # many lapses
    ],
)
def test_the_moments_of_the_posterior_agree_with_quadrature_on_a_fixed_grid(chose, trials):
    fit = fit_psychometric(LEVEL, chose, trials)
    mean, sd, lapse = integrated(LEVEL, np.asarray(chose), trials)
    assert fit.pse.estimate == pytest.approx(mean, abs=0.01 * sd)
    assert sd_of(fit) == pytest.approx(sd, rel=0.01)
    assert fit.lapse.estimate == pytest.approx(lapse, rel=0.02)


# ---------------------------------------------------------------------------- recovery
@pytest.mark.parametrize("trials", [500, 20_000, 1_000_000])
@pytest.mark.parametrize(("mu", "sigma", "lapse"), [(0.32, 0.1, 0.02), (0.7, 0.3, 0.08), (0.52, 0.06, 0.25)])
def test_the_true_curve_is_recovered_for_any_number_of_answers(trials, mu, sigma, lapse):
    """A grid that is narrowed too fast misses a narrow posterior between its points."""
    level = np.linspace(0, 1, 11)
    chose = np.random.default_rng(1).binomial(trials, curve(level, mu, sigma, lapse))
    fit = fit_psychometric(level, chose, np.full(11, trials))
    assert abs(fit.pse.estimate - mu) < 4 * sd_of(fit) < 10 * sigma / np.sqrt(trials)
    assert fit.sigma.estimate == pytest.approx(sigma, rel=6 / np.sqrt(trials))
    assert fit.lapse.estimate == pytest.approx(lapse, abs=2 / np.sqrt(trials))


@pytest.mark.slow
def test_the_interval_of_the_point_of_subjective_equality_has_its_nominal_coverage():
    rng = np.random.default_rng(2)
    runs = 1000
    held = 0
    for _ in range(runs):
        mu, sigma, lapse = rng.uniform(0.3, 0.7), np.exp(rng.uniform(np.log(0.08), np.log(0.3))), rng.beta(1, 20)
        fit = fit_psychometric(LEVEL, rng.binomial(20, curve(LEVEL, mu, sigma, lapse)), TRIALS)
        held += fit.pse.low <= mu <= fit.pse.high
    assert 0.93 <= held / runs <= 0.97


def test_an_observer_who_switches_between_two_levels_has_a_point_of_subjective_equality_between_them():
    fit = fit_psychometric([0, 0.25, 0.5, 0.75, 1], [0, 0, 30, 30, 30], [30] * 5)
    assert 0.25 <= fit.pse.low < fit.pse.estimate < fit.pse.high <= 0.5
    assert fit.pse.estimate == pytest.approx(0.375, abs=0.005)
    assert fit.sigma.estimate < 0.1


def test_an_observer_who_guesses_has_a_wide_interval():
    fit = fit_psychometric(LEVEL, TRIALS // 2, TRIALS)
    assert fit.pse.high - fit.pse.low > 0.9


def test_an_observer_with_reversed_answers_has_a_wide_interval():
    fit = fit_psychometric(LEVEL, CHOSE[::-1], TRIALS)
    assert fit.pse.high - fit.pse.low > 1


def test_more_answers_narrow_the_interval():
    few, many = (fit_psychometric(LEVEL, times * CHOSE, times * TRIALS) for times in (1, 25))
    assert sd_of(many) == pytest.approx(sd_of(few) / 5, rel=0.15)


# ---------------------------------------------------------------------------- symmetries
def test_swapping_the_cues_mirrors_the_curve():
    fit, mirrored = fit_psychometric(LEVEL, CHOSE, TRIALS), fit_psychometric(1 - LEVEL, TRIALS - CHOSE, TRIALS)
    assert limits(mirrored.pse) == pytest.approx([1 - one for one in limits(fit.pse)[::-1]], abs=1e-9)
    assert limits(mirrored.sigma) == pytest.approx(limits(fit.sigma), rel=1e-9)
    assert limits(mirrored.lapse) == pytest.approx(limits(fit.lapse), rel=1e-9)


def test_points_of_subjective_equality_and_just_noticeable_differences_scale_with_the_unit_of_the_level():
    fit, moved = fit_psychometric(LEVEL, CHOSE, TRIALS), fit_psychometric(20 + 400 * LEVEL, CHOSE, TRIALS)
    assert limits(moved.pse) == pytest.approx([20 + 400 * one for one in limits(fit.pse)])
    assert limits(moved.jnd_75) == pytest.approx([400 * one for one in limits(fit.jnd_75)])
    assert sd_of(moved) == pytest.approx(400 * sd_of(fit))


def test_the_order_and_grouping_of_the_counts_do_not_matter():
    order = np.random.default_rng(3).permutation(18)
    level = np.concatenate([LEVEL, LEVEL])[order]
    chose = np.concatenate([CHOSE // 2, CHOSE - CHOSE // 2])[order]
    split = fit_psychometric(level, chose, np.full(18, 10))
    assert split.pse == fit_psychometric(LEVEL, CHOSE, TRIALS).pse


@pytest.mark.slow
def test_2000_trials_at_distinct_levels_are_fitted_in_less_than_30_megabytes():
    rng = np.random.default_rng(5)
    level = rng.uniform(0, 1, 2000)
    tracemalloc.start()
    fit = fit_psychometric(level, rng.random(2000) < curve(level, 0.4, 0.2, 0.02), np.ones(2000))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert fit.pse.low < 0.4 < fit.pse.high
    assert most < 30e6


def test_levels_without_trials_are_ignored():
    padded = fit_psychometric(np.append(LEVEL, 7.0), np.append(CHOSE, 0), np.append(TRIALS, 0))
    assert padded.pse == fit_psychometric(LEVEL, CHOSE, TRIALS).pse


def test_the_marginal_posterior_of_the_point_of_subjective_equality_has_the_mean_and_quantiles_of_the_fit():
    fit = fit_psychometric(LEVEL, CHOSE, TRIALS)
    assert fit.point.mass.sum() == pytest.approx(1)
    assert fit.point.mean == pytest.approx(fit.pse.estimate)
    below = np.concatenate([[0.0], np.cumsum(fit.point.mass)])
    assert np.interp([0.025, 0.975], below, fit.point.edges) == pytest.approx([fit.pse.low, fit.pse.high])
    # with this many answers the posterior is nearly normal
    normal = norm.cdf(fit.point.edges, fit.point.mean, np.sqrt(fit.point.variance))
    assert np.abs(below - normal).max() < 0.02


# ---------------------------------------------------------------------------- refusals
@pytest.mark.parametrize(("chose", "side"), [(np.zeros(9), "first"), (TRIALS, "second")])
def test_an_observer_who_never_changes_the_answer_has_no_point_of_subjective_equality(chose, side):
    with pytest.raises(NoTransition, match=f"all 180 answers chose the {side} cue"):
        fit_psychometric(LEVEL, chose, TRIALS)


@pytest.mark.parametrize(("level", "trials"), [([0.5, 0.5], [10, 10]), ([0.2, 0.5], [0, 10]), ([], [])])
def test_fewer_than_two_levels_with_trials_are_refused(level, trials):
    with pytest.raises(TooFewObservations, match="a curve needs two"):
        fit_psychometric(level, np.array(trials) / 2, trials)


@pytest.mark.parametrize(
    ("level", "chose", "trials", "message"),
    [
        ([0, 1], [0, 3], [2, 2], "from 0 to the trials"),
        ([0, 1], [-1, 1], [2, 2], "from 0 to the trials"),
        ([0, np.nan], [0, 1], [2, 2], "finite"),
        ([0, 1], [0, np.nan], [2, 2], "from 0 to the trials"),
        ([0, 1, 2], [0, 1], [2, 2], "equally many"),
    ],
)
def test_a_psychometric_fit_of_impossible_counts_is_refused(level, chose, trials, message):
    with pytest.raises(OutOfBounds, match=message):
        fit_psychometric(level, chose, trials)
