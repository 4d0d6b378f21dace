"""Tests of importance weights: closed forms, recovery, coverage and errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import genpareto

from assay.errors import BadDistribution, EvidenceError, OutOfBounds, TooFewObservations
from assay.statistics.bayes.importance import distances, share_draws, weigh
from assay.statistics.bayes.pareto_tail import pareto_shape, tail_shape


def test_equal_probabilities_give_equal_weights():
    weights = weigh(np.full(40, 0.2))
    assert weights.effective == pytest.approx(40)
    assert weights.mean == pytest.approx(0.2)
    assert weights.tail is None
    assert weights.enough
    drawn = share_draws(np.arange(40) % 4, 4, weights, np.random.default_rng(0))
    assert drawn.mean(axis=0) == pytest.approx([0.25] * 4, abs=0.01)


def test_hard_labels_give_equal_weights_to_inputs_with_yes():
    said = np.repeat([1.0, 0.0], [30, 70])
    weights = weigh(said)
    assert weights.effective == pytest.approx(30)
    assert weights.mean == pytest.approx(0.3)
    assert weights.shares @ np.arange(100) == pytest.approx(14.5)


def test_the_effective_size_is_kish_s_formula():
    p = np.array([0.1, 0.5, 0.9, 0.3])
    assert weigh(p).effective == pytest.approx(p.sum() ** 2 / (p**2).sum())


def test_the_scale_of_the_probabilities_changes_only_their_mean():
    p = np.random.default_rng(1).random(500)
    plain, tiny = weigh(p), weigh(p * 1e-200)
    assert tiny.shares == pytest.approx(plain.shares)
    assert tiny.effective == pytest.approx(plain.effective)
    assert tiny.mean == pytest.approx(plain.mean * 1e-200)


def test_weights_recover_a_posterior_known_in_closed_form():
    """Prior N(0, 1) and P(yes | s) = exp(-(s - 1)**2 / 2): the posterior is N(1/2, 1/2)."""
    s = np.random.default_rng(2).standard_normal(100_000)
    shares = weigh(np.exp(-((s - 1) ** 2) / 2)).shares
    assert shares @ s == pytest.approx(0.5, abs=0.01)
    assert shares @ (s - 0.5) ** 2 == pytest.approx(0.5, abs=0.01)


def test_bayes_rule_over_groups_is_recovered():
    rng = np.random.default_rng(3)
    group = rng.choice(3, 20_000, p=[0.5, 0.3, 0.2])
    yes = np.array([0.1, 0.4, 0.8])
    expected = np.array([0.5, 0.3, 0.2]) * yes
    found = share_draws(group, 3, weigh(yes[group]), rng, 200).mean(axis=0)
    assert found == pytest.approx(expected / expected.sum(), abs=0.015)


def test_inputs_from_a_proposal_are_weighted_to_the_prior():
    rng = np.random.default_rng(4)
    s = rng.normal(1.0, 1.0, 40_000)  # the proposal is N(1, 1), the prior N(0, 1)
    said = 1 / (1 + np.exp(-(2 * s - 3)))
    ratio = np.exp(s - 0.5)
    direct = rng.standard_normal(400_000)
    expected = np.average(direct, weights=1 / (1 + np.exp(-(2 * direct - 3))))
    assert weigh(said, ratio).shares @ s == pytest.approx(expected, abs=0.03)


def test_draws_of_the_shares_cover_the_truth():
    rng, yes, prior = np.random.default_rng(5), np.array([0.2, 0.6]), np.array([0.5, 0.5])
    expected = prior * yes / (prior @ yes)
    inside = 0
    for _ in range(200):
        group = rng.choice(2, 150, p=prior)
        drawn = share_draws(group, 2, weigh(yes[group]), rng, 600)[:, 1]
        low, high = np.quantile(drawn, [0.025, 0.975])
        inside += low <= expected[1] <= high
    assert inside / 200 == pytest.approx(0.95, abs=0.045)


def test_relabelling_the_cells_relabels_the_draws():
    rng = np.random.default_rng(6)
    group, p = rng.integers(0, 3, 60), rng.random(60)
    plain = share_draws(group, 3, weigh(p), np.random.default_rng(7), 50)
    other = share_draws((group + 1) % 3, 3, weigh(p), np.random.default_rng(7), 50)
    assert np.roll(plain, 1, axis=1) == pytest.approx(other)


def test_distances_are_total_variations():
    drawn = np.random.default_rng(8).dirichlet([1, 1, 1], 20)
    reference = [2, 1, 1]
    assert distances(drawn, reference) == pytest.approx(np.abs(drawn - [0.5, 0.25, 0.25]).sum(axis=1) / 2)


def test_weights_of_few_inputs_require_a_surrogate():
    p = np.full(1000, 1e-6)
    p[:20] = 0.9
    weights = weigh(p)
    assert weights.efficiency == pytest.approx(0.02, rel=0.01)
    assert not weights.enough


@pytest.mark.parametrize("k", [0.1, 0.5, 1.0])
def test_the_shape_of_a_pareto_tail_is_recovered(k):
    x = genpareto.rvs(k, size=20_000, random_state=np.random.default_rng(9))
    assert pareto_shape(x) == pytest.approx(k, abs=0.05)


def test_heavy_tailed_weights_are_detected():
    rng = np.random.default_rng(10)
    heavy = np.clip(rng.pareto(0.8, 5000) * 1e-4, 0, 1)  # the tail has generalised Pareto shape 1 / 0.8
    assert weigh(heavy).heavy
    assert not weigh(rng.random(5000)).heavy
    assert tail_shape(np.ones(100)) is None
    assert tail_shape(np.arange(4.0)) is None


def test_the_summary_of_the_weights_is_json():
    assert weigh([0.5, 0.25]).as_json() == {
        "inputs": 2, "effective": pytest.approx(1.8), "efficiency": pytest.approx(0.9), "mean": 0.375, "tail": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("probability", "error"),
    [
        ([], TooFewObservations),
        ([0.2, 1.5], OutOfBounds),
        ([0.2, -0.5], OutOfBounds),
        ([0.2, np.nan], EvidenceError),
        ([0.0, 0.0], EvidenceError),
    ],
)
def test_invalid_probabilities_are_refused(probability, error):
    with pytest.raises(error):
        weigh(probability)


def test_probabilities_that_are_all_zero_are_refused():
    with pytest.raises(EvidenceError, match="zero for each of 3 inputs"):
        weigh([0, 0, 0])


def test_cells_that_do_not_fit_the_weights_are_refused():
    weights, rng = weigh([0.5, 0.5]), np.random.default_rng(0)
    for cell in ([0], [0, 2], [0, -1], [0.5, 1.0]):
        with pytest.raises(OutOfBounds):
            share_draws(cell, 2, weights, rng)
    with pytest.raises(OutOfBounds):
        share_draws([0, 1], 2, weights, rng, 0)
    with pytest.raises(OutOfBounds):
        weigh([0.5, 0.5], [1.0])
    with pytest.raises(EvidenceError):
        weigh([0.5, 0.5], [1.0, 0.0])
    with pytest.raises(BadDistribution):
        distances(np.ones((2, 3)) / 3, [0.5, 0.5])
    with pytest.raises(TooFewObservations):
        pareto_shape([1.0, 2.0])
