"""Posterior draws of the mean outcome of each group, overall or within strata, and tests of their differences.

Draws are made from the cells of a table, so that the time does not depend on the number of people.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Self

import numpy as np
from numpy.typing import NDArray

from assay.errors import TooFewObservations
from assay.model import Floats, HiddenEffect, Integers
from assay.statistics.hidden.strata import MOST_PAIRS, NO_FALSE_STRATUM, furthest
from assay.statistics.hidden.varying import spread_prior, varying_effect
from assay.statistics.special import special

DRAWS = 4000

LEAST_FREEDOM = 4
"""Minimum degrees of freedom of Student's t for a mean, so that its variance is finite and moderate."""

P_OWN_RATE = 0.1
"""Prior probability, divided by the number of groups, that a group's rate does not depend on those of the others."""

FOUR_FIFTHS = 0.8
"""Impact ratio below which a group is flagged (29 CFR 1607.4 D)."""


@dataclass(frozen=True)
class Sample:
    """Outcomes of people, counted: each cell has one outcome and one group."""

    values: Floats
    """Shape (cells,): outcome: 1 or 0 for a decision, or a score."""
    groups: Integers
    """Shape (cells,): index of the group."""
    people: Floats
    weight_sums: Floats
    squares: Floats
    """Shape (cells,), all three: number of people, sum of their weights, and sum of the squared weights."""
    bundles: Integers | None
    """Shape (cells,): bundle of clusters of each cell; ``None`` if people are independent."""
    size: int
    """Number of groups."""
    binary: bool
    """Whether outcomes are 0 or 1."""

    def where(self, cells: NDArray[np.bool_]) -> Self:
        """Return the sample with the selected cells only."""
        arrays = {name: getattr(self, name)[cells] for name in ("values", "groups", "people", "weight_sums", "squares")}
        return replace(self, **arrays, bundles=None if self.bundles is None else self.bundles[cells])

    def per_group(self, numbers: Floats) -> Floats:
        """Return the sum of `numbers` (one for each cell) in each group, shape (groups,)."""
        return np.asarray(np.bincount(self.groups, numbers, self.size), dtype=float)

    @cached_property
    def totals(self) -> Floats:
        """Sum of the weights of each group."""
        return self.per_group(self.weight_sums)

    @cached_property
    def sums(self) -> Floats:
        """Weighted sum of the outcomes of each group."""
        return self.per_group(self.weight_sums * self.values)

    @cached_property
    def means(self) -> Floats:
        """Mean outcome of each group; NaN for an empty group."""
        return np.asarray(np.divide(self.sums, self.totals, out=np.full(self.size, np.nan), where=self.totals > 0))

    @cached_property
    def effective(self) -> Floats:
        """Effective number of people of each group with unequal weights (Kish 1965); 0 for an empty group."""
        squares = self.per_group(self.squares)
        return np.asarray(np.divide(self.totals**2, squares, out=np.zeros(self.size), where=squares > 0))

    @cached_property
    def bundles_of_group(self) -> Integers:
        """Number of bundles (of clusters) in which each group has people."""
        assert self.bundles is not None  # noqa: S101  called for clusters only
        groups, _ = np.unique(np.stack([self.groups, self.bundles]), axis=1)
        return np.bincount(groups, minlength=self.size).astype(np.int64)

    def draw_means(self, rng: np.random.Generator, draws: int = DRAWS) -> Floats:
        """Draw the mean outcome of each group, shape (draws, groups); the rates of an empty group follow the prior.

        Notes
        -----
        Of independent people, a rate is drawn from Jeffreys' posterior with the effective number of people, and a mean
        from Student's t. Of clusters, both are drawn by a Bayesian bootstrap of bundles of clusters. With one person in
        each bundle, a rate's bootstrap is Jeffreys' posterior (sums of exponential weights are gamma), with tails of t.
        """
        if self.bundles is not None:
            return self._draw_cluster_means(rng, draws)
        sizes, means = self.effective, np.nan_to_num(self.means)
        if self.binary:
            successes = np.clip(sizes * means, 0.0, sizes)  # rounding can exceed the limits
            return rng.beta(successes + 0.5, sizes - successes + 0.5, (draws, self.size))
        squared_deviations = self.per_group(self.weight_sums * (self.values - means[self.groups]) ** 2)
        freedom = np.maximum(sizes - 1, LEAST_FREEDOM)
        variance = np.divide(squared_deviations, self.totals, out=np.zeros(self.size), where=self.totals > 0) / freedom
        return np.asarray(means + np.sqrt(variance) * rng.standard_t(freedom, (draws, self.size)))

    def _draw_cluster_means(self, rng: np.random.Generator, draws: int) -> Floats:
        """Draw the means by a Bayesian bootstrap of bundles of clusters, widened to the variance and tails of t."""
        assert self.bundles is not None  # noqa: S101  called for clusters only
        shape = (int(self.bundles.max(initial=0)) + 1, self.size)  # (bundles, groups)
        flat_index = self.bundles * self.size + self.groups
        sums, totals = (
            np.bincount(flat_index, numbers, math.prod(shape)).reshape(shape)
            for numbers in (self.weight_sums * self.values, self.weight_sums)
        )
        weights = rng.standard_gamma(1.0, (draws, len(sums)))  # of the bundles
        drawn_sums, drawn_totals = weights @ sums, weights @ totals
        if self.binary:  # half a person with each outcome, as in Jeffreys' prior
            person_weight = float(self.squares.sum() / max(self.weight_sums.sum(), 1e-300))  # never divides by 0
            successes, failures = person_weight * rng.standard_gamma(0.5, (2, draws, self.size))
            drawn_sums, drawn_totals = drawn_sums + successes, drawn_totals + successes + failures
        means = np.divide(drawn_sums, drawn_totals, out=np.zeros_like(drawn_sums), where=drawn_totals > 0)
        # random weights give a mean of K bundles only (K - 1) / (K + 1) of its variance, and normal tails
        bundle_counts = np.maximum(2.0, self.bundles_of_group)
        freedom = np.maximum(bundle_counts - 1, LEAST_FREEDOM)
        chi_squared = 2 * special.gammaincinv(freedom / 2, rng.random((draws, 1)))  # same quantile for all groups
        widening = np.sqrt(freedom / chi_squared * (bundle_counts + 1) / (bundle_counts - 1))
        centre = means.mean(axis=0)
        wide_means = centre + (means - centre) * widening
        return np.asarray(np.clip(wide_means, 0.0, 1.0) if self.binary else wide_means)


