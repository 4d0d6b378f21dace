"""The No-U-Turn Sampler: targets whose moments are known, symmetries, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, log_expit
from scipy.stats import gumbel_l, kstest

from assay.errors import EvidenceError, OutOfBounds
from assay.statistics.diagnostics import convergence, effective_size
from assay.statistics.nuts import sample_nuts
from assay.statistics.nuts_adaptation import StepSize, windows
from assay.statistics.nuts_metric import DRAWS_A_DIMENSION, MOST_DIMENSIONS, Directions, Scales, learnt, scales
from assay.statistics.nuts_tree import Chains

REFERENCE = Path(__file__).with_name("logistic_posterior_100.json")
"""Moments that numpyro's NUTS gives for `logistic_posterior`: 4 chains of 20,000 draws, double precision."""


def rng_of(seed):
    return np.random.default_rng(seed)


def normal_target(mean, precision):
    def target(x):
        away = x - mean
        pull = away @ precision
        return -np.vecdot(away, pull) / 2, -pull

    return target


def standard_normal(x):
    return -np.vecdot(x, x) / 2, -x


def gumbel_target(x):
    """Density exp(x - exp(x)): skewed, and steep on one side."""
    return (x - np.exp(x)).sum(axis=1), 1 - np.exp(x)


def logistic_problem():
    rng, rows, dims = np.random.Generator(np.random.PCG64(20)), 500, 100
    noise = rng.standard_normal((rows, dims))
    design = noise.copy()
    for at in range(1, dims):
        design[:, at] = 0.5 * design[:, at - 1] + np.sqrt(0.75) * noise[:, at]
    truth = 0.3 * rng.standard_normal(dims)
    return design, (rng.random(rows) < expit(design @ truth)).astype(float)


def logistic_posterior(design, labels):
    """Logistic regression with standard normal weights."""
    signed = design * (2 * labels - 1)[:, None]

    def target(weights):
        score = weights @ signed.T
        return log_expit(score).sum(axis=1) - np.vecdot(weights, weights) / 2, expit(-score) @ signed - weights

    return target


def test_a_logistic_posterior_of_a_hundred_dimensions_has_the_moments_of_a_long_run_of_another_sampler():
    known = json.loads(REFERENCE.read_text())
    design, labels = logistic_problem()
    assert [design.sum(), labels.sum(), design.T @ labels @ np.arange(100)] == pytest.approx(known["checksum"])
    rng = rng_of(1)
    sampled = sample_nuts(logistic_posterior(design, labels), rng.standard_normal((4, 100)), rng, draws=2500)
    judged = convergence(sampled.draws)
    assert judged.converged
    assert judged.worst_r_hat <= 1.01
    mean, sd = np.array(known["mean"]), np.array(known["sd"])
    assert np.abs((sampled.together.mean(axis=0) - mean) / sd).max() < 0.05
    assert np.abs(sampled.together.std(axis=0) / sd - 1).max() < 0.05
    assert not sampled.diverged.any()


def test_a_correlated_normal_of_different_scales_is_recovered():
    rng = rng_of(2)
    root = rng.normal(size=(5, 5)) + 3 * np.eye(5)
    covariance = np.diag([0.01, 0.1, 1, 10, 100]) @ root @ root.T @ np.diag([0.01, 0.1, 1, 10, 100])
    mean, sd = np.array([5.0, -3, 0, 40, 1000]), np.sqrt(np.diag(covariance))
    start = mean + 2 * sd * rng.standard_normal((4, 5))
    sampled = sample_nuts(normal_target(mean, np.linalg.inv(covariance)), start, rng, draws=2000)
    assert sampled.together.mean(axis=0) == pytest.approx(mean, abs=0.06 * sd.max(), rel=0)
    assert np.abs((sampled.together.mean(axis=0) - mean) / sd).max() < 0.06
    assert np.abs(np.cov(sampled.together.T) / np.outer(sd, sd) - covariance / np.outer(sd, sd)).max() < 0.1


def test_a_skewed_density_is_drawn_in_its_whole_shape():
    rng = rng_of(3)
    sampled = sample_nuts(gumbel_target, rng.standard_normal((4, 1)), rng, draws=4000)
    thinned = sampled.draws[:, ::4, 0].ravel()  # about independent
    assert kstest(thinned, gumbel_l.cdf).pvalue > 0.01


def test_draws_of_a_standard_normal_are_worth_as_many_independent_ones_at_least():
    rng = rng_of(4)
    sampled = sample_nuts(standard_normal, rng.standard_normal((4, 50)), rng, draws=500)
    assert effective_size(sampled.draws).min() > 2000
    assert sampled.leaves.max() <= 15  # trees do not run in circles


