"""All outcomes of a multinomial, with their probability and Pearson statistic."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy


def pearson(outcomes: NDArray[np.int64], expected: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pearson's statistic ``sum (o - e)**2 / e``.

    Parameters
    ----------
    outcomes : ndarray of int, shape (..., k)
        Counts.
    expected : ndarray, shape (k,)
        Expected counts, all positive.

    Returns
    -------
    ndarray, shape (...)
    """
    return np.asarray(((outcomes - expected) ** 2 / expected).sum(axis=-1), dtype=float)


def every_outcome(n: int, expected: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log-probability and Pearson statistic of all ways to spread n observations over k cells.

    The outcomes are grown cell by cell, and of each only what is left to spread is kept, never
    its counts: three arrays whatever k is.

    Parameters
    ----------
    n : int
        Observations.
    expected : ndarray, shape (k,)
        Expected counts, all positive, with sum n.

    Returns
    -------
    log_probability, pearson : ndarray, shape (C(n + k - 1, k - 1),)
        In the same order of outcomes.
    """
    each = np.arange(n + 1)
    log_terms = [xlogy(each, share) - gammaln(each + 1.0) for share in expected / n]
    square_terms = [(each - e) ** 2 / e for e in expected]
    left = np.array([n])
    log_p, distance = np.full(1, gammaln(n + 1.0)), np.zeros(1)
    for log_term, square_term in zip(log_terms[:-1], square_terms[:-1], strict=True):
        choices = left + 1
        first = np.cumsum(choices) - choices
        here = np.arange(choices.sum()) - np.repeat(first, choices)
        left = np.repeat(left, choices) - here
        log_p = np.repeat(log_p, choices) + log_term[here]
        distance = np.repeat(distance, choices) + square_term[here]
    return log_p + log_terms[-1][left], distance + square_terms[-1][left]
