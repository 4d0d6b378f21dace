"""CSV parser: a header, and rows as long as the header, in the forms that spreadsheets and data frames write."""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from assay.bounds import invisible_in
from store.formats.columns import NUMBER
from store.formats.csv_dialect import lines_of, recognise
from store.formats.refusal import Unreadable, shown

LONGEST_CELL = 10_000
MOST_COLUMNS = 1_000
MOST_ROWS = 1_000_000
LONGEST_NAME = 200


_STARTERS = frozenset("=+-@＝＋－＠")
SUSPICIOUS = _STARTERS | frozenset(" \t\r")
"""First characters of cells that may be formulas."""

_PLAIN = re.compile(r"[+\-＋－][\d\s().,/%-]*", re.ASCII)
"""Numbers as people write them: ``+47 (22) 33``, ``-5%``."""

_OPERATORS = re.compile(r"[(|!=*^&+]")


class CsvRows:
    """The rows of a CSV file, read from its current position.

    Encoding (UTF-8, UTF-16 with its mark, or `encoding`), separator (comma, semicolon, tab, ``|``, or as a first line
    ``sep=…`` says) and blanks are recognised by the beginning of the file. A first column that has no name and counts
    the rows, as data frames write it, is left out.

    Attributes
    ----------
    columns : tuple of str
        Names in the first line, without blanks around them and in Unicode form NFC.
    dialect : Dialect
        The recognised form.
    counts_rows : bool
        Whether the first column was left out, because it counts the rows.

    Raises
    ------
    Unreadable
        On construction for an invalid header, during iteration for an invalid row.
    """

    def __init__(self, file: BinaryIO, encoding: str | None = None) -> None:
        self.dialect = recognise(file, encoding)
        lines = lines_of(file, self.dialect.encoding)
        self._line_offset = 0
        if self.dialect.has_separator_line:
            next(lines)
            self._line_offset = 1
        self._reader = csv.reader(
            lines, delimiter=self.dialect.separator, skipinitialspace=self.dialect.skips_blanks, strict=True
        )
        header = next((row for row in self._read() if row), None)
        if header is None:
            raise Unreadable("the file is empty; the first line must name the columns")
        self._header = header
        self.counts_rows = len(header) > 1 and not header[0].strip()
        names = header[1:] if self.counts_rows else header
        self.columns = tuple(unicodedata.normalize("NFC", name.strip()) for name in names)
        check_names(self.columns)
        refuse_formulas(self.columns, self.columns, self._line())

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the number of each row's last line, and the row."""
        rows, first = 0, ""
        for cells in self._read():
            if not cells:
                continue  # skip empty lines, which many programs write at the end
            line = self._line()
            if len(cells) != len(self._header):
                raise Unreadable(f"{len(cells)} cells, and the header has {len(self._header)}", line=line)
            if cells == self._header:
                raise Unreadable("repeats the header; send files one by one, or join them without it", line=line)
            rows += 1
            if rows > MOST_ROWS:
                raise Unreadable(f"more than {MOST_ROWS:,} rows; send a random part of them", line=line)
            row = cells
            if self.counts_rows:
                first = cells[0].strip() if rows == 1 else first
                if first not in {"0", "1"} or cells[0].strip() != str(int(first) + rows - 1):
                    raise Unreadable(f"column 1 needs a name of 1 to {LONGEST_NAME} characters", line=1)
                row = cells[1:]
            refuse_formulas(row, self.columns, line)
            for cell, name in zip(row, self.columns, strict=True):
                if len(cell) > LONGEST_CELL:
                    long = f"a cell of {len(cell):,} characters; at most {LONGEST_CELL:,}"
                    raise Unreadable(long, line=line, column=name)
            yield line, row

    def notes(self) -> Iterator[str]:
        """Yield sentences that say how the file was read, where it is not in the usual form."""
        if self.dialect.separator != ",":
            yield f"the columns are separated by {self.dialect.separator!r}"
        if self.dialect.encoding != "utf-8":
            yield f"the encoding is {self.dialect.encoding}"
        if self.counts_rows:
            yield "the first column, which has no name and counts the rows, was left out"

    def _line(self) -> int:
        return self._reader.line_num + self._line_offset

    def _read(self) -> Iterator[list[str]]:
        while True:
            try:
                row = next(self._reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise Unreadable(f"this is not CSV ({error})", line=self._line() or 1) from None
            yield row


def check_names(columns: Sequence[str]) -> None:
    """Raise `Unreadable` if a column has no name, or two have the same, but for invisible characters."""
    if len(columns) > MOST_COLUMNS:
        raise Unreadable(f"{len(columns):,} columns; at most {MOST_COLUMNS:,}", line=1)
    for number, name in enumerate(columns, 1):
        if not name.strip() or len(name) > LONGEST_NAME:
            raise Unreadable(f"column {number} needs a name of 1 to {LONGEST_NAME} characters", line=1)
    visible_names: set[str] = set()
    for name in columns:
        visible = "".join(
            character
            for character in unicodedata.normalize("NFC", name.strip())
            if unicodedata.category(character) != "Cf"
        )
        if visible in visible_names:
            raise Unreadable("two columns have this name", line=1, column=visible)
        visible_names.add(visible)
    for number, name in enumerate(columns, 1):
        if wrong := invisible_in(name):
            raise Unreadable(f"the name of column {number} holds the invisible character {wrong}", line=1)


def refuse_formulas(cells: Sequence[str], columns: Sequence[str], line: int) -> None:
    """Raise `Unreadable` for spreadsheet formulas, which could harm readers of an exported table."""
    for cell, name in zip(cells, columns, strict=True):
        if cell[:1] in SUSPICIOUS and is_formula(cell):
            raise Unreadable(
                f"{shown(cell)} is a spreadsheet formula; send its value, or text that does not start with =",
                line=line,
                column=name,
            )


def is_formula(cell: str) -> bool:
    """Return whether a spreadsheet would run a text as a formula: ``=1+1`` and ``@SUM(…)``, but not ``+47 22 33``."""
    if cell[:1] in {"\t", "\r"}:
        return True
    bare = cell.strip(" ")
    if len(bare) < 2 or bare[0] not in _STARTERS:
        return False
    if bare[0] in "=＝":
        return True
    return _PLAIN.fullmatch(bare) is None and NUMBER.fullmatch(bare) is None and _OPERATORS.search(bare, 1) is not None
