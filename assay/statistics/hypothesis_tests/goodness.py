"""Goodness of fit of counts to specified shares: chi-squared in three forms, and exact multinomial.

Two rules hold for all tests. A cell without observations and with a specified share of 0 is dropped. An
observation in a cell whose specified share is 0 refutes the specification: ``p = 0``, and the statistic is
``None``, because it would be infinite.

The functions of scipy are not used, because of their silent defaults: `scipy.stats.chi2_contingency`
applies Yates' correction to 2 x 2 tables (.124 instead of .0402 for (40, 0) against (36, 4)) and
raises on a cell that is empty in both; `scipy.stats.chisquare` returns NaN then. The exact test sums over all
outcomes of the multinomial (`every_outcome`).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import OutOfBounds, SpecificationError, TooFewObservations
from assay.model import Floats, Integers
from assay.statistics.hypothesis_tests.distribution import as_counts, as_shares
from assay.statistics.special import special


def pearson(outcomes: Integers, expected: Floats) -> Floats:
    """Compute Pearson's ``sum (o - e)**2 / e`` of each outcome, shape (..., k); all expected counts are positive."""
    return np.asarray(((outcomes - expected) ** 2 / expected).sum(axis=-1), dtype=float)


def every_outcome(n: int, expected: Floats) -> tuple[Floats, Floats]:
    """Compute the log-probability and Pearson statistic of all ways to distribute n observations over k cells.

    Outcomes are extended cell by cell. For each outcome, only the number of remaining observations is stored, not its
    counts, so that three arrays suffice for any k. The results are in the same order, shape (outcomes,).

    Parameters
    ----------
    expected : ndarray, shape (k,)
        Expected counts, all positive, with sum n.
    """
    counts = np.arange(n + 1)
    log_terms = [special.xlogy(counts, share) - special.gammaln(counts + 1.0) for share in expected / n]
    square_terms = [(counts - expected_count) ** 2 / expected_count for expected_count in expected]
    remaining = np.array([n])
    log_p, statistic = np.full(1, special.gammaln(n + 1.0)), np.zeros(1)
    for log_term, square_term in zip(log_terms[:-1], square_terms[:-1], strict=True):
        # each outcome so far branches: this cell gets 0 to all of its remaining observations
        branch_counts = remaining + 1
        starts = np.cumsum(branch_counts) - branch_counts  # index of the first branch of each outcome
        in_cell = np.arange(branch_counts.sum()) - np.repeat(starts, branch_counts)
        remaining = np.repeat(remaining, branch_counts) - in_cell
        log_p = np.repeat(log_p, branch_counts) + log_term[in_cell]
        statistic = np.repeat(statistic, branch_counts) + square_term[in_cell]
    # the last cell has all remaining observations
    return log_p + log_terms[-1][remaining], statistic + square_terms[-1][remaining]


ENUMERATED_UP_TO = 1_000_000
"""Maximum number of outcomes that an exact test enumerates (about 0.1 s); if there are more, it samples them."""

MONTE_CARLO_DRAWS = 20_000
"""Number of outcomes to sample: a p-value near .05 is within .003 of the exact one."""

TIE_SLACK = 1e-9
"""Relative difference up to which two statistics count as equal: those of mirrored counts differ by rounding."""


@dataclass(frozen=True)
class FitTest:
    """One comparison of counts with specified shares, or with other counts."""

    test: str
    statistic: float | None
    """``None`` where it does not exist; `reason` then says why."""
    df: int
    """Degrees of freedom: compared cells less one."""
    p: float
    """Probability of counts at least as far from the specified shares, if these are true."""
    reason: str | None = None


def chi_squared_fit(counts: ArrayLike, shares: ArrayLike) -> FitTest:
    """Pearson's goodness of fit, ``sum (o - e)**2 / e`` with ``e = n * share``.

    Parameters
    ----------
    counts : array_like of int, shape (k,)
        Observed counts.
    shares : array_like, shape (k,)
        Specification: shares, or weights in proportion to them.

    Raises
    ------
    TooFewObservations
        If nothing was observed.
    BadDistribution, OutOfBounds
        If the shares are not a distribution over the k cells, or the counts are not non-negative whole numbers.
    """
    observed, expected, refutation = _comparable_counts(counts, shares)
    if refutation is not None:
        return FitTest("goodness-of-fit", statistic=None, df=observed.size - 1, p=0.0, reason=refutation)
    statistic = float(pearson(observed, expected))
    df = observed.size - 1
    return FitTest("goodness-of-fit", statistic, df, _upper_tail(df, statistic))


