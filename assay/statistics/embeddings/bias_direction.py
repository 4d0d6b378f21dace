"""Measures of bias in embeddings along a direction between two words: DirectBias and RIPA."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import EvidenceError, OutOfBounds, ZeroVariance
from assay.model import Floats
from assay.statistics.embeddings.embedding_bias import WordScores
from assay.statistics.embeddings.vector_sets import as_vectors, unit_vectors
from assay.statistics.embeddings.weat import cosines

TIE = 1e-9
"""Relative difference at which the first two principal components count as equally strong."""

NOTHING = 1e-12
"""Largest difference of unit vectors that counts as rounding."""


@dataclass(frozen=True)
class DirectBias:
    """DirectBias_c: the projection of words that should be neutral on the direction of an attribute."""

    value: float
    """Mean of ``abs(cos(word, direction))**c``, in [0, 1]."""
    c: float
    """Strictness: the smaller c is, the more small cosines count."""
    explained: float
    """Share of the pairs' squared differences that lies along the direction, in (0, 1]. If it is small, the pairs have
    no common direction, and the value means little."""
    by_word: tuple[float, ...]
    """Signed cosines, in the order of the words; positive towards the first of the pairs."""


def direct_bias(words: ArrayLike, first: ArrayLike, second: ArrayLike, *, c: float = 1.0) -> DirectBias:
    """Measure how far neutral words lie along the principal direction of definitional pairs (DirectBias_c).

    Parameters
    ----------
    words : array_like, shape (words, dims)
        Vectors of words that should be neutral.
    first, second : array_like, shape (pairs, dims)
        Vectors of the pairs that define the attribute (she, he), row by row.
    c : float
        Strictness, positive. With 0, which the source allows, every word that is not exactly orthogonal
        would count fully, and no measured vector is exactly orthogonal.

    Returns
    -------
    DirectBias
        All vectors are scaled to unit length first. Swapping the words of a pair changes signs only.

    Raises
    ------
    OutOfBounds
        If `c` is not positive, `first` and `second` differ in size, or the vectors differ in length.
    TooFewObservations
        If a set is empty.
    ZeroVariance
        If both words of every pair point the same way.
    EvidenceError
        If two directions explain the pairs equally well, or a vector is not finite or all zero.

    References
    ----------
    .. [1] Bolukbasi et al. (2016), "Man is to computer programmer as woman is to homemaker?", NeurIPS,
       section 5.2; the direction, section 5.1.
    """
    if not 0 < c < np.inf:
        raise OutOfBounds(f"the strictness of direct bias must be a positive number, not {c}", "c")
    a, b = _pairs(first, second)
    differences = unit_vectors(a, "the first of the pairs") - unit_vectors(b, "the second of the pairs")
    # Centring each pair on its own mean leaves plus and minus half its difference, so the principal components are
    # those of the differences about zero, not about their mean.
    _, strength, directions = np.linalg.svd(differences, full_matrices=False)
    if strength[0] <= NOTHING:
        raise ZeroVariance("both words of every pair point the same way, so that there is no direction between them")
    if strength.size > 1 and strength[1] >= strength[0] * (1 - TIE):
        raise EvidenceError("two directions explain the pairs equally well; more pairs would single one out")
    towards_first = directions[0] * (1 if (differences @ directions[0]).sum() >= 0 else -1)
    lean = cosines(as_vectors(words, "the words", dims=a.shape[1]), towards_first[None, :])[:, 0]
    return DirectBias(
        float((np.abs(lean) ** c).mean()), c, float(strength[0] ** 2 / (strength**2).sum()), tuple(lean.tolist())
    )


def relational_inner_product(first: ArrayLike, second: ArrayLike, words: ArrayLike) -> WordScores:
    """Project words on the unit difference of each pair, and average over pairs (RIPA).

    Parameters
    ----------
    first, second : array_like, shape (pairs, dims)
        Vectors of the pairs, row by row.

    Returns
    -------
    WordScores
        In units of the vectors; positive towards the first word of the pairs.

    Raises
    ------
    OutOfBounds
        If `first` and `second` differ in size, or the vectors differ in length.
    TooFewObservations
        If a set is empty.
    EvidenceError
        If both words of a pair have the same vector, or a number is not finite.

    References
    ----------
    .. [1] Ethayarajh, Duvenaud & Hirst (2019), "Understanding undesirable word embedding associations", ACL.
    """
    a, b = _pairs(first, second)
    attributes = as_vectors(words, "the attribute words", dims=a.shape[1])
    directions = unit_vectors(a - b, "the differences of the pairs")
    return WordScores.of((attributes @ directions.T).mean(axis=1))


def _pairs(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    a = as_vectors(first, "the first of the pairs")
    b = as_vectors(second, "the second of the pairs", dims=a.shape[1])
    if len(a) != len(b):
        raise OutOfBounds(f"pairs need equally many first and second words, not {len(a)} and {len(b)}")
    return a, b
