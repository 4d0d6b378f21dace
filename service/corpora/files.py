"""Download of a corpus as a streamed file: CSV, or JSON lines with all fields."""

from __future__ import annotations

from typing import Any

from starlette.responses import StreamingResponse

from service.corpora.schemas import ItemView
from service.http.openapi.common_schemas import instant
from service.jobs.observation_stream import csv_file, inert, jsonl_file, pages
from store.core.database import AsyncDatabase
from store.corpora import items
from store.corpora.corpora import StoredCorpus
from store.corpora.items import StoredItem

COLUMNS = (
    *("id", "seq", "text", "group_term", "attribute_term", "counterpart", "image", "term", "source"),
    *("author", "author_host", "author_model", "prompt", "job", "note", "edited_from", "created_at"),
)
"""Columns of the table; `edited_from` is the original text of an edited sentence."""


def corpus_csv(database: AsyncDatabase, corpus: StoredCorpus) -> StreamingResponse:
    """Stream a corpus as CSV (RFC 4180). Cells that a spreadsheet would run as a formula begin with ``'``."""
    return csv_file(corpus.id, COLUMNS, pages(database, items.page, corpus.id), _cells)


def corpus_jsonl(database: AsyncDatabase, corpus: StoredCorpus) -> StreamingResponse:
    """Stream a corpus as JSON lines, each item as in the API."""
    return jsonl_file(corpus.id, pages(database, items.page, corpus.id), lambda row: ItemView.of(row).model_dump())


def _cells(row: StoredItem) -> list[Any]:
    how, author = row.provenance, row.provenance.get("author") or {}
    former = how.get("edited_from") or [{}]
    content = (row.text, row.group_term, row.attribute_term, row.counterpart, row.image, row.term, row.source)
    origin = (author.get("name"), author.get("host"), author.get("model"), how.get("prompt"), how.get("job"))
    texts = (*content, *origin, how.get("note"), former[0].get("text"))
    return [row.id, row.seq, *map(inert, texts), instant(row.created_at)]
