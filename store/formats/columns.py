"""Columns of tables: numbers as spreadsheets write them, types, and counts of values."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from assay.errors import UnknownName
from assay.methods.shared.outcome_tables.decision_table import as_text
from assay.model import Field
from store.formats.refusal import Unreadable, shown

DecimalSign = Literal["point", "comma"]

NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
"""Pattern of a number with a decimal point, without signs between thousands."""

INTEGER = re.compile(r"[+-]?(?:0|[1-9]\d{0,14})", re.ASCII)
"""Pattern of an integer without leading zeros (which codes have), and exact in every JSON parser."""

DECIMAL = re.compile(r"[+-]?\d{1,300}\.\d+", re.ASCII)
"""Pattern of a finite number with a decimal point and without an exponent."""

MISSING_MARKS = frozenset({"?", "na", "n/a", "#n/a", "nan", "null", "none", "-", "–", "."})
"""Marks of missing values among numbers, case folded. In a column of text they are text: NA is Namibia."""

_BLANKS = " \u00a0\u202f'’"
# "comma" may lack the integer part, as in ",5"; with a point, that is a `NUMBER` already
_GROUPED: Mapping[DecimalSign, re.Pattern[str]] = {
    "point": re.compile(rf"[+-]?(?:\d+|\d{{1,3}}(?:([,{_BLANKS}])\d{{3}})(?:\1\d{{3}})*)(?:\.\d+)?", re.ASCII),
    "comma": re.compile(rf"[+-]?(?:\d*|\d{{1,3}}(?:([.{_BLANKS}])\d{{3}})(?:\1\d{{3}})*)(?:,\d+)?", re.ASCII),
}
_GROUP_SIGNS_REMOVED = dict.fromkeys(map(ord, f".,{_BLANKS}"))
_DECIMAL_SIGNS: Mapping[DecimalSign, str] = {"point": ".", "comma": ","}

MOST_VALUES = 50
"""Maximum number of different values of a column that are counted."""

MOST_LISTED, LONGEST_LISTED = 20, 100
"""Maximum number and length in characters of values that are listed with their counts."""

LARGEST_EXACT_INTEGER = 2**53
"""Limit above which integers are not exact in every JSON parser."""

DECIMALS: tuple[DecimalSign, ...] = ("point", "comma")


@dataclass(frozen=True)
class Column:
    """Summary of a table's column."""

    name: str
    type: str
    """``integer``, ``number``, ``boolean``, ``text``, or ``empty`` if every cell is empty."""
    missing: int
    """Number of empty cells and marks of missing values."""
    distinct: int | None
    """Number of different values; ``None`` if there are more than `MOST_VALUES`."""
    values: list[dict[str, Any]] | None
    """``{"value", "count"}`` of each value, most frequent first, if the values are few and short; with ``"text"`` where
    a request for an audit names the value by another text, such as ``1`` for 1.0."""
    decimal: DecimalSign = "point"
    """Decimal sign of a CSV file's numbers, ``point`` or ``comma``."""
    marks: list[str] = field(default_factory=list)
    """Texts that mean a missing value, in a column of numbers."""

    def as_json(self) -> dict[str, Any]:
        """Return the summary as a JSON object; `decimal` and `marks` are left out if they have their defaults."""
        defaults = {"decimal": "point", "marks": []}
        return {name: value for name, value in asdict(self).items() if name not in defaults or defaults[name] != value}


def read_cell(cell: Field, column: Mapping[str, Any]) -> Field:
    """Convert a cell to the type in its column's summary (`Column`); ``None`` for a missing value."""
    if isinstance(cell, int | float) and column["type"] in {"integer", "number"}:
        return float(cell) if column["type"] == "number" else cell
    text = cell.strip() if isinstance(cell, str) else as_text(cell)
    if not text or text in column.get("marks", ()):
        return None
    if column["type"] not in {"integer", "number"}:
        return text
    if INTEGER.fullmatch(text):
        numeral: str | None = text
    else:
        numeral = number_text(without_typography(text), column.get("decimal", "point"))
    if numeral is None:
        raise Unreadable(f"{shown(text)} is not a number, unlike the rest of the column", column=str(column["name"]))
    return int(numeral) if column["type"] == "integer" else float(numeral)


