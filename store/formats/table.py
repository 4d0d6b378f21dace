"""Tables from CSV or Parquet files."""

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
    """Rows of a table by column name, with ``None`` for empty cells; `of` is the number of rows of the table."""

    rows: tuple[Mapping[str, Field], ...]
    of: int

    @property
    def sampled(self) -> bool:
        """Whether `rows` are a random sample of the table."""
        return len(self.rows) < self.of


def inspect(file: BinaryIO, media_type: str) -> dict[str, Any]:
    """Validate a table and summarise it: ``rows``, and ``columns`` as `store.formats.columns.Column` describes them.

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


def sample_of(summary: Mapping[str, Any], most: int, rng: np.random.Generator) -> list[int] | None:
    """Choose `most` rows of a larger table uniformly, by index from 0; ``None`` means all rows of a smaller table."""
    total = int(summary["rows"])
    return None if total <= most else [int(place) for place in rng.choice(total, size=most, replace=False)]


def read_rows(
    file: BinaryIO, media_type: str, summary: Mapping[str, Any], sample: Sequence[int] | None
) -> list[dict[str, Field]]:
    """Read the rows of a validated table, or a sample of them, in the order of the table.

    `summary` is the result of `inspect`, `sample` the result of `sample_of`.
    """
    file.seek(0)
    chosen = None if sample is None else frozenset(sample)
    names = [str(column["name"]) for column in summary["columns"]]
    kinds = [str(column["type"]) for column in summary["columns"]]
    numbered = _parquet(file) if media_type == PARQUET else _csv(file, kinds, chosen)
    return [dict(zip(names, row, strict=True)) for place, row in numbered if chosen is None or place in chosen]


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
            tally.add(cell)
    return count
