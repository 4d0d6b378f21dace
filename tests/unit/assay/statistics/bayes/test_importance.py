"""Tests of importance weights: closed forms, recovery, coverage and errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import genpareto

from assay.errors import EvidenceError, OutOfBounds, TooFewObservations
from assay.statistics.bayes.importance import pareto_shape, tail_shape, weigh


def test_equal_probabilities_give_equal_weights():
    weights = weigh(np.full(40, 0.2))
    assert weights.effective == pytest.approx(40)
    assert weights.mean == pytest.approx(0.2)
    assert weights.tail is None
    assert weights.enough
    assert weights.shares == pytest.approx([1 / 40] * 40)


def test_hard_labels_give_equal_weights_to_all_inputs_that_were_answered_yes():
    said = np.repeat([1.0, 0.0], [30, 70])
    weights = weigh(said)
    assert weights.effective == pytest.approx(30)
    assert weights.mean == pytest.approx(0.3)
    assert weights.shares @ np.arange(100) == pytest.approx(14.5)


def test_the_effective_sample_size_follows_the_formula_of_kish():
    p = np.array([0.1, 0.5, 0.9, 0.3])
    assert weigh(p).effective == pytest.approx(p.sum() ** 2 / (p**2).sum())


def test_the_scale_of_the_probabilities_changes_only_their_mean():
    p = np.random.default_rng(1).random(500)
    plain, tiny = weigh(p), weigh(p * 1e-200)
    assert tiny.shares == pytest.approx(plain.shares)
    assert tiny.effective == pytest.approx(plain.effective)
    assert tiny.mean == pytest.approx(plain.mean * 1e-200)


def test_importance_weights_recover_a_posterior_known_in_closed_form():
    """Prior N(0, 1) and P(yes | s) = exp(-(s - 1)**2 / 2): the posterior is N(1/2, 1/2)."""
    s = np.random.default_rng(2).standard_normal(100_000)
    shares = weigh(np.exp(-((s - 1) ** 2) / 2)).shares
    assert shares @ s == pytest.approx(0.5, abs=0.01)
    assert shares @ (s - 0.5) ** 2 == pytest.approx(0.5, abs=0.01)


def test_importance_weights_correct_inputs_that_were_drawn_from_another_distribution_than_the_prior():
    rng = np.random.default_rng(4)
    s = rng.normal(1.0, 1.0, 40_000)  # the proposal is N(1, 1), the prior N(0, 1)
    said = 1 / (1 + np.exp(-(2 * s - 3)))
    ratio = np.exp(s - 0.5)
    direct = rng.standard_normal(400_000)
    expected = np.average(direct, weights=1 / (1 + np.exp(-(2 * direct - 3))))
    assert weigh(said, ratio).shares @ s == pytest.approx(expected, abs=0.03)


def test_importance_weights_concentrated_on_few_inputs_are_marked_as_insufficient():
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


def test_the_summary_of_the_weights_can_be_written_as_json():
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
def test_importance_weights_of_invalid_probabilities_are_refused(probability, error):
    with pytest.raises(error):
        weigh(probability)


def test_probabilities_that_are_all_zero_are_refused():
    with pytest.raises(EvidenceError, match="zero for each of 3 inputs"):
        weigh([0, 0, 0])


def test_ratios_of_densities_that_do_not_fit_the_inputs_are_refused():
    with pytest.raises(OutOfBounds):
        weigh([0.5, 0.5], [1.0])
    with pytest.raises(EvidenceError):
        weigh([0.5, 0.5], [1.0, 0.0])


def test_a_pareto_shape_of_two_values_is_refused():
    with pytest.raises(TooFewObservations):
        pareto_shape([1.0, 2.0])
