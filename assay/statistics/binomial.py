"""Exact statements on one share: Clopper and Pearson's interval, and the test of an even split."""

from __future__ import annotations

from scipy.special import bdtr, betaincinv

from assay.errors import OutOfBounds, TooFewObservations
from assay.model import Interval


def clopper_pearson(successes: int, trials: int, level: float = 0.95) -> Interval:
    """Give the share of successes with the interval that never covers too little, and mostly too much.

    Parameters
    ----------
    successes, trials : int
        ``0 <= successes <= trials``.
    level : float
        Coverage it has at least, in (0, 1).

    Returns
    -------
    Interval
        `estimate` is ``successes / trials``.

    Raises
    ------
    TooFewObservations
        If there were no trials.
    OutOfBounds
        If the counts or the level make no sense.

    References
    ----------
    .. [1] Clopper & Pearson (1934), "The use of confidence or fiducial limits illustrated in the case of the
       binomial", Biometrika 26.
    """
    if not 0 < level < 1:
        raise OutOfBounds(f"the level of an interval lies between 0 and 1, not at {level}", "level")
    _check(successes, trials)
    failures, tail = trials - successes, (1 - level) / 2
    low = 0.0 if successes == 0 else float(betaincinv(successes, failures + 1, tail))
    high = 1.0 if failures == 0 else float(betaincinv(successes + 1, failures, 1 - tail))
    return Interval(successes / trials, low, high, level)


def sign_test(successes: int, failures: int) -> float:
    """Give the probability of a split at least as uneven if both sides were as likely: two-sided and exact.

    Ties have no sign and are left out by the caller.

    Parameters
    ----------
    successes, failures : int
        Trials that went either way.

    Raises
    ------
    TooFewObservations
        If there were none.
    OutOfBounds
        If a count is negative.
    """
    if failures < 0:
        raise OutOfBounds(f"a count is not negative, as {failures} is")
    trials = successes + failures
    _check(successes, trials)
    return min(1.0, 2 * float(bdtr(min(successes, failures), trials, 0.5)))


def _check(successes: int, trials: int) -> None:
    if trials == 0:
        raise TooFewObservations("a share of no trials does not exist")
    if not 0 <= successes <= trials:
        raise OutOfBounds(f"successes must lie between 0 and the {trials} trials, not at {successes}")
