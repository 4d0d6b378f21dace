"""Axis with round tick values, horizontal or vertical."""

import math
from collections.abc import Iterable

from reports.figures.canvas import label, stroke
from reports.markup import Markup

# classes of texts: s small, m centred at x, e ending at x
TICKS = 4
"""Approximate number of steps between ticks of an axis."""


class Axis:
    """Linear scale that maps numbers to positions in SVG's units, and can be drawn as an axis.

    It has ticks at both ends, which are at `start_position` and `end_position`. Vertical axes start at the bottom.
    """

    def __init__(self, values: Iterable[float], start_position: float, end_position: float) -> None:
        numbers = list(values)
        low, high = min(numbers), max(numbers)
        if high - low <= 1e-9 * max(1.0, abs(low), abs(high)):  # all numbers are equal
            half_width = abs(low) / 10 or 0.5  # puts the number in the middle
            low, high = low - half_width, high + half_width
        self.step = round_step((high - low) / TICKS)
        slack = 1e-6  # tolerance: a number that differs from a tick by rounding alone needs no further tick
        first_step, last_step = math.floor(low / self.step + slack), math.ceil(high / self.step - slack)
        self.ticks = [multiple * self.step for multiple in range(first_step, max(last_step, first_step + 1) + 1)]
        self.start_position, self.end_position = start_position, end_position

    def __call__(self, value: float) -> float:
        """Return the position of a number; a number beyond an end of the axis gets the position of that end."""
        first_tick, last_tick = self.ticks[0], self.ticks[-1]
        share = min(1.0, max(0.0, (value - first_tick) / (last_tick - first_tick)))
        return self.start_position + share * (self.end_position - self.start_position)

    def tick_text(self, tick: float) -> str:
        """Format the value of a tick with as many decimals as the distance of two ticks needs."""
        if not 1e-6 <= self.step < 1e7:
            return f"{tick:.1e}"
        decimals = max(0, -math.floor(math.log10(self.step) + 1e-9))  # 1e-9: log10 of 0.001 may be just below -3
        return f"{tick:.{decimals}f}"

    def draw_across(self, y: float, title: str) -> list[Markup]:
        """Draw a horizontal axis below a picture, with its title (texts: m centred at x, e ending at x, s small)."""
        shapes = [stroke("line", (self.start_position, y), (self.end_position, y))]
        for tick in self.ticks:
            x = self(tick)  # position of the tick
            shapes += [stroke("line", (x, y), (x, y + 4)), label(x, y + 16, self.tick_text(tick), "m s")]
        return [*shapes, label(self.end_position, y + 32, title, "e s")]

    def draw_upright(self, start_x: float, end_x: float, title: str) -> list[Markup]:
        """Draw a vertical axis at the left of a picture, with horizontal lines at the ticks, and its title if any."""
        shapes = [
            shape
            for tick in self.ticks  # `self(tick)`: position of the tick
            for shape in (
                stroke("rule", (start_x, self(tick)), (end_x, self(tick))),
                label(start_x - 4, self(tick) + 4, self.tick_text(tick), "e s"),
            )
        ]
        return [*shapes, label(0, self.end_position - 8, title, "s")] if title else shapes


def round_step(minimum: float) -> float:
    """Return the smallest distance between ticks that is at least `minimum` and 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(minimum))
    return next(factor * power for factor in (1, 2, 5, 10) if minimum <= factor * power * (1 + 1e-9))  # 1e-9: rounding
