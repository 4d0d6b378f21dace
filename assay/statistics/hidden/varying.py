"""An effect that may differ between strata: draws of its mean, of its spread, and of the effect in each stratum.

The largest of several noisy estimates is too large, the more so the more strata there are: with twelve strata of an
unbiased service, the largest would exceed the tolerance in most cases. So the strata are fitted jointly,
``effect_s ~ N(mean, spread)``. If they differ by no more than their errors, each has little more error than the mean;
if they differ more, each keeps its own estimate (Gelman, Hill & Yajima 2012; docs/decisions/0060 has simulations).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import OutOfBounds
from assay.model import Floats, Integers
from assay.statistics.intervals.crossed import cluster_sums

DRAWS = 4000

CELLS = 80
"""Number of cells of the grid of spreads; the cells grow towards large spreads, as Cauchy quantiles do."""

ZERO_SPREAD = 1e-4
"""Spread that represents a spread of 0, in units of the scale."""

LEAST_VARIANCE = 1e-12
"""Lower bound of an estimate's variance, in squares of the scale; without noise in the service it would be 0."""


@dataclass(frozen=True)
class Varying:
    """Joint posterior draws of an effect that differs between strata (subsets of the questions, such as frames)."""

    mean: Floats
    """Mean of the population of strata; shape (draws,)."""
    spread: Floats
    """Standard deviation of the effects between strata, without the errors of their estimates; shape (draws,)."""
    strata: Floats
    """Effect in each stratum; shape (draws, strata)."""


def varying_effect(
    estimates: ArrayLike, covariance: ArrayLike, scale: float, rng: np.random.Generator, draws: int = DRAWS
) -> Varying:
    """Draw an effect that may differ between strata (subsets of the questions), from a normal hierarchical model.

    Parameters
    ----------
    estimates : array_like, shape (strata,)
        Estimated effect in each stratum.
    covariance : array_like, shape (strata, strata) or (strata,)
        Covariance of the errors of the estimates, or their variances if they are independent.
    scale : float
        Scale of the prior of the spread between strata: 0 or half-normal, with equal odds. The mean's prior is flat.

    Raises
    ------
    OutOfBounds
        If the covariance does not fit the estimates, or the scale is not positive.

    References
    ----------
    .. [1] Gelman (2006), "Prior distributions for variance parameters in hierarchical models", Bayesian Analysis 1.
    .. [2] Gelman, Hill & Yajima (2012), "Why we (usually) don't have to worry about multiple comparisons".
    """
    effects = np.asarray(estimates, dtype=float)
    covariances = np.asarray(covariance, dtype=float)
    covariances = np.diag(covariances) if covariances.ndim == 1 else covariances
    if covariances.shape != (effects.size, effects.size) or not scale > 0:
        raise OutOfBounds(
            f"{effects.size} estimates need as many errors and a positive scale, not {covariances.shape}, {scale}"
        )
    # in the basis of the covariance's eigenvectors the errors are independent, and so are the strata's effects
    eigenvalues, basis = np.linalg.eigh(covariances)
    eigenvalues = np.maximum(eigenvalues, LEAST_VARIANCE * scale**2)
    rotated_ones, rotated_effects = basis.T @ np.ones(effects.size), basis.T @ effects
    spreads, prior = spread_prior(scale)
    # likelihood of each spread, with the mean integrated out
    weight = 1 / (eigenvalues + spreads[:, None] ** 2)
    precision = (weight * rotated_ones**2).sum(axis=1)
    centre = (weight * rotated_ones * rotated_effects).sum(axis=1) / precision
    misfit = (weight * (rotated_effects - centre[:, None] * rotated_ones) ** 2).sum(axis=1)
    log_likelihood = (np.log(weight).sum(axis=1) - np.log(precision) - misfit) / 2
    log_mass = np.log(np.maximum(prior, 1e-300)) + log_likelihood  # the prior may underflow to 0
    mass = np.exp(log_mass - log_mass.max())
    drawn_indices = rng.choice(len(spreads), draws, p=mass / mass.sum())
    spread = spreads[drawn_indices]
    mean = centre[drawn_indices] + rng.standard_normal(draws) / np.sqrt(precision[drawn_indices])
    conditional_variance = (1 / (1 / eigenvalues + 1 / spreads[:, None] ** 2))[drawn_indices]
    weighted_sum = rotated_effects / eigenvalues + mean[:, None] * rotated_ones / spread[:, None] ** 2
    conditional_mean = conditional_variance * weighted_sum
    # drawn in the strata's own basis: eigenvectors may have either sign, which depends on the processor
    noise = rng.standard_normal(conditional_mean.shape) @ basis
    samples = conditional_mean + noise * np.sqrt(conditional_variance)
    return Varying(mean, spread, samples @ basis.T)


