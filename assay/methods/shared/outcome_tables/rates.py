"""Rates of groups and the tests that compare them: selection rates, impact ratios, error rates, AUC, calibration.

A rate with a denominator of 0 is not estimable: its estimate is ``None``, with a reason, and it has no ratio.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from assay.document import EffectDocument
from assay.methods.shared.outcome_tables.rows import DisparityDocument
from assay.model import Floats
from assay.statistics.special import special

CI_LEVEL = 0.95

FEW_EXPECTED = 5
"""Expected count below which Fisher's exact test replaces the normal approximation (Cochran 1954)."""

ERROR_RATES: Mapping[str, tuple[str, str]] = {
    "tpr": ("tp", "tp fn"),
    "fpr": ("fp", "fp tn"),
    "fnr": ("fn", "tp fn"),
    "tnr": ("tn", "fp tn"),
    "ppv": ("tp", "tp fp"),
    "fdr": ("fp", "tp fp"),
    "npv": ("tn", "tn fn"),
    "for": ("fn", "tn fn"),
    "prevalence": ("tp fn", "tp fp tn fn"),
}
"""Numerator and denominator of each error rate, as names of the cells of the confusion matrix to add."""

EMPTY: Mapping[str, str] = {
    "tp fn": "nobody whom the truth proves right",
    "fp tn": "nobody whom the truth proves wrong",
    "tp fp": "nobody with a favourable decision",
    "tn fn": "nobody with an unfavourable decision",
    "tp fp tn fn": "nobody with a decision and a known truth",
}
"""Reason why a rate with a denominator of 0 is not estimable, by the denominator in `ERROR_RATES`."""


def jeffreys(successes: float, trials: float, people: float | None = None) -> EffectDocument:
    """Return the rate ``successes / trials`` with its Jeffreys interval of nominal coverage `CI_LEVEL`.

    With weights, `successes` and `trials` are sums of weights; `people` is the effective number of people, if it
    differs from `trials` (weights, clusters). The limits are quantiles of Beta(1/2 + k, 1/2 + n - k); the lower limit
    is 0 at k = 0, the upper 1 at k = n. Without trials, the estimate is ``None`` and `why` has the reason.

    References
    ----------
    .. [1] Brown, Cai & DasGupta (2001), "Interval estimation for a binomial proportion", Statistical Science 16.
    .. [2] Korn & Graubard (1998), "Confidence intervals for proportions with small expected number of positive counts
       estimated from survey data", Survey Methodology 24: the effective number of people.
    """
    if not trials > 0:
        return EffectDocument(why="not estimable: nobody")
    rate = successes / trials
    n = trials if people is None else people
    k, tail = rate * n, (1 - CI_LEVEL) / 2
    low = 0.0 if successes == 0 else float(special.betaincinv(k + 0.5, n - k + 0.5, tail))
    high = 1.0 if successes == trials else float(special.betaincinv(k + 0.5, n - k + 0.5, 1 - tail))
    return EffectDocument(rate, min(low, rate), max(high, rate), CI_LEVEL)


def disparity(rate: float | None, reference: float | None) -> DisparityDocument:
    """Return the difference and ratio of a rate to the reference group's; the ratio to a rate of 0 is not estimable."""
    if rate is None or reference is None:
        return DisparityDocument(why="not estimable: one of the rates does not exist")
    if reference == 0:
        return DisparityDocument(rate - reference, why="not estimable: the reference rate is 0")
    return DisparityDocument(rate - reference, rate / reference)


def error_rates(counts: Mapping[str, float], people_per_count: float = 1.0) -> dict[str, EffectDocument]:
    """Compute the rates of a confusion matrix, by the names of `ERROR_RATES`; ``for`` is the false omission rate.

    `counts` has numbers of people: ``tp`` and ``fp`` are favourable decisions that were right and wrong, ``fn`` and
    ``tn`` unfavourable decisions that were wrong and right. `people_per_count` is the effective number of people
    divided by the sum of `counts`.
    """
    rates = {}
    for name, (top, bottom) in ERROR_RATES.items():  # cells above and below the line, such as "tp fn"
        numerator, denominator = (sum(counts[cell] for cell in cells.split()) for cells in (top, bottom))
        rate = jeffreys(numerator, denominator, denominator * people_per_count)
        rates[name] = EffectDocument(why=f"not estimable: {EMPTY[bottom]}") if rate.estimate is None else rate
    return rates


