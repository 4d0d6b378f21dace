"""Rates and tests of the method outcomes: formulas against other implementations, and what is not estimable."""

from math import comb

import numpy as np
import pytest
from scipy import stats

from assay.methods.shared.outcome_tables.effects import (
    Sample,
    below_four_fifths,
    fitted_rates,
    stratified_means,
    wald_p_value,
)
from assay.methods.shared.outcome_tables.rates import (
    auc,
    disparity,
    error_rates,
    fisher_mid_p,
    jeffreys,
    quantile,
)
from assay.statistics.hypothesis_tests.distribution import holm


def test_the_jeffreys_interval_equals_that_of_scipy_and_ends_at_the_bounds():
    rate = jeffreys(7, 40)
    low, high = stats.beta.ppf([0.025, 0.975], 7.5, 33.5)
    assert (rate.estimate, rate.low, rate.high) == pytest.approx((7 / 40, low, high))
    assert jeffreys(0, 40).low == 0
    assert jeffreys(40, 40).high == 1


def test_an_error_rate_without_people_has_a_reason_instead_of_a_number():
    rates = error_rates({"tp": 0, "fp": 0, "fn": 3, "tn": 0})
    for name in ("fpr", "ppv", "fdr", "tnr"):
        assert rates[name].estimate is None
        assert rates[name].why.startswith("not estimable: nobody")
    assert (rates["tpr"].estimate, rates["fnr"].estimate, rates["for"].estimate) == (0, 1, 1)
    assert disparity(0.3, 0.0).ratio is None
    assert disparity(None, 0.3).ratio is None


@pytest.mark.parametrize(("yes", "sizes"), [((1, 9), (12, 11)), ((0, 5), (7, 7)), ((3, 3), (5, 9)), ((0, 0), (4, 6))])
def test_fishers_mid_p_equals_an_enumeration_of_all_tables(yes, sizes):
    total_yes = sum(yes)
    tables = {
        first: comb(sizes[0], first) * comb(sizes[1], total_yes - first)
        for first in range(total_yes + 1)
        if first <= sizes[0] and total_yes - first <= sizes[1]
    }
    mass, observed = sum(tables.values()), tables[yes[0]]
    expected = sum(count if count < observed else count / 2 for count in tables.values() if count <= observed) / mass
    assert fisher_mid_p(yes, sizes) == pytest.approx(expected, abs=1e-12)


def test_the_holm_correction_multiplies_the_smallest_p_value_by_their_number_and_keeps_the_order():
    assert holm([0.04, 0.01, 0.03]).tolist() == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]


def test_the_auc_of_a_score_equals_the_share_of_correctly_ordered_pairs_of_people():
    rng = np.random.default_rng(2)
    scores, truth = rng.integers(0, 5, 60), rng.random(60) < 0.4
    pairs = [(a > b) + (a == b) / 2 for a in scores[truth] for b in scores[~truth]]
    assert auc(scores, np.ones(60), truth) == pytest.approx(np.mean(pairs))
    assert auc(scores, np.ones(60), np.ones(60)) is None


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.77, 1])
def test_a_quantile_of_counted_values_equals_that_of_numpy(share):
    values, people = np.array([3.0, 1.0, 2.0]), np.array([2.0, 5.0, 4.0])
    expected = np.quantile(np.repeat(values, people.astype(int)), share)
    assert quantile(values, people, share) == pytest.approx(expected)


def sample(values, groups, bundles=None, size=2, binary=True):
    ones = np.ones(len(values))
    bundles = None if bundles is None else np.asarray(bundles)
    return Sample(np.asarray(values, float), np.asarray(groups), ones, ones, ones, bundles, size, binary)


