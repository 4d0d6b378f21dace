"""Intervals of one number: from posterior (or bootstrap) draws, and Wilson's interval of a share."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import EvidenceError, OutOfBounds, TooFewObservations
from assay.model import Floats, Interval
from assay.statistics.special import special


def wilson(successes: int, trials: int) -> Interval:
    """Return the share of successes with Wilson's score interval of 95 %.

    `estimate` is ``successes / trials``; the limits stay within [0, 1] and are informative even when none or all
    succeed.

    Raises
    ------
    TooFewObservations
        If there were no trials.
    OutOfBounds
        If not ``0 <= successes <= trials``.

    References
    ----------
    .. [1] Wilson (1927), "Probable inference, the law of succession, and statistical inference",
       J. Am. Stat. Assoc. 22.
    """
    if trials == 0:
        raise TooFewObservations("a share of no trials does not exist")
    if not 0 <= successes <= trials:
        raise OutOfBounds(f"successes must be between 0 and {trials}, the number of trials, not {successes}")
    share, z = successes / trials, float(special.ndtri((1 + 0.95) / 2))
    denominator = 1 + z * z / trials
    centre = (share + z * z / (2 * trials)) / denominator
    half_width = z / denominator * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    # at a share of 0 or 1 the limit equals the estimate exactly; rounding would miss it by 1e-17
    low = 0.0 if successes == 0 else max(0.0, centre - half_width)
    high = 1.0 if successes == trials else min(1.0, centre + half_width)
    return Interval(share, low, high)


AT_THE_BOUND = 0.005
"""If at most this share of draws lies below the interval of an effect, the interval is extended to 0."""

CLEAR, STEP = 6.0, 0.02
"""Distance from 0 at which a sign is clear, and step of the grid of absolute values; both in standard errors."""


@dataclass(frozen=True, slots=True)
class IntervalEnds:
    """Ends of an interval, in the units of the draws."""

    low: float
    high: float


def equal_tailed(draws: ArrayLike, level: float = 0.95) -> IntervalEnds:
    """Return the equal-tailed interval, which cuts the same share of draws off both ends.

    Parameters
    ----------
    draws : array_like, shape (n,)
        Finite draws.
    level : float
        Share of the draws to keep, in (0, 1).

    Raises
    ------
    TooFewObservations, EvidenceError, OutOfBounds
        If there are no draws, a draw is not finite, or `level` is not between 0 and 1.
    """
    low, high = np.quantile(_validate_draws(draws, level), [(1 - level) / 2, (1 + level) / 2])
    return IntervalEnds(float(low), float(high))


def hpdi(draws: ArrayLike, level: float = 0.95) -> IntervalEnds:
    """Find the highest-posterior-density interval: the shortest one that holds `level` of the draws.

    Both ends are draws. The interval assumes a single mode, as all posteriors in Assay have. If the density
    is highest at a bound (an effect near zero), the interval reaches that bound; equal tails cannot.

    The arguments and the errors are those of `equal_tailed`.
    """
    sorted_draws = np.sort(_validate_draws(draws, level))
    inside_count = min(sorted_draws.size, math.ceil(level * sorted_draws.size))
    widths = sorted_draws[inside_count - 1 :] - sorted_draws[: sorted_draws.size - inside_count + 1]
    narrowest_index = int(np.argmin(widths))
    return IntervalEnds(float(sorted_draws[narrowest_index]), float(sorted_draws[narrowest_index + inside_count - 1]))


def interval_of(draws: ArrayLike, level: float = 0.95) -> Interval:
    """Summarise draws by their mean and their equal-tailed interval.

    The mean has the least expected squared error, and the mean of a sum is the sum of the means. The interval is
    equivariant: an increasing transformation of the quantity transforms its ends in the same way.

    The arguments and the errors are those of `equal_tailed`.
    """
    limits = equal_tailed(draws, level)
    return Interval(float(np.mean(np.asarray(draws, dtype=float))), limits.low, limits.high, level)


def effect_interval(draws: ArrayLike, level: float = 0.95) -> Interval:
    """Summarise draws of an effect that cannot be negative, such as a distance or the size of a difference.

    It is the highest-density interval, because equal tails never cover an effect of 0: they cut off both ends of
    draws that are all above 0. If the density is highest at the lower bound, the interval begins at 0.

    The arguments and the errors are those of `equal_tailed`; no draw is negative.
    """
    limits = hpdi(draws, level)
    samples = np.asarray(draws, dtype=float)
    low = 0.0 if limits.low <= np.quantile(samples, AT_THE_BOUND) else limits.low  # hardly a draw is below `low`
    return Interval(float(np.mean(samples)), low, limits.high, level)


def absolute_value_interval(draws: ArrayLike, level: float = 0.95) -> Interval:
    """Return the credible interval of the absolute value of a quantity, from its signed draws.

    The interval has the absolute values that a likelihood-ratio test does not reject, if the observation is normal
    with the centre and width of the equal tails. If the sign is clear, these are the equal tails themselves; the
    less clear it is, the nearer the interval begins to 0. It covers every absolute value with probability `level`. An
    interval of the draws' absolute values does not: equal tails never cover 0, and a highest-density interval covers
    two standard errors in 97 % and three standard errors in 92 % of cases.

    The arguments and the errors are those of `equal_tailed`. The estimate is the mean of the absolute values.

    References
    ----------
    .. [1] Feldman & Cousins (1998), "Unified approach to the classical statistical analysis of small
       signals", Phys. Rev. D 57.
    """
    limits = equal_tailed(draws, level)
    estimate = float(np.mean(np.abs(np.asarray(draws, dtype=float))))
    nearest, farthest = sorted((abs(limits.low), abs(limits.high)))
    error = _standard_error(limits, level)
    middle = abs(limits.high + limits.low) / 2
    if middle >= CLEAR * error:  # the sign is clear
        return Interval(estimate, nearest, farthest, level)
    sizes = _compatible_sizes(middle / error, level, signed=False) * error
    return Interval(estimate, float(sizes[0]), float(sizes[-1]), level)


def bounded_interval(draws: ArrayLike, level: float = 0.95) -> Interval:
    """Summarise a quantity that cannot be negative from draws that can, such as a difference of two variances.

    As `absolute_value_interval`, but an observation below 0 is evidence for 0. The draws must not be cut off at 0:
    equal tails of such draws cover a true 0 in all cases, and a true value of one standard error in nearly all.

    The arguments and the errors are those of `equal_tailed`. The estimate is the mean of the draws, or 0 if the mean is
    negative.
    """
    limits = equal_tailed(draws, level)
    estimate = max(0.0, float(np.mean(np.asarray(draws, dtype=float))))
    error = _standard_error(limits, level)
    middle = (limits.high + limits.low) / 2
    if middle >= CLEAR * error:  # clearly above 0
        return Interval(estimate, max(0.0, limits.low), max(0.0, limits.high), level)
    # an observation far below 0 is unlikely for every size and must not narrow the interval: it is raised to -CLEAR / 2
    sizes = _compatible_sizes(max(-CLEAR / 2, middle / error), level, signed=True) * error
    return Interval(estimate, float(sizes[0]), max(estimate, float(sizes[-1])), level)


def _standard_error(limits: IntervalEnds, level: float) -> float:
    """Return the standard error of a normal quantity with the given equal tails."""
    return (limits.high - limits.low) / (2 * float(special.ndtri((1 + level) / 2)))


def _compatible_sizes(observed: float, level: float, *, signed: bool) -> Floats:
    """Return the sizes that a likelihood-ratio test of `observed`, a signed or absolute value, does not reject.

    Sizes and value are in standard errors; see `absolute_value_interval`.
    """
    # grids of true sizes, and of the values that could be observed; farther ones differ clearly from `observed`
    sizes = np.arange(0.0, max(0.0, observed) + CLEAR, STEP)
    observations = np.arange(min(0.0, observed) - 2 * CLEAR if signed else 0.0, max(0.0, observed) + 2 * CLEAR, STEP)

    def density(points: Floats) -> Floats:
        """Density of the observation for each size, shape (sizes, points), up to a factor."""
        mirror_density = 0.0 if signed else np.exp(-((points + sizes[:, None]) ** 2) / 2)
        return np.asarray(np.exp(-((points - sizes[:, None]) ** 2) / 2) + mirror_density)

    densities, observed_density = density(observations + STEP / 2), density(np.array([observed]))  # middles of steps
    is_less_likely = densities / densities.max(axis=0) < observed_density / observed_density.max()  # likelihood ratios
    p_values = np.sum(densities, axis=1, where=is_less_likely) / densities.sum(axis=1)
    return np.asarray(sizes[p_values >= 1 - level])


def _validate_draws(draws: ArrayLike, level: float) -> Floats:
    samples = np.asarray(draws, dtype=float)
    if not 0 < level < 1:
        raise OutOfBounds(f"the level of an interval must be between 0 and 1, not {level}", "level")
    if samples.ndim != 1:
        raise OutOfBounds(f"draws must be a one-dimensional array, not one of shape {samples.shape}")
    if samples.size == 0:
        raise TooFewObservations("an interval needs at least one draw")
    if not np.isfinite(samples).all():
        raise EvidenceError(f"{int((~np.isfinite(samples)).sum())} of {samples.size} draws are not finite numbers")
    return samples