class ColumnTally:
    """Accumulator of a column's summary.

    `declared_type` is the column's type if the file declares it. Otherwise cells are strings, or numbers of a
    spreadsheet, and the type is the narrowest that fits all of them, with the decimal sign that fits.
    """

    def __init__(self, name: str, declared_type: str | None = None) -> None:
        self.name, self._declared_type = name, declared_type
        self._missing_count = self._filled_count = 0
        self._mark_counts: dict[str, int] = {}
        self._cell_counts: dict[Any, int] | None = {}
        """Number of each different cell; ``None`` after more than `MOST_VALUES` of them."""
        self._possible_decimals: dict[DecimalSign, bool] = dict.fromkeys(DECIMALS, True)
        """Decimal signs by which all cells so far are numbers, each with whether these numbers are all integers."""
        self._has_groups: dict[DecimalSign, bool] = dict.fromkeys(DECIMALS, False)
        """For each decimal sign, whether a number read with it has signs between thousands."""
        self._has_numbers = self._has_decimal_places = self._has_blank_groups = False
        self._ambiguous_numbers: dict[str, str] = {}
        """The first cell that can be read as two different numbers, by the sign in it (comma or point)."""
        self.padded_count = 0  # cells with blanks around them

    def add(self, cell: Field) -> None:
        """Count one cell, and narrow the type of the column."""
        if self._declared_type is None and isinstance(cell, str):
            text = cell.strip()
            self.padded_count += text != cell
            cell = text
        if cell is None or (self._declared_type is None and cell == ""):
            self._missing_count += 1
            return
        self._filled_count += 1
        if self._declared_type is None and self._possible_decimals:
            self._narrow_decimals(cell)
        if self._cell_counts is not None:
            self._cell_counts[cell] = self._cell_counts.get(cell, 0) + 1
            if len(self._cell_counts) > MOST_VALUES:
                self._cell_counts = None

    def _narrow_decimals(self, cell: Field) -> None:
        """Remove the decimal signs with which a cell is not a number."""
        if isinstance(cell, float):  # a number of a spreadsheet, which does not reveal the decimal sign of texts
            self._has_numbers = self._has_decimal_places = True
            self._possible_decimals = dict.fromkeys(self._possible_decimals, False)  # False: not only integers
            return
        cell = str(cell)
        if INTEGER.fullmatch(cell):  # with either decimal sign; this and the next case are short cuts for most numbers
            self._has_numbers = True
            return
        if "comma" not in self._possible_decimals and DECIMAL.fullmatch(cell):
            self._has_numbers = self._has_decimal_places = True
            self._possible_decimals["point"] = False
            return
        if cell.casefold() in MISSING_MARKS:
            self._mark_counts[cell] = self._mark_counts.get(cell, 0) + 1
            return
        text = without_typography(cell)
        numeral_by_decimal = {decimal: number_text(text, decimal) for decimal in self._possible_decimals}
        for decimal, numeral in numeral_by_decimal.items():
            if numeral is None:
                del self._possible_decimals[decimal]
            else:
                self._possible_decimals[decimal] &= is_integer(numeral)  # whether all are integers
                self._has_groups[decimal] |= len(numeral) < len(text)  # signs between thousands were left out
        numerals = [numeral for numeral in numeral_by_decimal.values() if numeral is not None]
        self._has_numbers |= bool(numerals)
        self._has_blank_groups |= any(blank in text for blank in _BLANKS)
        self._has_decimal_places |= bool(numerals) and not any(is_integer(numeral) for numeral in numerals)
        if len({float(numeral) for numeral in numerals}) > 1:
            self._ambiguous_numbers.setdefault("," if "," in text else ".", cell)

    @property
    def decimal_sign(self) -> DecimalSign | None:
        """The decimal sign with which all cells are numbers; ``None`` for a column of text."""
        # groups of digits with blanks between them may be telephone numbers, unless a cell has decimal places
        if not self._has_numbers or (self._has_blank_groups and not self._has_decimal_places):
            return None
        return next(iter(self._possible_decimals), None)

    @property
    def has_groups(self) -> bool:
        """Whether any number has signs between its thousands, such as ``1,234`` if the decimal sign is the point."""
        return self.decimal_sign is not None and self._has_groups[self.decimal_sign]

    def ambiguous_number(self, *, european: bool) -> str | None:
        """Return a cell whose value depends on the decimal sign (point or comma); ``None`` if there is none.

        A cell such as ``1.234`` counts only in a `european` table, which has semicolons or decimal commas.
        """
        if self.decimal_sign is None or len(self._possible_decimals) < len(DECIMALS):
            return None
        return self._ambiguous_numbers.get(",") or (self._ambiguous_numbers.get(".") if european else None)

    def settle(self, decimal: DecimalSign) -> None:
        """Fix the decimal sign to `decimal`, if all cells of the column are numbers with this sign."""
        if decimal in self._possible_decimals:
            self._possible_decimals = {decimal: self._possible_decimals[decimal]}

    def column(self) -> Column:
        """Return the summary of all cells that were added."""
        column_type = self._column_type()
        is_parsed = self._declared_type is None and column_type in {"integer", "number"}
        marks = list(self._mark_counts) if is_parsed else []  # texts that mean a missing value
        missing = self._missing_count + sum(self._mark_counts[mark] for mark in marks)
        decimal = (self.decimal_sign if is_parsed else None) or "point"
        if self._cell_counts is None:  # too many different cells
            return Column(self.name, column_type, missing, distinct=None, values=None, decimal=decimal, marks=marks)
        summary = {"name": self.name, "type": column_type, "decimal": decimal, "marks": marks}
        count_of: dict[Any, int] = {}
        text_of: dict[Any, str] = {}
        for cell, count in self._cell_counts.items():
            value = read_cell(cell, summary) if self._declared_type is None else cell
            if value is not None:
                count_of[value] = count_of.get(value, 0) + count
                text_of.setdefault(value, as_text(cell))
        values = _value_counts(count_of, text_of)
        return Column(self.name, column_type, missing, len(count_of), values, decimal=decimal, marks=marks)

    def _column_type(self) -> str:
        """Return the narrowest type that fits all cells (`Column.type`)."""
        if self._declared_type is not None:
            return self._declared_type if self._filled_count else "empty"
        if not self._filled_count:
            return "empty"
        if (decimal := self.decimal_sign) is None:
            return "text"
        return "integer" if self._possible_decimals[decimal] else "number"  # true: all cells are integers


