"""Validation of shares and counts over the cells of a categorical variable, and of samples of numbers."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import BadDistribution, EvidenceError, OutOfBounds, TooFewObservations
from assay.model import Floats, Integers


def as_shares(weights: ArrayLike, cells: int | None = None) -> Floats:
    """Scale non-negative weights, such as shares or counts, to shares that sum to one; shape (k,).

    Raises
    ------
    BadDistribution
        If the weights are negative, not finite or all zero, or their number is not `cells`.
    """
    values = np.asarray(weights, dtype=float)
    is_row = values.ndim == 1 and values.size > 0 and np.isfinite(values).all()
    if not is_row or (values < 0).any() or values.sum() <= 0:
        raise BadDistribution(f"shares must be non-negative numbers that are not all zero, not {values.tolist()}")
    if cells is not None and values.size != cells:
        raise BadDistribution(f"{cells} shares are needed, one for each output, not {values.size}: {values.tolist()}")
    return np.asarray(values / values.sum(), dtype=float)


def as_counts(counts: ArrayLike) -> Integers:
    """Check observed counts and return them as integers; shape (k,).

    Raise `OutOfBounds` if a count is negative or not whole, and `TooFewObservations` if nothing was counted.
    """
    values = np.asarray(counts, dtype=float)
    is_row = values.ndim == 1 and np.isfinite(values).all()
    if not is_row or (values < 0).any() or (values != np.rint(values)).any():
        raise OutOfBounds(f"counts must be a row of whole, non-negative numbers, not {values.tolist()}")
    if values.sum() == 0:
        raise TooFewObservations(f"nothing was counted in any of the {values.size} cells")
    return values.astype(np.int64)


def pad_to(distributions: ArrayLike, outputs: int) -> Floats:
    """Extend distributions over the values by a zero share for every further output; shape (m, outputs).

    A declared distribution has shares for the attribute's values only, not for the residual output
    (texts that name no value), which is last in every row of counts.

    Raises
    ------
    BadDistribution
        If there is no distribution, or a distribution has more cells than there are outputs.
    """
    rows = np.atleast_2d(np.asarray(distributions, dtype=float))
    if rows.ndim != 2 or rows.size == 0 or rows.shape[1] > outputs:
        raise BadDistribution(
            f"one or more distributions over at most {outputs} outputs are needed, not {rows.tolist()}"
        )
    return np.pad(rows, ((0, 0), (0, outputs - rows.shape[1])))


def as_sample(values: ArrayLike, least: int = 1) -> Floats:
    """Check a sample of numbers and return it as an array; shape (n,).

    Raise `OutOfBounds` if the values are not one-dimensional, `TooFewObservations` if there are fewer than `least`, and
    `EvidenceError` if one is not finite.
    """
    sample = np.asarray(values, dtype=float)
    if sample.ndim != 1:
        raise OutOfBounds(f"a sample is a row of numbers, not an array of shape {sample.shape}")
    if sample.size < least:
        raise TooFewObservations(f"{sample.size} values are too few; at least {least} are needed")
    if not np.isfinite(sample).all():
        raise EvidenceError(f"{int((~np.isfinite(sample)).sum())} of {sample.size} values are not finite numbers")
    return sample


def check_paired(x: NDArray[np.generic], y: NDArray[np.generic]) -> None:
    """Raise `OutOfBounds` if two samples differ in length."""
    if x.shape != y.shape:
        raise OutOfBounds(f"pairs need two samples of the same length, not of {x.size} and {y.size} values")


def holm(p_values: ArrayLike) -> Floats:
    """Return p-values adjusted for the family-wise error rate by Holm's method (1979), in the same order."""
    p = np.asarray(p_values, dtype=float)
    ascending = np.argsort(p, kind="stable")  # the smallest is multiplied by n, the next by n - 1, and so on
    adjusted_p = np.empty_like(p)
    adjusted_p[ascending] = np.minimum(1.0, np.maximum.accumulate(p[ascending] * np.arange(p.size, 0, -1)))
    return adjusted_p
