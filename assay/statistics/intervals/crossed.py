"""Means over profiles that share names, frames and contents (crossed clusters), with their errors.

Profiles that share a cluster are not independent, and they share several kinds of cluster at a time.
The variance of a mean is the sum of a component for each kind (Henderson's method 1). Intervals from this
variance have the right coverage; resampling all kinds at once covers too much, resampling one kind too little.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np

from assay.errors import TooFewObservations
from assay.model import Floats, Integers
from assay.statistics.special import special

Clusters = Mapping[str, Integers]

LEAST_CLUSTERS = 5
"""Minimum number of clusters of a kind, such as persons, to estimate their spread."""

AT_A_TIME = 500
"""Number of draws whose weights are held at once, so that memory does not grow with the number of draws."""

TAIL_POINTS = np.linspace(-5.0, 5.0, 151)
"""Normal quantiles between which tails are interpolated: error 1.2 % with one degree of freedom, .1 % with five."""

LARGEST_TABLE = 1_000_000
"""Maximum number of cells of crossed clusters to aggregate first; more would be mostly empty."""


@dataclass(frozen=True)
class MeanError:
    """Variance of each column's mean if rows share persons, frames or contents (clusters), with degrees of freedom."""

    variance: Floats
    """Variance of each mean; shape (m,)."""
    freedom: Floats
    """Degrees of freedom of that variance (Satterthwaite); shape (m,)."""


def mean_error(values: Floats, clusters: Clusters) -> MeanError:
    """Estimate the variance of each column's mean if rows share clusters of several kinds, such as persons and frames.

    Parameters
    ----------
    values : ndarray, shape (n, m)
        One row for each profile.
    clusters : mapping of str to ndarray of int, shape (n,)
        For each kind (such as persons), the cluster of each row, numbered from 0. A kind in which every row is its
        own cluster is left out, because it adds no information.

    Raises
    ------
    TooFewObservations
        If there are fewer than `LEAST_CLUSTERS` rows, or fewer clusters of a kind.

    Notes
    -----
    ``y = mean + one random effect for each kind + noise``. Expected sums of squares are linear in the
    components (Searle, Casella & McCulloch 1992, section 5.3); they are solved for with no negative component.

    Satterthwaite's degrees of freedom (1946) are ``variance**2 / sum(w**2 / f)``; each mean square has its own ``f``.
    Of the noise, ``w = noise``; of a kind, ``component + min(component, noise)`` instead of ``component + noise``.
    Coverage of these intervals, and the alternatives that were tried: docs/decisions/0016.
    """
    n = len(values)
    kinds = _renumber_clusters(clusters, n)
    sizes = {kind: np.bincount(ids).astype(float) for kind, ids in kinds.items()}
    for count, unit in [(n, "profiles"), *((len(size), f"different {kind}s") for kind, size in sizes.items())]:
        if count < LEAST_CLUSTERS:
            raise TooFewObservations(f"{count} {unit} are too few; at least {LEAST_CLUSTERS} are needed")
    # coefficients of the variance components in n * mean**2, which the sums of squares around the mean exclude
    mean_terms = np.array([*(float((sizes[kind] ** 2).sum()) / n for kind in kinds), 1.0])
    # an expected sum of squares is its row of coefficients times the components (noise last); first, the total
    coefficient_rows = [np.full(len(kinds) + 1, float(n)) - mean_terms]
    sums_of_squares = [((values - values.mean(axis=0)) ** 2).sum(axis=0)]
    for kind in kinds:
        coefficients = [
            float(n)
            if other_kind == kind
            else float(np.sum(cross_tabulate(kinds[kind], kinds[other_kind]) ** 2 / sizes[kind][:, None]))
            for other_kind in kinds
        ]
        coefficient_rows.append(np.array([*coefficients, float(len(sizes[kind]))]) - mean_terms)
        sums = cluster_sums(values, kinds[kind])
        sums_of_squares.append((sums**2 / sizes[kind][:, None]).sum(axis=0) - n * values.mean(axis=0) ** 2)
    # coefficient of each component in the variance of the mean, and degrees of freedom of its mean square
    mean_coefficients = np.array([*(float((sizes[kind] ** 2).sum()) / n**2 for kind in kinds), 1 / n])
    freedom = np.array([*(len(sizes[kind]) - 1.0 for kind in kinds), float(max(1, n - 1))])
    components = _solve_components(np.array(coefficient_rows), np.stack(sums_of_squares)) * mean_coefficients[:, None]
    noise = components[-1]
    variance = components.sum(axis=0)
    weighted_components = components + np.vstack([np.minimum(components[:-1], noise), np.zeros_like(noise)])
    degrees = np.divide(
        variance**2,
        (weighted_components**2 / freedom[:, None]).sum(axis=0),
        out=np.full(len(variance), float(n - 1)),
        where=variance > 0,
    )
    return MeanError(variance, degrees)