def differences(means: Floats) -> Floats:
    """Return the mean of each group minus that of each earlier group, shape (draws, pairs)."""
    return np.stack([means[:, b] - means[:, a] for a, b in combinations(range(means.shape[1]), 2)], axis=1)


def wald_p_value(means: Floats, *, rates: bool = False) -> float:
    """Return the p-value of Wald's test that all groups have the same mean outcome.

    With many groups, one of the noisy differences is always large; the degrees of freedom of the test allow for that.

    `means`, shape (draws, groups), are draws of each group's outcome; their covariance is that of the errors. If the
    outcomes are `rates`, their errors are those at the common rate, which makes Wald's test Pearson's. The error of a
    rate is smallest near 0 and 1, where the rate may be by chance: at a level of .05, Wald's test rejected .17 of
    files with 14 equal groups of 30 people and a rate of .1, and Pearson's .03.

    References
    ----------
    .. [1] Agresti & Caffo (2000), "Simple and effective confidence intervals for proportions", Am. Statistician 54: a
       Wald test with estimated errors is liberal in small samples.
    .. [2] Rao & Scott (1981), "The analysis of categorical data from complex sample surveys", J. Am. Stat. Assoc. 76:
       Pearson's statistic with the covariance of clusters and weights.
    """
    centre, covariance = means.mean(axis=0), np.atleast_2d(np.cov(means.T))
    if rates:
        binomial_variance = np.clip(centre * (1 - centre), 1e-6, None)  # never 0, by which the factor divides
        effective_people = binomial_variance / np.maximum(np.diag(covariance), 1e-12)
        common_mean = float(effective_people @ centre / effective_people.sum())
        factor = np.sqrt(common_mean * (1 - common_mean) / binomial_variance)
        covariance = covariance * np.outer(factor, factor)
    gaps = centre[1:] - centre[0]  # differences from the first group
    contrasts = np.eye(len(centre))[1:] - np.eye(len(centre))[0]  # of each other group with the first
    statistic = gaps @ np.linalg.pinv(contrasts @ covariance @ contrasts.T, hermitian=True) @ gaps
    return float(special.chdtrc(len(gaps), max(0.0, float(statistic))))


