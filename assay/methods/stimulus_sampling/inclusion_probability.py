"""Samples from a finite pool in which some members are likelier than others, and none comes twice."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import EvidenceError, OutOfBounds
from assay.model import Floats


def inclusion(density: ArrayLike, count: float) -> Floats:
    """Compute the probability with which each member of a pool is taken.

    Parameters
    ----------
    density : array_like, shape (n,)
        How much likelier each is to be wanted; positive, its scale does not matter.
    count : float
        How many are to be taken on average, positive. All are taken if there are no more.

    Returns
    -------
    ndarray, shape (n,)
        ``min(1, c density)`` with the c for which they sum to `count`. They grow with `count`, so that a sample
        of members whose own random number lies below holds every smaller one.

    Raises
    ------
    OutOfBounds
        If nothing is to be taken.
    EvidenceError
        If a density is not a positive, finite number.
    """
    wanted = np.asarray(density, dtype=float)
    if not count > 0:
        raise OutOfBounds(f"a sample takes a positive number, not {count}", "count")
    if wanted.ndim != 1 or not wanted.size or not (np.isfinite(wanted) & (wanted > 0)).all():
        raise EvidenceError("members of a pool are wanted with positive, finite densities")
    if count >= wanted.size:
        return np.ones_like(wanted)
    order = np.argsort(-wanted, kind="stable")
    ordered = wanted[order]
    # if the m densest are certain members, the others share the remaining places in proportion to their densities
    left = np.append(np.cumsum(ordered[::-1])[::-1], 0.0)
    sure = np.arange(wanted.size)
    scales = (count - sure) / left[:-1]
    first = int(np.argmax((scales * ordered <= 1) | (sure >= count)))
    shares = np.minimum(1.0, scales[first] * ordered)
    shares[:first] = 1.0
    return np.asarray(shares[np.argsort(order, kind="stable")])
