"""The Word Embedding Association Test (WEAT): association of two target sets with two attribute sets."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.document import JsonObject
from assay.errors import OutOfBounds, ZeroVariance
from assay.model import Floats
from assay.statistics.embeddings.vector_sets import as_vectors, unit_vectors
from assay.statistics.hypothesis_tests.distribution import as_sample
from assay.statistics.hypothesis_tests.partitions import SLACK, PartitionTest, partition_test
from assay.statistics.special import special

LEAST = 2
"""Minimum number of target words in a set: with one word in each, the effect size is always the same number."""


@dataclass(frozen=True)
class Weat:
    """Result of one WEAT: the difference in association of two target sets with two attribute sets."""

    statistic: float
    """Sum of s over the first targets less the sum over the second, where s(t, A, B) is the mean cosine of t with A
    less that with B. If it is positive, the first targets are associated with A."""
    effect_size_ddof0: float
    """Difference of the mean s, divided by the population's standard deviation of all s (as in P2's example of 1.93 and
    in wefe). In [-2, 2] if the sets are equally large."""
    effect_size_ddof1: float
    """The same, divided by the standard deviation of the sample (as in P2's code)."""
    words: tuple[int, int]
    """Number of target words in the first set and in the second."""
    p: PartitionTest
    """Permutation test over all partitions of the target words."""

    def as_json(self) -> JsonObject:
        """Return the result as JSON, the p-values with their method and standard errors."""
        return {
            "statistic": self.statistic,
            "effect_size_ddof0": self.effect_size_ddof0,
            "effect_size_ddof1": self.effect_size_ddof1,
            "words": list(self.words),
            "p_one_sided": self.p.greater,
            "p_two_sided": self.p.two_sided,
            "p_strict": self.p.strict,
            "p_method": self.p.method,
            "partitions": self.p.partitions,
            "p_one_sided_error": self.p.greater_error,
            "p_two_sided_error": self.p.two_sided_error,
        }


def cosines(first: ArrayLike, second: ArrayLike) -> Floats:
    """Compute the cosine of every vector of one set with every vector of another.

    Returns
    -------
    ndarray, shape (n, m)
        In [-1, 1].

    Raises
    ------
    OutOfBounds
        If `first` and `second` are not matrices of equally long vectors.
    TooFewObservations
        If a set is empty.
    EvidenceError
        If a number is not finite, or a vector is all zero.
    """
    a = unit_vectors(first, "the first words")
    b = unit_vectors(as_vectors(second, "the second words", dims=a.shape[1]), "the second words")
    return np.clip(a @ b.T, -1.0, 1.0)


def associations(targets: ArrayLike, first: ArrayLike, second: ArrayLike) -> Floats:
    """Return s(t, A, B) of each target: its mean cosine with A less its mean cosine with B.

    Returns
    -------
    ndarray, shape (targets,)
        In [-2, 2].

    Raises
    ------
    OutOfBounds, TooFewObservations, EvidenceError
        As for `cosines`.
    """
    return np.asarray(cosines(targets, first).mean(axis=1) - cosines(targets, second).mean(axis=1), dtype=float)


def weat(
    first: ArrayLike,
    second: ArrayLike,
    first_attribute: ArrayLike,
    second_attribute: ArrayLike,
    *,
    rng: np.random.Generator | None = None,
) -> Weat:
    """Test whether two sets of target words are associated with different sets of attribute words.

    Parameters
    ----------
    first, second : array_like, shape (words, dims)
        Vectors of the two target sets X and Y.
    first_attribute, second_attribute : array_like, shape (words, dims)
        Vectors of the two attribute sets A and B.
    rng : Generator, optional
        As for `partition_test`: needed above forty target words.

    Returns
    -------
    Weat
        Swapping the targets, or the attributes, changes the sign of the statistic and of the effect sizes.

    Raises
    ------
    OutOfBounds, TooFewObservations, EvidenceError
        As for `cosines`; and if a target set has fewer than two words.
    ZeroVariance
        If every target has the same association, so that there is nothing to standardise by.
    SpecificationError
        If partitions must be drawn and no `rng` was given.

    References
    ----------
    .. [1] Caliskan, Bryson & Narayanan (2017), "Semantics derived automatically from language corpora
       contain human-like biases", Science 356.
    .. [2] P2, equations 1 to 3.
    """
    return weat_of_associations(
        associations(first, first_attribute, second_attribute),
        associations(second, first_attribute, second_attribute),
        rng=rng,
    )


def weat_of_associations(first: ArrayLike, second: ArrayLike, *, rng: np.random.Generator | None = None) -> Weat:
    """Compute the WEAT from the association s(t, A, B) of each target.

    Parameters
    ----------
    first, second : array_like, shape (n,), (m,)
        Associations of the words of X and of Y (see `associations`).
    rng
        As for `weat`, with the same errors.
    """
    x, y = as_sample(first, LEAST), as_sample(second, LEAST)
    both = np.concatenate([x, y])
    if np.ptp(both) <= SLACK:
        raise ZeroVariance(
            f"all {both.size} target words have the same association, {both[0]:.6g}, with the two attribute sets: "
            "no effect can be standardised; are the attribute sets, or the vectors, the same?"
        )
    effect = float((x.mean() - y.mean()) / both.std())
    return Weat(
        statistic=float(x.sum() - y.sum()),
        effect_size_ddof0=effect,
        effect_size_ddof1=effect * math.sqrt((both.size - 1) / both.size),
        words=(x.size, y.size),
        p=partition_test(x, y, rng),
    )


# ---------------------------------------------------------------------------- null distribution
PUBLISHED = 0.38
"""Share of null samples "at least as extreme" as 1.27 that P2 prints (10,000 simulations, section 3.2)."""

LARGEST = 2.0
"""Largest possible effect size of two equally large sets (ddof 0, no spread within the sets)."""

REASON = (
    "the published simulation is in R, where mean(a, b, ...) averages its first argument only: it compared the "
    "first word of each set, not the means of the sets"
)


@dataclass(frozen=True)
class NullCheck:
    """Probability that lists without bias have an effect size at least as far from zero as `effect`."""

    effect: float
    words: int
    p_ddof0: float
    """Exact probability with the population's sd in the effect size; 0 if no lists can have it."""
    p_ddof1: float
    """Exact probability with the sample's sd in the effect size; 0 if no lists can have it."""
    p_first_words: float
    """The exact probability for the statistic that P2's code computed by mistake, from the first word of each set only
    (sample standard deviation)."""
    published: float = PUBLISHED
    """The probability that P2 prints for an effect size of 1.27 with 8 words per set."""
    reason: str = REASON


def null_check(effect: float, words: int) -> NullCheck:
    """Compute the probability of an effect size at least as far from zero as `effect` if there is no bias.

    Raise `OutOfBounds` if a set has fewer than two words, or the effect size is outside the possible range.

    Notes
    -----
    P2 argues that a large effect size is little evidence, because about 38 % of lists without any bias would have
    an effect size of 1.27. The argument is sound, but the number is wrong: less than 1 % have such an effect size.
    Under the null model the associations s of the 2n target words are independent and normal with equal means
    and variances. The effect size is a contrast of them over their spread, so that its square is the share of
    their variance along one direction of 2n - 1: ``R2 = (n / 2) e**2 / (2n - ddof) ~ Beta(1/2, (2n - 2)/2)``,
    for any variance and any number of attribute words (docs/methods/association.md).
    """
    if words < 2:
        raise OutOfBounds(f"each set of target words must hold at least 2, not {words}", "words")
    if not abs(effect) <= LARGEST:  # `not <=` also refuses NaN
        raise OutOfBounds(f"an effect size lies between -{LARGEST:g} and {LARGEST:g}, not at {effect}", "effect")
    ddof0, ddof1 = (_beyond(words / 2 * effect**2 / (2 * words - ddof), words) for ddof in (0, 1))
    # for single words, the contrast has a squared length of 2 instead of 2 / words
    return NullCheck(effect, words, ddof0, ddof1, _beyond(effect**2 / 2 / (2 * words - 1), words))


def _beyond(share: float, words: int) -> float:
    """Return P(R2 >= share), where R2 is the share of the variance along one direction."""
    return 0.0 if share >= 1 else float(special.betaincc(0.5, words - 1, max(share, 0.0)))
