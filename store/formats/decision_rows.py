"""Files of recorded decisions: people counted by the columns that a request names, without storing a row.

A file is read once, row by row; of each row only its line number and the codes of its named cells are kept until they
are counted (`assay.methods.shared.outcome_tables.decision_table`). A million rows take about 45 bytes each.
"""

import hashlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import BinaryIO, Literal

import numpy as np

from assay.document import JsonObject
from assay.errors import UnknownName
from assay.methods.shared.outcome_tables.decision_table import DecisionTable, as_text
from assay.model import Field, Floats, Integers
from store.formats.columns import ColumnTally, read_cell, settle_decimals
from store.formats.csv_rows import MOST_ROWS, CsvRows
from store.formats.refusal import Unreadable, shown
from store.formats.table import TableFile, open_rows

MOST_VALUES = 5_000
"""Maximum number of different texts in a column of groups, decisions, truth or strata."""

PROGRESS_ROWS = 50_000
"""Number of rows after which progress is reported."""


def read_decisions(
    file: BinaryIO,
    media_type: str,
    columns: Sequence[str],
    *,
    score: str = "",
    cluster: str = "",
    weight: str = "",
    unknown: Sequence[str] = (),
    cuts: Sequence[float] = (),
    encoding: str | None = None,
    decimal: Literal["point", "comma"] | None = None,
    sheet: str | None = None,
    on_rows: Callable[[int], None] | None = None,
) -> JsonObject:
    """Count the people of a file, as JSON of a `DecisionTable`.

    `columns` are the columns of texts by which people are counted; `score`, `cluster` and `weight` name other columns,
    `unknown` are texts that mean a missing value, and people are counted on each side of the scores `cuts`. `encoding`,
    `decimal` and `sheet` are as in `table.inspect`. `on_rows` is called with the number of rows read so far.

    Raise `UnknownName` if the file lacks a column, and `Unreadable` if it cannot be read, a column has too many values,
    or a score or weight is no number (with the row).
    """
    file.seek(0)
    # every binary file has `readinto`, which `BinaryIO` does not declare
    digest = f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"  # type: ignore[arg-type]
    file.seek(0)
    rows = open_rows(file, media_type, encoding, sheet)
    names = tuple(rows.columns)
    number_columns = [name for name in (score, weight) if name]
    text_columns = list(dict.fromkeys(columns))  # without repetitions
    for name in (*text_columns, *number_columns, *([cluster] if cluster else [])):
        if name not in names:
            raise UnknownName("column of the file", name, names)
    max_values_of = {**dict.fromkeys(text_columns, MOST_VALUES), **({cluster: MOST_ROWS} if cluster else {})}
    coding_of = {name: _Coding(name, names.index(name), limit) for name, limit in max_values_of.items()}
    # a `_Coding` numbers a column's different cells; a column may have two, as texts and as numbers (1,5 and 1.5)
    number_coding_of = {name: _Coding(name, names.index(name), None) for name in number_columns}
    line_numbers = _code_rows(rows, (*coding_of.values(), *number_coding_of.values()), on_rows)
    # semicolons separate cells where the comma is the decimal sign
    european = isinstance(rows, CsvRows) and rows.dialect.separator == ";"
    numbers_of = _parse_numbers(list(number_coding_of.values()), unknown, decimal, european=european)
    for name, numbers in numbers_of.items():
        unusable, expected = np.isinf(numbers), "a number"  # infinity stands for a text that is no number
        if name == weight:
            unusable, expected = unusable | (numbers <= 0) | np.isnan(numbers), "a positive number"
        if unusable.any():
            row_index = int(unusable.argmax())
            text = as_text(number_coding_of[name].cells[number_coding_of[name].codes[row_index]])
            cell_text = shown(text) if text else "an empty cell"
            raise Unreadable(f"{cell_text} is not {expected}", line=line_numbers[row_index], column=name)
    # by column: its texts and the code of each row; the code 0 of an empty cell becomes -1, which means unknown
    codings = [coding_of[name] for name in text_columns]
    texts_and_codes = {coding.name: ([*map(as_text, coding.cells[1:])], coding.all_codes - 1) for coding in codings}
    clusters = _number_clusters(coding_of[cluster].all_codes) if cluster else None
    scores, weights = numbers_of.get(score), numbers_of.get(weight)
    return asdict(DecisionTable.counted(digest, texts_and_codes, scores, clusters=clusters, weights=weights, cuts=cuts))


