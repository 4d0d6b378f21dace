"""Parquet parser: flat columns of numbers, booleans and text, read in batches of rows.

Needs the package pyarrow, which is imported only when a Parquet file is read.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, BinaryIO

from assay.model import Field
from store.formats.columns import LARGEST_EXACT_INTEGER
from store.formats.csv_rows import LONGEST_CELL, MOST_ROWS, check_names, is_formula
from store.formats.refusal import NotInstalled, Unreadable, shown

MOST_UNPACKED_BYTES = 512 << 20
"""Maximum unpacked size of a file in bytes, as the file declares it."""

BATCH_ROWS = 512

_ROW_LABELS = re.compile(r"__index_level_\d+__")
"""Pattern of the names that pandas gives to columns of row labels."""


class ParquetRows:
    """The rows of a seekable Parquet file.

    `columns` maps names to types: ``integer``, ``number``, ``boolean`` or ``text``. `left_out` names the columns in
    which data frames write the labels of their rows. `Unreadable` is raised on construction for an invalid file, during
    iteration for an invalid cell; `NotInstalled` if pyarrow is missing.
    """

    def __init__(self, file: BinaryIO) -> None:
        try:
            import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
            from pyarrow import parquet
        except ImportError:
            raise NotInstalled("reading Parquet", package="pyarrow", extra="real") from None
        self._arrow = pa
        self._arrow_errors = (pa.ArrowException, OSError, ValueError, OverflowError, NotImplementedError)
        try:
            self._file = parquet.ParquetFile(file, memory_map=False, pre_buffer=False)
            schema = self._file.schema_arrow
        except self._arrow_errors:
            raise Unreadable("this is not a Parquet file, or it is damaged") from None
        _check_size(self._file.metadata)
        self.left_out = tuple(name for name in schema.names if _ROW_LABELS.fullmatch(name))  # added by pandas
        fields = [field for field in schema if field.name not in self.left_out]
        check_names(tuple(field.name for field in fields))
        self.columns = {field.name: _column_type(field, pa.types) for field in fields}
        if formula := next((name for name in self.columns if is_formula(name)), None):
            raise Unreadable(f"{shown(formula)} is a spreadsheet formula; rename the column", line=1)

    def __iter__(self) -> Iterator[tuple[int, list[Field]]]:
        """Yield each row with its number, from 1."""
        converters = [(name, _CONVERTERS[column_type]) for name, column_type in self.columns.items()]
        first_number = 1
        for batch in self._read_batches():
            columns = [self._cells_of_column(batch.column(name), first_number, name) for name in self.columns]
            for number, cells in enumerate(zip(*columns, strict=True), first_number):
                cells_to_convert = zip(cells, converters, strict=True)
                yield number, [_read_cell(cell, convert, number, name) for cell, (name, convert) in cells_to_convert]
            first_number += batch.num_rows

    def notes(self) -> Iterator[str]:
        """Yield sentences that name the columns of the file that were left out."""
        yield from (f"the column {shown(name)} of row labels was left out" for name in self.left_out)

    def _read_batches(self) -> Iterator[Any]:
        """Yield the rows in batches of `BATCH_ROWS`; raise `Unreadable` if the file is damaged."""
        batches = self._file.iter_batches(batch_size=BATCH_ROWS, columns=list(self.columns))
        try:
            yield from batches
        except self._arrow_errors:
            raise Unreadable("the Parquet file is damaged: its content does not fit its description") from None

    def _cells_of_column(self, column: Any, first_number: int, name: str) -> list[Any]:
        """Return the cells of a column; `first_number` is the number of the row of the first cell."""
        try:
            column.validate(full=True)
        except UnicodeDecodeError:
            pass  # the row is named below
        except self._arrow_errors as error:
            if "UTF8" not in str(error):  # otherwise a text is not UTF-8, and its row is named below
                raise Unreadable("the values do not fit the type of the column", column=name) from None
        try:
            return self._to_python(column)
        except self._arrow_errors:
            pass  # below, each row is tried alone, so that the error can name it
        for index in range(len(column)):
            try:
                self._to_python(column.slice(index, 1))
            except UnicodeDecodeError:
                raise Unreadable("a text is not UTF-8", line=first_number + index, column=name) from None
            except self._arrow_errors:
                message = f"a value of the type {column.type} has no equivalent in Python; send it as text"
                raise Unreadable(message, line=first_number + index, column=name) from None
        raise Unreadable("the Parquet file is damaged: its content does not fit its description", column=name)

    def _to_python(self, column: Any) -> list[Any]:
        """Return the cells of a column; times that are not whole microseconds become text in ISO 8601."""
        pa = self._arrow
        if getattr(column.type, "unit", None) != "ns" or pa.types.is_duration(column.type):
            return list(column.to_pylist())
        type_in_us = pa.timestamp("us", column.type.tz) if pa.types.is_timestamp(column.type) else pa.time64("us")
        nanoseconds = column.cast(pa.int64()).to_pylist()
        # rounded down here, because Arrow rounds times before 1970 up
        timestamps = pa.array([None if ns is None else ns // 1000 for ns in nanoseconds], pa.int64()).cast(type_in_us)
        return [
            timestamp if not ns or ns % 1000 == 0 else _with_nanoseconds(timestamp, ns % 1000)
            for timestamp, ns in zip(timestamps.to_pylist(), nanoseconds, strict=True)
        ]


def _with_nanoseconds(moment: datetime | time, nanoseconds: int) -> str:
    """Return a time in ISO 8601 with nine decimal places; `nanoseconds`, 0 to 999, are the last three of them."""
    text = moment.isoformat(timespec="microseconds")
    end = text.index(".") + 7  # the point and six digits
    return f"{text[:end]}{nanoseconds:03}{text[end:]}"


def _check_size(metadata: Any) -> None:
    """Raise `Unreadable` if the file is too large when unpacked, according to its metadata."""
    if metadata.num_rows > MOST_ROWS:
        raise Unreadable(f"{metadata.num_rows:,} rows; at most {MOST_ROWS:,}; send a random part of them")
    unpacked_bytes = sum(metadata.row_group(index).total_byte_size for index in range(metadata.num_row_groups))
    if not 0 <= unpacked_bytes <= MOST_UNPACKED_BYTES:
        problem = f"the parquet file unpacks to {unpacked_bytes:,} bytes; at most {MOST_UNPACKED_BYTES:,} are read"
        raise Unreadable(f"{problem}: split the table")


def _column_type(field: Any, types: Any) -> str:
    """Return the type of a column by its Arrow type; for a dictionary-coded column, by the Arrow type of its values."""
    arrow_type = field.type.value_type if types.is_dictionary(field.type) else field.type
    for column_type, type_names in _ACCEPTED.items():
        if any(getattr(types, f"is_{type_name}")(arrow_type) for type_name in type_names):
            return column_type
    raise Unreadable(f"the type {field.type} is not supported; use numbers, booleans or text", column=field.name)


_ACCEPTED: Mapping[str, tuple[str, ...]] = {
    "boolean": ("boolean",),
    "integer": ("integer",),
    "number": ("floating", "decimal"),
    "text": ("string", "large_string", "string_view", "date", "timestamp", "time", "null"),
}
"""Arrow types (``pyarrow.types.is_…``) by column type; dates and times become ISO 8601 text."""


def _read_cell(cell: object, convert: Callable[[Any], Field], row_number: int, name: str) -> Field:
    """Convert a cell to its column's type; raise `Unreadable` with its row and column."""
    if cell is None:
        return None
    try:
        return convert(cell)
    except ValueError as error:
        raise Unreadable(str(error), line=row_number, column=name) from None


def _read_integer(cell: int) -> int:
    if abs(cell) > LARGEST_EXACT_INTEGER:
        raise ValueError("an integer above 2**53 is not exact in JSON; send it as text")
    return int(cell)


def _read_number(cell: float | Decimal) -> float | None:
    number = float(cell)
    if math.isinf(number):
        raise ValueError("an infinite number; leave the cell empty")
    return None if math.isnan(number) else number  # pandas writes missing numbers as NaN


def _read_text(cell: str | date | datetime | time) -> str:
    """Return a text, or a date or time in ISO 8601; raise `ValueError` for a text that is not accepted."""
    text = cell if isinstance(cell, str) else cell.isoformat()
    if len(text) > LONGEST_CELL:
        raise ValueError(f"a cell of {len(text):,} characters; at most {LONGEST_CELL:,}")
    if "\0" in text:
        raise ValueError("a cell contains the character NUL")
    if is_formula(text):
        raise ValueError(f"{shown(text)} is a spreadsheet formula; send its value, or text that does not start with =")
    return text


_CONVERTERS: Mapping[str, Callable[[Any], Field]] = {
    "boolean": bool,
    "integer": _read_integer,
    "number": _read_number,
    "text": _read_text,
}
