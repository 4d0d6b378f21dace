"""Validation of sets of word vectors, and scaling to unit length."""

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import EvidenceError, OutOfBounds, TooFewObservations
from assay.model import Floats


def as_vectors(vectors: ArrayLike, name: str, *, least: int = 1, dims: int | None = None) -> Floats:
    """Check word vectors and return them, shape (words, dims); `name` is for error messages (``"the first targets"``).

    Raises
    ------
    OutOfBounds, TooFewObservations, EvidenceError
        If `vectors` is no matrix or not `dims` wide, has fewer than `least` rows, or a number that is not finite.
    """
    matrix = np.asarray(vectors, dtype=float)
    if matrix.ndim != 2:
        raise OutOfBounds(f"{name} must be a matrix with a row for each word, not an array of shape {matrix.shape}")
    if len(matrix) < least:
        raise TooFewObservations(f"{name} hold {len(matrix)} vectors; at least {least} are needed")
    if dims is not None and matrix.shape[1] != dims:
        raise OutOfBounds(f"{name} have vectors of {matrix.shape[1]} numbers where others have {dims}")
    if unusable := np.count_nonzero(~np.isfinite(matrix).all(axis=1)):
        raise EvidenceError(f"{unusable} of the {len(matrix)} vectors of {name} hold numbers not finite")
    return matrix


def unit_vectors(vectors: ArrayLike, name: str = "the words") -> Floats:
    """Scale vectors to length one; raise `EvidenceError` if a vector is all zero, and the errors of `as_vectors`."""
    matrix = as_vectors(vectors, name)
    # divide by the largest number first, because squares of very large or small numbers overflow or underflow
    largest = np.abs(matrix).max(axis=1, initial=0.0, keepdims=True)
    if zero_vectors := np.count_nonzero(largest == 0):
        all_zero = f"{zero_vectors} of the {len(matrix)} vectors of {name} are all zero and have no direction"
        raise EvidenceError(f"{all_zero}; leave those words out")
    scaled_matrix = matrix / largest
    return np.asarray(scaled_matrix / np.linalg.norm(scaled_matrix, axis=1, keepdims=True), dtype=float)
