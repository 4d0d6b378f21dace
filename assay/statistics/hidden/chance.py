"""Test whether chance alone can explain an effect, so that it is no evidence of a bias.

If errors are much larger than a tolerance, most draws of an effect's absolute value exceed it, even if the effect is 0.
So the absolute value proves nothing alone: the interval of the signed draws must exclude 0 too.
"""

import numpy as np

from assay.model import Floats
from assay.statistics.intervals.credible import equal_tailed
from assay.statistics.intervals.worst_block import largest_interval

CONFIDENCE_AGAINST_CHANCE = 0.998
"""Probability of the interval that must exclude 0: high, because each of a component's several effects may err."""


def may_be_chance(samples: Floats, level: float = CONFIDENCE_AGAINST_CHANCE) -> bool:
    """Return whether chance alone may explain an effect: whether an interval of its signed draws includes 0.

    Parameters
    ----------
    samples : ndarray, shape (draws,) or (draws, differences)
        Draws with their signs. Several differences may be chance only if all may be 0 together. Draws of a preference
        that several lists share (`shared_preference`) have no sign: they are 0 if the lists disagree.
    level : float
        Probability of the interval that must exclude 0.
    """
    if samples.ndim == 2 and samples.shape[1] > 1:
        return largest_interval(samples, level).low <= 0
    # not `absolute_value_interval`: for draws that end at 0, it would begin just above 0
    interval = equal_tailed(np.reshape(samples, -1), level)
    return interval.low <= 0 <= interval.high
