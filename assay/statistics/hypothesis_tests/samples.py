"""Checks of samples of numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import EvidenceError, OutOfBounds, TooFewObservations
from assay.model import Floats


def as_sample(values: ArrayLike, least: int = 1) -> Floats:
    """Check a sample of numbers.

    Raise `OutOfBounds` if the values are not one-dimensional, `TooFewObservations` if there are fewer than `least`, and
    `EvidenceError` if one is not finite.
    """
    sample = np.asarray(values, dtype=float)
    if sample.ndim != 1:
        raise OutOfBounds(f"a sample must be a one-dimensional array, not one of shape {sample.shape}")
    if sample.size < least:
        raise TooFewObservations(f"{sample.size} values are too few; at least {least} are needed")
    if not np.isfinite(sample).all():
        raise EvidenceError(f"{int((~np.isfinite(sample)).sum())} of {sample.size} values are not finite numbers")
    return sample


def check_paired(x: NDArray[np.generic], y: NDArray[np.generic]) -> None:
    """Raise `OutOfBounds` if two samples differ in length."""
    if x.shape != y.shape:
        raise OutOfBounds(f"pairs need two samples of the same length, not of {x.size} and {y.size} values")
