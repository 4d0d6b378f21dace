"""Permutation tests within pairs, and Cohen's d for pairs.

If there is no effect, both orders of each pair are equally likely, and so are all ``2**n`` arrangements. A
p-value is the share of arrangements that are at least as extreme as the observed one.
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import OutOfBounds, ZeroVariance
from assay.model import Floats
from assay.statistics.hypothesis_tests.distribution import as_sample, check_paired

EXACT_UP_TO = 2**14
"""Maximum number of arrangements to enumerate; if there are more, they are sampled."""

MONTE_CARLO_DRAWS = 9_999
"""Number of arrangements to sample (10,000 with the observed one): a p-value near .05 is within .0044 of the exact."""

AT_A_TIME = 1_000_000
"""Number of signs drawn at once, so that memory does not grow with the number of pairs."""

IN_CACHE = 2**15
"""Number of signs held as floats at once; more do not fit in the processor's cache, and take several times as long."""

TIE_SLACK = 1e-9
"""Difference, relative to the statistic's scale, at which two statistics are equal: mirrored arrangements must tie."""


def sign_flip_test(
    differences: ArrayLike,
    rng: np.random.Generator,
    *,
    clusters: ArrayLike | None = None,
    draws: int = MONTE_CARLO_DRAWS,
) -> float:
    """Test whether differences within pairs are symmetric about zero, by their mean.

    The two-sided p-value is the share of sign changes (arrangements) with a mean as extreme as the observed one.

    Parameters
    ----------
    differences : array_like, shape (n,)
        Second minus first of each pair.
    rng : Generator
        Draws arrangements if there are too many to enumerate; the observed one then counts too.
    clusters : array_like of int, shape (n,), optional
        Cluster of each difference, such as a person's name: the signs of a cluster change together. Without
        clusters, pairs must be independent; pairs that share a name are not.
    draws : int
        Number of arrangements to draw.

    Raises
    ------
    TooFewObservations, EvidenceError
        If there are no differences, or a difference is not finite.
    OutOfBounds
        If there is not one cluster for each difference.
    """
    sample = as_sample(differences)
    cluster_sums = sample if clusters is None else _sum_by_cluster(sample, np.asarray(clusters))
    cluster_sums = cluster_sums[cluster_sums != 0]  # changing the sign of a zero changes nothing, so zeros are left out
    if draws < 1:
        raise OutOfBounds(f"there must be at least one draw, not {draws}")
    total, sign_count = float(cluster_sums.sum()), cluster_sums.size
    threshold = abs(total) / sample.size - TIE_SLACK * (float(np.abs(cluster_sums).sum()) / sample.size)

    def are_as_extreme(is_swapped: Floats) -> NDArray[np.bool_]:
        """Return which of m arrangements are as extreme as the observed; `is_swapped`, (m, signs): 1 changes a sign."""
        return np.asarray(np.abs(total - 2 * (is_swapped @ cluster_sums)) / sample.size >= threshold)

    if 2**sign_count <= EXACT_UP_TO:
        swaps = (np.arange(2**sign_count)[:, None] >> np.arange(sign_count)) & 1  # the bits of each number
        return float(are_as_extreme(swaps.astype(float)).mean())
    extreme_count = sum(int(are_as_extreme(block).sum()) for block in _sample_swaps(sign_count, rng, draws))
    return (extreme_count + 1) / (draws + 1)  # the observed arrangement counts too


def d_z(differences: ArrayLike) -> float:
    """Compute Cohen's d for pairs: the mean difference in units of the differences' standard deviation (n - 1).

    Raise an error of `as_sample` if there are fewer than two differences or one is not finite, and `ZeroVariance` if
    all are equal, up to rounding.
    """
    sample = as_sample(differences, least=2)
    # differences that are equal up to rounding come, for example, from a linear model, which shifts all records equally
    if np.ptp(sample) <= TIE_SLACK * np.abs(sample).max():
        raise ZeroVariance(f"all {sample.size} differences are {sample[0]:.6g}; d_z has no unit then")
    return float(sample.mean() / sample.std(ddof=1))


def _sum_by_cluster(differences: Floats, clusters: NDArray[np.generic]) -> Floats:
    check_paired(differences, clusters)
    _, ids = np.unique(clusters, return_inverse=True)
    sums = np.bincount(ids, weights=differences)
    absolute_sums = np.bincount(ids, weights=np.abs(differences))
    return np.asarray(np.where(np.abs(sums) > TIE_SLACK * absolute_sums, sums, 0.0))  # without rounding errors


def _sample_swaps(pair_count: int, rng: np.random.Generator, draws: int) -> Iterator[Floats]:
    """Draw arrangements, in arrays of some rows each: a random 1 for each pair whose members are swapped, else 0."""
    rows_per_block, rows_at_once = max(1, AT_A_TIME // pair_count), max(1, IN_CACHE // pair_count)
    for start in range(0, draws, rows_per_block):
        rows = min(rows_per_block, draws - start)
        random_bytes = rng.integers(0, 256, (rows, math.ceil(pair_count / 8)), dtype=np.uint8)  # 8 pairs a byte
        for top in range(0, rows, rows_at_once):  # first rows of portions that fit in the cache
            yield np.unpackbits(random_bytes[top : top + rows_at_once], axis=1, count=pair_count).astype(float)