def spread_prior(scale: float) -> tuple[Floats, Floats]:
    """Return a grid of spreads and its prior masses: half of the mass at a spread of 0, half of it half-normal."""
    spreads = scale * np.tan(math.pi / 2 * (np.arange(CELLS) + 0.5) / CELLS)
    slab = np.exp(-((spreads / scale) ** 2) / 2) * (1 + (spreads / scale) ** 2)  # density times the width of a cell
    return np.concatenate([[ZERO_SPREAD * scale], spreads]), np.concatenate([[0.5], 0.5 * slab / slab.sum()])


def shared_preference(list_preferences: ArrayLike) -> Floats:
    """Return the preference that several lists share: the geometric mean of their sizes, or 0 if their signs differ.

    Each list holds stereotypes of one group. If a service follows stereotypes, the preferred group differs by list. If
    it prefers one group for any content, it prefers the same group in all lists. The result, shape (...), is never
    negative.

    Parameters
    ----------
    list_preferences : array_like, shape (lists, ...)
        Preference for the first group in each list; negative for the second group.
    """
    preferences = np.asarray(list_preferences, dtype=float)
    same_sign = (preferences > 0).all(axis=0) | (preferences < 0).all(axis=0)
    return np.asarray(np.where(same_sign, np.abs(preferences).prod(axis=0) ** (1 / len(preferences)), 0.0))


def cluster_means(values: Floats, clusters: Integers, other_clusters: tuple[Integers, ...]) -> tuple[Floats, Floats]:
    """Estimate the mean of each cluster of one kind, without the effects of other kinds, and the error variances.

    Means and error variances have the shape (clusters,).

    Parameters
    ----------
    values : ndarray, shape (n,)
        One number for each profile.
    clusters : ndarray of int, shape (n,)
        Cluster of each profile, numbered from 0 without gaps.
    other_clusters : tuple of ndarray of int, shape (n,)
        Clusters of the other kinds, which are crossed with this kind.
    """
    residuals = values - values.mean()
    for ids in other_clusters:
        sizes = np.maximum(np.bincount(ids), 1)  # an unused id would have size 0
        residuals = residuals - (np.bincount(ids, weights=residuals) / sizes)[ids]
    sizes = np.bincount(clusters).astype(float)
    means = np.bincount(clusters, weights=residuals) / sizes
    # each other kind has `ids.max() + 1` effects, which add up to 0, so that one of them is not free
    freedom = len(values) - len(sizes) - sum(int(ids.max()) for ids in other_clusters)
    residual_variance = float(((residuals - means[clusters]) ** 2).sum()) / max(1, freedom)
    return means + values.mean(), residual_variance / sizes


def adjusted_means(
    values: Floats, members: NDArray[np.str_], others: Sequence[NDArray[np.str_]]
) -> tuple[Floats, Floats] | None:
    """Estimate the mean of each stratum (subset of the cases) as if the levels of other factors were balanced in it.

    Return the least-squares means, shape (strata,), and the covariance of their errors, whose variances are at least
    the cluster-robust ones (by stratum and level of the first factor). Return ``None`` if a factor is confounded with
    the strata, or there are too few cases.

    Parameters
    ----------
    values : ndarray, shape (n,)
        One number for each case.
    members : ndarray of str, shape (n,)
        Stratum of each case.
    others : sequence of ndarray of str, shape (n,)
        For each other factor, such as the term, the level that a case has; a factor has two or more levels.
    """
    stratum_columns = _indicators(members)
    other_columns = [columns[:, :-1] - columns[:, -1:] for columns in map(_indicators, others)]  # effects add up to 0
    design = np.column_stack([stratum_columns, *other_columns])
    gram = design.T @ design
    if np.linalg.matrix_rank(gram, hermitian=True) < len(gram) or len(values) <= len(gram):
        return None
    inverse = np.linalg.inv(gram)
    coefficients = inverse @ (design.T @ values)
    residuals = values - design @ coefficients
    strata = stratum_columns.shape[1]  # their number
    covariance = np.asarray(float((residuals**2).sum()) / (len(values) - len(gram)) * inverse[:strata, :strata])
    if not others:
        return coefficients[:strata], covariance
    # clustered sandwich estimator: all cases of one stratum and one level of the first factor share an interaction
    _, cells = np.unique(np.char.add(np.char.add(members, " / "), others[0]), return_inverse=True)
    score_sums = cluster_sums(design * residuals[:, None], cells)
    cell_count, parameters = len(score_sums), strata + other_columns[0].shape[1]
    sandwich = (inverse @ score_sums.T @ score_sums @ inverse)[:strata, :strata]
    clustered = cell_count / max(1, cell_count - parameters) * sandwich
    variances = np.maximum(np.diagonal(covariance), LEAST_VARIANCE)  # 0 if all cases of a stratum are equal
    widening = np.sqrt(np.maximum(1.0, np.diagonal(clustered) / variances))
    return coefficients[:strata], np.asarray(covariance * np.outer(widening, widening))


def _indicators(members: NDArray[np.str_]) -> Floats:
    """Return a column for each distinct name in `members`: 1 where a case has this name; shape (n, names)."""
    names, ids = np.unique(members, return_inverse=True)
    return np.asarray(np.arange(len(names)) == ids[:, None], dtype=float)