def test_the_difference_within_strata_equals_the_mantel_haenszel_estimate():
    rng = np.random.default_rng(5)
    groups, strata = rng.integers(0, 2, 400), rng.integers(0, 4, 400)
    values = (rng.random(400) < 0.2 + 0.15 * strata + 0.1 * groups).astype(float)
    top = bottom = variance = 0.0
    for stratum in range(4):
        first, second = (values[(strata == stratum) & (groups == group)] for group in (0, 1))
        weight = len(first) * len(second) / (len(first) + len(second))
        top, bottom = top + weight * (second.mean() - first.mean()), bottom + weight
        variance += weight**2 * (first.var(ddof=1) / len(first) + second.var(ddof=1) / len(second))
    draws = stratified_means(sample(values, groups), strata, rng, 40_000)
    difference = draws[:, 1] - draws[:, 0]
    assert difference.mean() == pytest.approx(top / bottom, abs=0.001)
    assert difference.std() == pytest.approx(np.sqrt(variance) / bottom, rel=0.05)


def test_clusters_of_one_person_give_the_posterior_of_independent_people():
    rng = np.random.default_rng(7)
    values = np.repeat([1.0, 0.0], [30, 120])
    groups = np.zeros(150, dtype=int)
    alone = sample(values, groups, size=1).draw_means(rng, 20_000)
    bundled = sample(values, groups, bundles=np.arange(150), size=1).draw_means(rng, 20_000)
    assert bundled.mean() == pytest.approx(alone.mean(), abs=0.002)
    assert bundled.std() == pytest.approx(alone.std(), rel=0.04)


def test_clusters_that_agree_within_themselves_widen_the_interval():
    rng = np.random.default_rng(8)
    values = np.repeat(rng.integers(0, 2, 30), 20).astype(float)
    groups, clusters = np.zeros(600, dtype=int), np.repeat(np.arange(30), 20)
    alone = sample(values, groups, size=1).draw_means(rng)
    bundled = sample(values, groups, bundles=clusters, size=1).draw_means(rng)
    assert bundled.std() == pytest.approx(alone.std() * np.sqrt(20), rel=0.1)


def test_the_lowest_of_many_groups_with_equal_rates_is_not_judged_below_four_fifths():
    rng = np.random.default_rng(9)
    observed = rng.binomial(100, 0.2, 14)
    means = rng.beta(observed + 0.5, 100.5 - observed, (4000, 14))
    assert observed.min() / observed.max() < 0.6
    assert below_four_fifths(fitted_rates(means, rng)).max() < 0.9
    one_far_below = rng.beta(np.array([10, *[500] * 13]) + 0.5, 1000.5 - np.array([10, *[500] * 13]), (4000, 14))
    assert below_four_fifths(fitted_rates(one_far_below, rng)).argmax() == 0
    assert below_four_fifths(fitted_rates(one_far_below, rng))[0] > 0.99


def test_p_values_are_uniform_for_groups_with_equal_rates_and_tiny_for_one_distant_group():
    rng = np.random.default_rng(10)
    p_values = [wald_p_value(rng.beta(yes + 0.5, 100.5 - yes, (2000, 14))) for yes in rng.binomial(100, 0.5, (200, 14))]
    assert stats.kstest(p_values, "uniform").pvalue > 0.001
    far = np.array([20, *[50] * 13])
    assert wald_p_value(rng.beta(far + 0.5, 100.5 - far, (2000, 14))) < 0.001


@pytest.mark.parametrize(("groups", "people", "rate"), [(14, 50, 0.5), (14, 30, 0.1), (5, 64, 0.6)])
def test_the_test_of_equal_rates_in_small_groups_rejects_at_most_at_its_level(groups, people, rate):
    """With separate errors of each rate, the test of 14 groups of 30 people (rate .1) rejected 17 % at level .05."""
    rng = np.random.default_rng(11)
    p_values = []
    for yes in rng.binomial(people, rate, (300, groups)):
        means = rng.beta(yes + 0.5, people - yes + 0.5, (2000, groups))
        p_values.append(wald_p_value(means, rates=True))
    assert stats.binomtest(int((np.array(p_values) < 0.05).sum()), 300, 0.05, "greater").pvalue > 0.001


def test_the_p_value_of_unequal_rates_is_close_to_pearsons_chi_squared_test():
    rng = np.random.default_rng(12)
    yes = np.array([20, 35, 28, 41])
    means = rng.beta(yes + 0.5, 100.5 - yes, (40_000, 4))
    pearson = stats.chi2_contingency(np.stack([yes, 100 - yes])).pvalue
    assert wald_p_value(means, rates=True) == pytest.approx(pearson, rel=0.15)
