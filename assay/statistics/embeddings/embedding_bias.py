"""Earlier measures of bias in embeddings: MAC, RND and ECT, DirectBias and RIPA along a direction, and RNSB.

Each is one number without an interval, reported in addition to the posterior. Vectors are not normalised: their
lengths count in RND's norm, and in the mean vectors that RND and ECT compare.
`assay.statistics.embeddings.vector_sets.unit_vectors` normalises them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import EvidenceError, OutOfBounds, ZeroVariance
from assay.model import Floats
from assay.statistics.embeddings.vector_sets import as_vectors, unit_vectors
from assay.statistics.embeddings.weat import cosines
from assay.statistics.hidden.scales import on_scale
from assay.statistics.hypothesis_tests.distribution import as_sample, check_paired
from assay.statistics.intervals.correlation import pearson
from assay.statistics.special import special

LEAST_RANKED = 3
"""Minimum number of attribute words to compare orders."""


@dataclass(frozen=True)
class EmbeddingMeasure:
    """Result of a measure of bias in word vectors; numbers that a measure does not have are ``None``."""

    value: float
    words: int | None = None
    """Number of protected words (MAC) or attribute words (ECT)."""
    sets: int | None = None
    """Number of averaged pairs of a protected word and an attribute set (MAC)."""
    by_word: dict[str, float] | tuple[float, ...] | None = None
    """The measure of each protected word by name (MAC), or of each attribute word in the order of the words."""
    probabilities: tuple[float, ...] | None = None
    """Probability that each target is negative, in the order of the targets (RNSB)."""
    c: float | None = None
    """Exponent of the published measure, always 1; with a smaller one, small cosines would count more (DirectBias)."""
    explained: float | None = None
    """Share of the pairs' squared differences that lies along the direction, in (0, 1]. If it is small, the pairs have
    no common direction, and the value means little (DirectBias)."""


def _mean_measure(by_word: Floats) -> EmbeddingMeasure:
    return EmbeddingMeasure(float(by_word.mean()), by_word=tuple(by_word.tolist()))


def mean_average_cosine(
    distance: ArrayLike,
    protected: Sequence[str] | NDArray[np.str_],
    sets: Sequence[str] | NDArray[np.str_] | None = None,
) -> EmbeddingMeasure:
    """Average cosine distances within each attribute set, then over all sets of all protected words (MAC).

    The result is a distance, in [0, 2]; Dobrzeniecka & Urbaniak and their sources take 1 as no bias.

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
    .. [2] Dobrzeniecka & Urbaniak, section 2.
    """
    values, words = as_sample(distance), np.asarray(protected)
    set_names = np.zeros(values.size, dtype=int) if sets is None else np.asarray(sets)
    check_paired(values, words)
    check_paired(values, set_names)
    distinct_words, word_ids = np.unique(words, return_inverse=True)
    distinct_sets, set_ids = np.unique(set_names, return_inverse=True)
    cells = word_ids * distinct_sets.size + set_ids  # pairs of a word and a set, as numbers
    distinct_cells, cell_ids, counts = np.unique(cells, return_inverse=True, return_counts=True)
    means = np.bincount(cell_ids, weights=values) / counts
    word_of_cell = distinct_cells // distinct_sets.size
    word_means = np.bincount(word_of_cell, weights=means) / np.bincount(word_of_cell)
    by_word = dict(zip((str(word) for word in distinct_words), word_means.tolist(), strict=True))
    return EmbeddingMeasure(float(means.mean()), words=len(distinct_words), sets=len(distinct_cells), by_word=by_word)


def relative_norm_distance(first: ArrayLike, second: ArrayLike, words: ArrayLike) -> EmbeddingMeasure:
    """Compare the distances of words to the mean vectors of two groups (RND).

    The result is the Euclidean distance to the first mean less that to the second: positive if nearer to the second.

    Parameters
    ----------
    first, second : array_like, shape (words, dims)
        Vectors of the two groups.

    Raises
    ------
    OutOfBounds, TooFewObservations, EvidenceError
        If the vectors differ in length, a set is empty, or a number is not finite.

    References
    ----------
    .. [1] Garg et al. (2018), "Word embeddings quantify 100 years of gender and ethnic stereotypes", PNAS 115.
    """
    group_means, attributes = _means_and_words(first, second, words)
    distances = np.linalg.norm(attributes[:, None, :] - group_means[None, :, :], axis=2)
    return _mean_measure(distances[:, 0] - distances[:, 1])


def embedding_coherence(first: ArrayLike, second: ArrayLike, words: ArrayLike) -> EmbeddingMeasure:
    """Correlate the ranks of attribute words by cosine with the mean vectors of two groups (ECT).

    The arguments are those of `relative_norm_distance`. The result is Spearman's rank correlation, in [-1, 1]; 1 is no
    bias.

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
    group_means, attributes = _means_and_words(first, second, words, least=LEAST_RANKED)
    first_ranks, second_ranks = (on_scale(column, "rank") for column in cosines(attributes, group_means).T)
    return EmbeddingMeasure(pearson(first_ranks, second_ranks).r, words=len(attributes))


