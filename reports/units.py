"""Units and formats of effects for readers without knowledge of statistics."""

from collections.abc import Callable
from dataclasses import dataclass

FEWER_THAN_1, MORE_THAN_99 = "fewer than 1", "more than 99"

LESS_THAN_TENTH = "less than 0.1"
"""Format of an amount above 0 that is too small to matter to a reader."""

ENDS = {FEWER_THAN_1: ("0", "1"), LESS_THAN_TENTH: ("0", "0.1"), MORE_THAN_99: ("99", "100")}
"""Numbers in place of these formats at the low and at the high end of an interval."""


def hundredths(share: float) -> str:
    """Format a share in [0, 1] as a count out of a hundred: "30", "fewer than 1", "more than 99"."""
    count = round(100 * share)
    if count == 100 and share < 1:
        return MORE_THAN_99
    return str(count) if count or not share else FEWER_THAN_1


def amount(size: float) -> str:
    """Format a number with two significant digits, or without decimals from 100 up: "0.0091", "4.9", "1,142"."""
    if size >= 100:
        return f"{size:,.0f}"
    return f"{float(f'{size:.2g}'):.9f}".rstrip("0").rstrip(".")  # f: without an exponent


def points(share: float) -> str:
    """Format a share in [0, 1] as a number of points out of 100: "9.8", "less than 0.1"."""
    return LESS_THAN_TENTH if 0 < share < 0.001 else amount(100 * share)


@dataclass(frozen=True)
class Unit:
    """Unit of a service's output: `write` formats the size of an effect, and `name` follows the size."""

    write: Callable[[float], str]
    name: str = ""

    def of(self, size: float, low: float | None = None, high: float | None = None) -> str:
        """Format a size with its unit, and with the interval from `low` to `high` if there is one."""
        text = f"{self.write(size)}{self.name}"
        if low is None or high is None or self.write(low) == self.write(high):
            return text
        low_text, high_text = self.write(low), self.write(high)  # such as "fewer than 1": an end must be a number
        low_text, high_text = ENDS.get(low_text, (low_text,))[0], ENDS.get(high_text, (high_text,))[-1]
        return f"{text} (probably between {low_text} and {high_text})"

    def limit(self, size: float) -> str:
        """Format a limit with its unit; a share is not rounded, because 2 of 100 may be beyond a limit of 1.5."""
        return f"{100 * size:g}{self.name}" if self.write is hundredths else self.of(size)


HUNDREDTHS = Unit(hundredths, " of 100")


def of_hundred(*_: object) -> Unit:
    """Return the unit of effects that are shares: a count out of a hundred."""
    return HUNDREDTHS
