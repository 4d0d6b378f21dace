"""Sentences from a table, such as the download of a corpus after work in a spreadsheet."""

from __future__ import annotations

from typing import BinaryIO

from pydantic import ValidationError

from service.corpora.schemas import SentenceItem
from service.jobs.observation_stream import RUNS_IN_A_SPREADSHEET
from store.corpora.items import MOST_ITEMS
from store.formats.csv_rows import CsvRows
from store.formats.refusal import Unreadable

READ = ("text", "group_term", "attribute_term", "note")
"""Columns that are read; only the first is required."""


def sentences_of_csv(file: BinaryIO) -> list[SentenceItem]:
    """Read the sentences of a CSV file.

    Raises
    ------
    Unreadable
        If the file is not CSV, or has no column ``text``, no sentence, too many sentences or too long a cell.
    """
    rows = CsvRows(file)
    if "text" not in rows.columns:
        raise Unreadable("no column is called text; it must hold the sentences", line=1)
    places = {name: rows.columns.index(name) for name in READ if name in rows.columns}
    sentences = []
    for line, row in rows:
        cells = {name: _without_escape(row[column]) for name, column in places.items() if row[column]}
        try:
            sentences.append(SentenceItem.model_validate(cells))
        except ValidationError as error:
            first = error.errors()[0]
            raise Unreadable(first["msg"], line=line, column=".".join(map(str, first["loc"]))) from None
        if len(sentences) > MOST_ITEMS:
            raise Unreadable(f"more than {MOST_ITEMS:,} sentences, which is what a corpus holds", line=line)
    if not sentences:
        raise Unreadable("the table has no sentence", line=1)
    return sentences


def _without_escape(cell: str) -> str:
    """Remove the mark that downloads put before cells that a spreadsheet would run as a formula."""
    return cell[1:] if cell[:1] == "'" and cell[1:].startswith(RUNS_IN_A_SPREADSHEET) else cell