def _means_and_words(first: ArrayLike, second: ArrayLike, words: ArrayLike, *, least: int = 1) -> tuple[Floats, Floats]:
    """Return the mean vectors of two groups, shape (2, dims), and the vectors of at least `least` attribute words."""
    first_vectors = as_vectors(first, "the first group")
    second_vectors = as_vectors(second, "the second group", dims=first_vectors.shape[1])
    attributes = as_vectors(words, "the attribute words", least=least, dims=first_vectors.shape[1])
    return np.stack([first_vectors.mean(axis=0), second_vectors.mean(axis=0)]), attributes


TIE = 1e-9
"""Relative difference at which the first two principal components count as equally strong."""

ROUNDING_DIFFERENCE = 1e-12
"""Largest difference of unit vectors that counts as rounding."""


def direct_bias(words: ArrayLike, first: ArrayLike, second: ArrayLike) -> EmbeddingMeasure:
    """Measure how far neutral words lie along the principal direction of definitional pairs (DirectBias_1).

    The result is the mean of ``abs(cos(word, direction))``, in [0, 1]. All vectors are scaled to unit length first.
    `by_word` has the signed cosines, positive towards the first of the pairs; swapping the words of a pair changes
    signs only.

    Parameters
    ----------
    words : array_like, shape (words, dims)
        Vectors of words that should be neutral.
    first, second : array_like, shape (pairs, dims)
        Vectors of the pairs that define the attribute (she, he), row by row.

    Raises
    ------
    OutOfBounds
        If `first` and `second` differ in size, or the vectors differ in length.
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
    a, b = _validate_pairs(first, second)
    differences = unit_vectors(a, "the first of the pairs") - unit_vectors(b, "the second of the pairs")
    # each word less its pair's mean is plus or minus half the pair's difference, so that the principal components are
    # those of the differences about zero, not about their mean
    _, singular_values, directions = np.linalg.svd(differences, full_matrices=False)
    if singular_values[0] <= ROUNDING_DIFFERENCE:
        raise ZeroVariance("both words of every pair point the same way, so that there is no direction between them")
    if singular_values.size > 1 and singular_values[1] >= singular_values[0] * (1 - TIE):
        raise EvidenceError("two directions explain the pairs equally well; more pairs would single one out")
    towards_first = directions[0] * (1 if (differences @ directions[0]).sum() >= 0 else -1)
    word_cosines = cosines(as_vectors(words, "the words", dims=a.shape[1]), towards_first[None, :])[:, 0]
    explained = float(singular_values[0] ** 2 / (singular_values**2).sum())
    value, by_word = float(np.abs(word_cosines).mean()), tuple(word_cosines.tolist())
    return EmbeddingMeasure(value, by_word=by_word, c=1.0, explained=explained)  # c: exponent of the cosines


def relational_inner_product(first: ArrayLike, second: ArrayLike, words: ArrayLike) -> EmbeddingMeasure:
    """Project words on the unit difference of each pair, and average over pairs (RIPA).

    The result is in units of the vectors, and positive towards the first word of the pairs.

    Parameters
    ----------
    first, second : array_like, shape (pairs, dims)
        Vectors of the pairs, row by row.

    Raises
    ------
    OutOfBounds, TooFewObservations
        As for `direct_bias`.
    EvidenceError
        If both words of a pair have the same vector, or a number is not finite.

    References
    ----------
    .. [1] Ethayarajh, Duvenaud & Hirst (2019), "Understanding undesirable word embedding associations", ACL.
    """
    first_vectors, second_vectors = _validate_pairs(first, second)
    attributes = as_vectors(words, "the attribute words", dims=first_vectors.shape[1])
    directions = unit_vectors(first_vectors - second_vectors, "the differences of the pairs")
    return _mean_measure((attributes @ directions.T).mean(axis=1))


def _validate_pairs(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    a = as_vectors(first, "the first of the pairs")
    b = as_vectors(second, "the second of the pairs", dims=a.shape[1])
    if len(a) != len(b):
        raise OutOfBounds(f"pairs need equally many first and second words, not {len(a)} and {len(b)}")
    return a, b


STEPS = 100
"""Maximum number of Newton steps; about six are usual."""

FLAT = 1e-9
"""Gradient, per unit of the data's scale, that counts as zero."""

