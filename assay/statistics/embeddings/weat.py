"""The Word Embedding Association Test (WEAT): association of two target sets with two attribute sets."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import OutOfBounds, SpecificationError, ZeroVariance
from assay.model import Floats
from assay.statistics.embeddings.vector_sets import as_vectors, unit_vectors
from assay.statistics.hypothesis_tests.distribution import as_sample
from assay.statistics.special import special

EXACT_UP_TO = 40
"""Maximum number of members for which all partitions are counted; if there are more, partitions are drawn."""

DRAWS = 100_000
"""Number of partitions to draw: a p-value of .05 is within .0014 of the exact one."""

BLOCK = 1_000
"""Number of partitions drawn at once, so that memory does not grow with `DRAWS`."""

SLACK = 1e-12
"""Difference at which two sums are equal: mirrored partitions must tie in any order of summation."""


@dataclass(frozen=True, slots=True)
class PartitionTest:
    """Result of a permutation test: how the difference of two groups ranks among all divisions of their members."""

    p_one_sided: float
    """Share of the partitions whose difference is at least as large as the observed difference (one-sided)."""
    p_two_sided: float
    """Share of the partitions whose difference is at least as far from zero as the observed difference."""
    p_strict: float | None
    """Share of the partitions whose difference is larger, without ties: the published definition, by which the most
    extreme partition has a p-value of 0. ``None`` if partitions are drawn."""
    p_method: str
    """``"exact"`` or ``"monte-carlo"``; if r of the draws are as extreme, the share is ``(r + 1) / (draws + 1)``."""
    partitions: int
    """Number of partitions that were counted or drawn."""
    p_one_sided_error: float = 0.0
    """Standard error of `p_one_sided` if partitions are drawn; 0 if all are counted."""
    p_two_sided_error: float = 0.0
    """Standard error of `p_two_sided` if partitions are drawn; 0 if all are counted."""


def partition_test(first: ArrayLike, second: ArrayLike, rng: np.random.Generator | None = None) -> PartitionTest:
    """Test whether two groups differ, by exchanging their members.

    The test is of the difference of the two means (for groups of equal size, also of the two sums).

    Parameters
    ----------
    first, second : array_like, shape (n,), (m,)
        One number for each member.
    rng : Generator, optional
        Draws partitions where there are more than `EXACT_UP_TO` members.

    Raises
    ------
    TooFewObservations, EvidenceError
        If a group is empty, or a number is not finite.
    SpecificationError
        If partitions must be drawn and no `rng` was given.

    Notes
    -----
    Partitions are counted without enumerating them. A group of k out of N has j members from the first half of the list
    and k - j from the second. The 2**(N/2) sums of each half are sorted, so that the pairs of sums that reach a
    threshold can be counted by binary search (Horowitz & Sahni): a quarter of a second for forty members.
    """
    x, y = as_sample(first), as_sample(second)
    values = np.concatenate([x, y])
    # for centred values, the sum over a group is the difference of the means times nm / (n + m)
    values = values - values.mean()
    observed = float(values[: x.size].sum())
    if values.size <= EXACT_UP_TO:
        return _count_partitions(values, x.size, observed)
    if rng is None:
        raise SpecificationError(
            f"{values.size} members have too many partitions to count all of them (up to {EXACT_UP_TO} members); "
            "pass a random generator to draw some"
        )
    return _sample_partitions(values, x.size, observed, rng)


def _count_partitions(values: Floats, size: int, observed: float) -> PartitionTest:
    """Count the partitions whose sum over a group of `size` members reaches the `observed` sum; `SLACK`: rounding."""
    partitions, middle = math.comb(values.size, size), values.size // 2
    first_half, second_half = _subset_sums(values[:middle]), _subset_sums(values[middle:])
    # a group of `size` members has `count` of them from the first half, and the others from the second
    sum_pairs = [
        (sums, second_half[size - count])
        for count, sums in enumerate(first_half)
        if 0 <= size - count < len(second_half)
    ]
    reaching_count = _count_reaching(sum_pairs, observed - SLACK)
    larger_count = _count_reaching(sum_pairs, observed + SLACK, strict=True)
    farther_count = partitions  # every difference is at least as far from 0 as 0
    distance = abs(observed) - SLACK
    if distance > 0:
        upper_tail = _count_reaching(sum_pairs, distance)
        lower_tail = partitions - _count_reaching(sum_pairs, -distance, strict=True)
        farther_count = upper_tail + lower_tail
    p_one_sided, p_two_sided, p_strict = (count / partitions for count in (reaching_count, farther_count, larger_count))
    return PartitionTest(p_one_sided, p_two_sided, p_strict, p_method="exact", partitions=partitions)


def _count_reaching(sum_pairs: Sequence[tuple[Floats, Floats]], threshold: float, *, strict: bool = False) -> int:
    """Count the groups whose sum is at least (or, strictly, more than) `threshold`.

    Each of `sum_pairs` has the sorted sums of the members from the first half, and of those from the second.
    """
    count = 0
    for first_sums, second_sums in sum_pairs:  # a first sum must reach the threshold less a second sum
        below_counts = np.searchsorted(first_sums, threshold - second_sums, side="right" if strict else "left")
        count += first_sums.size * second_sums.size - int(below_counts.sum())
    return count


def _subset_sums(values: Floats) -> list[Floats]:
    """Return the sorted sums of all subsets of the values; element k of the list is for subsets with k members."""
    sums: list[Floats] = [np.zeros(1)]
    for value in values:
        # empty arrays, because no subset without this value has `len(sums)` members, and no subset with it has 0
        sums_without = [*sums, np.empty(0)]
        sums_with = [np.empty(0), *(subset_sums + value for subset_sums in sums)]
        sums = [np.concatenate(pair) for pair in zip(sums_without, sums_with, strict=True)]
    return [np.sort(subset_sums) for subset_sums in sums]


def _sample_partitions(values: Floats, size: int, observed: float, rng: np.random.Generator) -> PartitionTest:
    """Estimate the p-values of `observed`, a sum of `size` values, by `DRAWS` random partitions (`SLACK`: rounding)."""
    reaching_count = farther_count = 0
    for _ in range(DRAWS // BLOCK):
        permuted = rng.permuted(np.broadcast_to(values, (BLOCK, values.size)), axis=1)
        sums = permuted[:, :size].sum(axis=1)
        reaching_count += int((sums >= observed - SLACK).sum())
        farther_count += int((np.abs(sums) >= abs(observed) - SLACK).sum())
    one_sided, two_sided = ((count + 1) / (DRAWS + 1) for count in (reaching_count, farther_count))
    standard_errors = (math.sqrt(p * (1 - p) / DRAWS) for p in (one_sided, two_sided))
    return PartitionTest(one_sided, two_sided, None, "monte-carlo", DRAWS, *standard_errors)  # no strict p-value


MIN_TARGET_WORDS = 2
"""Minimum number of target words in a set: with one word in each, the effect size is always the same number."""


@dataclass(frozen=True)
class Weat:
    """Result of one WEAT: the difference in association of two target sets with two attribute sets."""

    statistic: float
    """Sum of s over the first targets less the sum over the second, where s(t, A, B) is the mean cosine of t with A
    less that with B. If it is positive, the first targets are associated with A."""
    effect_size_ddof0: float
    """Difference of the mean s, divided by the population's standard deviation of all s (as in wefe, and in the example
    of 1.93 of Dobrzeniecka & Urbaniak). In [-2, 2] if the sets are equally large."""
    effect_size_ddof1: float
    """Difference of the mean s, divided by the sample's standard deviation (as in Dobrzeniecka & Urbaniak's code)."""
    words: tuple[int, int]
    """Number of target words in the first set and in the second."""
    p: PartitionTest
    """Permutation test over all partitions of the target words."""


def cosines(first: ArrayLike, second: ArrayLike) -> Floats:
    """Compute the cosine of every vector of one set with every vector of another; shape (n, m), in [-1, 1].

    Raises
    ------
    OutOfBounds, TooFewObservations, EvidenceError
        If they are not matrices of equally long vectors, a set is empty, or a vector is not finite or all zero.
    """
    first_units = unit_vectors(first, "the first words")
    second_units = unit_vectors(as_vectors(second, "the second words", dims=first_units.shape[1]), "the second words")
    return np.clip(first_units @ second_units.T, -1.0, 1.0)


def associations(targets: ArrayLike, first: ArrayLike, second: ArrayLike) -> Floats:
    """Return s(t, A, B) of each target: its mean cosine with A less its mean cosine with B; shape (targets,).

    The numbers are in [-2, 2]; the errors are those of `cosines`.
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

    Swapping the targets, or the attributes, changes the sign of the statistic and of the effect sizes.

    Parameters
    ----------
    first, second : array_like, shape (words, dims)
        Vectors of the two target sets X and Y.
    first_attribute, second_attribute : array_like, shape (words, dims)
        Vectors of the two attribute sets A and B.
    rng : Generator, optional
        As for `partition_test`: needed above forty target words.

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
    .. [2] Dobrzeniecka & Urbaniak, equations 1 to 3.
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
        Associations of the words of the target sets X and Y (see `associations`).
    rng
        As for `weat`, with the same errors.
    """
    x, y = as_sample(first, MIN_TARGET_WORDS), as_sample(second, MIN_TARGET_WORDS)
    values = np.concatenate([x, y])
    if np.ptp(values) <= SLACK:
        raise ZeroVariance(
            f"all {values.size} target words have the same association, {values[0]:.6g}, with the two attribute sets: "
            "no effect can be standardised; are the attribute sets, or the vectors, the same?"
        )
    effect = float((x.mean() - y.mean()) / values.std())
    return Weat(
        statistic=float(x.sum() - y.sum()),
        effect_size_ddof0=effect,
        effect_size_ddof1=effect * math.sqrt((values.size - 1) / values.size),
        words=(x.size, y.size),
        p=partition_test(x, y, rng),
    )


PUBLISHED = 0.38
"""Share of null samples "at least as extreme" as 1.27 that Dobrzeniecka & Urbaniak print (10,000 draws; section 3)."""

MAX_SIZE = 2.0
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
    """The exact probability for the statistic that the code of Dobrzeniecka & Urbaniak computed by mistake, from the
    first word of each set only (sample standard deviation)."""
    published: float = PUBLISHED
    """The probability that Dobrzeniecka & Urbaniak print for an effect size of 1.27 with 8 words per set."""
    reason: str = REASON


def null_check(effect: float, words: int) -> NullCheck:
    """Compute the probability of an effect size at least as far from zero as `effect` if there is no bias.

    Each target set has `words` words. Raise `OutOfBounds` if these are fewer than two, or no lists have such an effect.

    Notes
    -----
    Dobrzeniecka & Urbaniak argue that a large effect size is little evidence, because about 38 % of lists without any
    bias would have an effect size of 1.27. The argument is sound, but the number is wrong: it is below 1 %.
    Under the null model the associations s of the 2n target words are independent and normal with equal means
    and variances. The effect size is a contrast of them over their spread, so that its square is the share of
    their variance along one direction of 2n - 1: ``R2 = (n / 2) e**2 / (2n - ddof) ~ Beta(1/2, (2n - 2)/2)``,
    for any variance and any number of attribute words (docs/methods/association.md).
    """
    if words < 2:
        raise OutOfBounds(f"each set of target words must hold at least 2, not {words}", "words")
    if not abs(effect) <= MAX_SIZE:  # `not <=` also refuses NaN
        raise OutOfBounds(f"an effect size lies between -{MAX_SIZE:g} and {MAX_SIZE:g}, not at {effect}", "effect")
    ddof0, ddof1 = (_chance_of_larger_share(words / 2 * effect**2 / (2 * words - ddof), words) for ddof in (0, 1))
    # the authors compared single words by mistake (`REASON`): their contrast has a squared length of 2, not 2 / words
    first_words = _chance_of_larger_share(effect**2 / 2 / (2 * words - 1), words)
    return NullCheck(effect, words, p_ddof0=ddof0, p_ddof1=ddof1, p_first_words=first_words)


def _chance_of_larger_share(share: float, words: int) -> float:
    """Return P(R2 >= share), where R2 ~ Beta(1/2, words - 1) is the share of the variance along one direction."""
    return 0.0 if share >= 1 else float(special.betaincc(0.5, words - 1, max(share, 0.0)))