def stratified_means(sample: Sample, strata: Integers, rng: np.random.Generator, draws: int = DRAWS) -> Floats:
    """Draw the effect of each group in an additive model of group and stratum, shape (draws, groups).

    Groups are compared within strata only: the mean outcome is the sum of an effect of the group and of the stratum.
    For two groups the difference is the Mantel-Haenszel risk difference, with the weights ``n1 n2 / (n1 + n2)``. Its
    error is robust: people, or bundles of clusters, are the independent units.

    `strata`, shape (cells,), has the stratum of each cell. Raise `TooFewObservations` if two groups cannot be compared,
    because no chain of common strata connects them.

    References
    ----------
    .. [1] Greenland & Robins (1985), "Estimation of a common effect parameter from sparse follow-up data",
       Biometrics 41: the Mantel-Haenszel risk difference.
    .. [2] Cameron, Gelbach & Miller (2011), "Robust inference with multiway clustering", J. Bus. Econ. Stat. 29.
    """
    group_count, strata_count = sample.size, int(strata.max(initial=0)) + 1
    shape = (strata_count, group_count)
    flat_index = strata * group_count + sample.groups
    weight_table = np.bincount(flat_index, sample.weight_sums, math.prod(shape)).reshape(shape)
    sums = np.bincount(flat_index, sample.weight_sums * sample.values, math.prod(shape)).reshape(shape)
    totals = np.maximum(weight_table.sum(axis=1), 1e-300)  # never divides by 0
    shares, stratum_means = weight_table / totals[:, None], sums.sum(axis=1) / totals
    information = np.diag(weight_table.sum(axis=0)) - shares.T @ weight_table  # matrix of the normal equations
    # one eigenvalue is always 0: effects are determined up to a constant; each further one is a separate set of groups
    eigenvalues = np.linalg.eigvalsh(information)
    if (eigenvalues < 1e-9 * max(1.0, float(eigenvalues[-1]))).sum() > 1:
        raise TooFewObservations("groups that share no stratum with the others cannot be compared; use fewer strata")
    inverse = np.linalg.pinv(information, rcond=1e-10, hermitian=True)
    effects = inverse @ (sums - weight_table * stratum_means[:, None]).sum(axis=0)
    fitted = stratum_means[:, None] + effects - (shares @ effects)[:, None]  # shape (strata, groups)
    residuals = sample.values - fitted[strata, sample.groups]
    people_of_stratum = np.bincount(strata, sample.people, strata_count)
    # with a mean for each stratum, residuals are too small by a factor of (n - 1) / n in their square
    residuals *= np.sqrt(people_of_stratum / np.maximum(people_of_stratum - 1, 1))[strata]
    deviations = np.eye(group_count)[sample.groups] - shares[strata]  # of each cell's group from its stratum's shares
    if sample.bundles is None:
        scores, score_weights = deviations * residuals[:, None], sample.squares  # of each cell
    else:  # of each bundle; the weights correct for the number of bundles
        bundle_count = int(sample.bundles.max(initial=0)) + 1
        scores = np.zeros((bundle_count, group_count))
        np.add.at(scores, sample.bundles, deviations * (residuals * sample.weight_sums)[:, None])
        score_weights = np.full(bundle_count, bundle_count / max(1, bundle_count - 1))
    covariance = inverse @ ((scores * score_weights[:, None]).T @ scores) @ inverse  # robust (sandwich)
    root = np.linalg.cholesky(covariance + 1e-15 * np.eye(group_count))  # effects sum to 0: the covariance is singular
    errors = rng.standard_normal((draws, group_count)) @ root.T
    if sample.bundles is not None:
        freedom = max(int(sample.bundles_of_group.min()) - 1, LEAST_FREEDOM)
        errors *= np.sqrt(freedom / rng.chisquare(freedom, (draws, 1)))  # tails of Student's t
    return np.asarray(effects + errors)