def test_the_more_acceptance_is_wanted_the_more_there_is_and_the_shorter_the_step():
    design, labels = logistic_problem()
    target = logistic_posterior(design[:200, :10], labels[:200])
    wanted = (0.6, 0.8, 0.95)
    runs = [sample_nuts(target, np.zeros((4, 10)), rng_of(5), draws=300, acceptance=one) for one in wanted]
    assert runs[0].accepted < runs[1].accepted < runs[2].accepted
    assert runs[0].step > runs[1].step > runs[2].step
    # averages of steps lie a little on the safe side
    assert runs[1].accepted == pytest.approx(0.85, abs=0.06)
    assert runs[2].accepted == pytest.approx(0.95, abs=0.03)


def test_the_same_generator_gives_the_same_draws_and_another_one_others():
    first, again, other = (
        sample_nuts(gumbel_target, np.zeros((2, 3)), rng_of(seed), draws=30, warm_up=30).draws for seed in (6, 6, 7)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_mirroring_the_target_mirrors_the_draws_in_distribution():
    def mirrored(x):
        density, gradient = gumbel_target(-x)
        return density, -gradient

    sampled = sample_nuts(gumbel_target, np.zeros((4, 2)), rng_of(8), draws=2000)
    other = sample_nuts(mirrored, np.zeros((4, 2)), rng_of(9), draws=2000)
    assert sampled.together.mean(axis=0) == pytest.approx(-other.together.mean(axis=0), abs=0.12)


def test_scaling_a_dimension_scales_its_draws_and_its_learnt_scale():
    factor = np.array([1.0, 1000.0])

    def scaled(x):
        density, gradient = gumbel_target(x / factor)
        return density, gradient / factor

    start = rng_of(10).standard_normal((4, 2))
    plain = sample_nuts(gumbel_target, start, rng_of(11), draws=1500)
    wide = sample_nuts(scaled, start * factor, rng_of(11), draws=1500)
    assert wide.variance / plain.variance == pytest.approx(factor**2, rel=0.3)
    assert wide.together.std(axis=0) / plain.together.std(axis=0) == pytest.approx(factor, rel=0.08)


def test_log_densities_are_those_of_the_draws():
    sampled = sample_nuts(gumbel_target, np.zeros((3, 2)), rng_of(12), draws=40, warm_up=40)
    again = [gumbel_target(draw)[0] for draw in sampled.draws]
    assert sampled.log_density == pytest.approx(np.stack(again))


def test_a_target_may_use_its_arrays_anew():
    room = {}

    def careless(x):
        density, gradient = room.setdefault(len(x), (np.empty(len(x)), np.empty(x.shape)))
        density[:], gradient[:] = gumbel_target(x)
        return density, gradient

    start = rng_of(13).standard_normal((4, 3))
    plain, reused = (sample_nuts(one, start, rng_of(14), draws=50, warm_up=50) for one in (gumbel_target, careless))
    assert np.array_equal(plain.draws, reused.draws)


def test_a_wall_is_not_crossed_and_is_told():
    def half(x):  # an exponential that does not exist below zero
        inside = (x > 0).all(axis=1)
        return np.where(inside, -x.sum(axis=1), -np.inf), np.where(inside[:, None], -1.0, np.nan)

    sampled = sample_nuts(half, np.ones((4, 1)), rng_of(15), draws=3000)
    assert (sampled.draws > 0).all()
    assert np.isfinite(sampled.log_density).all()
    assert sampled.diverged.any()


def test_a_chain_moves_as_it_would_if_others_had_longer_trees():
    """Chains share calls and a generator, not fates: one at a mode does not disturb one far out."""
    sampled = sample_nuts(standard_normal, np.array([[0.0] * 20, [30.0] * 20]), rng_of(16), draws=1500)
    assert sampled.draws[0].std() == pytest.approx(1, abs=0.03)
    assert sampled.draws[1].std() == pytest.approx(1, abs=0.03)


def test_no_tree_is_deeper_than_allowed():
    rng = rng_of(17)
    target = normal_target(np.zeros(2), np.linalg.inv(np.array([[1, 0.999], [0.999, 1]])))
    sampled = sample_nuts(target, rng.standard_normal((4, 2)), rng, draws=50, warm_up=60, acceptance=0.99, max_depth=2)
    assert sampled.leaves.max() == 3
    assert sampled.as_json()["leapfrog_steps"] == sampled.leaves.sum()


def test_one_leap_keeps_the_energy_to_the_third_power_of_the_step():
    chains = Chains(gumbel_target, np.full((1, 1), 0.3), 10)
    lost = [-chains.leap(step, Scales(np.ones(1)), np.full((1, 1), 0.9))[0] for step in (0.02, 0.01)]
    assert all(one >= 0 for one in lost)
    forth = Chains(gumbel_target, np.full((1, 1), 0.3), 10).leap(0.01, Scales(np.ones(1)), np.full((1, 1), -0.9))
    assert abs(max(lost[0], -forth[0])) < 1e-5


def test_scales_of_independent_normal_dimensions_are_exact_from_a_few_draws():
    sd = np.array([0.001, 1.0, 500.0])
    x = rng_of(18).normal(size=(4, 3)) * sd
    assert scales(x, -x / sd**2) == pytest.approx(sd**2)


def test_a_dimension_without_slope_or_without_spread_keeps_a_scale_of_one():
    x = np.array([[1.0, 2.0], [1.0, 3.0]])
    assert scales(x, np.array([[0.5, 0.0], [0.1, 0.0]]))[0] == 1.0
    assert np.isfinite(scales(x, np.zeros((2, 2)))).all()


def correlated(dims, seed=19):
    root = rng_of(seed).normal(size=(dims, dims)) + np.eye(dims)
    return root @ root.T * np.outer(*[np.logspace(-3, 3, dims)] * 2)


@pytest.mark.parametrize("dims", [2, 12, 60])
def test_which_dimensions_go_together_is_learnt_from_a_few_draws_of_a_normal_target(dims):
    covariance = correlated(dims)
    x = rng_of(20).multivariate_normal(np.full(dims, 3.0), covariance, size=DRAWS_A_DIMENSION * dims)
    found = learnt(x, -(x - 3.0) @ np.linalg.inv(covariance))
    # squared widths of the target in the metric's own coordinates: all the same, but for what it is drawn to
    widths = np.linalg.eigvals(found.velocity(np.linalg.inv(covariance))).real
    assert widths.max() / widths.min() < 2
    by_scales = np.linalg.eigvals(np.linalg.inv(covariance) * found.variance).real
    assert by_scales.max() / by_scales.min() > 2 * widths.max() / widths.min()


def test_momenta_have_the_inverse_of_the_metric_as_their_covariance():
    metric = Directions(correlated(3))
    drawn = metric.momentum((200_000, 3), rng_of(21))
    assert np.cov(metric.velocity(drawn).T) / np.sqrt(np.outer(metric.variance, metric.variance)) == pytest.approx(
        correlated(3) / np.sqrt(np.outer(metric.variance, metric.variance)), abs=0.02
    )
    assert metric.velocity(drawn[:5]) == pytest.approx(drawn[:5] @ correlated(3))
    assert metric.velocity(drawn[:6].reshape(2, 3, 3)).reshape(6, 3) == pytest.approx(metric.velocity(drawn[:6]))
    assert metric.variance == pytest.approx(np.diagonal(correlated(3)))


@pytest.mark.parametrize(
    ("draws", "dims"), [(DRAWS_A_DIMENSION * 8 - 1, 8), (50, 1), (3 * MOST_DIMENSIONS, MOST_DIMENSIONS + 1)]
)
def test_few_draws_one_dimension_or_very_many_teach_scales_only(draws, dims):
    x = rng_of(22).normal(size=(draws, dims))
    assert isinstance(learnt(x, -x), Scales)
    assert learnt(x, -x).variance == pytest.approx(scales(x, -x))


def test_trees_are_shallow_where_dimensions_go_together():
    """The target's widest direction is a thousand times its narrowest: with scales alone trees are seven deep."""
    rng = rng_of(23)
    covariance = correlated(20)
    target = normal_target(np.zeros(20), np.linalg.inv(covariance))
    sampled = sample_nuts(target, rng.multivariate_normal(np.zeros(20), covariance, size=4), rng, draws=200)
    assert sampled.leaves.mean() <= 15
    assert effective_size(sampled.draws).min() > 600


@pytest.mark.parametrize("warm_up", [20, 50, 100, 200, 400, 1000])
def test_windows_grow_and_leave_a_last_stretch_for_the_step(warm_up):
    ends = list(windows(warm_up))
    lengths = np.diff([0, *ends])
    assert (np.diff(lengths) > 0).all()
    assert warm_up - ends[-1] == min(50, warm_up // 3)


def test_a_step_that_is_accepted_too_often_grows():
    size = StepSize(0.1, 0.8)
    for _ in range(20):
        size.update(1.0)
    assert size.now > 0.1
    size.restart(0.1)
    for _ in range(20):
        size.update(0.1)
    assert size.now < 0.1


@pytest.mark.parametrize(
    "changed",
    [
        {"start": np.zeros(3)},
        {"start": np.zeros((0, 3))},
        {"draws": 0},
        {"warm_up": 5},
        {"acceptance": 1.0},
        {"max_depth": 0},
    ],
)
def test_what_makes_no_sense_is_refused(changed):
    asked = {"start": np.zeros((2, 3)), **changed}
    with pytest.raises(OutOfBounds):
        sample_nuts(standard_normal, asked.pop("start"), rng_of(0), **asked)


def test_a_start_where_the_target_does_not_exist_is_refused():
    with pytest.raises(EvidenceError, match="1 of 2 chains"):
        sample_nuts(lambda x: (np.log(x[:, 0]), 1 / x), np.array([[1.0], [0.0]]), rng_of(0))
