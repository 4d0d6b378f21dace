"""Tests of adjusted p-values: agreement with other implementations, and the rate of false positives."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from assay.methods.translation.published_rules import adjust
from assay.statistics.hypothesis_tests.goodness import exact_multinomial

FAMILIES = [
    [0.01, 0.02, 0.03, 0.04],
    [0.04, 0.001, 0.3, 0.04, 0.9],
    [1.0, 1.0],
    [0.0, 0.5, 0.2],
    [0.03],
]

FROZEN = [0.04, 0.01, 0.2, 0.01, 0.9, 1.0, 0.0]
HOLM = [0.16, 0.06, 0.6, 0.06, 1.0, 1.0, 0.0]
BH = [0.07, 0.02333333333333, 0.28, 0.02333333333333, 1.0, 1.0, 0.0]


def adjusted(pvalues, method):
    """Return the adjusted p-values of numbered components, in their order."""
    return np.array([one[method] for one in adjust(dict(enumerate(pvalues))).values()])


@pytest.mark.parametrize("pvalues", FAMILIES)
def test_benjamini_hochberg_agrees_with_scipy(pvalues):
    assert adjusted(pvalues, "bh") == pytest.approx(stats.false_discovery_control(pvalues), rel=1e-12)


@pytest.mark.parametrize("pvalues", FAMILIES)
def test_holm_equals_the_closed_bonferroni_test(pvalues):
    members = range(len(pvalues))
    families = [f for size in range(1, len(pvalues) + 1) for f in itertools.combinations(members, size)]
    closed = [max(min(1.0, len(f) * min(pvalues[i] for i in f)) for f in families if one in f) for one in members]
    assert adjusted(pvalues, "holm") == pytest.approx(closed, rel=1e-12)


def test_adjusted_p_values_equal_their_pinned_numbers():
    assert adjusted(FROZEN, "holm") == pytest.approx(HOLM, rel=1e-12)
    assert adjusted(FROZEN, "bh") == pytest.approx(BH, rel=1e-12)


@pytest.mark.parametrize("method", ["holm", "bh"])
def test_adjusted_p_values_do_not_depend_on_the_order_of_the_components(method):
    pvalues = np.array([0.04, 0.001, 0.3, 0.04, 0.9])
    order = np.array([3, 0, 4, 1, 2])
    assert adjusted(pvalues[order], method) == pytest.approx(adjusted(pvalues, method)[order])


@pytest.mark.parametrize("method", ["holm", "bh"])
def test_adjusting_never_lowers_a_p_value_nor_raises_it_above_one(method):
    pvalues = np.random.default_rng(1).random(50)
    assert (adjusted(pvalues, method) >= pvalues).all()
    assert (adjusted(pvalues, method) <= 1).all()


def test_components_without_a_p_value_are_left_out_and_the_others_keep_their_order():
    found = adjust({"fr": 0.5, "de": None, "es": 0.01})
    assert [*found] == ["fr", "es"]
    assert found["es"] == {"p": 0.01, "holm": 0.02, "bh": 0.02}


def test_adjusting_an_empty_list_of_p_values_returns_an_empty_result():
    assert adjust({}) == adjust({"fr": None}) == {}


@pytest.mark.slow
def test_without_adjustment_one_or_more_of_eight_unbiased_languages_seem_biased_in_a_quarter_of_runs():
    """Simulate forty pronouns per block from a service that keeps them balanced (docs/methods/decision-rule.md)."""
    p_of = np.array([exact_multinomial([he, 40 - he], [0.5, 0.5]).p for he in range(41)])
    pvalues = p_of[np.random.default_rng(2).binomial(40, 0.5, size=(3_000, 8))]
    raw = (pvalues < 0.05).any(axis=1).mean()
    by_holm = np.mean([(adjusted(row, "holm") < 0.05).any() for row in pvalues])
    by_bh = np.mean([(adjusted(row, "bh") < 0.05).any() for row in pvalues])
    assert raw == pytest.approx(0.26, abs=0.03)
    assert by_holm == pytest.approx(0.017, abs=0.01)
    assert by_bh == pytest.approx(0.018, abs=0.01)
