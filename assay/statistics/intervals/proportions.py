"""Wilson's interval of a share."""

from __future__ import annotations

import math

from scipy.special import ndtri

from assay.errors import OutOfBounds, TooFewObservations
from assay.model import Interval


def wilson(successes: int, trials: int, level: float = 0.95) -> Interval:
    """Return the share of successes with Wilson's score interval.

    Parameters
    ----------
    successes, trials : int
        ``0 <= successes <= trials``.
    level : float
        Nominal coverage, in (0, 1).

    Returns
    -------
    Interval
        `estimate` is ``successes / trials``; the limits stay within [0, 1] and are informative
        even when none or all succeed.

    Raises
    ------
    TooFewObservations
        If there were no trials.
    OutOfBounds
        If the counts or the level make no sense.

    References
    ----------
    .. [1] Wilson (1927), "Probable inference, the law of succession, and statistical inference",
       J. Am. Stat. Assoc. 22.
    """
    if not 0 < level < 1:
        raise OutOfBounds(f"the level of an interval lies between 0 and 1, not at {level}", "level")
    if trials == 0:
        raise TooFewObservations("a share of no trials does not exist")
    if not 0 <= successes <= trials:
        raise OutOfBounds(f"successes must lie between 0 and the {trials} trials, not at {successes}")
    share, z = successes / trials, float(ndtri((1 + level) / 2))
    shrink = 1 + z * z / trials
    centre = (share + z * z / (2 * trials)) / shrink
    half = z / shrink * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    # at 0 and 1 the limit equals the estimate; rounding would miss it by 1e-17
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == trials else min(1.0, centre + half)
    return Interval(share, low, high, level)
