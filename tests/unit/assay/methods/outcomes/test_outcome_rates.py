"""Rates and tests of the method outcomes: formulas against other implementations, and what is not estimable."""

from math import comb

import numpy as np
import pytest
from scipy import stats

from assay.methods.shared.outcome_tables.effects import (
    P_OWN_RATE,
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
from assay.statistics.hidden.varying import varying_effect
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


def rate_draws(yes, people, seed=1):
    """Draw rates from Jeffreys' posterior of counts."""
    yes, people = np.asarray(yes), np.asarray(people)
    return np.random.default_rng(seed).beta(yes + 0.5, people - yes + 0.5, (4000, len(yes)))


@pytest.mark.parametrize(("yes", "size"), [(0, 60), (0, 300), (1, 300), (2, 300), (0, 2953), (5, 60)])
def test_a_group_with_few_favourable_outcomes_beside_high_rates_is_below_four_fifths(yes, size):
    """With a normal error of its logarithm, a rate of 0 of 2,953 was below four fifths of .45 with .04."""
    rates = fitted_rates(rate_draws([yes, 450, 440, 460], [size, 1000, 1000, 1000]), np.random.default_rng(2))
    below = below_four_fifths(rates)
    assert below[0] > 0.99
    assert below[1:].max() < 0.2
    assert np.quantile(rates[:, 0] / rates.max(axis=1), 0.975) < 0.6


@pytest.mark.parametrize(
    ("yes", "people"), [([0, 6, 5], [30, 30, 30]), ([2, 15, 14], [40, 60, 60]), ([5, 12, 10], [5, 15, 12])]
)
def test_rates_with_few_favourable_outcomes_agree_with_weighted_draws_of_the_prior(yes, people):
    yes, people = np.array(yes), np.array(people)
    rng, scale = np.random.default_rng(3), -np.log(0.8)
    spread = np.where(rng.random(300_000) < 0.5, scale / 100, np.abs(rng.normal(0, scale, 300_000)))
    common = np.exp(np.log(yes.sum() / people.sum()) + rng.uniform(-2, 2, 300_000))
    spread, common = spread[common < 1, None], common[common < 1, None]
    size = (1 - common) / common / spread**2
    is_own = rng.random((len(common), 3)) < P_OWN_RATE / 3
    alpha, beta = (np.where(is_own, 0.5, shape) for shape in (common * size, (1 - common) * size))
    rates = np.clip(rng.beta(alpha, beta), 1e-300, 1 - 1e-15)
    weights = np.exp(stats.binom.logpmf(yes, people, rates).sum(axis=1))
    expected = [np.average(rates[:, group] < 0.8 * rates.max(axis=1), weights=weights) for group in range(3)]
    fitted = fitted_rates(rate_draws(yes, people), rng)
    assert below_four_fifths(fitted) == pytest.approx(expected, abs=0.04)
    assert fitted.mean(axis=0) == pytest.approx(np.average(rates, axis=0, weights=weights), rel=0.06)


def test_the_order_of_groups_with_few_favourable_outcomes_does_not_change_their_fitted_rates():
    yes, people = np.array([0, 2, 2, 12]), np.array([50, 80, 80, 90])
    draws = rate_draws(yes, people)
    below = below_four_fifths(fitted_rates(draws, np.random.default_rng(4)))
    reversed_below = below_four_fifths(fitted_rates(draws[:, ::-1], np.random.default_rng(5)))
    assert below == pytest.approx(reversed_below[::-1], abs=0.03)
    assert below[1] == pytest.approx(below[2], abs=0.03)


@pytest.mark.parametrize(("groups", "people", "rate"), [(3, 60, 0.02), (5, 300, 0.02), (14, 30, 0.1), (10, 60, 0.1)])
def test_no_group_of_many_with_equal_low_rates_is_suspicious(groups, people, rate):
    rng = np.random.default_rng(6)
    highest = [
        below_four_fifths(fitted_rates(rate_draws(yes, np.full(groups, people)), rng)).max()
        for yes in rng.binomial(people, rate, (40, groups))
    ]
    assert np.mean(np.array(highest) >= 0.95) <= 0.05
    assert np.median(highest) < 0.5


def test_many_groups_of_one_to_twenty_people_with_equal_rates_are_not_suspicious():
    """With normal errors, up to .999 for one of 60 groups."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        people = rng.integers(1, 20, 60)
        yes = rng.binomial(people, 0.45)
        assert below_four_fifths(fitted_rates(rate_draws(yes, people), rng)).max() < 0.9


def test_groups_with_equal_rates_are_not_suspicious_beside_a_group_that_is_never_favoured():
    rng = np.random.default_rng(8)
    below = np.array(
        [
            below_four_fifths(fitted_rates(rate_draws([0, *yes], np.full(10, 60)), rng))
            for yes in rng.binomial(60, 0.45, (20, 9))
        ]
    )
    assert below[:, 0].min() > 0.99
    assert below[:, 1:].max() < 0.9


def test_intervals_of_jointly_fitted_low_rates_cover_rates_that_were_drawn_from_the_prior():
    rng = np.random.default_rng(7)
    spread = np.where(rng.random(150) < 0.5, 0.002, np.abs(rng.normal(0, 0.22, 150)))[:, None]
    common = rng.uniform(0.02, 0.12, (150, 1))
    size = (1 - common) / common / spread**2
    covered = []
    for rates in rng.beta(common * size, (1 - common) * size, (150, 6)):
        draws = fitted_rates(rate_draws(rng.binomial(100, rates), np.full(6, 100)), rng)
        low, high = np.quantile(draws, [0.025, 0.975], axis=0)
        covered.append((low <= rates) & (rates <= high))
    assert 0.92 <= np.mean(covered) <= 0.99


def test_rates_with_many_favourable_outcomes_are_fitted_with_normal_errors():
    draws = rate_draws([40, 300, 28], [60, 500, 30])
    logs = np.log(draws)
    normal = varying_effect(logs.mean(axis=0), np.cov(logs.T), -np.log(0.8), np.random.default_rng(8)).strata
    assert np.array_equal(fitted_rates(draws, np.random.default_rng(8)), np.exp(normal))


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