def _code_rows(rows: TableFile, codings: Sequence["_Coding"], on_rows: Callable[[int], None] | None) -> "array[int]":
    """Read all rows, and add the used columns' cells to `codings`, which number them; return each row's line number."""
    line_numbers = array("i")
    numbered_rows: Iterable[tuple[int, Sequence[Field]]] = rows
    for line, row in numbered_rows:
        line_numbers.append(line)
        for coding in codings:
            coding.add(row[coding.column_index], line)
        if on_rows is not None and len(line_numbers) % PROGRESS_ROWS == 0:
            on_rows(len(line_numbers))
    if not line_numbers:
        raise Unreadable("the table has columns but no rows")
    return line_numbers


class _Coding:
    """A column as codes: 0 for an empty cell, else one for each different text or, without `max_values`, number."""

    def __init__(self, name: str, column_index: int, max_values: int | None) -> None:
        self.name, self.column_index, self._max_values = name, column_index, max_values
        self.codes = array("i")
        self._code_of: dict[Field, int] = {"": 0}

    def add(self, cell: Field, line: int) -> None:
        """Add a row's cell (as a text, if there is a `max_values`); raise `Unreadable` for too many different texts."""
        is_number = self._max_values is None and isinstance(cell, int | float) and not isinstance(cell, bool)
        code = self._code_of.setdefault(cell if is_number else as_text(cell), len(self._code_of))
        if self._max_values is not None and code > self._max_values:
            problem = f"more than {self._max_values:,} different values"
            raise Unreadable(f"{problem}; name a column of groups, not of single people", line=line, column=self.name)
        self.codes.append(code)

    @property
    def cells(self) -> list[Field]:
        """The different cells, each at the index that is its code."""
        return list(self._code_of)

    @property
    def all_codes(self) -> Integers:
        """Codes of the column's cells, in the order of the rows."""
        return np.frombuffer(self.codes, dtype=np.int32).astype(np.int64)


def _number_clusters(codes: Integers) -> Integers:
    """Number the clusters from 0; each person without a cluster (code 0) gets a cluster of their own."""
    without_cluster = codes == 0
    clusters = codes.copy()
    clusters[without_cluster] = codes.max(initial=0) + 1 + np.arange(int(without_cluster.sum()))
    _, numbers = np.unique(clusters, return_inverse=True)
    return numbers.astype(np.int64)


def _parse_numbers(
    codings: Sequence[_Coding], unknown: Sequence[str], decimal: Literal["point", "comma"] | None, *, european: bool
) -> dict[str, Floats]:
    """Return the numbers of each column, by name: NaN for a missing number, infinity for a text that is no number."""
    tallies = [ColumnTally(coding.name) for coding in codings]
    missing_texts = {"", *unknown}
    for coding, tally in zip(codings, tallies, strict=True):
        for cell in coding.cells:
            if as_text(cell) not in missing_texts:
                tally.add(cell)
    settle_decimals(tallies, decimal, european=european)  # sets the decimal sign of each tally
    # the number of each different cell, indexed by the codes of the rows
    return {
        coding.name: np.array([*_numbers_of_cells(coding.cells, tally, missing_texts)])[coding.all_codes]
        for coding, tally in zip(codings, tallies, strict=True)
    }


def _numbers_of_cells(cells: Sequence[Field], tally: ColumnTally, missing_texts: set[str]) -> Iterator[float]:
    """Yield the number of each cell: NaN for a missing number, infinity for a text that is no number."""
    column = tally.column().as_json()
    # a column of text is read as numbers, so that `read_cell` refuses each text that is no number
    number_column = column if column["type"] in {"integer", "number"} else {**column, "type": "number"}
    for cell in cells:
        try:
            number = None if as_text(cell) in missing_texts else read_cell(cell, number_column)
        except Unreadable:
            yield float("inf")
            continue
        yield float("nan") if number is None else float(number)
