"""What a table's columns hold: numbers if all their cells are, and which values if they are few."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass
from typing import Any

from assay.model import Field
from store.formats.csv_rows import NUMBER

MOST_VALUES = 50
"""Distinct values that are counted; a column with more has many."""

MOST_LISTED, LONGEST_LISTED = 20, 100
"""Values of a column that are listed with their counts, and characters of such a value."""

INTEGER = re.compile(r"[+-]?(?:0|[1-9]\d{0,14})", re.ASCII)
"""No leading zero (which is how codes are written), and few enough digits for every reader of JSON."""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : str
    type : str
        ``integer``, ``number``, ``boolean``, ``text``, or ``empty`` where every cell is.
    missing : int
        Cells that are empty.
    distinct : int or None
        Distinct values; ``None`` for more than `MOST_VALUES`.
    values : list of dict, or None
        ``{"value", "count"}`` for each, commonest first, where they are few and short.
    """

    name: str
    type: str
    missing: int
    distinct: int | None
    values: list[dict[str, Any]] | None

    def as_json(self) -> dict[str, Any]:
        """Write it down."""
        return asdict(self)


def read_cell(text: str, kind: str) -> Field:
    """Read a cell of a CSV file as its column's type has it; an empty one is ``None``."""
    if not text:
        return None
    if kind == "integer":
        return int(text)
    return float(text) if kind == "number" else text


class ColumnTally:
    """Watches the cells of one column go by.

    Parameters
    ----------
    name : str
    kind : str, optional
        The column's type, where the file itself declares it. Otherwise cells are texts, and the
        type is the narrowest that takes all of them.
    """

    def __init__(self, name: str, kind: str | None = None) -> None:
        self.name, self._declared = name, kind
        self._kind = kind or "empty"
        self._missing = self._seen = 0
        self._counts: dict[Any, int] | None = {}

    def see(self, cell: Field) -> None:
        """Take note of one cell."""
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
        """Say what the column holds."""
        kind = self._kind if self._seen else "empty"
        if self._counts is None:
            return Column(self.name, kind, self._missing, None, None)
        read: dict[Any, int] = {}
        for cell, count in self._counts.items():
            value = read_cell(cell, kind) if self._declared is None else cell
            read[value] = read.get(value, 0) + count
        return Column(self.name, kind, self._missing, len(read), _listed(read))


def _listed(counts: dict[Any, int]) -> list[dict[str, Any]] | None:
    if len(counts) > MOST_LISTED or any(isinstance(each, str) and len(each) > LONGEST_LISTED for each in counts):
        return None
    order = sorted(counts.items(), key=lambda pair: (-pair[1], str(pair[0])))
    return [{"value": value, "count": count} for value, count in order]


def _wider(kind: str, text: str) -> str:
    """Widen a type until it takes a text."""
    if kind in {"empty", "integer"} and INTEGER.fullmatch(text):
        return "integer"
    if NUMBER.fullmatch(text) and not _is_code(text) and math.isfinite(float(text)):
        return "number"
    return "text"


def _is_code(text: str) -> bool:
    """Whether digits are a name rather than a number: with a leading zero, or too many to be exact."""
    digits = text.lstrip("+-")
    return digits.isdigit() and (len(digits) > 15 or (digits[0] == "0" and len(digits) > 1))