def mean_draws(
    values: Floats, clusters: Clusters, rng: np.random.Generator, draws: int, max_draw_weights: int | None = None
) -> Floats:
    """Draw the means of the columns by resampling clusters, with the variance of `mean_error`; shape (draws, m).

    Parameters
    ----------
    values, clusters
        As for `mean_error`, with the same errors.
    rng : Generator
        Draws Dirichlet weights for the clusters of every kind, and the tails.
    max_draw_weights : int, optional
        Maximum number of weights for a kind; if there are more clusters, random clusters share a weight. This limits
        the time for a large sample. The variances remain those of the single clusters; tails are interpolated.
        ``None``: no maximum.
    """
    error, n = mean_error(values, clusters), len(values)
    kinds = _renumber_clusters(clusters, n) or {"row": np.arange(n)}  # without clusters, every row has a weight
    for kind, ids in kinds.items():
        count = int(ids.max()) + 1
        if max_draw_weights is not None and count > max_draw_weights:
            kinds[kind] = (rng.permutation(count) % max_draw_weights)[ids]
    samples = _weighted_means(kinds, values, rng, draws)
    centre = values.mean(axis=0)
    deviations = samples - samples.mean(axis=0)
    sds = deviations.std(axis=0)
    scale_factors = np.divide(np.sqrt(error.variance), sds, out=np.zeros_like(sds), where=sds > 0)
    uniform = rng.random(draws)
    degrees = error.freedom.tolist()
    if max_draw_weights is None:
        factors_of = {freedom: _t_factors(uniform, freedom) for freedom in {*degrees}}
    else:
        normal, p_points = special.ndtri(uniform), special.ndtr(TAIL_POINTS)
        factors_of = {freedom: np.interp(normal, TAIL_POINTS, _t_factors(p_points, freedom)) for freedom in {*degrees}}
    t_factors = np.stack([factors_of[freedom] for freedom in degrees], axis=1)
    return np.asarray(centre + deviations * scale_factors * t_factors)


def mean_covariance(values: Floats, clusters: Clusters, error: MeanError) -> Floats:
    """Estimate the covariance that draws of the column means (`mean_draws`) would have; shape (sets, m, m).

    Parameters
    ----------
    values : ndarray, shape (n, sets, m)
        Sets of columns; covariances are computed between columns of the same set.
    clusters
        As for `mean_error`.
    error : MeanError
        Result of `mean_error` for all columns, shape (n, sets * m).

    Notes
    -----
    Weights of rows that share clusters of ``k`` kinds have a covariance of ``2**k - 1``, the number of sets of kinds.
    """
    n = len(values)
    kinds = [*_renumber_clusters(clusters, n).values()] or [np.arange(n)]
    deviations = values - values.mean(axis=0)
    covariance = np.zeros((values.shape[1], values.shape[2], values.shape[2]))
    # for every set of kinds, the products of rows that share the clusters of all its kinds (see Notes)
    for selected_kinds in chain.from_iterable(combinations(kinds, count + 1) for count in range(len(kinds))):
        crossed_ids = np.ravel_multi_index(selected_kinds, [int(ids.max()) + 1 for ids in selected_kinds])
        _, cells = np.unique(crossed_ids, return_inverse=True)
        cell_sums = cluster_sums(deviations.reshape(n, -1), cells).reshape(-1, *values.shape[1:])
        sums_by_set = cell_sums.swapaxes(0, 1)  # shape (sets, cells, m)
        covariance += sums_by_set.swapaxes(1, 2) @ sums_by_set
    sds = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    # `mean_draws` has Student's tails, with the variance f / (f - 2)
    scaled_errors = np.sqrt(error.variance * error.freedom / np.maximum(1.0, error.freedom - 2)).reshape(sds.shape)
    scale_factors = np.divide(scaled_errors, sds, out=np.zeros_like(sds), where=sds > 0)
    return np.asarray(covariance * scale_factors[:, :, None] * scale_factors[:, None, :])


