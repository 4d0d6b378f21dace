"""Tests of the scales on which numbers are compared."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.errors import EvidenceError
from assay.statistics.hidden.scales import amounts, limit_on, on_scale, scales_of

RNG = np.random.default_rng(2)


@pytest.mark.parametrize(
    ("outputs", "probabilities", "scales"),
    [
        (RNG.normal(size=100), False, ("linear",)),
        (RNG.normal(10, 1, 100), False, ("linear", "log")),
        (np.exp(RNG.normal(size=100)), False, ("log", "linear")),
        (1 + 0.01 * np.exp(2 * RNG.normal(size=400)), False, ("log", "linear", "rank")),
        (np.concatenate([RNG.normal(100, 10, 380), np.full(20, 9999.0)]), False, ("log", "linear", "rank")),
        (np.concatenate([RNG.normal(0, 1, 380), np.full(20, -99.0)]), False, ("linear", "rank")),
        (RNG.uniform(0.1, 0.9, 100), True, ("linear", "logit")),
        (np.array([0.0, 1.0, 1.0]), True, ("linear",)),
    ],
    ids=["any sign", "positive", "wide", "skewed", "coded", "coded below zero", "probabilities", "labels"],
)
def test_the_scales_on_which_outputs_are_compared_are_chosen_by_their_distribution(outputs, probabilities, scales):
    assert scales_of(outputs, "auto", probabilities=probabilities) == scales


def test_a_declared_scale_is_the_only_scale_used():
    assert scales_of(np.array([1.0, 2.0]), "rank", probabilities=False) == ("rank",)


@pytest.mark.parametrize(("scale", "needed"), [("log", "above 0"), ("logit", "between 0 and 1")])
def test_a_declared_scale_that_is_undefined_for_an_output_is_refused(scale, needed):
    with pytest.raises(EvidenceError, match=needed):
        scales_of(np.array([-1.0, 2.0]), scale, probabilities=False)


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e-80, 1e80, 1e160, 1.7e308])
@pytest.mark.parametrize("scale", ["auto", "linear", "log"])
def test_outputs_too_large_or_too_small_to_compute_with_are_insufficient_evidence(size, scale):
    for outputs in (np.linspace(0.5, 1, 40), np.repeat([-1.0, 1.0], 20)):
        with pytest.raises(EvidenceError, match=r"another unit|needs outputs"):
            scales_of(outputs * size, scale, probabilities=False)


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e160])
def test_equal_outputs_of_any_size_have_a_scale(size):
    assert scales_of(np.full(40, size), "linear", probabilities=False) == ("linear",)


def test_each_scale_transforms_outputs_to_their_known_values():
    outputs = np.array([[0.5, 0.2], [0.2, 0.9]])
    assert on_scale(outputs, "linear") is outputs
    assert on_scale(outputs, "log") == pytest.approx(np.log(outputs))
    assert on_scale(outputs, "logit")[0, 0] == pytest.approx(0)
    assert on_scale(outputs, "rank").tolist() == [[3, 1.5], [1.5, 4]]


def test_the_log_scale_has_its_own_limit_only_if_that_limit_is_smaller():
    assert limit_on("linear", 0.1, 1.0) is None
    assert limit_on("log", 0.1, 0.2) is None  # a tolerance of .1 at a standard deviation of .2 is a ratio of 1.02
    assert limit_on("log", 0.1, 1.0) == pytest.approx(math.log(1.05))
    assert limit_on("log", 0.2, 1.0) == pytest.approx(2 * math.log(1.05))


def test_amounts_among_many_equal_outputs_are_compared_separately_if_they_vary_widely():
    paid = np.where(np.arange(300) % 5, 0.0, 1.0)[:, None] * np.exp(RNG.normal(size=(300, 2)))
    expected = (np.arange(300) % 5 == 0).tolist()
    name, some = amounts(paid)
    assert (name, some.tolist()) == ("amounts above 0", expected)
    name, some = amounts(10 * paid + 7)
    assert (name, some.tolist()) == ("amounts above 0 other than 7", expected)
    spread = np.where(paid > 0, paid, np.exp(RNG.normal(size=(300, 2))))
    for other in (paid[:100], paid - 0.01, spread, np.sign(paid)):  # too few, below 0, no common value, all equal
        assert amounts(other) is None


def test_a_few_negative_outputs_do_not_prevent_the_comparison_of_amounts():
    paid = np.exp(RNG.normal(size=(300, 2)))
    paid[::30] = -50.0
    assert amounts(paid)[1].tolist() == (np.arange(300) % 30 != 0).tolist()
    paid[::10] = -50.0
    assert amounts(paid) is None, "a tenth below 0 are no exceptions"
