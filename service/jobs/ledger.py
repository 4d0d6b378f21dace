"""Download of a job's observations as a streamed file (CSV, JSON lines, Parquet), with constant memory.

Parquet needs the package pyarrow, which is imported only when a Parquet file is written.
"""

import asyncio
import csv
import io
import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from functools import partial
from typing import Any

from starlette.responses import StreamingResponse

from assay.document import Json, JsonObject
from service.http.openapi.common_schemas import instant
from store.core.database import AsyncDatabase, Connection
from store.formats.refusal import NotInstalled
from store.jobs import observations
from store.jobs.observations import StoredObservation

ROWS_PER_READ = 500

COLUMNS = {
    "seq": "int64",
    "unit": "string",
    "asks": "string",
    "ask": "string",
    "value": "string",
    "failure": "string",
    "copied": "bool",
    "attempts": "int64",
    "elapsed_ms": "int64",
    "recorded_at": "string",
}
"""Columns of a downloaded file with their Arrow types; `ask`, and a `value` that is not text, are JSON."""

RUNS_IN_A_SPREADSHEET = ("=", "+", "-", "@", "\t", "\r")


async def ledger_csv(database: AsyncDatabase, job_id: str) -> StreamingResponse:
    """Stream a job's observations as CSV (RFC 4180)."""
    await database.read(observations.count, job_id)  # an archived job is reported before the answer begins
    return csv_file(f"{job_id}-observations", COLUMNS, pages(database, observations.page, job_id), _row_cells)


async def ledger_parquet(database: AsyncDatabase, job_id: str) -> StreamingResponse:
    """Stream a job's observations as Parquet, with the columns of the CSV; formulas are not escaped.

    Raise `NotInstalled` if pyarrow is missing.
    """
    await database.read(observations.count, job_id)  # an archived job is reported before the answer begins
    writer = await asyncio.to_thread(ParquetWriter)  # in a thread, because importing pyarrow is slow

    async def pieces() -> AsyncIterator[bytes]:
        async for page in pages(database, observations.page, job_id):
            yield await asyncio.to_thread(writer.add, page)
        yield await asyncio.to_thread(writer.end)

    return _download(pieces(), "application/vnd.apache.parquet", f"{job_id}-observations.parquet")


async def ledger_jsonl(database: AsyncDatabase, job_id: str) -> StreamingResponse:
    """Stream a job's observations as JSON lines, exactly as recorded."""
    await database.read(observations.count, job_id)  # an archived job is reported before the answer begins
    return jsonl_file(f"{job_id}-observations", pages(database, observations.page, job_id), _json_record)


async def pages(
    database: AsyncDatabase, read_page: Callable[[Connection, str, int, int], Sequence[Any]], owner_id: str
) -> AsyncIterator[Sequence[Any]]:
    """Yield all rows of a job or corpus, `owner_id`, in pages that ``read_page(c, owner_id, after, limit)`` reads."""
    after = 0
    while rows := await database.read(read_page, owner_id, after, ROWS_PER_READ):
        yield rows
        after = rows[-1].seq


def csv_file(
    name: str, columns: Iterable[str], row_pages: AsyncIterator[Sequence[Any]], cells_of: Callable[[Any], Sequence[Any]]
) -> StreamingResponse:
    """Stream pages of rows as a CSV download (RFC 4180); `cells_of` returns a row's cells in the order of `columns`."""

    async def lines() -> AsyncIterator[str]:
        yield csv_lines([columns])
        async for page in row_pages:
            yield await asyncio.to_thread(lambda rows: csv_lines([cells_of(row) for row in rows]), page)

    return _download(lines(), "text/csv; charset=utf-8", f"{name}.csv")


def jsonl_file(name: str, row_pages: AsyncIterator[Sequence[Any]], record: Callable[[Any], Json]) -> StreamingResponse:
    """Stream pages of rows as a download of JSON lines; `record` returns the object of a row."""

    async def lines() -> AsyncIterator[str]:
        async for page in row_pages:
            yield await asyncio.to_thread(_json_lines, [record(row) for row in page])

    return _download(lines(), "application/jsonl", f"{name}.jsonl")


