"""Shape of the generalised Pareto tail of importance weights, which shows whether a few of them dominate."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import TooFewObservations
from assay.model import Floats

LEAST = 5
"""Minimum number of weights to fit a tail."""

TIED = 1e-12
"""Excess over the threshold, relative to the largest weight, that counts as rounding (services round)."""


def tail_shape(weights: Floats) -> float | None:
    """Estimate the shape of the tail of importance weights.

    Parameters
    ----------
    weights : ndarray, shape (n,)
        Weights, not negative; their scale does not matter.

    Returns
    -------
    float or None
        Shape k of the largest weights: a fifth of them, or three times the square root of their number if that is
        less. ``None`` if too few weights differ to estimate it.
    """
    ordered = np.sort(weights)
    count = min(math.ceil(weights.size / 5), math.ceil(3 * math.sqrt(weights.size)))
    if count >= weights.size:
        return None
    excess = ordered[-count:] - ordered[-count - 1]
    excess = excess[excess > TIED * ordered[-1]]
    if excess.size < LEAST or np.ptp(excess) == 0:
        return None
    return pareto_shape(excess)


def pareto_shape(excess: ArrayLike) -> float:
    """Fit a generalised Pareto distribution to excesses over a threshold and return its shape k.

    Parameters
    ----------
    excess : array_like, shape (n,)
        At least five positive numbers.

    Returns
    -------
    float
        Shape k: moments of order ``1 / k`` and above do not exist; k is negative if the tail has an end. As usual
        for weights, k is shrunk slightly towards 1/2, by ten pseudo-observations.

    Raises
    ------
    TooFewObservations
        If there are fewer than five excesses, or they are not positive and finite.

    References
    ----------
    .. [1] Zhang & Stephens (2009), "A new and efficient estimation method for the generalized Pareto
       distribution", Technometrics 51.
    .. [2] Vehtari, Simpson, Gelman, Yao & Gabry (2024), "Pareto smoothed importance sampling", J. Mach. Learn.
       Res. 25, appendix G.
    """
    x = np.sort(np.asarray(excess, dtype=float))
    if x.ndim != 1 or x.size < LEAST or not x[0] > 0 or not np.isfinite(x[-1]):
        raise TooFewObservations(f"a tail needs {LEAST} positive, finite excesses or more")
    points = 30 + int(math.sqrt(x.size))
    quartile = x[int(x.size / 4 + 0.5) - 1]
    # candidates for theta = -k / scale, weighted below by their profile likelihoods
    theta = 1 / x[-1] + (1 - np.sqrt(points / (np.arange(1, points + 1) - 0.5))) / (3 * quartile)
    k = np.log1p(-theta[:, None] * x).mean(axis=1)
    log_likelihood = x.size * (np.log(-theta / k) - k - 1)
    weight = np.exp(log_likelihood - log_likelihood.max())
    best = float(theta @ weight / weight.sum())
    shape = float(np.log1p(-best * x).mean())
    return (x.size * shape + 5) / (x.size + 10)
