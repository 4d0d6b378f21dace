"""Permutation test of two groups over all partitions of their members, exact up to forty members.

Partitions are counted without enumerating them. A group of k out of N has j members from the first half
of the list and k - j from the second. The 2**(N/2) sums of each half are sorted, so that the pairs of sums
that reach a threshold can be counted by binary search (Horowitz & Sahni). The 137,846,528,820 partitions
of forty members into twenty and twenty are counted in a quarter of a second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import SpecificationError
from assay.model import Floats
from assay.statistics.hypothesis_tests.distribution import as_sample

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
    """Result of a permutation test: the rank of the difference among all partitions."""

    greater: float
    """Share of the partitions whose difference is at least as large as the observed difference (one-sided)."""
    two_sided: float
    """Share of the partitions whose difference is at least as far from zero as the observed difference."""
    strict: float | None
    """Share of the partitions whose difference is larger, without ties: the published definition, by which the most
    extreme partition has a p-value of 0. ``None`` if partitions are drawn."""
    method: str
    """``"exact"`` or ``"monte-carlo"``; drawn shares are ``(r + 1) / (draws + 1)``."""
    partitions: int
    """Number of partitions that were counted or drawn."""
    greater_error: float = 0.0
    """Standard error of `greater` if partitions are drawn; 0 if all are counted."""
    two_sided_error: float = 0.0
    """Standard error of `two_sided`."""


def partition_test(first: ArrayLike, second: ArrayLike, rng: np.random.Generator | None = None) -> PartitionTest:
    """Test whether two groups differ, by exchanging their members.

    Parameters
    ----------
    first, second : array_like, shape (n,), (m,)
        One number for each member.
    rng : Generator, optional
        Draws partitions where there are more than `EXACT_UP_TO` members.

    Returns
    -------
    PartitionTest
        Test of the difference of the two means (for groups of equal size, also of the two sums).

    Raises
    ------
    TooFewObservations, EvidenceError
        If a group is empty, or a number is not finite.
    SpecificationError
        If partitions must be drawn and no `rng` was given.
    """
    x, y = as_sample(first), as_sample(second)
    members = np.concatenate([x, y])
    # for centred values, the sum over a group is the difference of the means times nm / (n + m)
    members = members - members.mean()
    observed = float(members[: x.size].sum())
    if members.size <= EXACT_UP_TO:
        return _counted(members, x.size, observed)
    if rng is None:
        raise SpecificationError(
            f"{members.size} members have too many partitions to count all of them (up to {EXACT_UP_TO} members); "
            "pass a random generator to draw some"
        )
    return _drawn(members, x.size, observed, rng)


def _counted(members: Floats, size: int, observed: float) -> PartitionTest:
    partitions = math.comb(members.size, size)
    halves = _Halves(members, size)
    greater, far = halves.reaching(observed - SLACK), abs(observed) - SLACK
    both = partitions if far <= 0 else halves.reaching(far) + partitions - halves.reaching(-far, strict=True)
    strict = halves.reaching(observed + SLACK, strict=True)
    return PartitionTest(greater / partitions, both / partitions, strict / partitions, "exact", partitions)


class _Halves:
    """Sorted sums of all subsets of each half of the members, grouped by subset size."""

    def __init__(self, members: Floats, size: int) -> None:
        middle = members.size // 2
        self._left, self._right = _subset_sums(members[:middle]), _subset_sums(members[middle:])
        self._size = size

    def reaching(self, threshold: float, *, strict: bool = False) -> int:
        """Count the groups whose sum is at least (or, strictly, more than) `threshold`."""
        count = 0
        for taken, remaining in enumerate(self._left):
            if 0 <= self._size - taken < len(self._right):
                right = self._right[self._size - taken]
                below = np.searchsorted(remaining, threshold - right, side="right" if strict else "left")
                count += remaining.size * right.size - int(below.sum())
        return count


def _subset_sums(members: Floats) -> list[Floats]:
    """Sums of every subset, sorted, in a list by the subset's size."""
    sums: list[Floats] = [np.zeros(1)]
    for member in members:
        without, within = [*sums, np.empty(0)], [np.empty(0), *(subset_sums + member for subset_sums in sums)]
        sums = [np.concatenate(pair) for pair in zip(without, within, strict=True)]
    return [np.sort(subset_sums) for subset_sums in sums]


def _drawn(members: Floats, size: int, observed: float, rng: np.random.Generator) -> PartitionTest:
    greater = far = 0
    for _ in range(DRAWS // BLOCK):
        shuffled = rng.permuted(np.broadcast_to(members, (BLOCK, members.size)), axis=1)
        sums = shuffled[:, :size].sum(axis=1)
        greater += int((sums >= observed - SLACK).sum())
        far += int((np.abs(sums) >= abs(observed) - SLACK).sum())
    one_sided, two_sided = ((reached + 1) / (DRAWS + 1) for reached in (greater, far))
    errors = (math.sqrt(share * (1 - share) / DRAWS) for share in (one_sided, two_sided))
    return PartitionTest(one_sided, two_sided, None, "monte-carlo", DRAWS, *errors)