def two_proportion_z(successes: Sequence[float], trials: Sequence[float]) -> float | None:
    """Return the z statistic of the second group's proportion minus the first's, with pooled variance.

    ``None`` if a group is empty. If all outcomes are the same, the proportions do not differ and z is 0.
    """
    if min(trials) <= 0:
        return None
    pooled_rate = sum(successes) / sum(trials)
    error = math.sqrt(pooled_rate * (1 - pooled_rate) * (1 / trials[0] + 1 / trials[1]))
    return (successes[1] / trials[1] - successes[0] / trials[0]) / error if error > 0 else 0.0


def least_expected(successes: Sequence[float], trials: Sequence[float]) -> float:
    """Return the smallest expected count, at equal rates, of the 2 x 2 table of two groups and two outcomes."""
    total_successes, total_trials = sum(successes), sum(trials)
    return min(trials) * min(total_successes, total_trials - total_successes) / total_trials


def fisher_mid_p(successes: Sequence[int], trials: Sequence[int]) -> float:
    """Return the two-sided mid-p value of Fisher's exact test of two proportions.

    The value adds the probabilities of all less likely tables with the same margins, and half those of equal ones.

    References
    ----------
    .. [1] Lancaster (1961), "Significance tests in discrete distributions", J. Am. Stat. Assoc. 56.
    .. [2] Hirji, Tan & Elashoff (1991), "A quasi-exact test for comparing two binomial proportions", Stat. Med. 10.
    """
    all_successes, (first_trials, second_trials) = sum(successes), trials
    # possible successes of the first group, given both sums
    support = np.arange(max(0, all_successes - second_trials), min(all_successes, first_trials) + 1, dtype=float)

    def log_choose(n: int | Floats, k: Floats) -> Floats:
        return np.asarray(special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1))

    log_mass: Floats = log_choose(first_trials, support) + log_choose(second_trials, all_successes - support)
    mass = np.exp(log_mass - log_mass.max())
    mass /= mass.sum()
    observed_mass = mass[successes[0] - int(support[0])]  # the support has no gaps
    is_equal = np.isclose(mass, observed_mass, rtol=1e-9, atol=0)
    return float(min(1.0, mass[~is_equal & (mass < observed_mass)].sum() + mass[is_equal].sum() / 2))


def auc(scores: ArrayLike, weights: ArrayLike, positive: ArrayLike) -> float | None:
    """Return the probability that a positive case scores above a negative one; ties count half.

    ``None`` if one of the classes is empty. `weights` are the number of people (or sum of weights) of each score.
    """
    score_weights, positives = np.asarray(weights, float), np.asarray(positive, dtype=bool)
    distinct, distinct_index = np.unique(np.asarray(scores, float), return_inverse=True)
    positive_weights = np.bincount(distinct_index, score_weights * positives, distinct.size)
    negative_weights = np.bincount(distinct_index, score_weights * ~positives, distinct.size)
    if not positive_weights.sum() or not negative_weights.sum():
        return None
    pairs_won = positive_weights * (np.cumsum(negative_weights) - negative_weights / 2)  # ties count half
    return float(pairs_won.sum() / (positive_weights.sum() * negative_weights.sum()))


def quantile(values: Floats, counts: Floats, share: float) -> float:
    """Return the quantile at `share` of values that each occur `counts` times, as `numpy.quantile` does (linear)."""
    order = np.argsort(values, kind="stable")
    counts_up_to = np.cumsum(counts[order])  # each value
    position = share * (counts_up_to[-1] - 1)  # of the quantile among all counted values, from 0
    low, high = (
        float(values[order][np.searchsorted(counts_up_to, index, side="right")])
        for index in (math.floor(position), math.ceil(position))
    )
    return float(low + (high - low) * (position - math.floor(position)))


def flagged_by_chance(sizes: ArrayLike, rate: float, rng: np.random.Generator, draws: int = 10_000) -> float:
    """Return the probability that the four-fifths rule flags a service with equal rates, for groups of these sizes.

    Every group has the same `rate`; an audit is flagged if a group's observed rate is below four fifths of the highest.
    """
    people = np.maximum(1, np.rint(np.asarray(sizes, dtype=float))).astype(np.int64)  # never divides by 0
    rates = rng.binomial(people, min(1.0, max(0.0, rate)), (draws, len(people))) / people
    return float((rates.min(axis=1) < 0.8 * rates.max(axis=1) - 1e-12).mean())  # a ratio of four fifths is not below