def within_strata(
    sample: Sample,
    strata: Integers,
    names: Sequence[str],
    labels: Sequence[str],
    scale: float,
    rng: np.random.Generator,
    *,
    least: int,
    max_strata: int,
    kinds: int = 1,
    typical: str = "",
) -> tuple[HiddenEffect, ...]:
    """Draw the difference of each pair of groups in each large stratum; the strata of a pair are fitted jointly.

    `strata`, shape (cells,), has the stratum of each cell, an index of `names`; `labels` are the names of the groups.
    `scale` is the prior's scale of the spread between strata, in the unit of the outcome. A large stratum is one
    of the `max_strata` largest, and has at least `least` people of both groups. Pairs of groups without two such strata
    are left out. An insignificant difference is marked as a mere upper bound. `kinds` is the number of samples (such as
    people who proved right) that the caller tests, each with as many differences as this one. If `typical` is given,
    the strata of a pair give a single effect of that name: the root of the mean square of their differences.
    """
    stratum_sizes = np.bincount(strata, sample.people, len(names))
    means: dict[int, Floats] = {}  # draws of the groups' means, by stratum
    large_groups: dict[int, NDArray[np.bool_]] = {}  # mask of the groups with enough people, by stratum
    for stratum in np.argsort(-stratum_sizes, kind="stable")[:max_strata].tolist():
        stratum_sample = sample.where(strata == stratum)
        is_large = stratum_sample.per_group(stratum_sample.people) >= least
        if is_large.sum() >= 2:
            means[stratum], large_groups[stratum] = stratum_sample.draw_means(rng), is_large
    group_pairs: list[tuple[int, int, list[int]]] = []
    for a, b in combinations(range(sample.size), 2):
        shared_strata = [stratum for stratum, is_large in large_groups.items() if is_large[a] and is_large[b]]
        if len(shared_strata) >= 2:
            group_pairs.append((a, b, shared_strata))
    if not group_pairs:
        return ()
    gaps_by_pair = [
        np.stack([means[stratum][:, b] - means[stratum][:, a] for stratum in shared_strata], axis=1)
        for a, b, shared_strata in group_pairs
    ]
    plausible_sizes = np.array([(np.abs(gaps.mean(axis=0)) + 2 * gaps.std(axis=0)).max() for gaps in gaps_by_pair])
    comparisons = kinds * sum(len(shared_strata) for _, _, shared_strata in group_pairs)
    critical_z = float(special.ndtri(1 - (1 - NO_FALSE_STRATUM) / 2 / comparisons))  # two-sided, Bonferroni
    effects = []
    for index in furthest(plausible_sizes, MOST_PAIRS).tolist():  # the others hardly change the result
        (a, b, shared_strata), gaps = group_pairs[index], gaps_by_pair[index]
        estimates, errors = gaps.mean(axis=0), gaps.std(axis=0)
        fitted = varying_effect(estimates, errors**2, scale, rng).strata  # differences: (draws, strata)
        are_significant = np.abs(estimates) > critical_z * errors
        if typical:
            typical_size = np.sqrt((fitted**2).mean(axis=1))
            name = f"{typical}, {labels[a]} to {labels[b]}"
            effects.append(HiddenEffect("stratum", name, typical_size, bound=not are_significant.any()))
            continue
        for stratum_index, stratum in enumerate(shared_strata):
            is_significant = are_significant[stratum_index]
            name = f"{names[stratum]}, {labels[a]} to {labels[b]}"
            effects.append(HiddenEffect("stratum", name, np.abs(fitted[:, stratum_index]), bound=not is_significant))
    return tuple(effects)


def fitted_rates(means: Floats, rng: np.random.Generator) -> Floats:
    """Draw jointly fitted rates of groups, shape (draws, groups); the draws of one or two groups stay unchanged.

    The highest of many observed rates is too high, and the lowest too low. So the logarithms of three or more rates are
    fitted together: where groups hardly differ beyond chance, each rate is near the common one. The errors of the
    logarithms are normal, unless one exceeds the prior's scale, as with fewer than about 20 favourable outcomes.
    """
    if means.shape[1] < 3:
        return means
    logs, scale = np.log(np.maximum(means, 1e-12)), -math.log(FOUR_FIFTHS)  # `scale`: of the prior of their spread
    if logs.std(axis=0).max() > scale:
        return _fit_counts(means, scale, rng)
    return np.exp(varying_effect(logs.mean(axis=0), np.cov(logs.T), scale, rng, draws=len(means)).strata)