HALVINGS = 60
"""Maximum number of times that a Newton step is halved."""

ROUNDING = 1e-12
"""Relative rise of the cost that counts as rounding."""


def negative_sentiment_bias(positive: ArrayLike, negative: ArrayLike, targets: ArrayLike) -> EmbeddingMeasure:
    """Fit a logistic regression to sentiment words, and compare the probabilities that targets are negative (RNSB).

    The fit minimises ``(|w|**2 + b**2) / 2 + sum log(1 + exp(-y (w x + b)))``, with y = 1 for negative words and -1 for
    positive ones. The constant b is penalised like a weight, as in LIBLINEAR, the default of scikit-learn when RNSB was
    published, and still of wefe; without that, the divergence on the WEAT lists is 10 to 70 % larger. The result is the
    Kullback-Leibler divergence, in nats, of the targets' normalised probabilities from the uniform distribution: 0 if
    all targets have the same probability (even a high one).

    Parameters
    ----------
    positive, negative : array_like, shape (words, dims)
        Vectors of words of known sentiment.
    targets : array_like, shape (words, dims)
        Vectors of the protected words of all groups; at least two.

    Raises
    ------
    TooFewObservations
        If a sentiment has no word, or there are fewer than two targets.
    OutOfBounds
        If the vectors differ in length.
    EvidenceError
        If a number is not finite, the fit does not converge, or all targets have a probability of zero.

    References
    ----------
    .. [1] Sweeney & Najafian (2019), "A transparent framework for evaluating unintended demographic bias in
       word embeddings", ACL.
    """
    positive_vectors = as_vectors(positive, "the positive words")
    negative_vectors = as_vectors(negative, "the negative words", dims=positive_vectors.shape[1])
    target_vectors = as_vectors(targets, "the targets", least=2, dims=positive_vectors.shape[1])
    vectors = np.concatenate([positive_vectors, negative_vectors])
    is_negative = np.repeat([0.0, 1.0], [len(positive_vectors), len(negative_vectors)])
    # the optimal weights lie in the span of the words, so at most one unknown per word is needed
    _, _, span = np.linalg.svd(vectors, full_matrices=False)
    weights = _fit_logistic(_add_constant_column(vectors @ span.T), is_negative)
    probability = special.expit(_add_constant_column(target_vectors @ span.T) @ weights)
    if probability.sum() <= 0:
        raise EvidenceError("the classifier gives every target a probability of zero; there is nothing to compare")
    shares = probability / probability.sum()
    divergence = float(special.rel_entr(shares, 1 / shares.size).sum())
    return EmbeddingMeasure(max(0.0, divergence), probabilities=tuple(probability.tolist()))


def _fit_logistic(design: Floats, labels: Floats) -> Floats:
    """Fit a penalised logistic regression by Newton's method; return one coefficient for each column of `design`."""
    flat_gradient = FLAT * max(1.0, float(np.abs(design).sum(axis=0).max()))
    weights = np.zeros(design.shape[1])
    for _ in range(STEPS):
        fitted = special.expit(design @ weights)
        gradient = weights + design.T @ (fitted - labels)
        if np.abs(gradient).max() <= flat_gradient:
            return weights
        curvature = np.eye(len(weights)) + (design.T * (fitted * (1 - fitted))) @ design  # Hessian of the cost
        full_step = np.asarray(np.linalg.solve(curvature, gradient), dtype=float)
        weights = _take_damped_step(design, labels, weights, full_step)
    raise EvidenceError(f"the sentiment classifier did not settle in {STEPS} steps; are the vectors on one scale?")


def _take_damped_step(design: Floats, labels: Floats, start: Floats, step: Floats) -> Floats:
    """Return the weights after a Newton step, which is halved until the cost does not rise."""

    def cost(weights: Floats) -> float:
        score = design @ weights
        return float(weights @ weights) / 2 + float((np.logaddexp(0.0, score) - labels * score).sum())

    ceiling = cost(start) * (1 + ROUNDING)
    for _ in range(HALVINGS):
        if cost(start - step) <= ceiling:
            break
        step = step / 2
    return start - step


def _add_constant_column(rows: Floats) -> Floats:
    return np.column_stack([rows, np.ones(len(rows))])
