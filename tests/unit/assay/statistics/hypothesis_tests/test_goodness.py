"""Tests of goodness of fit: known answers, brute force, and differences from the defaults of SciPy."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from assay.errors import BadDistribution, OutOfBounds, SpecificationError, TooFewObservations
from assay.statistics.hypothesis_tests.goodness import (
    ENUMERATED_UP_TO,
    chi_squared_fit,
    chi_squared_two_sample,
    exact_multinomial,
)

KNOWN = Path(__file__).resolve().parents[6] / "shared" / "known_answers" / "two_step.json"
needs_known_answers = pytest.mark.skipif(
    not KNOWN.exists(), reason="the shared known answers are not beside the project"
)


def brute_force(counts: list[int], shares: list[float]) -> float:
    """Return the exact p-value by listing every outcome with its textbook probability."""
    n = sum(counts)

    def probability(outcome):
        ways = math.factorial(n) // math.prod(math.factorial(x) for x in outcome)
        return ways * math.prod(share**x for share, x in zip(shares, outcome, strict=True))

    def distance(outcome):
        return sum((x - n * share) ** 2 / (n * share) for share, x in zip(shares, outcome, strict=True))

    outcomes = [o for o in itertools.product(range(n + 1), repeat=len(counts)) if sum(o) == n]
    return sum(probability(o) for o in outcomes if distance(o) >= distance(counts) - 1e-9)


def outcomes_of(n: int, cells: int):
    return [o for o in itertools.product(range(n + 1), repeat=cells) if sum(o) == n]


@needs_known_answers
def test_every_known_p_value_of_the_goodness_of_fit_tests_is_reproduced():
    known = json.loads(KNOWN.read_text())
    for case in known["cases"]:
        for pair, expected in case["pvalues"].items():
            block, specification = pair.split("_vs_")
            counts, shares = case["outputs"][block], known["specs"][specification]
            specified = np.array(shares) * sum(counts)
            computed = {
                "two_sample_drop": chi_squared_two_sample(counts, specified),
                "two_sample_df2": chi_squared_two_sample(counts, specified, drop_empty=False),
                "gof_drop": chi_squared_fit(counts, shares),
                "exact_multinomial_chi2_order": exact_multinomial(counts, shares),
            }
            assert {name: test.p for name, test in computed.items()} == pytest.approx(expected, rel=1e-9, abs=0)


@needs_known_answers
def test_two_samples_of_different_size_follow_the_formula_of_apache_commons_math():
    check = json.loads(KNOWN.read_text())["apache_formula_check"]
    test = chi_squared_two_sample(check["o1"], check["o2"])
    assert test.statistic == pytest.approx(check["statistic"], rel=1e-12)
    assert test.p == pytest.approx(check["pvalue"], rel=1e-12)


def test_the_two_sample_test_equals_pearsons_test_without_yates_correction():
    ours = chi_squared_two_sample([40, 0], [36, 4])
    scipys = stats.chi2_contingency([[40, 0], [36, 4]], correction=False)
    assert ours.p == pytest.approx(scipys.pvalue, rel=1e-12)
    assert ours.p == pytest.approx(0.0402, abs=5e-5)


def test_the_yates_correction_of_scipy_would_hide_a_difference_of_four_in_forty():
    assert stats.chi2_contingency([[40, 0], [36, 4]]).pvalue == pytest.approx(0.124, abs=5e-4)


def test_a_cell_that_is_empty_in_both_samples_is_dropped_while_scipy_refuses_it():
    with pytest.raises(ValueError, match="zero element"):
        stats.chi2_contingency([[40, 0, 0], [36, 4, 0]])
    assert chi_squared_two_sample([40, 0, 0], [36, 4, 0]) == chi_squared_two_sample([40, 0], [36, 4])


def test_an_empty_cell_with_share_zero_is_dropped_while_scipy_returns_nan():
    with np.errstate(invalid="ignore"):
        assert math.isnan(stats.chisquare([26, 14, 0], [20, 20, 0]).pvalue)
    assert chi_squared_fit([26, 14, 0], [0.5, 0.5, 0]) == chi_squared_fit([26, 14], [0.5, 0.5])


@pytest.mark.parametrize("counts", [[7, 13, 20], [1, 2, 37], [0, 5, 35]])
def test_the_chi_squared_test_agrees_with_scipy(counts):
    shares = np.array([0.2, 0.3, 0.5])
    expected = shares * sum(counts)
    assert chi_squared_fit(counts, shares).p == pytest.approx(stats.chisquare(counts, expected).pvalue, rel=1e-10)


@pytest.mark.parametrize("shares", [[0.5, 0.5], [0.2, 0.8], [0.2, 0.3, 0.5], [0.1, 0.1, 0.2, 0.6]])
def test_the_exact_multinomial_test_equals_brute_force(shares):
    for counts in outcomes_of(6, len(shares)):
        exact = exact_multinomial(counts, shares)
        assert exact.p == pytest.approx(min(1.0, brute_force(counts, shares)), rel=1e-10)


def test_the_exact_multinomial_test_keeps_its_level():
    shares = [0.15, 0.25, 0.6]
    outcomes = outcomes_of(12, 3)
    weight = stats.multinomial(12, shares).pmf(outcomes)
    pvalues = np.array([exact_multinomial(counts, shares).p for counts in outcomes])
    for alpha in (0.01, 0.05, 0.2):
        assert weight[pvalues <= alpha].sum() <= alpha + 1e-12


def test_too_many_outcomes_are_sampled_and_agree_with_chi_squared():
    counts, shares = [70, 40, 55, 60], [0.25, 0.25, 0.25, 0.25]
    assert math.comb(sum(counts) + 3, 3) > ENUMERATED_UP_TO
    sampled = exact_multinomial(counts, shares, np.random.default_rng(1))
    assert sampled.test == "monte-carlo-multinomial"
    assert sampled.p == pytest.approx(chi_squared_fit(counts, shares).p, abs=0.005)


def test_a_sampled_p_value_is_never_zero():
    sampled = exact_multinomial([225, 0, 0, 0], [0.25] * 4, np.random.default_rng(1))
    assert sampled.p == pytest.approx(1 / 20_001)


def test_too_many_outcomes_without_a_generator_are_refused():
    with pytest.raises(SpecificationError, match="random generator"):
        exact_multinomial([70, 40, 55, 60], [0.25] * 4)


@pytest.mark.parametrize("test", [chi_squared_fit, exact_multinomial])
def test_an_observation_that_the_specified_distribution_excludes_gives_p_zero(test):
    result = test([20, 18, 2], [0.5, 0.5, 0.0])
    assert (result.statistic, result.df, result.p) == (None, 2, 0.0)
    assert "2 of 40 observations" in result.reason


@pytest.mark.parametrize("test", [chi_squared_fit, exact_multinomial])
def test_observations_in_the_only_possible_cell_have_p_one(test):
    result = test([12, 0, 0], [1.0, 0.0, 0.0])
    assert (result.statistic, result.df, result.p) == (0.0, 0, 1.0)


@pytest.mark.parametrize("test", [chi_squared_fit, exact_multinomial])
def test_relabelling_the_values_does_not_change_the_p_value(test):
    straight, mirrored = test([26, 11, 3], [0.6, 0.3, 0.1]), test([3, 11, 26], [0.1, 0.3, 0.6])
    assert mirrored.p == pytest.approx(straight.p, rel=1e-12)
    assert mirrored.statistic == pytest.approx(straight.statistic, rel=1e-12)


@pytest.mark.parametrize("counts", [[9, 31], [11, 29], [20, 20]])
def test_the_exact_test_of_two_equal_shares_equals_the_two_sided_binomial_test(counts):
    assert exact_multinomial(counts, [0.5, 0.5]).p == pytest.approx(stats.binomtest(counts[0], 40).pvalue, rel=1e-9)


@pytest.mark.parametrize("test", [chi_squared_fit, exact_multinomial])
def test_a_goodness_of_fit_test_of_zero_observations_is_refused(test):
    with pytest.raises(TooFewObservations):
        test([0, 0], [0.5, 0.5])


def test_a_chi_squared_test_with_an_empty_second_sample_is_refused():
    with pytest.raises(TooFewObservations, match="both samples"):
        chi_squared_two_sample([3, 4], [0, 0])


@pytest.mark.parametrize("counts", [[-1, 3], [1.5, 2], [math.nan, 1], [[1, 2]]])
def test_negative_and_fractional_counts_are_refused(counts):
    with pytest.raises(OutOfBounds):
        chi_squared_fit(counts, [0.5, 0.5])


@pytest.mark.parametrize("shares", [[0.5, 0.25, 0.25], [0, 0], [-0.1, 1.1], [math.nan, 1], []])
def test_shares_that_are_not_a_distribution_over_the_cells_are_refused(shares):
    with pytest.raises(BadDistribution):
        chi_squared_fit([1, 3], shares)


def test_samples_over_different_cells_are_refused():
    with pytest.raises(OutOfBounds, match="same cells"):
        chi_squared_two_sample([1, 2], [1, 2, 3])
