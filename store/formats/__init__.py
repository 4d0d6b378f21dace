"""Parsers of uploaded files: strict, with limits on size, and streaming.

`inspect` validates a whole file and summarises it, or raises `Unreadable` with the line and column. `table`,
`trials` and `embedding` read a validated file again.
"""

from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from assay.document import JsonObject
from store.formats import choice_rows, embedding, table
from store.formats.refusal import NotInstalled, Unreadable

CSV, PARQUET, XLSX = "text/csv", table.PARQUET, table.XLSX
NPZ, WORD2VEC = "application/octet-stream", "text/plain"

Inspect = Callable[..., JsonObject]

PURPOSES: Mapping[str, tuple[tuple[str, ...], Inspect]] = {
    "table": ((CSV, XLSX, PARQUET), table.inspect),
    "embedding": ((NPZ, WORD2VEC), embedding.inspect),
    "trials": ((CSV, XLSX), choice_rows.inspect),
}
"""Purposes of uploads, with their media types and parsers."""


def inspect(file: BinaryIO, purpose: str, media_type: str, **options: str | None) -> dict[str, Any]:
    """Validate a whole file, from its start, and summarise it as JSON.

    `purpose` is one of `PURPOSES`, `media_type` one of its media types; `options` are those of `table.inspect`. See
    `table.inspect`, `embedding.inspect` and `choice_rows.inspect` for the results. Raise `Unreadable` if the file is
    not valid for its type, or no job could use its content, and `NotInstalled` if a package for reading it is missing.
    """
    file.seek(0)
    _, inspect_purpose = PURPOSES[purpose]
    return inspect_purpose(file, media_type, **options)


__all__ = ["CSV", "NPZ", "PARQUET", "PURPOSES", "WORD2VEC", "XLSX", "NotInstalled", "Unreadable", "inspect"]
