"""Numbers as spreadsheets write them: decimal point or comma, groups of thousands, and marks of missing values."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Literal

Decimal = Literal["point", "comma"]

NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
"""A number without groups of thousands."""

INTEGER = re.compile(r"[+-]?(?:0|[1-9]\d{0,14})", re.ASCII)
"""An integer that is no code: without a leading zero, and exact in every JSON parser."""

DECIMAL = re.compile(r"[+-]?\d{1,300}\.\d+", re.ASCII)
"""A finite number with a decimal point."""

MISSING_MARKS = frozenset({"?", "na", "n/a", "#n/a", "nan", "null", "none", "-", "–", "."})
"""Marks of missing values among numbers, case folded. In a column of text they are text: NA is Namibia."""

_BLANKS = " \u00a0\u202f'’"
_GROUPED: Mapping[Decimal, re.Pattern[str]] = {
    "point": re.compile(rf"[+-]?(?:\d+|\d{{1,3}}(?:([,{_BLANKS}])\d{{3}})(?:\1\d{{3}})*)(?:\.\d+)?", re.ASCII),
    "comma": re.compile(rf"[+-]?(?:\d*|\d{{1,3}}(?:([.{_BLANKS}])\d{{3}})(?:\1\d{{3}})*)(?:,\d+)?", re.ASCII),
}
_WITHOUT_GROUPS = dict.fromkeys(map(ord, f".,{_BLANKS}"))
_MARK: Mapping[Decimal, str] = {"point": ".", "comma": ","}


def without_typography(text: str) -> str:
    """Return a text without blanks around it, with a hyphen for the minus sign of Unicode."""
    text = text.strip()
    return "-" + text[1:] if text[:1] == "−" else text


def number_text(text: str, decimal: Decimal) -> str | None:
    """Return a numeral in the form of Python (``1234.5``), or ``None`` for another text or a code.

    Codes are digits with a leading zero, or more than 15 digits. `text` is the result of `without_typography`.
    """
    if decimal == "point" and NUMBER.fullmatch(text):
        plain = text
    elif text and text[-1].isdigit() and _GROUPED[decimal].fullmatch(text):
        integer, mark, fraction = text.partition(_MARK[decimal])
        plain = integer.translate(_WITHOUT_GROUPS) + ("." if mark else "") + fraction
    else:
        return None
    return plain if not is_code(plain) and math.isfinite(float(plain)) else None


def grouped_by_blanks(text: str) -> bool:
    """Return whether blanks or apostrophes separate groups of digits, as they also do in telephone numbers."""
    return any(blank in text for blank in _BLANKS)


def is_integer(plain: str) -> bool:
    """Return whether a numeral, as Python writes it, is an integer: no decimal point and no exponent."""
    return plain.lstrip("+-").isdigit()


def is_code(text: str) -> bool:
    """Whether digits are a code rather than a number."""
    digits = text.lstrip("+-")
    return digits.isdigit() and INTEGER.fullmatch(digits) is None