def chi_squared_two_sample(first: ArrayLike, second: ArrayLike, *, drop_empty: bool = True) -> FitTest:
    """Compare two samples by chi-squared, computed as in the library that Srivastava & Rossi (2018) used.

    ``sum (o1 / K - o2 K)**2 / (o1 + o2)`` with ``K = sqrt(N1 / N2)``: equal to Pearson's statistic of the 2 x k table,
    without any correction. `test` of the result is ``"two-sample"``, or ``"two-sample-df2"`` if empty cells count (with
    Srivastava & Rossi's three outputs, df is 2).

    Parameters
    ----------
    first, second : array_like, shape (k,)
        Non-negative counts. The second may be a specification times a sample size, and then need not be whole.
    drop_empty : bool
        Whether cells that are empty in both samples are dropped. ``False`` keeps ``df = k - 1``, as
        the library does, so that the test rejects less often.

    Raises
    ------
    TooFewObservations
        If a sample is empty.
    OutOfBounds
        If the samples do not have the same cells, or a count is negative.

    References
    ----------
    .. [1] Apache Commons Math, ``ChiSquareTest.chiSquareDataSetsComparison``.
    .. [2] Press et al. (1992), "Numerical Recipes in C", section 14.3.
    """
    o1, o2 = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    are_rows = o1.ndim == 1 and o1.shape == o2.shape and np.isfinite([o1, o2]).all()
    if not are_rows or (o1 < 0).any() or (o2 < 0).any():
        raise OutOfBounds(
            f"two rows of non-negative counts over the same cells are needed, not {o1.tolist()} and {o2.tolist()}"
        )
    n1, n2 = o1.sum(), o2.sum()
    if n1 == 0 or n2 == 0:
        raise TooFewObservations(f"both samples must hold observations, not {n1:g} and {n2:g}")
    is_observed = o1 + o2 > 0
    df = int(is_observed.sum() if drop_empty else o1.size) - 1
    k = math.sqrt(n1 / n2)  # K of the formula above
    statistic = float(((o1[is_observed] / k - o2[is_observed] * k) ** 2 / (o1[is_observed] + o2[is_observed])).sum())
    return FitTest("two-sample" if drop_empty else "two-sample-df2", statistic, df, _upper_tail(df, statistic))


def exact_multinomial(counts: ArrayLike, shares: ArrayLike, rng: np.random.Generator | None = None) -> FitTest:
    """Test the fit exactly: sum the probability of every outcome with at least the Pearson statistic of `counts`.

    The ``C(n + k - 1, k - 1)`` outcomes are enumerated; above `ENUMERATED_UP_TO` of them, B = `MONTE_CARLO_DRAWS` are
    sampled, and ``p = (r + 1) / (B + 1)`` if r of the samples have as large a statistic. `test` of the result is
    ``"exact-multinomial"`` or ``"monte-carlo-multinomial"``; `statistic` is Pearson's.

    Parameters
    ----------
    counts, shares : array_like, shape (k,)
        As for `chi_squared_fit`, with the same errors.
    rng : Generator, optional
        Needed where the outcomes are too many to enumerate.

    Raises
    ------
    SpecificationError
        If sampling is needed and no `rng` was given.
    """
    observed, expected, refutation = _comparable_counts(counts, shares)
    if refutation is not None:
        return FitTest("exact-multinomial", statistic=None, df=observed.size - 1, p=0.0, reason=refutation)
    n, k = int(observed.sum()), observed.size
    statistic = float(pearson(observed, expected))
    threshold = statistic - TIE_SLACK * (1.0 + statistic)  # equal statistics count in spite of rounding
    outcome_count = math.comb(n + k - 1, k - 1)
    if outcome_count <= ENUMERATED_UP_TO:
        log_p, statistics = every_outcome(n, expected)
        p = min(1.0, float(np.exp(log_p[statistics >= threshold]).sum()))
        return FitTest("exact-multinomial", statistic, df=k - 1, p=p)
    if rng is None:
        raise SpecificationError(
            f"{n} observations over {k} cells have {outcome_count} outcomes, more than the {ENUMERATED_UP_TO} that are "
            "enumerated; pass a random generator to sample them"
        )
    statistics = pearson(rng.multinomial(n, expected / n, MONTE_CARLO_DRAWS), expected)
    p = (int((statistics >= threshold).sum()) + 1) / (MONTE_CARLO_DRAWS + 1)
    return FitTest("monte-carlo-multinomial", statistic, df=k - 1, p=p)


def _comparable_counts(counts: ArrayLike, shares: ArrayLike) -> tuple[Integers, Floats, str | None]:
    """Return the observed and expected counts where either is above 0, and why they refute the shares, or ``None``."""
    observed = as_counts(counts)
    expected = as_shares(shares, observed.size) * observed.sum()
    is_possible = (observed > 0) | (expected > 0)
    observed, expected = observed[is_possible], expected[is_possible]
    impossible_count = int(observed[expected == 0].sum())
    refutation = f"{impossible_count} of {observed.sum()} observations lie where the specification has none"
    return observed, expected, refutation if impossible_count else None


def _upper_tail(df: int, statistic: float) -> float:
    """Return the upper tail of chi-squared at `statistic`; 1 for a single cell (``df=0``), which always fits."""
    return float(special.chdtrc(df, statistic)) if df > 0 else 1.0
