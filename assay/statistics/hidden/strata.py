"""Effects within strata of the content, from paired differences (docs/what-a-mean-hides.md)."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from assay.model import Floats, HiddenEffect
from assay.statistics.hidden.varying import adjusted_means, varying_effect
from assay.statistics.intervals.alternation_effects import DRAWS, Profiles, pair_differences
from assay.statistics.intervals.crossed import LEAST_CLUSTERS, mean_covariance, mean_error

Families = Mapping[str, NDArray[np.str_]]

NO_FALSE_STRATUM = 0.99
"""Probability that no pair of values in any stratum of an unbiased service differs significantly by chance."""

NEGLIGIBLE = 1e-9
"""Difference of two variances, as a share of the larger one, that may be rounding."""

LEAST_SHARE_VARIANCE = 1e-12
"""Lower bound of a share's variance where it is a divisor."""

LEAST_OF_A_KIND = 10
"""Minimum number of differences for a stratum to count in `typical_effect`."""

LEAST_KINDS = 3
"""Minimum number of clusters or groups for which the spread between them is estimated."""

MOST_PAIRS = 45
"""Maximum number of pairs of values (those of ten values) whose hidden effects are computed; see `furthest`."""


def furthest(sizes: Floats, limit: int = MOST_PAIRS) -> NDArray[np.intp]:
    """Return the indices of the `limit` pairs with the largest `sizes`, ascending; shape (at most `limit`,).

    `sizes` are the largest plausible effects of the pairs. Whether the largest effect exceeds its limit hardly depends
    on the other pairs, and fifty values make 1,225 pairs.
    """
    return np.sort(np.argsort(-sizes, kind="stable")[:limit])


def stratum_effects(
    profiles: Profiles, families: Families, scale: float, rng: np.random.Generator, draws: int = DRAWS
) -> tuple[HiddenEffect, ...]:
    """Draw the size of the mean difference between two values within each stratum (such as the profiles of one frame).

    Strata of one family, that is one way to divide the profiles, are fitted jointly. Each pair of values has an effect.

    Parameters
    ----------
    families : mapping of str to ndarray of str, shape (profiles,)
        For each family (a column of the records, the frames), the stratum of each profile; "" if it is in none.
    scale : float
        Scale of the prior of the spread between the strata of a family, in standard deviations of the output.
    """
    strata: list[tuple[str, str, NDArray[np.bool_]]] = []  # family, name, mask of the profiles in it
    for family, stratum_of_profile in families.items():
        for stratum in sorted({*stratum_of_profile.tolist()} - {""}):
            in_stratum = stratum_of_profile == stratum
            if in_stratum.sum() >= LEAST_CLUSTERS:
                strata.append((family, f"{family}: {stratum}", in_stratum))
    if not strata:
        return ()
    differences = pair_differences(profiles.outputs) / profiles.scale
    # with these weights, the mean over all profiles is the mean in the stratum
    weights = np.stack([in_stratum / in_stratum.mean() for _, _, in_stratum in strata], axis=1)
    estimates = differences.T @ weights / len(weights)  # shape (pairs, strata)
    # the influence of each profile on a stratum's mean; the error of that mean is the error of the mean influence
    influences = (differences[:, :, None] - estimates) * weights[:, None]
    error = mean_error(influences.reshape(len(weights), -1), profiles.clusters)
    covariances = mean_covariance(influences, profiles.clusters, error)
    plausible_effects = (np.abs(estimates) + 2 * np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))).max(axis=1)
    # some of many noisy differences exceed any limit by chance: only significant ones (Bonferroni) show a bias
    critical = special.stdtrit(error.freedom, 1 - (1 - NO_FALSE_STRATUM) / 2 / estimates.size) * np.sqrt(error.variance)
    significant = np.abs(estimates) > critical.reshape(estimates.shape)
    pair_names, effects = [f"{a} to {b}" for a, b in combinations(profiles.values, 2)], []
    for pair_index in furthest(plausible_effects).tolist():
        estimate, covariance = estimates[pair_index], covariances[pair_index]
        for family in families:
            indices = [index for index, stratum in enumerate(strata) if stratum[0] == family]
            if len(indices) < 2:  # a joint fit needs several strata
                continue
            joint_fit = varying_effect(estimate[indices], covariance[np.ix_(indices, indices)], scale, rng, draws)
            for index, samples in zip(indices, joint_fit.strata.T, strict=True):
                _, stratum_name, _ = strata[index]
                name = stratum_name if len(pair_names) == 1 else f"{stratum_name}, {pair_names[pair_index]}"
                effects.append(HiddenEffect("stratum", name, np.abs(samples), bound=not significant[pair_index, index]))
    return tuple(effects)


