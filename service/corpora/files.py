"""Download of a corpus as a streamed file: CSV, or JSON lines with all fields."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

from starlette.responses import StreamingResponse

from service.corpora.schemas import ItemView
from service.http.openapi.common_schemas import instant
from service.jobs.observation_stream import csv_lines, download, inert
from store.core.database import AsyncDatabase
from store.corpora import items
from store.corpora.corpora import StoredCorpus
from store.corpora.items import StoredItem

ROWS_A_READ = 500

COLUMNS = (
    *("id", "seq", "text", "group_term", "attribute_term", "counterpart", "image", "term", "source"),
    *("author", "author_host", "author_model", "prompt", "job", "note", "edited_from", "created_at"),
)
"""Columns of the table; `edited_from` is the original text of an edited sentence."""


def corpus_csv(database: AsyncDatabase, corpus: StoredCorpus) -> StreamingResponse:
    """Stream a corpus as CSV (RFC 4180). Cells that a spreadsheet would run as a formula begin with ``'``."""

    async def lines() -> AsyncIterator[str]:
        yield csv_lines([COLUMNS])
        async for rows in _pages(database, corpus.id):
            yield csv_lines([_cells(row) for row in rows])

    return download(lines(), "text/csv; charset=utf-8", f"{corpus.id}.csv")


def corpus_jsonl(database: AsyncDatabase, corpus: StoredCorpus) -> StreamingResponse:
    """Stream a corpus as JSON lines, each item as in the API."""

    async def lines() -> AsyncIterator[str]:
        async for rows in _pages(database, corpus.id):
            yield "".join(json.dumps(ItemView.of(row).model_dump(), allow_nan=False) + "\n" for row in rows)

    return download(lines(), "application/jsonl", f"{corpus.id}.jsonl")


async def _pages(database: AsyncDatabase, corpus_id: str) -> AsyncIterator[Sequence[StoredItem]]:
    after = 0
    while rows := await database.read(items.page, corpus_id, after, ROWS_A_READ):
        yield rows
        after = rows[-1].seq


def _cells(row: StoredItem) -> list[Any]:
    how, author = row.provenance, row.provenance.get("author") or {}
    former = how.get("edited_from") or [{}]
    content = (row.text, row.group_term, row.attribute_term, row.counterpart, row.image, row.term, row.source)
    made = (author.get("name"), author.get("host"), author.get("model"), how.get("prompt"), how.get("job"))
    texts = (*content, *made, how.get("note"), former[0].get("text"))
    return [row.id, row.seq, *map(inert, texts), instant(row.created_at)]
