"""Sampling without replacement from a finite pool, with unequal inclusion probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import EvidenceError, OutOfBounds
from assay.model import Floats


def inclusion(density: ArrayLike, count: float) -> Floats:
    """Compute the inclusion probability of each member of a pool.

    Parameters
    ----------
    density : array_like, shape (n,)
        Relative density of each member; positive, on any scale.
    count : float
        Mean size of the sample, positive. If the pool is not larger, all members are taken.

    Returns
    -------
    ndarray, shape (n,)
        ``min(1, c density)``, with c such that the sum is `count`. The probabilities grow with `count`: if a member is
        taken whenever its own random number is below its probability, a larger sample contains every smaller one.

    Raises
    ------
    OutOfBounds
        If `count` is not positive.
    EvidenceError
        If a density is not a positive, finite number.
    """
    densities = np.asarray(density, dtype=float)
    if not count > 0:
        raise OutOfBounds(f"the size of a sample must be positive, not {count}", "count")
    if densities.ndim != 1 or not densities.size or not (np.isfinite(densities) & (densities > 0)).all():
        raise EvidenceError("members of a pool are wanted with positive, finite densities")
    if count >= densities.size:
        return np.ones_like(densities)
    order = np.argsort(-densities, kind="stable")
    ordered = densities[order]
    # if the m densest are certain members, the others share the remaining places in proportion to their densities
    remaining_density = np.append(np.cumsum(ordered[::-1])[::-1], 0.0)
    sure = np.arange(densities.size)
    scales = (count - sure) / remaining_density[:-1]
    first = int(np.argmax((scales * ordered <= 1) | (sure >= count)))
    shares = np.minimum(1.0, scales[first] * ordered)
    shares[:first] = 1.0
    return np.asarray(shares[np.argsort(order, kind="stable")])