def settle_decimals(tallies: Sequence[ColumnTally], decimal: DecimalSign | None, *, european: bool = False) -> None:
    """Choose the decimal sign of each column: `decimal` if it fits all cells, else the first sign that fits them.

    `european` is true if semicolons separate the cells, as in countries where the comma is the decimal sign.

    Raise `UnknownName` if `decimal` is no decimal sign, and `Unreadable` if it is ``None`` and numbers such as
    ``1,234`` can be read in two ways.
    """
    if decimal is not None:
        if decimal not in DECIMALS:  # ignored, it would leave 1,234 to be read as 1234
            raise UnknownName("decimal sign", decimal, DECIMALS, "decimal")
        for tally in tallies:
            tally.settle(decimal)
        return
    european = european or any(tally.decimal_sign == "comma" for tally in tallies)
    for tally in tallies:
        example = tally.ambiguous_number(european=european)
        if example is not None:
            readings = " or ".join(str(number_text(without_typography(example), sign)) for sign in DECIMALS)
            remedy = "state the decimal sign: decimal=point or decimal=comma; in Parquet, store numbers"
            raise Unreadable(f"{shown(example)} may be {readings}; {remedy}", column=tally.name)


def notes_of(tallies: Sequence[ColumnTally], columns: Sequence[Column]) -> Iterator[str]:
    """Yield a sentence for each conversion of a CSV file's cells, such as removed blanks or decimal commas."""
    for tally, column in zip(tallies, columns, strict=True):
        name = shown(tally.name)
        if tally.padded_count:
            yield f"column {name}: blanks around {tally.padded_count:,} values were removed"
        if column.marks:
            yield f"column {name}: {', '.join(map(shown, column.marks))} means a missing value"
        if column.decimal == "comma" and column.type == "number":
            yield f"column {name}: the comma is the decimal sign"
        if tally.has_groups and column.type in {"integer", "number"}:
            yield f"column {name}: signs between thousands were left out"


def _value_counts(count_of: dict[Any, int], text_of: Mapping[Any, str]) -> list[dict[str, Any]] | None:
    """Return `Column.values` (value, count and, unless ``str(value)``, text); ``None`` for many or long values."""
    if len(count_of) > MOST_LISTED or any(isinstance(value, str) and len(value) > LONGEST_LISTED for value in count_of):
        return None
    return [
        {"value": value, "count": count_of[value]} | ({"text": text_of[value]} if text_of[value] != str(value) else {})
        for value in sorted(count_of, key=lambda value: (-count_of[value], str(value)))
    ]


def without_typography(text: str) -> str:
    """Return a text without blanks around it, with a hyphen for the minus sign of Unicode."""
    text = text.strip()
    return "-" + text[1:] if text[:1] == "−" else text


def number_text(text: str, decimal: DecimalSign) -> str | None:
    """Return a number in Python's notation (``1234.5``); ``None`` if the text is not a number, or is a code.

    Codes are digits with a leading zero, or more than 15 digits. `text` is the result of `without_typography`.
    """
    if decimal == "point" and NUMBER.fullmatch(text):
        numeral = text
    elif text and text[-1].isdigit() and _GROUPED[decimal].fullmatch(text):  # such as 1,234.5 or 1.234,5
        integer, decimal_sign, fraction = text.partition(_DECIMAL_SIGNS[decimal])
        numeral = integer.translate(_GROUP_SIGNS_REMOVED) + ("." if decimal_sign else "") + fraction
    else:
        return None
    digits = numeral.lstrip("+-")
    is_code = digits.isdigit() and INTEGER.fullmatch(digits) is None
    return numeral if not is_code and math.isfinite(float(numeral)) else None


def is_integer(numeral: str) -> bool:
    """Return whether a number in Python's notation is an integer: no decimal point and no exponent."""
    return numeral.lstrip("+-").isdigit()
