"""Tables from CSV, xlsx or Parquet files."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np

from assay.methods.shared.outcome_tables.decision_table import as_text
from assay.model import Field
from store.formats.columns import ColumnTally, DecimalSign, notes_of, read_cell, settle_decimals
from store.formats.csv_rows import CsvRows
from store.formats.parquet_rows import ParquetRows
from store.formats.refusal import Unreadable
from store.formats.xlsx_rows import XlsxRows

PARQUET = "application/vnd.apache.parquet"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

FIRST_ROWS, LONGEST_FIRST = 3, 60
"""Number of first rows that the summary of a table shows, and maximum length of their cells in characters."""

TableFile = CsvRows | ParquetRows | XlsxRows
"""An open table: `columns`, `notes`, and rows with their numbers."""


def open_rows(file: BinaryIO, media_type: str, encoding: str | None = None, sheet: str | None = None) -> TableFile:
    """Open a table at its current position; iteration yields the number and the cells of each row."""
    if media_type == PARQUET:
        return ParquetRows(file)
    return XlsxRows(file, sheet_name=sheet) if media_type == XLSX else CsvRows(file, encoding)


def inspect(
    file: BinaryIO,
    media_type: str,
    *,
    encoding: str | None = None,
    decimal: DecimalSign | None = None,
    sheet: str | None = None,
) -> dict[str, Any]:
    """Validate a table, read from its current position, and summarise it.

    `encoding` is that of a CSV file that is not UTF-8, `decimal` the decimal sign of numbers that are text (by default
    the one that fits a column), `sheet` the name of a sheet of an xlsx file (by default the only one that has cells).

    The result has ``rows``; ``columns`` as `store.formats.columns.Column` describes them; ``first``, the first rows as
    texts; ``notes``, sentences about converted cells and columns that were left out; ``encoding`` of a CSV file that is
    not UTF-8; and ``sheet`` of an xlsx file. Raise `Unreadable` if it is not a table, with the line and the column, or
    if its numbers can be read in two ways.
    """
    table = open_rows(file, media_type, encoding, sheet)
    declared_types = table.columns if isinstance(table, ParquetRows) else dict.fromkeys(table.columns)
    tallies = [ColumnTally(name, declared_type) for name, declared_type in declared_types.items()]
    numbered_rows: Iterable[tuple[int, Sequence[Field]]] = table
    row_count, first_rows = _tally(tallies, (row for _, row in numbered_rows))
    if not isinstance(table, ParquetRows):
        european = isinstance(table, CsvRows) and table.dialect.separator == ";"  # where commas are decimal signs
        settle_decimals(tallies, decimal, european=european)
    if not row_count:
        raise Unreadable("the table has columns but no rows")
    columns = [tally.column() for tally in tallies]
    notes = [*table.notes(), *notes_of(tallies, columns)]
    summary: dict[str, Any] = {"rows": row_count, "columns": [column.as_json() for column in columns], "notes": notes}
    summary["first"] = first_rows
    if isinstance(table, XlsxRows):
        return summary | {"sheet": table.sheet}
    encoding = table.dialect.encoding if isinstance(table, CsvRows) else "utf-8"
    return summary | ({"encoding": encoding} if encoding != "utf-8" else {})


def sample_of(summary: Mapping[str, Any], size: int, rng: np.random.Generator) -> list[int] | None:
    """Choose `size` rows of a larger table uniformly, by index from 0; ``None`` means all rows of a smaller table."""
    total = int(summary["rows"])
    return None if total <= size else [int(index) for index in rng.choice(total, size=size, replace=False)]


def read_rows(
    file: BinaryIO, media_type: str, summary: Mapping[str, Any], sample: Sequence[int] | None
) -> list[dict[str, Field]]:
    """Read the rows of a validated table, or a sample of them, in the order of the table.

    `summary` is the result of `inspect`, `sample` the result of `sample_of`.
    """
    file.seek(0)
    indices = None if sample is None else frozenset(sample)
    columns = summary["columns"]
    names = [str(column["name"]) for column in columns]
    table = open_rows(file, media_type, summary.get("encoding"), summary.get("sheet"))
    if list(table.columns) != names:
        raise Unreadable("the columns of this file are read differently since an update; send the file again")
    numbered_rows: Iterable[tuple[int, Sequence[Field]]] = table
    selected_rows = (row for index, (_, row) in enumerate(numbered_rows) if indices is None or index in indices)
    if media_type == PARQUET:
        return [dict(zip(names, row, strict=True)) for row in selected_rows]
    return [
        {name: read_cell(cell, column) for name, cell, column in zip(names, row, columns, strict=True)}
        for row in selected_rows
    ]


def _tally(tallies: Sequence[ColumnTally], rows: Iterator[Sequence[Field]]) -> tuple[int, list[list[str]]]:
    """Add the cells of all rows to `tallies`, by column; return the number of rows, and the first rows as texts."""
    row_count, first_rows = 0, []
    for row in rows:
        row_count += 1
        if row_count <= FIRST_ROWS:
            first_rows.append([as_text(cell)[:LONGEST_FIRST] for cell in row])
        for tally, cell in zip(tallies, row, strict=True):
            tally.add(cell)
    return row_count, first_rows
