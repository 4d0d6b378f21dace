"""Text of table cells, column by column: all numbers of a column have the same number of decimals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from assay.reports import parts
from assay.reports.parts import Part

Writer = Callable[[Sequence[Part], str], tuple[str, ...]]
"""Returns the texts of a column: the value of a key in each row."""

ABSENT = "–"
"""Text of an empty cell."""

DIGITS = 3
"""Significant digits of the largest number of a column, and decimals of numbers around one."""

TINY = 1e-3
"""Columns whose largest number is below this limit are written with powers of ten."""


def rounded(values: Iterable[float]) -> Callable[[float], str]:
    """Return a function that writes the numbers of a column with the decimals that the largest number needs."""
    known = [abs(value) for value in values]
    largest = max(known, default=0.0)
    if known and all(value.is_integer() for value in map(float, known)) and largest < 1e6:
        return lambda value: f"{value:.0f}"
    if not TINY <= largest < 1e9 and largest > 0:
        return lambda value: f"{value:.{DIGITS - 1}e}" if value else "0"
    decimals = max(0, DIGITS - 1 - math.floor(math.log10(largest))) if largest else 0
    if 1 <= largest < 10:
        decimals = DIGITS
    return lambda value: f"{round(value, decimals) + 0.0:.{decimals}f}"


def number(value: float) -> str:
    """Write a single number."""
    return rounded([value])(value)


def p_value(value: float) -> str:
    """Write a p-value; a small one is "<0.001", never 0."""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def texts(rows: Sequence[Part], key: str) -> tuple[str, ...]:
    """Write texts as they are, and truth values as "yes" or "no"."""
    return tuple(_text(row, key) for row in rows)


def _text(row: Part, key: str) -> str:
    value = row.get(key)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return parts.text(row, key) or ABSENT


def numbers(rows: Sequence[Part], key: str) -> tuple[str, ...]:
    """Write numbers; an absent number is replaced by its reason."""
    return _written(rows, key, rounded(one for row in rows if (one := parts.number(row, key)) is not None))


def p_values(rows: Sequence[Part], key: str) -> tuple[str, ...]:
    """Write p-values; an absent p-value is replaced by its reason."""
    return _written(rows, key, p_value)


def _written(rows: Sequence[Part], key: str, write: Callable[[float], str]) -> tuple[str, ...]:
    known = [parts.number(row, key) for row in rows]
    return tuple(_why(row, key) if value is None else write(value) for row, value in zip(rows, known, strict=True))


def _why(row: Part, key: str) -> str:
    """Return the reason why a number is absent, if it is known."""
    return parts.text(parts.mapping(row, key), "why") or ABSENT


def intervals(rows: Sequence[Part], key: str) -> tuple[str, ...]:
    """Write estimates with their intervals; an absent estimate is replaced by its reason."""
    held = [parts.mapping(row, key) for row in rows]
    ends = ("estimate", "low", "high")
    write = rounded(one for each in held for end in ends if (one := parts.number(each, end)) is not None)
    return tuple(_interval(row, key, write) for row in rows)


def _interval(row: Part, key: str, write: Callable[[float], str]) -> str:
    held = parts.mapping(row, key)
    estimate, low, high = (parts.number(held, end) for end in ("estimate", "low", "high"))
    if low is None or high is None:
        return _why(row, key) if estimate is None else write(estimate)
    ends = f"({write(low)} to {write(high)})"
    return ends if estimate is None else f"{write(estimate)} {ends}"


def interval(part: Part, key: str) -> str | None:
    """Write one estimate with its interval; ``None`` where it is absent."""
    written = intervals([part], key)[0]
    return None if written == ABSENT else written


def several(values: Iterable[float]) -> str:
    """Write numbers in one line, with the same number of decimals."""
    known = list(values)
    return ", ".join(map(rounded(known), known)) or ABSENT
