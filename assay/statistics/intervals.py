"""Intervals read off posterior (or bootstrap) draws of one number."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import EvidenceError, OutOfBounds, TooFewObservations
from assay.model import Interval

AT_THE_BOUND = 0.005
"""Share of the draws that may lie below an interval which begins at the bound: its first draw is not quite there."""

CLEAR, STEP = 6.0, 0.02
"""Errors from nothing at which a sign is clear, and steps, in errors, in which sizes are held against what was seen."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Ends of an interval, in the units of the draws."""

    low: float
    high: float


def equal_tailed(draws: ArrayLike, level: float = 0.95) -> Limits:
    """Cut the same share of draws off both ends.

    Parameters
    ----------
    draws : array_like, shape (n,)
        Finite draws.
    level : float
        Share of the draws to keep, in (0, 1).

    Raises
    ------
    TooFewObservations
        If there are no draws.
    EvidenceError
        If a draw is not finite.
    OutOfBounds
        If `level` is not between 0 and 1.
    """
    kept = _checked(draws, level)
    low, high = np.quantile(kept, [(1 - level) / 2, (1 + level) / 2])
    return Limits(float(low), float(high))


def hpdi(draws: ArrayLike, level: float = 0.95) -> Limits:
    """Find the highest-posterior-density interval: the shortest one that holds `level` of the draws.

    Both ends are draws. It assumes one mode, as every posterior here has; where the density is
    highest at a bound (an effect near zero) it reaches that bound, which equal tails cannot.

    Parameters
    ----------
    draws, level
        As for `equal_tailed`, with the same errors.
    """
    ordered = np.sort(_checked(draws, level))
    held = min(ordered.size, math.ceil(level * ordered.size))
    widths = ordered[held - 1 :] - ordered[: ordered.size - held + 1]
    first = int(np.argmin(widths))
    return Limits(float(ordered[first]), float(ordered[first + held - 1]))


def interval_of(draws: ArrayLike, level: float = 0.95) -> Interval:
    """Summarise draws by their mean and their equal-tailed interval.

    The mean, because it is the estimate with the least expected squared error and because means
    of draws add up where effects do; equal tails, because their ends move with the quantity under
    any change of its scale.

    Parameters
    ----------
    draws, level
        As for `equal_tailed`, with the same errors.
    """
    limits = equal_tailed(draws, level)
    return Interval(float(np.mean(np.asarray(draws, dtype=float))), limits.low, limits.high, level)


def effect_interval(draws: ArrayLike, level: float = 0.95) -> Interval:
    """Summarise draws of an effect that cannot be negative, such as a distance or the size of a difference.

    The highest-density interval, because equal tails never hold an effect of nothing: they cut off both
    ends of draws that all lie on one side of it. Where the density is highest at the lower bound the
    interval begins there, at 0.

    Parameters
    ----------
    draws, level
        As for `equal_tailed`, with the same errors; no draw is negative.
    """
    limits = hpdi(draws, level)
    kept = np.asarray(draws, dtype=float)
    low = 0.0 if limits.low <= np.quantile(kept, AT_THE_BOUND) else limits.low
    return Interval(float(np.mean(kept)), low, limits.high, level)


def size_interval(draws: ArrayLike, level: float = 0.95) -> Interval:
    """Summarise the size of a quantity from draws that still have its sign.

    The sizes that a likelihood-ratio test does not refuse, with what was seen taken for normal with the centre
    and the breadth of the equal tails. Where the sign is clear these are the equal tails themselves; where it
    is not the interval passes over to one that begins at 0. It holds every size as often as it says, which no
    interval of the draws' sizes does: their equal tails never hold 0, their highest-density interval holds one
    of two errors in .97 and one of three in .92.

    Parameters
    ----------
    draws : array_like, shape (n,)
        Finite draws of the quantity.
    level : float
        As for `equal_tailed`, with the same errors.

    Returns
    -------
    Interval
        The estimate is the mean size.

    References
    ----------
    .. [1] Feldman & Cousins (1998), "Unified approach to the classical statistical analysis of small
       signals", Phys. Rev. D 57.
    """
    from scipy.special import ndtri

    limits = equal_tailed(draws, level)
    estimate = float(np.mean(np.abs(np.asarray(draws, dtype=float))))
    near, far = sorted((abs(limits.low), abs(limits.high)))
    error = (limits.high - limits.low) / (2 * float(ndtri((1 + level) / 2)))
    seen = abs(limits.high + limits.low) / 2
    if seen >= CLEAR * error:
        return Interval(estimate, near, far, level)
    sizes = _sizes_not_refused(seen / error, level) * error
    return Interval(estimate, float(sizes[0]), float(sizes[-1]), level)


def _sizes_not_refused(seen: float, level: float) -> NDArray[np.float64]:
    """List the sizes, in errors, for which a size seen at `seen` is not among the least likely."""
    sizes, others = (np.arange(0.0, seen + beyond, STEP) for beyond in (CLEAR, 2 * CLEAR))

    def density(at: NDArray[np.float64]) -> NDArray[np.float64]:
        """Density of what is seen of each size, shape (sizes, at), up to a factor."""
        return np.asarray(np.exp(-((at - sizes[:, None]) ** 2) / 2) + np.exp(-((at + sizes[:, None]) ** 2) / 2))

    of_others, of_seen = density(others + STEP / 2), density(np.array([seen]))
    less_likely = of_others / of_others.max(axis=0) < of_seen / of_seen.max()
    share = np.sum(of_others, axis=1, where=less_likely) / of_others.sum(axis=1)
    return np.asarray(sizes[share >= 1 - level])


def _checked(draws: ArrayLike, level: float) -> NDArray[np.float64]:
    kept = np.asarray(draws, dtype=float)
    if not 0 < level < 1:
        raise OutOfBounds(f"the level of an interval lies between 0 and 1, not at {level}", "level")
    if kept.ndim != 1:
        raise OutOfBounds(f"an interval is of draws of one number, not of an array of shape {kept.shape}")
    if kept.size == 0:
        raise TooFewObservations("an interval needs at least one draw")
    if not np.isfinite(kept).all():
        raise EvidenceError(f"{int((~np.isfinite(kept)).sum())} of {kept.size} draws are not finite numbers")
    return kept
