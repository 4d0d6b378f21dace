"""Correlation and regression of two variables that were measured for the same words."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import OutOfBounds, TooFewObservations, ZeroVariance
from assay.model import Floats, Interval
from assay.statistics.intervals.credible import interval_of
from assay.statistics.special import special

MIN_POINTS = 3
"""Minimum number of pairs of numbers."""
NORMAL_975 = 1.959963984540054
"""Standard normal quantile of .975."""


@dataclass(frozen=True)
class Correlation:
    """Pearson's correlation coefficient, with its p-value and 95 % interval."""

    r: float
    """The coefficient, in [-1, 1]."""
    p: float
    """Two-sided probability of a coefficient at least as large if there is no correlation (Student's t)."""
    n: int
    low: float | None
    """Lower end of the 95 % interval (Fisher's z); ``None`` if there are fewer than four pairs, or r is -1 or 1."""
    high: float | None
    """Upper end of the interval; ``None`` if `low` is."""


def pearson(x: ArrayLike, y: ArrayLike) -> Correlation:
    """Compute Pearson's correlation of two variables.

    Raise `TooFewObservations` if there are fewer than three pairs, and `ZeroVariance` if x or y is constant.
    """
    xs, ys = _validate_pairs(x, y)
    r = float(np.clip(np.mean((xs - xs.mean()) * (ys - ys.mean())) / (xs.std() * ys.std()), -1, 1))
    n = len(xs)
    t = math.inf if abs(r) == 1 else abs(r) * math.sqrt((n - 2) / (1 - r * r))
    p = 0.0 if math.isinf(t) else float(2 * special.stdtr(n - 2, -t))
    if n < 4 or abs(r) == 1:
        return Correlation(r, p, n, low=None, high=None)
    z, half_width = math.atanh(r), NORMAL_975 / math.sqrt(n - 3)  # Fisher's z, whose standard error is 1 / sqrt(n - 3)
    return Correlation(r, p, n, low=math.tanh(z - half_width), high=math.tanh(z + half_width))


def slope(x: ArrayLike, y: ArrayLike, rng: np.random.Generator, draws: int = 2000) -> Interval:
    """Fit ``y = a + b x`` by least squares and return b with its interval, by a Bayesian bootstrap over pairs.

    Raise `TooFewObservations` if there are fewer than three pairs, and `ZeroVariance` if x never varies.
    """
    xs, ys = _validate_pairs(x, y, both_vary=False)
    weights = rng.dirichlet(np.ones(len(xs)), draws)
    mean_x, mean_y = weights @ xs, weights @ ys
    slopes = ((weights @ (xs * ys)) - mean_x * mean_y) / ((weights @ (xs * xs)) - mean_x**2)
    interval = interval_of(slopes)
    slope_estimate, _ = np.polyfit(xs, ys, deg=1)
    return Interval(float(slope_estimate), interval.low, interval.high, interval.level)


def _validate_pairs(x: ArrayLike, y: ArrayLike, *, both_vary: bool = True) -> tuple[Floats, Floats]:
    xs, ys = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if xs.shape != ys.shape or xs.ndim != 1:
        raise OutOfBounds(f"{xs.shape} and {ys.shape} are not pairs of numbers: both lists must have the same length")
    if len(xs) < MIN_POINTS:
        raise TooFewObservations(f"{len(xs)} pairs of numbers are too few; at least {MIN_POINTS} are needed")
    for name, values in ({"first": xs, "second": ys} if both_vary else {"first": xs}).items():
        if np.ptp(values) == 0:
            raise ZeroVariance(f"the {name} of the two numbers is always {values[0]:.6g}")
    return xs, ys
