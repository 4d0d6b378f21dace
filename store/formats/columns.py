"""Column summaries of tables: types, and counts of values."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass
from typing import Any

from assay.model import Field
from store.formats.csv_rows import NUMBER

MOST_VALUES = 50
"""Maximum number of distinct values that are counted."""

MOST_LISTED, LONGEST_LISTED = 20, 100
"""Maximum number and length in characters of values that are listed with their counts."""

INTEGER = re.compile(r"[+-]?(?:0|[1-9]\d{0,14})", re.ASCII)
"""Integers without a leading zero (as codes have) and with at most 15 digits (exact in every JSON parser)."""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    `type` is ``integer``, ``number``, ``boolean``, ``text``, or ``empty`` if every cell is empty. `missing` counts
    empty cells, `distinct` different values (``None`` for more than `MOST_VALUES`). `values` has ``{"value",
    "count"}`` of each value, most frequent first, if the values are few and short.
    """

    name: str
    type: str
    missing: int
    distinct: int | None
    values: list[dict[str, Any]] | None

    def as_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        return asdict(self)


def read_cell(text: str, kind: str) -> Field:
    """Convert a CSV cell to its column's type; an empty cell is ``None``."""
    if not text:
        return None
    if kind == "integer":
        return int(text)
    return float(text) if kind == "number" else text


class ColumnTally:
    """Accumulator of a column's summary.

    `kind` is the column's type if the file declares it. Otherwise cells are strings, and the type is the narrowest that
    fits all of them.
    """

    def __init__(self, name: str, kind: str | None = None) -> None:
        self.name, self._declared = name, kind
        self._kind = kind or "empty"
        self._missing = self._seen = 0
        self._counts: dict[Any, int] | None = {}

    def add(self, cell: Field) -> None:
        """Count one cell."""
        if cell is None or cell == "":
            self._missing += 1
            return
        self._seen += 1
        if self._declared is None and self._kind != "text":
            self._kind = _wider(self._kind, str(cell))
        if self._counts is not None:
            self._counts[cell] = self._counts.get(cell, 0) + 1
            if len(self._counts) > MOST_VALUES:
                self._counts = None

    def column(self) -> Column:
        """Return the summary of the column."""
        kind = self._kind if self._seen else "empty"
        if self._counts is None:
            return Column(self.name, kind, self._missing, None, None)
        counts: dict[Any, int] = {}
        for cell, count in self._counts.items():
            value = read_cell(cell, kind) if self._declared is None else cell
            counts[value] = counts.get(value, 0) + count
        return Column(self.name, kind, self._missing, len(counts), _listed(counts))


def _listed(counts: dict[Any, int]) -> list[dict[str, Any]] | None:
    if len(counts) > MOST_LISTED or any(isinstance(each, str) and len(each) > LONGEST_LISTED for each in counts):
        return None
    order = sorted(counts.items(), key=lambda pair: (-pair[1], str(pair[0])))
    return [{"value": value, "count": count} for value, count in order]


def _wider(kind: str, text: str) -> str:
    """Return the narrowest column type that includes both the type so far and a text."""
    if kind in {"empty", "integer"} and INTEGER.fullmatch(text):
        return "integer"
    if NUMBER.fullmatch(text) and not _is_code(text) and math.isfinite(float(text)):
        return "number"
    return "text"


def _is_code(text: str) -> bool:
    """Whether digits are a code rather than a number: a leading zero, or more than 15 digits."""
    digits = text.lstrip("+-")
    return digits.isdigit() and (len(digits) > 15 or (digits[0] == "0" and len(digits) > 1))