def _json_lines(records: Iterable[Json]) -> str:
    return "".join(json.dumps(record, allow_nan=False) + "\n" for record in records)


def _json_record(row: StoredObservation) -> JsonObject:
    metadata = {"attempts": row.attempts, "elapsed_ms": row.elapsed_ms, "recorded_at": instant(row.recorded_at)}
    return {"seq": row.seq, **row.observation.as_json(), **metadata}


def _row_cells(row: StoredObservation) -> list[Any]:
    """Return the cells of an observation in the order of `COLUMNS`."""
    record = _json_record(row)
    question, failure, value = dict(record["ask"]), record["failure"], record["value"]
    question_kind = question.pop("asks")
    text = _valid_text(value) if isinstance(value, str) else value if value is None else json.dumps(value)
    metadata = [record[name] for name in ("copied", "attempts", "elapsed_ms", "recorded_at")]
    return [row.seq, record["unit"], question_kind, json.dumps(question), text, failure and failure["code"], *metadata]


def csv_lines(rows: Iterable[Iterable[object]]) -> str:
    """Format rows as CSV (RFC 4180). Texts that a spreadsheet would run as a formula begin with ``'``."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerows([_safe_cell(cell) for cell in row] for row in rows)
    return buffer.getvalue()


def _safe_cell(cell: object) -> object:
    """Escape a text, so that no spreadsheet runs it as a formula and every encoder accepts it."""
    if not isinstance(cell, str):
        return cell
    valid_text = _valid_text(cell)
    # a text that begins like an escaped one is escaped too, so that an import restores both
    return "'" + valid_text if valid_text.lstrip("'").startswith(RUNS_IN_A_SPREADSHEET) else valid_text


def _valid_text(text: str) -> str:
    """Escape halves of surrogate pairs, which no UTF-8 encoder accepts."""
    return text.encode("utf-8", "backslashreplace").decode()


def _download(lines: AsyncIterator[str] | AsyncIterator[bytes], media_type: str, name: str) -> StreamingResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(lines, media_type=media_type, headers=headers)


def paced(file: StreamingResponse, slots: asyncio.Semaphore) -> StreamingResponse:
    """Make each piece of a streamed `file` while holding one of the `slots`, which is released to send the piece."""
    pieces = aiter(file.body_iterator)

    async def paced_pieces() -> AsyncIterator[str | bytes | memoryview]:
        while True:
            async with slots:
                piece = await anext(pieces, None)
            if piece is None:
                return
            yield piece

    file.body_iterator = paced_pieces()
    return file


class ParquetWriter:
    """A Parquet file with `COLUMNS` that is returned in pieces while it is written; `NotInstalled` without pyarrow."""

    def __init__(self) -> None:
        try:
            import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
            from pyarrow import parquet
        except ImportError:
            raise NotInstalled("writing Parquet", package="pyarrow", extra="real") from None
        schema = pa.schema([(name, pa.type_for_alias(arrow_type)) for name, arrow_type in COLUMNS.items()])
        self._make_batch = partial(pa.RecordBatch.from_pylist, schema=schema)
        self._buffer = io.BytesIO()
        self._writer = parquet.ParquetWriter(self._buffer, schema)

    def add(self, rows: Iterable[StoredObservation]) -> bytes:
        """Add rows; return the new bytes of the file."""
        self._writer.write_batch(self._make_batch([dict(zip(COLUMNS, _row_cells(row), strict=True)) for row in rows]))
        return self._new_bytes()

    def end(self) -> bytes:
        """Write the end of the Parquet file; return its last bytes."""
        self._writer.close()
        return self._new_bytes()

    def _new_bytes(self) -> bytes:
        new_bytes = self._buffer.getvalue()
        self._buffer.seek(0)  # pyarrow itself counts the bytes of the whole file
        self._buffer.truncate()
        return new_bytes
