"""Strict CSV parser (RFC 4180): UTF-8, commas, a header, and rows as long as the header."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import BinaryIO

from assay.bounds import invisible_in
from store.formats.refusal import Unreadable, shown

LONGEST_LINE_BYTES = 4 << 20
LONGEST_CELL = 10_000
MOST_COLUMNS = 1_000
MOST_ROWS = 200_000
LONGEST_NAME = 200

NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)

SIGNATURES = {
    b"PK\x03\x04": "a ZIP archive (a spreadsheet or npz); save it as CSV",
    b"PAR1": "Parquet; send it as application/vnd.apache.parquet",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet; save it as CSV",
    b"%PDF": "PDF; save the table as CSV",
    b"\x1f\x8b": "compressed; send it unpacked",
    b"\xff\xfe": "UTF-16; save it as UTF-8",
    b"\xfe\xff": "UTF-16; save it as UTF-8",
}
"""First bytes of other file formats, with the remedy."""

_STARTERS = "=+-@\t\r＝＋－＠"
_MAY_BE_FORMULA = re.compile(f'(?:^|[,"])[ ]*[{re.escape(_STARTERS)}]')


class CsvRows:
    """The rows of a CSV file, read from its current position. `columns` are the names in its first line.

    Raises
    ------
    Unreadable
        On construction for an invalid header, during iteration for an invalid row.
    """

    def __init__(self, file: BinaryIO) -> None:
        refuse_other_formats(file)
        self._lines = _Lines(file)
        self._reader = csv.reader(self._lines, strict=True)
        header = next(self._read(), None)
        if header is None:
            raise Unreadable("the file is empty; the first line must name the columns")
        self.columns = tuple(header)
        check_names(self.columns)
        refuse_formulas(self.columns, self.columns, 1)

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the number of each row's last line, and the row."""
        rows = 0
        for row in self._read():
            if not row:
                continue  # skip empty lines, which many programs write at the end
            line = self._reader.line_num
            if len(row) != len(self.columns):
                raise Unreadable(f"{len(row)} cells, and the header has {len(self.columns)}", line=line)
            if (rows := rows + 1) > MOST_ROWS:
                raise Unreadable(f"more than {MOST_ROWS:,} rows; send a random part of them", line=line)
            if self._lines.may_have_formula:
                refuse_formulas(row, self.columns, line)
            for cell, name in zip(row, self.columns, strict=True):
                if len(cell) > LONGEST_CELL:
                    long = f"a cell of {len(cell):,} characters; at most {LONGEST_CELL:,}"
                    raise Unreadable(long, line=line, column=name)
            self._lines.may_have_formula = False
            yield line, row

    def _read(self) -> Iterator[list[str]]:
        while True:
            try:
                row = next(self._reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise Unreadable(f"this is not CSV ({error})", line=self._reader.line_num or 1) from None
            yield row


class _Lines:
    """Lines of a file as text; sets a flag for lines that may contain spreadsheet formulas."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._number = file, 0
        self.may_have_formula = False

    def __iter__(self) -> Iterator[str]:
        while raw := self._file.readline(LONGEST_LINE_BYTES + 1):
            self._number += 1
            text = decode_line(raw, self._number)
            self.may_have_formula = self.may_have_formula or _MAY_BE_FORMULA.search(text) is not None
            yield text


def decode_line(raw: bytes, number: int) -> str:
    """Decode a line of UTF-8; raise `Unreadable` if it is invalid, too long or contains NUL."""
    if len(raw) > LONGEST_LINE_BYTES:
        raise Unreadable(f"a line of more than {LONGEST_LINE_BYTES:,} bytes", line=number)
    try:
        text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        wrong = f"byte {error.start + 1} of the line is not UTF-8; save the file as UTF-8"
        raise Unreadable(wrong, line=number) from None
    if "\0" in text:
        raise Unreadable("contains the character NUL; this is not a text file", line=number)
    return text


def refuse_other_formats(file: BinaryIO) -> None:
    """Raise `Unreadable` for common binary formats, by their first bytes."""
    start = file.read(4)
    file.seek(-len(start), 1)
    for signature, what in SIGNATURES.items():
        if start.startswith(signature):
            raise Unreadable(f"this is {what}")


def check_names(columns: tuple[str, ...]) -> None:
    """Raise `Unreadable` if a column has no name, or two have the same."""
    if len(columns) > MOST_COLUMNS:
        raise Unreadable(f"{len(columns):,} columns; at most {MOST_COLUMNS:,}", line=1)
    if len(columns) == 1 and (other := next((mark for mark in ";\t|" if mark in columns[0]), None)):
        raise Unreadable(f"the columns are separated by {other!r}; separate them by commas", line=1)
    for place, name in enumerate(columns):
        if not name.strip() or len(name) > LONGEST_NAME:
            raise Unreadable(f"column {place + 1} needs a name of 1 to {LONGEST_NAME} characters", line=1)
        if wrong := invisible_in(name):
            raise Unreadable(f"the name of column {place + 1} holds the invisible character {wrong}", line=1)
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise Unreadable("two columns have this name", line=1, column=twice)


def refuse_formulas(cells: list[str] | tuple[str, ...], columns: tuple[str, ...], line: int) -> None:
    """Raise `Unreadable` for spreadsheet formulas, which could harm readers of an exported table."""
    for cell, name in zip(cells, columns, strict=True):
        if is_formula(cell):
            raise Unreadable(
                f"{shown(cell)} is a spreadsheet formula; send its value, or text that does not start with = + - @",
                line=line,
                column=name,
            )


def is_formula(cell: str) -> bool:
    """Whether a spreadsheet would run a text as a formula: ``=1+1``, ``@SUM(…)``, ``-cmd|…``; not ``-1.5``."""
    if cell[:1] in {"\t", "\r"}:
        return True
    bare = cell.strip(" ")
    return bare[:1] in set(_STARTERS) and len(bare) > 1 and NUMBER.fullmatch(bare) is None
