"""Formatting of table cells by column: all numbers of a column have the same number of decimals."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeGuard

from assay.document import NO_EFFECT, Absent, EffectDocument

Value = str | bool | float | EffectDocument | Absent | None
"""Value of a cell: text, truth value, number, interval, the reason why there is none, or ``None``."""

ABSENT = "–"
"""Text of an empty cell."""

DIGITS = 3
"""Significant digits of the largest number of a column; number of decimals if the largest number is from 1 to 10."""

TINY = 1e-3
"""Columns whose largest number is below this limit are written with powers of ten."""


def number_format(values: Iterable[float]) -> Callable[[float], str]:
    """Return a function that formats the numbers of a column with as many decimals as suit the largest of `values`."""
    magnitudes = [abs(value) for value in values]
    largest = max(magnitudes, default=0.0)
    if magnitudes and all(value.is_integer() for value in map(float, magnitudes)) and largest < 1e6:
        return lambda value: f"{value:,.0f}"  # whole numbers below a million
    if not TINY <= largest < 1e9 and largest > 0:  # too small or too large for plain digits
        return lambda value: f"{value:.{DIGITS - 1}e}" if value else "0"  # one digit is before the point
    decimals = max(0, DIGITS - 1 - math.floor(math.log10(largest))) if largest else 0
    if 1 <= largest < 10:  # three decimals instead of two
        decimals = DIGITS
    return lambda value: f"{round(value, decimals) + 0.0:,.{decimals}f}"  # + 0.0 turns -0.0 into 0.0


def number(value: float | None) -> str:
    """Format a single number; ``None`` becomes a dash."""
    return ABSENT if value is None else number_format([value])(value)


def p_value(value: float) -> str:
    """Format a p-value with three decimals; below .001 it is "<0.001"."""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def column(name: str, values: Sequence[Value]) -> tuple[str, ...]:
    """Format the cells of a column by the type of its values; a name ``p`` or ending in ``_p`` means p-values."""
    if any(isinstance(value, EffectDocument) for value in values):
        return intervals(values)
    if name == "p" or name.endswith("_p"):
        return p_values(values)
    return texts(values) if any(isinstance(value, str | bool) for value in values) else numbers(values)


def filled(columns: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
    """Return the columns (cells by head) that have any cell other than a dash."""
    return {head: column for head, column in columns.items() if set(column) != {ABSENT}}


def texts(values: Sequence[Value]) -> tuple[str, ...]:
    """Format texts (unchanged) and truth values ("yes" or "no"); any other value becomes a dash."""
    return tuple(("yes" if value else "no") if isinstance(value, bool) else _text_or_dash(value) for value in values)


def _text_or_dash(value: Value) -> str:
    return (value if isinstance(value, str) else None) or ABSENT


def numbers(values: Sequence[Value]) -> tuple[str, ...]:
    """Format a column of numbers; an absent number is replaced by its reason or a dash."""
    write = number_format(value for value in values if _is_number(value))
    return tuple(write(value) if _is_number(value) else _reason_or_dash(value) for value in values)


def p_values(values: Sequence[Value]) -> tuple[str, ...]:
    """Format a column of p-values; an absent p-value is replaced by its reason or a dash."""
    return tuple(p_value(value) if _is_number(value) else _reason_or_dash(value) for value in values)


def _is_number(value: Value) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _reason_or_dash(value: Value) -> str:
    return (value.why if isinstance(value, Absent | EffectDocument) else None) or ABSENT


def intervals(values: Sequence[Value]) -> tuple[str, ...]:
    """Format a column of estimates with their intervals; an absent estimate is replaced by its reason or a dash."""
    effects = [value if isinstance(value, EffectDocument) else NO_EFFECT for value in values]
    bounds = (bound for effect in effects for bound in (effect.estimate, effect.low, effect.high))
    write = number_format(bound for bound in bounds if bound is not None)
    return tuple(_interval(effect, write) for effect in effects)


def _interval(effect: EffectDocument, write: Callable[[float], str]) -> str:
    if effect.low is None or effect.high is None:
        return _reason_or_dash(effect) if effect.estimate is None else write(effect.estimate)
    ends = f"({write(effect.low)} to {write(effect.high)})"
    return ends if effect.estimate is None else f"{write(effect.estimate)} {ends}"


def interval(effect: EffectDocument) -> str | None:
    """Format one estimate with its interval; ``None`` if it has neither numbers nor a reason why they are absent."""
    text = intervals([effect])[0]
    return None if text == ABSENT else text
