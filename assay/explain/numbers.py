"""Percentages that are honest about their rounding."""

from __future__ import annotations

import math


def share(part: float) -> str:
    """Write a share of what was counted as a percentage: 100 % and 0 % only if it is all or nothing."""
    if 0 < part < 0.005:
        return "<1 %"
    if 0.995 <= part < 1:
        return ">99 %"
    return f"{part * 100:.0f} %"


def chance(probability: float) -> str:
    """Write a probability as a percentage that never looks surer than it is.

    From one half up it is rounded down (.9496 is 94 %, which is short of 95 %), and a finite
    number of draws never makes 0 % or 100 %.
    """
    if probability < 0.005:
        return "<1 %"
    if probability >= 0.995:
        return ">99 %"
    percent = round(probability * 100, 6)  # .29 * 100 is 28.999999999999996
    return f"{math.floor(percent) if percent >= 50 else round(percent)} %"


def level(confidence: float) -> str:
    """Write a confidence somebody asked for, exactly: 95 %, 99.9 %."""
    return f"{round(confidence * 100, 6):g} %"


def signed(difference: float) -> str:
    """Write a difference in a service's own unit with its sign and three digits: +0.0152, -249, +1,142."""
    return f"{difference:+,.0f}" if 100 <= abs(difference) < 1e9 else f"{difference:+#.3g}"
