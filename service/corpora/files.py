"""A corpus as a file: its download (CSV, or JSON lines with all fields), and sentences from a table."""

from typing import Any, BinaryIO

from pydantic import ValidationError
from starlette.responses import StreamingResponse

from service.corpora.schemas import ItemView, SentenceItem
from service.http.openapi.common_schemas import instant
from service.jobs.ledger import RUNS_IN_A_SPREADSHEET, csv_file, jsonl_file, pages
from store.core.database import AsyncDatabase
from store.core.plain_messages import plain_message
from store.corpora import items
from store.corpora.corpora import StoredCorpus
from store.corpora.items import MOST_ITEMS, StoredItem
from store.formats.csv_rows import CsvRows
from store.formats.refusal import Unreadable

COLUMNS = (
    *("id", "seq", "text", "group_term", "attribute_term", "counterpart", "image", "term", "source"),
    *("author", "author_host", "author_model", "prompt", "job", "note", "edited_from", "created_at"),
)
"""Columns of a downloaded corpus; `edited_from` is the original text of an edited sentence."""

IMPORTED = ("text", "group_term", "attribute_term", "note")
"""Columns that are read when sentences are imported; only ``text`` is required."""


def corpus_csv(database: AsyncDatabase, corpus: StoredCorpus) -> StreamingResponse:
    """Stream a corpus as CSV (RFC 4180). Cells that a spreadsheet would run as a formula begin with ``'``."""
    return csv_file(corpus.id, COLUMNS, pages(database, items.page, corpus.id), _csv_cells)


def corpus_jsonl(database: AsyncDatabase, corpus: StoredCorpus) -> StreamingResponse:
    """Stream a corpus as JSON lines, each item as in the API."""
    return jsonl_file(corpus.id, pages(database, items.page, corpus.id), lambda row: ItemView.of(row).model_dump())


def _csv_cells(row: StoredItem) -> list[Any]:
    """Return the cells of an item in the order of `COLUMNS`."""
    provenance = row.provenance
    author = provenance.get("author") or {}
    original, *_ = provenance.get("edited_from") or [{}]  # former texts, the oldest first
    content = (row.text, row.group_term, row.attribute_term, row.counterpart, row.image, row.term, row.source)
    origin = (*map(author.get, ("name", "host", "model")), *map(provenance.get, ("prompt", "job", "note")))
    return [row.id, row.seq, *content, *origin, original.get("text"), instant(row.created_at)]


def sentences_of_csv(file: BinaryIO) -> list[SentenceItem]:
    """Read the sentences of a CSV file.

    Raise `Unreadable` if the file is not CSV, or has no column ``text``, no sentence, too many sentences or too long a
    cell.
    """
    rows = CsvRows(file)
    if "text" not in rows.columns:
        raise Unreadable("no column is called text; it must hold the sentences", line=1)
    column_indices = {name: rows.columns.index(name) for name in IMPORTED if name in rows.columns}
    sentences = []
    for line, row in rows:
        cells = {name: _without_escape(row[index]) for name, index in column_indices.items() if row[index]}
        try:
            sentences.append(SentenceItem.model_validate(cells))
        except ValidationError as error:
            first_error = error.errors()[0]
            column = ".".join(map(str, first_error["loc"]))
            raise Unreadable(plain_message(first_error), line=line, column=column) from None
        if len(sentences) > MOST_ITEMS:
            raise Unreadable(f"more than {MOST_ITEMS:,} sentences, which is what a corpus holds", line=line)
    if not sentences:
        raise Unreadable("the table has no sentence", line=1)
    return sentences


def _without_escape(cell: str) -> str:
    """Remove the mark that downloads put before cells that a spreadsheet would run as a formula."""
    return cell[1:] if cell[:1] == "'" and cell.lstrip("'").startswith(RUNS_IN_A_SPREADSHEET) else cell