def _fit_counts(means: Floats, scale: float, rng: np.random.Generator) -> Floats:
    """Draw jointly fitted rates, shape (draws, groups), from binomial counts and a beta distribution between groups.

    The logarithm of a rate of 0 of 300 people has a standard deviation of 2.2; with a normal error, the rate would be
    compatible with one of .45. The prior of common rate and spread (coefficient of variation) is that of
    `varying_effect`. A group may also have a rate of its own, or one distant group would make the others look
    different. Counts are those of Jeffreys' posterior with the mean and variance of the draws `means`.
    """
    centre, variance = means.mean(axis=0), np.maximum(means.var(axis=0), 1e-12)  # never divides by 0
    people = np.maximum(centre * (1 - centre) / variance - 2, 1.0)  # as many as would give this variance
    positives = np.clip(centre * (people + 1) - 0.5, 0.0, people)
    spreads, prior = spread_prior(scale)
    spreads = np.maximum(spreads, scale / 100)[:, None]  # so that differences of `betaln` are exact
    precision = 1 / ((1 - centre) / (people * centre) + spreads**2)  # of the logarithms, at each spread
    error = 1 / np.sqrt(precision.sum(axis=1, keepdims=True))
    logs = (precision * np.log(centre)).sum(axis=1, keepdims=True) * error**2 + error * np.linspace(-8, 8, 65)
    common = np.exp(np.minimum(logs, -1e-6))  # grid of the common rate, shape (spreads, nodes)
    alpha, beta = (1 - common) / spreads**2, (1 - common) ** 2 / common / spreads**2
    log_mass = np.where(logs > -1e-6, -np.inf, np.log(np.maximum(prior, 1e-300))[:, None] + np.log(error))
    p_own, p_common = P_OWN_RATE / len(centre), []  # `p_common`: of each group, in each cell of the grid
    for yes, no in zip(positives, people - positives, strict=True):
        common_mass = math.log1p(-p_own) + special.betaln(alpha + yes, beta + no) - special.betaln(alpha, beta)
        own_mass = math.log(p_own / math.pi) + special.betaln(0.5 + yes, 0.5 + no)  # of Jeffreys' prior
        log_mass += np.logaddexp(common_mass, own_mass)
        p_common.append(special.expit(common_mass - own_mass).ravel())
    grid_cells = rng.choice(log_mass.size, len(means), p=special.softmax(log_mass).ravel())
    is_common = rng.random(means.shape) < np.stack(p_common)[:, grid_cells].T
    alphas, betas = (np.where(is_common, grid.ravel()[grid_cells, None], 0.5) for grid in (alpha, beta))
    return np.asarray(rng.beta(alphas + positives, betas + people - positives))


def below_four_fifths(rates: Floats) -> Floats:
    """Return the probability that a group's rate is below 4/5 of the highest, from draws of shape (draws, groups)."""
    return np.asarray((rates < FOUR_FIFTHS * rates.max(axis=1, keepdims=True)).mean(axis=0))


def largest_rate_change(
    undecided: Floats, favourable: Floats, unfavourable: Floats, positives: Floats, people: Floats
) -> float:
    """Return an upper bound on the change of any difference of rates (``positives / people``) by missing values.

    All arrays have numbers of people by group, shape (groups,). `undecided` people have no recorded decision;
    `favourable` and `unfavourable` people have one, but it is unknown whether they count in the rate of the group.
    """
    rate = positives / people
    highest = (positives + undecided + favourable) / (people + undecided + favourable)
    lowest = positives / (people + undecided + unfavourable)
    return float((highest - rate).max() + (rate - lowest).max())  # one group's rate rises, another's falls


def largest_mean_change(sample: Sample, unsure: Sample, least: int) -> float:
    """Bound the change of differences of means of groups of `least` people if people of `unsure` join `sample`."""
    deviations = unsure.values - sample.means[unsure.groups]  # at worst, only the higher (or lower) values join
    is_large = sample.per_group(sample.people) >= least
    shifts = [
        unsure.per_group(unsure.weight_sums * np.maximum(sign * deviations, 0))[is_large] / sample.totals[is_large]
        for sign in (1, -1)
    ]
    return float(sum(shift.max(initial=0.0) for shift in shifts))  # one group's mean rises, another's falls
