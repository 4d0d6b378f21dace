"""Tables: rows of named cells, from CSV or Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from assay.model import Field
from store.formats.columns import ColumnTally, read_cell
from store.formats.csv_rows import CsvRows
from store.formats.parquet_rows import ParquetRows
from store.formats.refusal import Unreadable

PARQUET = "application/vnd.apache.parquet"


@dataclass(frozen=True)
class TableRows:
    """Rows of a table.

    Attributes
    ----------
    rows : tuple of mapping
        Objects with the same columns. Numbers are numbers, empty cells ``None``, the rest text.
    of : int
        Rows the table has.
    """

    rows: tuple[Mapping[str, Field], ...]
    of: int

    @property
    def sampled(self) -> bool:
        """Whether `rows` are a random part of the table."""
        return len(self.rows) < self.of


def inspect(file: BinaryIO, media_type: str) -> dict[str, Any]:
    """Read a table and say what is in it.

    Returns
    -------
    dict
        ``rows``, and ``columns`` as `store.formats.columns.Column` describes them.

    Raises
    ------
    Unreadable
        If it is not a table, with the line and the column.
    """
    if media_type == PARQUET:
        parquet = ParquetRows(file)
        tallies = [ColumnTally(name, kind) for name, kind in parquet.columns.items()]
        rows = _tally(tallies, (row for _, row in parquet))
    else:
        lines = CsvRows(file)
        tallies = [ColumnTally(name) for name in lines.columns]
        rows = _tally(tallies, (row for _, row in lines))
    if not rows:
        raise Unreadable("the table has columns but no rows")
    return {"rows": rows, "columns": [tally.column().as_json() for tally in tallies]}


def read_rows(
    file: BinaryIO, media_type: str, summary: Mapping[str, Any], *, most: int, rng: np.random.Generator
) -> TableRows:
    """Read the rows of a table that `inspect` accepted, or a random part of them.

    Parameters
    ----------
    file : binary file
        The table, from its beginning.
    media_type : str
        As it was sent.
    summary : mapping
        What `inspect` said of it, which has the types of the columns.
    most : int
        Most rows; of more, each is as likely to be among them, and they keep their order.
    rng : Generator
        Picks them.
    """
    total = int(summary["rows"])
    file.seek(0)
    chosen = None if total <= most else frozenset(rng.choice(total, size=most, replace=False).tolist())
    names = [str(column["name"]) for column in summary["columns"]]
    kinds = [str(column["type"]) for column in summary["columns"]]
    found = _parquet(file) if media_type == PARQUET else _csv(file, kinds, chosen)
    kept = [dict(zip(names, row, strict=True)) for place, row in found if chosen is None or place in chosen]
    return TableRows(tuple(kept), total)


def _csv(file: BinaryIO, kinds: Sequence[str], chosen: frozenset[int] | None) -> Iterator[tuple[int, Sequence[Field]]]:
    for place, (_, row) in enumerate(CsvRows(file)):
        if chosen is None or place in chosen:
            yield place, [read_cell(cell, kind) for cell, kind in zip(row, kinds, strict=True)]


def _parquet(file: BinaryIO) -> Iterator[tuple[int, Sequence[Field]]]:
    for place, (_, row) in enumerate(ParquetRows(file)):
        yield place, row


def _tally(tallies: Sequence[ColumnTally], rows: Iterator[Sequence[Field]]) -> int:
    count = 0
    for row in rows:
        count += 1
        for tally, cell in zip(tallies, row, strict=True):
            tally.see(cell)
    return count