def _renumber_clusters(clusters: Clusters, row_count: int) -> dict[str, Integers]:
    """Renumber the clusters without gaps, and drop kinds in which every row is its own cluster."""
    renumbered = {}
    for kind, ids in clusters.items():
        _, numbers = np.unique(ids, return_inverse=True)
        if numbers.max(initial=0) + 1 < row_count:
            renumbered[kind] = numbers
    return renumbered


def cluster_sums(values: Floats, ids: Integers) -> Floats:
    """Sum the rows of each cluster; shape (clusters, m) from values of shape (n, m)."""
    return np.stack([np.bincount(ids, weights=column) for column in values.T], axis=1)


def cross_tabulate(first_ids: Integers, second_ids: Integers) -> Floats:
    """Count the rows for each combination of clusters of two kinds; shape (first clusters, second clusters)."""
    table = np.zeros((int(first_ids.max()) + 1, int(second_ids.max()) + 1))
    np.add.at(table, (first_ids, second_ids), 1)
    return table


def _solve_components(coefficient_rows: Floats, sums_of_squares: Floats) -> Floats:
    """Solve for the variance components by non-negative least squares; shape (components, m)."""
    from scipy.optimize import nnls  # slow to import

    solutions = (nnls(coefficient_rows, column) for column in sums_of_squares.T)
    return np.stack([components for components, _residual_norm in solutions], axis=1)


def _weighted_means(kinds: Mapping[str, Integers], values: Floats, rng: np.random.Generator, draws: int) -> Floats:
    """Weigh each row by the product of its clusters' Dirichlet weights, and take the means of the columns.

    Rows with the same clusters are summed first, so that the time depends on the number of cells of the crossed
    kinds instead of rows, unless there are more than `LARGEST_TABLE` cells.
    """
    sizes = [int(ids.max()) + 1 for ids in kinds.values()]
    values_and_ones = np.column_stack([values, np.ones(len(values))])  # the last column becomes the sum of the weights
    by_row = len(sizes) > 1 and math.prod(sizes) * values_and_ones.shape[1] > LARGEST_TABLE
    row_buffers = np.empty((2, len(values) * min(AT_A_TIME, draws) if by_row else 0))
    if not by_row:
        cells = np.ravel_multi_index(tuple(kinds.values()), sizes)
        columns = [np.bincount(cells, column, math.prod(sizes)) for column in values_and_ones.T]
        table = np.stack(columns, axis=1).reshape(sizes[0], -1)  # a row for each cluster of the first kind
        sums_buffer = np.empty((min(AT_A_TIME, draws), table.shape[1]))
    # reusing memory takes a fraction of the time of allocating new memory
    weight_buffers = [np.empty((min(AT_A_TIME, draws), size)) for size in sizes]
    means = np.empty((draws, values.shape[1]))
    for start in range(0, draws, AT_A_TIME):
        block_size = min(AT_A_TIME, draws - start)
        # exponential numbers become Dirichlet weights after division by their sum
        weights = [rng.standard_exponential(out=buffer[:block_size]) for buffer in weight_buffers]
        if by_row:
            product, factor = row_buffers[:, : len(values) * block_size].reshape(2, len(values), block_size)
            product[:] = 1.0
            for ids, weight in zip(kinds.values(), weights, strict=True):
                product *= np.take(weight.T, ids, axis=0, out=factor, mode="clip")  # other modes buffer `out`
            sums = product.T @ values_and_ones
        else:
            sums = np.matmul(weights[0], table, out=sums_buffer[:block_size])
            for size, weight in zip(sizes[1:], weights[1:], strict=True):
                sums = np.einsum("dk,dkr->dr", weight, sums.reshape(block_size, size, -1))  # d: draws, k: clusters
        means[start : start + block_size] = sums[:, :-1] / sums[:, -1:]
    return means


def _t_factors(uniform: Floats, freedom: float) -> Floats:
    """Return ``sqrt(freedom / chi2)``, which makes normal draws Student's t; `uniform`: upper tail of each chi2."""
    return np.asarray(np.sqrt(freedom / special.chdtri(freedom, uniform)))
