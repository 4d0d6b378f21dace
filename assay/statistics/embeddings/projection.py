"""Principal components of vectors, for a figure of the posterior (P1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import OutOfBounds, ZeroVariance
from assay.model import Floats
from assay.statistics.embeddings.vector_sets import as_vectors

AS_FAR = 1e-6
"""Relative difference at which two numbers count as equally far from zero."""


@dataclass(frozen=True)
class Projection:
    """Directions of the largest variance of vectors."""

    centre: Floats
    axes: Floats
    """Orthogonal unit vectors; the axis with the largest variance is first; shape (components, dims). The sign is
    fixed: the number farthest from zero (the first, if several are) is positive."""
    explained: Floats
    """Share of the variance along each axis, in [0, 1]; shape (components,)."""

    def of(self, vectors: ArrayLike) -> Floats:
        """Return the coordinates of vectors; shape (n, components).

        Raise the errors of `as_vectors` unless they are finite numbers in as many columns as `centre`.
        """
        matrix = as_vectors(vectors, "the projected vectors", dims=self.centre.size)
        return np.asarray((matrix - self.centre) @ self.axes.T)


def principal_components(vectors: ArrayLike, components: int = 2) -> Projection:
    """Find the directions of largest variance.

    Parameters
    ----------
    vectors : array_like, shape (n, dims)
        At least two vectors.
    components : int
        Number of components: at most the number of dimensions, and less than the number of vectors.

    Raises
    ------
    TooFewObservations
        If there are fewer than two vectors.
    OutOfBounds
        If `components` is out of this range.
    EvidenceError
        If a number is not finite.
    ZeroVariance
        If all vectors are the same.
    """
    matrix = as_vectors(vectors, "the vectors", least=2)
    largest = min(len(matrix) - 1, matrix.shape[1])
    if not 1 <= components <= largest:
        raise OutOfBounds(f"the number of components must be 1 to {largest}, not {components}", "components")
    centre = matrix.mean(axis=0)
    if (matrix == matrix[0]).all():
        raise ZeroVariance(f"all {len(matrix)} vectors are the same; there is no direction in which they differ")
    _, spread, axes = np.linalg.svd(matrix - centre, full_matrices=False)
    leading = axes[:components]
    sizes = np.abs(leading)
    # the first of equally large loadings fixes the axis's sign: mutually exclusive words have loadings that are
    # equal up to rounding
    first = (sizes >= (1 - AS_FAR) * sizes.max(axis=1, keepdims=True)).argmax(axis=1)
    furthest = np.take_along_axis(leading, first[:, None], axis=1)
    explained = spread[:components] ** 2 / (spread**2).sum()
    return Projection(centre, leading * np.where(furthest < 0, -1.0, 1.0), explained)
