"""Kullback-Leibler divergence between distributions, with bootstrap thresholds.

All logarithms are natural. The divergence of a finite sample is hardly ever zero, so it is compared
with the divergences of samples from the specification itself (a parametric bootstrap).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import OutOfBounds
from assay.model import Floats
from assay.statistics.hypothesis_tests.distribution import as_counts, as_shares
from assay.statistics.hypothesis_tests.published import (
    Aggregate,
    PublishedVerdict,
    aggregate_biased,
    check_blocks,
    two_step_letter,
)
from assay.statistics.special import special

TIE_SLACK = 1e-12
"""Permitted rounding error: mirrored counts have the same divergence, and must not exceed each other."""


@dataclass(frozen=True)
class Divergence:
    """A divergence in nats, or the reason why it has no finite value."""

    value: float | None
    reason: str | None = None


@dataclass(frozen=True)
class DivergenceTest:
    """An observed divergence and its bootstrap threshold, both in nats."""

    value: float | None
    """``None`` where it is infinite; `reason` then says why, and `biased` is true."""
    threshold: float
    """Divergence that samples from the specification exceed with probability `alpha` at most."""
    biased: bool
    reason: str | None = None


def kl_divergence(p: ArrayLike, q: ArrayLike) -> Divergence:
    """Kullback-Leibler divergence ``D(p || q) = sum p log(p / q)``, in nats.

    ``0 log 0`` is 0. If p has mass where q has none, the divergence is infinite: a reason replaces the value.

    Parameters
    ----------
    p, q : array_like, shape (k,)
        Distributions over the same cells, as shares or counts.

    Raises
    ------
    BadDistribution
        If either is not a distribution, or they have different numbers of cells.
    """
    first, second = _pair(p, q)
    outside = float(first[second == 0].sum())
    if outside > 0:
        return Divergence(None, f"a share of {outside:.3g} lies where the reference has none")
    return Divergence(float(_kl(first, second)))


def bootstrap_threshold(shares: ArrayLike, n: int, alpha: float, rng: np.random.Generator, draws: int = 2_000) -> float:
    """Divergence that samples from the specification exceed with probability at most `alpha`.

    Parameters
    ----------
    n : int
        Size of each sample, positive.
    alpha : float
        Probability, in (0, 1).

    Returns
    -------
    float
        In nats: the smallest sampled divergence that at most a share `alpha` of the samples exceed.

    Raises
    ------
    OutOfBounds
        If `alpha`, `n` or `draws` is out of its range.
    BadDistribution
        If the shares are not a distribution.
    """
    if not 0 < alpha < 1 or n < 1 or draws < 1:
        raise OutOfBounds(f"alpha must be in (0, 1), and n and draws positive, not {alpha}, {n} and {draws}")
    specified = as_shares(shares)
    specified = specified[specified > 0]  # values with a share of 0 never occur in samples
    sampled = rng.multinomial(n, specified, draws) / n
    return float(np.quantile(_kl(sampled, specified), 1 - alpha, method="higher"))


def divergence_test(counts: ArrayLike, shares: ArrayLike, alpha: float, rng: np.random.Generator) -> DivergenceTest:
    """Test whether counts are farther from a specification than expected by chance.

    The other arguments and errors are those of `bootstrap_threshold`.

    Raises
    ------
    TooFewObservations
        If nothing was observed.
    """
    observed = as_counts(counts)
    threshold = bootstrap_threshold(shares, int(observed.sum()), alpha, rng)
    divergence = kl_divergence(observed, shares)
    biased = divergence.value is None or divergence.value > threshold + TIE_SLACK
    return DivergenceTest(divergence.value, threshold, biased, divergence.reason)


def divergence_letter(
    observed: Mapping[str, ArrayLike],
    unbiased: Mapping[str, ArrayLike],
    biased: Mapping[str, ArrayLike],
    alpha: float,
    rng: np.random.Generator,
    aggregate: Aggregate = "worst",
) -> PublishedVerdict[DivergenceTest]:
    """Rate observed counts in two steps by a divergence with a bootstrap threshold.

    A block's output is biased if it exceeds the threshold against *every* declared unbiased
    distribution. A step is biased if any of its blocks is (``"worst"``) or at least half are (``"vote"``).

    Parameters
    ----------
    observed : mapping of str to array_like of int, shape (k,)
        Counts of the k outputs of each block, by the block's name.
    unbiased, biased : mapping of str to array_like, shape (k,)
        Declared distributions by block name. Of the biased distributions only the names are used.
    alpha, rng
        As for `bootstrap_threshold`.
    aggregate : {"worst", "vote"}
        How the results of a step's blocks are combined.

    Raises
    ------
    SpecificationError
        If there is no unbiased or no biased distribution, or a block has no counts.
    TooFewObservations
        If a block has no observations.
    """
    check_blocks(observed, unbiased, biased)
    tests = {
        block: {name: divergence_test(observed[block], shares, alpha, rng) for name, shares in unbiased.items()}
        for block in (*unbiased, *biased)
    }
    departs = {block: all(test.biased for test in row.values()) for block, row in tests.items()}
    step_1, step_2 = (
        aggregate_biased([departs[block] for block in blocks], aggregate) for blocks in (unbiased, biased)
    )
    return PublishedVerdict(two_step_letter(step_1, step_2), step_1, step_2, tests)


def _pair(p: ArrayLike, q: ArrayLike) -> tuple[Floats, Floats]:
    first = as_shares(p)
    return first, as_shares(q, first.size)


def _kl(p: Floats, q: Floats) -> Floats:
    """D(p || q) along the last axis; q must be positive wherever p is."""
    # rounding can make a divergence of 0 negative (-1e-17)
    return np.asarray(np.maximum(0.0, special.rel_entr(p, q).sum(axis=-1)), dtype=float)
