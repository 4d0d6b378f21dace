"""How files that were sent in are read: strictly, bounded, and a part at a time.

`inspect` reads a whole file once and says what is in it, or refuses it with an `Unreadable` that
names the line and the column. `table`, `trials` and `embedding` read one that was accepted again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from store.formats import embedding, table, trials
from store.formats.refusal import NotInstalled, Unreadable

CSV, PARQUET = "text/csv", "application/vnd.apache.parquet"
NPZ, WORD2VEC = "application/octet-stream", "text/plain"

Inspect = Callable[[BinaryIO, str], dict[str, Any]]

PURPOSES: Mapping[str, tuple[tuple[str, ...], Inspect]] = {
    "table": ((CSV, PARQUET), table.inspect),
    "embedding": ((NPZ, WORD2VEC), embedding.inspect),
    "trials": ((CSV,), trials.inspect),
}
"""What a file can be for: the media types it may have, and who reads it."""


def inspect(file: BinaryIO, purpose: str, media_type: str) -> dict[str, Any]:
    """Read a whole file and say what is in it.

    Parameters
    ----------
    file : binary file
        Read from its beginning; it must be seekable.
    purpose, media_type : str
        One of `PURPOSES`, and one of its media types.

    Returns
    -------
    dict
        JSON-able: see `table.inspect`, `embedding.inspect` and `trials.inspect`.

    Raises
    ------
    Unreadable
        If it is not what it says, or holds what no job could use.
    NotInstalled
        If reading it needs a package that is not there.
    """
    file.seek(0)
    return PURPOSES[purpose][1](file, media_type)


__all__ = ["CSV", "NPZ", "PARQUET", "PURPOSES", "WORD2VEC", "NotInstalled", "Unreadable", "inspect"]
