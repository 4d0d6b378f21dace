"""Adjusted p-values: second implementations, and the error rate they exist for."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from assay.errors import OutOfBounds
from assay.statistics.goodness import exact_multinomial
from assay.statistics.multiplicity import benjamini_hochberg, holm

FAMILIES = [
    [0.01, 0.02, 0.03, 0.04],
    [0.04, 0.001, 0.3, 0.04, 0.9],
    [1.0, 1.0],
    [0.0, 0.5, 0.2],
    [0.03],
]


@pytest.mark.parametrize("pvalues", FAMILIES)
def test_benjamini_hochberg_agrees_with_scipy(pvalues):
    assert benjamini_hochberg(pvalues) == pytest.approx(stats.false_discovery_control(pvalues), rel=1e-12)


@pytest.mark.parametrize("pvalues", FAMILIES)
def test_holm_is_the_closed_test_of_bonferroni(pvalues):
    members = range(len(pvalues))
    families = [f for size in range(1, len(pvalues) + 1) for f in itertools.combinations(members, size)]
    closed = [max(min(1.0, len(f) * min(pvalues[i] for i in f)) for f in families if one in f) for one in members]
    assert holm(pvalues) == pytest.approx(closed, rel=1e-12)


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_the_order_of_the_components_does_not_matter(adjust):
    pvalues = np.array([0.04, 0.001, 0.3, 0.04, 0.9])
    order = np.array([3, 0, 4, 1, 2])
    assert adjust(pvalues[order]) == pytest.approx(adjust(pvalues)[order])


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_adjusting_never_makes_a_p_value_smaller_or_larger_than_one(adjust):
    pvalues = np.random.default_rng(1).random(50)
    assert (adjust(pvalues) >= pvalues).all()
    assert (adjust(pvalues) <= 1).all()


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_no_components_need_no_adjustment(adjust):
    assert adjust([]).shape == (0,)


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
@pytest.mark.parametrize("missing", [None, float("nan"), -0.1, 1.1])
def test_a_missing_p_value_is_refused_and_located(adjust, missing):
    with pytest.raises(OutOfBounds, match="number 1"):
        adjust([0.2, missing])


def test_eight_unbiased_languages_are_called_biased_a_quarter_of_the_time_unless_adjusted():
    """Forty pronouns a block from a service that keeps them balanced (METHODS section 1)."""
    p_of = np.array([exact_multinomial([he, 40 - he], [0.5, 0.5]).p for he in range(41)])
    pvalues = p_of[np.random.default_rng(2).binomial(40, 0.5, size=(3_000, 8))]
    raw = (pvalues < 0.05).any(axis=1).mean()
    by_holm = np.mean([(holm(row) < 0.05).any() for row in pvalues])
    by_bh = np.mean([(benjamini_hochberg(row) < 0.05).any() for row in pvalues])
    assert raw == pytest.approx(0.26, abs=0.03)
    assert by_holm == pytest.approx(0.017, abs=0.01)
    assert by_bh == pytest.approx(0.018, abs=0.01)