def fitted_together(samples: Floats, scale: float, rng: np.random.Generator) -> Floats:
    """Fit the differences between several groups jointly, because the largest of many noisy differences is too large.

    Parameters
    ----------
    samples : ndarray, shape (draws, pairs), as the result
        Draws of each group less each earlier group (order of `itertools.combinations`); for two groups, not changed.
    scale : float
        Scale of the prior of the spread between the groups.
    """
    group_count = round((1 + math.sqrt(1 + 8 * samples.shape[1])) / 2)  # n groups have n (n - 1) / 2 pairs
    if group_count < LEAST_KINDS:
        return samples
    # the first pairs are those with the first group
    from_first = np.column_stack([np.zeros(len(samples)), samples[:, : group_count - 1]])
    group_effects = varying_effect(from_first.mean(axis=0), np.cov(from_first.T), scale, rng, len(samples)).strata
    return pair_differences(group_effects)


def share_effects(
    strata: Mapping[str, tuple[Floats, Floats]], fair: Floats, scale: float, rng: np.random.Generator
) -> tuple[HiddenEffect, ...]:
    """Draw how far the values' shares are from the fair shares (total variation) in each stratum (subset of questions).

    Parameters
    ----------
    strata : mapping of str to (ndarray, shape (values,), ndarray, shape (draws, values))
        For each stratum, its shares less the fair shares: estimates, and draws. The strata are fitted jointly.
    fair : ndarray, shape (values,)
        The fair shares.
    scale : float
        Scale of the prior of the spread between strata.
    """
    estimates = np.stack([estimate for estimate, _ in strata.values()])
    samples = np.stack([draws for _, draws in strata.values()], axis=1)
    spread = samples.var(axis=0).sum(axis=0)
    widest = int((spread > (1 - NEGLIGIBLE) * spread.max()).argmax())  # the first of equal ones, on every processor
    total, distance = np.zeros(samples.shape[:2]), np.zeros(samples.shape[:2])  # sums: differences; half their sizes
    for value in range(estimates.shape[1]):
        if value != widest:  # differences add up to 0, so the widest is minus the sum of the others (`total`)
            covariance = _covariance_at_one_share(samples[:, :, value], float(fair[value]))
            fitted = varying_effect(estimates[:, value], covariance, scale, rng, len(samples)).strata
            total, distance = total + fitted, distance + np.abs(fitted) / 2
    distance += np.abs(total) / 2
    return tuple(HiddenEffect("stratum", name, size) for name, size in zip(strata, distance.T, strict=True))


def _covariance_at_one_share(samples: Floats, fair: float) -> Floats:
    """Return the covariance of estimates of one share in all strata (subsets of questions), as if the share were equal.

    The estimated error of a share is smallest near 0 and 1. With few answers, a share may be near 0 or 1 by chance, and
    would seem certain: in one of eight simulations, a translator that tossed coins was found biased.
    """
    covariance = np.atleast_2d(np.cov(samples.T))
    shares = np.clip(samples.mean(axis=0) + fair, 1e-6, 1 - 1e-6)
    answer_variances = shares * (1 - shares)
    answer_counts = answer_variances / np.maximum(np.diag(covariance), LEAST_SHARE_VARIANCE)  # n = p q / variance
    pooled_share = float(answer_counts @ shares / answer_counts.sum())
    widening = np.sqrt(np.maximum(1.0, pooled_share * (1 - pooled_share) / answer_variances))
    return np.asarray(covariance * np.outer(widening, widening))


def typical_effect(
    mean: Floats,
    differences: Floats,
    members: NDArray[np.str_],
    others: Sequence[NDArray[np.str_]],
    scale: float,
    rng: np.random.Generator,
) -> tuple[Floats, bool] | None:
    """Draw the root mean square of an effect over strata, such as the frames, without sampling errors; shape (draws,).

    Also return whether it is only an upper bound, because the strata are confounded with the first of `others`. Return
    ``None`` if fewer than two strata are large enough, or they are confounded with another factor.

    Parameters
    ----------
    mean : ndarray, shape (draws,)
        Draws of the effect's mean.
    differences : ndarray, shape (n,)
        Paired differences.
    members : ndarray of str, shape (n,)
        Stratum of each difference; strata of fewer than 10 differences are left out.
    others : sequence of ndarray of str, shape (n,)
        Other factors of the text, such as the term; the strata are compared at equal shares of each factor's levels.
    scale : float
        Scale of the prior of the spread between the strata.
    """
    _, ids, stratum_sizes = np.unique(members, return_inverse=True, return_counts=True)
    is_frequent = (stratum_sizes >= LEAST_OF_A_KIND)[ids]
    if (stratum_sizes >= LEAST_OF_A_KIND).sum() < 2:
        return None
    factors = [factor[is_frequent] for factor in others if np.unique(factor[is_frequent]).size > 1]
    estimates = adjusted_means(differences[is_frequent], members[is_frequent], factors)
    is_bound = estimates is None  # confounded with a factor: only a bound, without the first factor
    if is_bound:
        estimates = adjusted_means(differences[is_frequent], members[is_frequent], factors[1:])
    if estimates is None:
        return None
    stratum_effect = varying_effect(*estimates, scale, rng, len(mean)).strata
    deviations = stratum_effect - stratum_effect.mean(axis=1, keepdims=True)
    return np.asarray(np.sqrt(mean**2 + (deviations**2).mean(axis=1))), is_bound
