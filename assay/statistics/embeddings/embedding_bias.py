"""Measures of bias in embeddings by distances of words to groups: MAC, RND and ECT.

Each is one number without an interval, reported in addition to the posterior. Vectors are not normalised: their
lengths count in RND's norm, and in the mean vectors that RND and ECT compare.
`assay.statistics.embeddings.vector_sets.unit_vectors` normalises them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.model import Floats
from assay.statistics.embeddings.vector_sets import as_vectors
from assay.statistics.embeddings.weat import cosines
from assay.statistics.hidden.scales import on_scale
from assay.statistics.hypothesis_tests.distribution import as_sample, check_paired
from assay.statistics.intervals.correlation import pearson

Closeness = Literal["norm", "cos"]

LEAST_RANKED = 3
"""Minimum number of attribute words to compare orders."""


@dataclass(frozen=True)
class MeanAverageCosine:
    """MAC: the mean, over protected words and attribute sets, of the mean cosine distance."""

    value: float
    """A distance, in [0, 2]; P2 and its sources take 1 as no bias."""
    words: int
    """Number of protected words."""
    sets: int
    """Number of averaged pairs of a protected word and an attribute set."""
    by_word: dict[str, float]
    """MAC of each protected word."""


@dataclass(frozen=True)
class WordScores:
    """A measure that is the mean of one number for each attribute word."""

    value: float
    """The mean, in the measure's own units."""
    by_word: tuple[float, ...]
    """The numbers, in the order of the words."""

    @classmethod
    def of(cls, by_word: Floats) -> WordScores:
        """Average the numbers of the words."""
        return cls(float(by_word.mean()), tuple(by_word.tolist()))


@dataclass(frozen=True)
class Coherence:
    """ECT: the correlation of the orders in which two groups rank the attribute words."""

    value: float
    """Spearman's rank correlation, in [-1, 1]; 1 is no bias."""
    words: int


def mean_average_cosine(
    distance: ArrayLike,
    protected: Sequence[str] | NDArray[np.str_],
    sets: Sequence[str] | NDArray[np.str_] | None = None,
) -> MeanAverageCosine:
    """Average cosine distances within sets, then sets over protected words (MAC).

    Parameters
    ----------
    distance : array_like, shape (n,)
        Cosine distances, one for each protected word and attribute word.
    sets : sequence of str, shape (n,), optional
        Attribute set of each distance. If left out, all attributes of a word form one set; this changes the
        result if sets differ in size, because each set has the same weight.

    Raises
    ------
    TooFewObservations, EvidenceError
        If there is no distance, or a distance is not finite.
    OutOfBounds
        If there is not one word, and one set, for each distance.

    References
    ----------
    .. [1] Manzini et al. (2019), "Black is to criminal as Caucasian is to police", NAACL.
    .. [2] P2, section 2.
    """
    values, words = as_sample(distance), np.asarray(protected)
    set_ids = np.zeros(values.size, dtype=int) if sets is None else np.asarray(sets)
    check_paired(values, words)
    check_paired(values, set_ids)
    distinct, at_word = np.unique(words, return_inverse=True)
    kinds, at_set = np.unique(set_ids, return_inverse=True)
    cell = at_word * kinds.size + at_set
    distinct_cells, at_cell, counts = np.unique(cell, return_inverse=True, return_counts=True)
    means = np.bincount(at_cell, weights=values) / counts
    of_word = distinct_cells // kinds.size
    by_word = np.bincount(of_word, weights=means) / np.bincount(of_word)
    return MeanAverageCosine(
        float(means.mean()),
        int(distinct.size),
        int(distinct_cells.size),
        dict(zip((str(word) for word in distinct), by_word.tolist(), strict=True)),
    )


def relative_norm_distance(
    first: ArrayLike, second: ArrayLike, words: ArrayLike, closeness: Closeness = "norm"
) -> WordScores:
    """Compare the distances of words to the mean vectors of two groups (RND).

    Parameters
    ----------
    first, second : array_like, shape (words, dims)
        Vectors of the two groups.
    closeness : {"norm", "cos"}
        Euclidean distance to the first mean less the distance to the second (positive: nearer to the second), or
        cosine with the first mean less the cosine with the second (positive: nearer to the first).

    Raises
    ------
    OutOfBounds
        If the vectors differ in length.
    TooFewObservations
        If a set is empty.
    EvidenceError
        If a number is not finite, or, for cosines, a vector or a mean is all zero.

    References
    ----------
    .. [1] Garg et al. (2018), "Word embeddings quantify 100 years of gender and ethnic stereotypes", PNAS 115.
    """
    middles, attributes = _middles(first, second, words)
    if closeness == "cos":
        nearness = cosines(attributes, middles)
        return WordScores.of(nearness[:, 0] - nearness[:, 1])
    distances = np.linalg.norm(attributes[:, None, :] - middles[None, :, :], axis=2)
    return WordScores.of(distances[:, 0] - distances[:, 1])


def embedding_coherence(first: ArrayLike, second: ArrayLike, words: ArrayLike) -> Coherence:
    """Correlate the ranks of attribute words by cosine with the mean vectors of two groups (ECT).

    The arguments are those of `relative_norm_distance`.

    Raises
    ------
    OutOfBounds, EvidenceError
        As for `relative_norm_distance`.
    TooFewObservations
        If a group is empty, or there are fewer than three attribute words.
    ZeroVariance
        If all attribute words are equally near to a group.

    References
    ----------
    .. [1] Dev & Phillips (2019), "Attenuating bias in word vectors", AISTATS.
    """
    middles, attributes = _middles(first, second, words, least=LEAST_RANKED)
    nearness = cosines(attributes, middles)
    return Coherence(pearson(*(on_scale(column, "rank") for column in nearness.T)).r, len(attributes))


def _middles(first: ArrayLike, second: ArrayLike, words: ArrayLike, *, least: int = 1) -> tuple[Floats, Floats]:
    """Mean vectors of two groups, shape (2, dims), and the attribute words' vectors."""
    a = as_vectors(first, "the first group")
    b = as_vectors(second, "the second group", dims=a.shape[1])
    attributes = as_vectors(words, "the attribute words", least=least, dims=a.shape[1])
    return np.stack([a.mean(axis=0), b.mean(axis=0)]), attributes
