"""Effects of people and frames that are the same on both sides of the content.

Contents form two sides, such as pleasant and unpleasant words. People and frames occur on both sides, so their effects
are no difference between the sides; if they were not removed, they would increase the uncertainty of that difference.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from assay.model import Floats, Integers

SIDES = 2
"""Number of sides, that is, of the sets into which contents are divided."""

SWEEPS = 20
"""Number of iterations of the fits; the designs are nearly balanced, so few are needed."""

Clusters = Mapping[str, Integers]


def shared_sums(values: Floats, side: Integers, weight: Floats, clusters: Clusters) -> Floats:
    """Fit effects of people and frames that are the same on both sides of the content (pleasant and unpleasant words).

    Return for each row the sum of the effects of its clusters, not of its side; their weighted mean is 0; shape (n,).

    Parameters
    ----------
    values : ndarray, shape (n,)
        One number for each row.
    side : ndarray of int, shape (n,)
        Side of each row's content, 0 or 1.
    weight : ndarray, shape (n,)
        Weight of each row.
    clusters : mapping of str to ndarray of int, shape (n,)
        For each kind (such as persons), the cluster of each row.

    Notes
    -----
    Weighted least squares, one kind after the other (backfitting), of kinds all of whose clusters occur on both sides.
    """
    shared_ids = [ids for ids in clusters.values() if _occurs_on_both_sides(ids, side).all()]
    residuals, effect_sums = values, np.zeros_like(values)
    for _ in range(SWEEPS if shared_ids else 0):
        residuals = residuals - _cluster_means(residuals, side, weight)
        for ids in shared_ids:
            cluster_effects = _cluster_means(residuals, ids, weight)
            residuals, effect_sums = residuals - cluster_effects, effect_sums + cluster_effects
    return np.asarray(effect_sums - weight @ effect_sums / weight.sum())


def shared_products(values: Floats, side: Integers, weight: Floats, clusters: Clusters) -> Floats:
    """Fit factors of people and frames that are the same on both sides of the content; return each row's product.

    The arguments are those of `shared_sums`; values are not negative. The weighted mean of the products, shape (n,), is
    1, or 0 if every value is 0. If all values of a cluster are 0, the factor of the cluster and of all its rows is 0; a
    sum of effects could not express this.

    Notes
    -----
    Iterative proportional fitting (Deming & Stephan 1940). If only some rows were picked, a rare cluster may occur on
    one side only. Therefore a kind is used if most of its clusters occur on both sides.
    """
    shared_ids = [ids for ids in clusters.values() if _occurs_on_both_sides(ids, side).mean() > 0.5]
    factor = np.ones_like(values)
    for _ in range(SWEEPS):
        for ids in shared_ids:
            side_factor = _ratio(_cluster_means(values, side, weight), _cluster_means(factor, side, weight))
            fitted = factor * side_factor
            factor = factor * _ratio(_cluster_means(values, ids, weight), _cluster_means(fitted, ids, weight))
    total = float(weight @ factor)
    return np.asarray(factor * (weight.sum() / total) if total > 0 else np.zeros_like(values))


def _occurs_on_both_sides(ids: Integers, side: Integers) -> NDArray[np.bool_]:
    """Return a mask of the clusters that have rows on both sides, shape (clusters,)."""
    has_side = np.zeros((int(ids.max()) + 1, SIDES), dtype=bool)
    has_side[ids, side] = True
    return np.asarray(has_side.all(axis=1))


def _cluster_means(values: Floats, ids: Integers, weight: Floats) -> Floats:
    """Return for each row the weighted mean of its cluster."""
    return np.asarray((np.bincount(ids, weight * values) / np.bincount(ids, weight))[ids])


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide element by element; 0 where the denominator is not positive."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)
