"""Tests of the Kolmogorov-Smirnov test, which refuses values without an order."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.errors import OutOfBounds, SpecificationError, TooFewObservations
from assay.methods.alternation.published_rules import kolmogorov_smirnov


def test_the_kolmogorov_smirnov_test_refuses_nominal_values_and_suggests_another_test():
    with pytest.raises(SpecificationError, match="no order to cumulate in") as refused:
        kolmogorov_smirnov([0, 1, 2], [0, 1, 1], scale="nominal")
    assert "goodness.exact_multinomial" in str(refused.value)
    assert (refused.value.code, refused.value.field) == ("unordered-values", "scale")


def test_the_kolmogorov_smirnov_statistic_depends_on_the_numbering_of_categories():
    # half He and half Other, against all She: the largest gap depends on the number given to She
    she_between = kolmogorov_smirnov(np.repeat([0, 2], 20), np.repeat(1, 40), scale="ordinal")
    she_last = kolmogorov_smirnov(np.repeat([0, 1], 20), np.repeat(2, 40), scale="ordinal")
    assert (she_between.statistic, she_last.statistic) == (0.5, 1.0)


def test_the_kolmogorov_smirnov_test_detects_a_shift_of_one_standard_deviation():
    rng = np.random.default_rng(1)
    assert kolmogorov_smirnov(rng.normal(size=80), rng.normal(1, size=80), scale="continuous").p < 0.001


def test_the_kolmogorov_smirnov_statistic_is_the_largest_gap_between_the_empirical_distributions():
    assert kolmogorov_smirnov([0, 1, 2], [1, 2, 4], scale="ordinal").statistic == pytest.approx(1 / 3)


def test_the_kolmogorov_smirnov_test_of_small_samples_has_an_exact_p_value():
    # of the C(6, 3) = 20 ways to split six values, two separate the samples completely
    result = kolmogorov_smirnov([0, 1, 2], [3, 4, 5], scale="continuous")
    assert (result.statistic, result.p, result.test) == (1.0, pytest.approx(2 / 20), "exact")


def test_exchanging_the_samples_does_not_change_the_kolmogorov_smirnov_test():
    rng = np.random.default_rng(2)
    one, other = rng.normal(size=30), rng.exponential(size=45)
    assert kolmogorov_smirnov(one, other, scale="continuous") == kolmogorov_smirnov(other, one, scale="continuous")


def test_the_kolmogorov_smirnov_test_keeps_its_level_on_continuous_values():
    rng = np.random.default_rng(3)
    rejected = [
        kolmogorov_smirnov(rng.normal(size=25), rng.normal(size=25), scale="continuous").p < 0.05 for _ in range(300)
    ]
    assert np.mean(rejected) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


def test_the_kolmogorov_smirnov_test_of_large_samples_uses_the_asymptotic_distribution():
    rng = np.random.default_rng(4)
    one, other = rng.normal(size=1_500), rng.normal(size=1_500)
    result = kolmogorov_smirnov(one, other, scale="continuous")
    assert result.test == "asymptotic"
    assert result.p == pytest.approx(stats.ks_2samp(one, other, method="exact").pvalue, abs=0.02)


def test_a_kolmogorov_smirnov_test_of_an_empty_sample_is_refused():
    with pytest.raises(TooFewObservations, match="reference is empty"):
        kolmogorov_smirnov([1.0], [], scale="continuous")


def test_a_kolmogorov_smirnov_test_of_values_that_are_not_finite_is_refused():
    with pytest.raises(OutOfBounds):
        kolmogorov_smirnov([1.0, np.nan], [1.0], scale="continuous")
