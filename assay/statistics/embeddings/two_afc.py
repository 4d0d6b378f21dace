"""Two-alternative forced choice in a space of vectors: points of subjective equality (Liang & Acuna 2020).

The observer is shown ``q = (1 - a) c1 + a c2 + w o``, a mixture of two cues with a concept, and chooses
the cue with the larger cosine. The length of q cancels, so the level a at which both cues are equally
near, the point of subjective equality (PSE), has a closed form (docs/methods/forced-choice.md).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import NoTransition, OutOfBounds, TooFewObservations, ZeroVariance
from assay.model import Floats, Interval
from assay.statistics.special import special

JND_75 = 0.6744897501960817
"""Standard normal quantile of .75: the distance from 50 % to 75 % of a cumulative normal curve, in its sds."""

NORMAL_975 = 1.959963984540054
"""Standard normal quantile of .975."""

DRAWS, LEVEL = 2000, 0.95
"""Number of bootstrap draws of a mean, and probability of its interval."""
SAME = 1e-12
"""Deviation of the cosine of two cues from 1 below which they point the same way."""

LARGEST_PSE = 1e6
"""Largest point of subjective equality; beyond it, the concept dominates every mixture of the cues."""


@dataclass(frozen=True)
class Subject:
    """Summary of the levels (shares of the second cue in a mixture) at which both cues are equally near a concept."""

    pse: Interval
    """Mean point of subjective equality, with the 95 % interval of a bootstrap over cue pairs."""
    jnd: float
    """Just noticeable difference: the sd of points from halves of the dimensions (Liang & Acuna)."""
    jnd_75: float
    """Distance from 50 % to 75 % on a cumulative normal curve whose sd is `jnd`: .6745 `jnd`."""
    curve: tuple[float, ...]
    """Share of the points from halves that are at or below each level: the psychometric curve."""


def indifference_points(first: ArrayLike, second: ArrayLike, concepts: ArrayLike, *, weight: float = 1.0) -> Floats:
    """Compute the mixing level at which each concept is equally near to both cues.

    The result, shape (pairs, words), is the share of the second cue, unclipped. Below 1/2, less of the second cue is
    needed to choose it, so the concept is biased towards that cue.

    Parameters
    ----------
    first, second : array_like, shape (pairs, dims)
        Vectors of the cues; each row is a pair.
    weight : float
        Weight w with which the vector of the concept is added to the mixture of the cues.

    Raises
    ------
    ZeroVariance
        If a cue is the zero vector.
    NoTransition
        If the cues of a pair point the same way, or a concept is a million times as long as they are, so
        that no mixture changes the answer.

    References
    ----------
    .. [1] "Artificial mental phenomena" (FAT* 2020), the two-alternative forced choice task.
    """
    first_vectors, second_vectors, concept_vectors = (
        np.asarray(vectors, dtype=float) for vectors in (first, second, concepts)
    )
    are_pairs = first_vectors.shape == second_vectors.shape
    are_matrices = first_vectors.ndim == concept_vectors.ndim == 2
    if not are_pairs or not are_matrices or first_vectors.shape[1] != concept_vectors.shape[1]:
        raise OutOfBounds(
            "first and second cues must be matrices of equal shape, with as many columns as the concepts; got shapes "
            f"{first_vectors.shape}, {second_vectors.shape} and {concept_vectors.shape}"
        )
    first_lengths, second_lengths = np.linalg.norm(first_vectors, axis=1), np.linalg.norm(second_vectors, axis=1)
    zero_pairs = np.flatnonzero((first_lengths == 0) | (second_lengths == 0))
    if zero_pairs.size:
        raise ZeroVariance(f"a cue of pair {int(zero_pairs[0]) + 1} is the zero vector and has no direction")
    axis = second_vectors / second_lengths[:, None] - first_vectors / first_lengths[:, None]
    gaps = np.einsum("pd,pd->p", second_vectors - first_vectors, axis)  # equals (|c1| + |c2|) (1 - cos(c1, c2))
    parallel = np.flatnonzero(gaps <= SAME * (first_lengths + second_lengths))
    if parallel.size:
        raise NoTransition(f"the cues of pair {int(parallel[0]) + 1} point the same way: no mixture changes the answer")
    # at the level a, the projection on `axis` (positive: nearer to the second cue) is ``at_zero + a gaps``
    at_zero = np.einsum("pd,pd->p", first_vectors, axis)[:, None] + weight * (axis @ concept_vectors.T)
    points = -at_zero / gaps[:, None]
    unbounded = np.argwhere(~(np.abs(points) <= LARGEST_PSE))
    if unbounded.size:
        pair, word = (int(index) + 1 for index in unbounded[0])
        raise NoTransition(f"beside concept {word} the cues of pair {pair} are so short that no mixture matters")
    return np.asarray(points)


def summarise(points: ArrayLike, half_points: ArrayLike, rng: np.random.Generator, levels: ArrayLike) -> Subject:
    """Summarise one concept's points of subjective equality: levels of mixing at which both cues are equally near.

    Parameters
    ----------
    points : array_like, shape (clusters, replicates)
        Points of subjective equality. A cluster holds replicates that share a cue pair and are therefore not
        independent, so clusters are resampled. If there is one cluster, its replicates are resampled. If there
        is one replicate, its standard error is the spread of `half_points`.
    half_points : array_like, shape (clusters, more replicates)
        Points from halves of the dimensions, which stand for other training corpora. Their standard deviation is the
        just noticeable difference (0 if there is only one point); their distribution is the psychometric curve.
    levels : array_like, shape (m,)
        Levels at which the psychometric curve is given.

    Raises
    ------
    TooFewObservations
        If there are no replicates.

    Notes
    -----
    The variance of resampled means is ``(n - 1) / n`` of the right one, and a spread estimated from n clusters
    has Student's tails. Without a correction of both, intervals from the eight pairs of Liang & Acuna would cover .88
    instead of .95. The spread of estimates from halves of a sample is the standard error of the estimate from the whole
    (delete-half jackknife). With one replicate and no halves, the interval is the point itself.
    """
    point_table = np.atleast_2d(np.asarray(points, dtype=float))
    if point_table.size == 0:
        raise TooFewObservations("no replicate has a point of subjective equality")
    independent_points = point_table.mean(axis=1) if len(point_table) > 1 else point_table[0]
    flat_half_points = np.asarray(half_points, dtype=float).ravel()
    spread = float(flat_half_points.std(ddof=1)) if flat_half_points.size > 1 else 0.0
    curve = (flat_half_points[:, None] <= np.asarray(levels, dtype=float)).mean(axis=0)
    if independent_points.size > 1:
        pse = _mean_interval(independent_points, rng)
    else:
        (point,) = independent_points.tolist()
        pse = Interval(point, low=point - NORMAL_975 * spread, high=point + NORMAL_975 * spread)
    return Subject(pse, jnd=spread, jnd_75=JND_75 * spread, curve=tuple(curve.tolist()))  # `JND_75`: normal quantile


def _mean_interval(values: Floats, rng: np.random.Generator) -> Interval:
    """Return the mean with its bootstrap interval, corrected for few values (see the notes on `summarise`)."""
    centre, n = float(values.mean()), len(values)
    deviations = values[rng.integers(n, size=(DRAWS, n))].mean(axis=1) - centre
    t_factors = np.sqrt((n - 1) / special.chdtri(n - 1, rng.random(DRAWS)))  # turn normal draws into Student's t
    means = centre + deviations * math.sqrt(n / (n - 1)) * t_factors
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(centre, float(low), float(high), LEVEL)
