"""Writing a table as Parquet, piece by piece, with constant memory.

Needs the package pyarrow, which is imported only when a Parquet file is written.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from store.formats.refusal import NotInstalled


class ParquetWriter:
    """A Parquet file that is returned in pieces while it is written.

    Parameters
    ----------
    columns : mapping of str to str
        Names of the columns and their Arrow types: ``int64``, ``string``, ``bool``.

    Raises
    ------
    NotInstalled
        If pyarrow is missing.
    """

    def __init__(self, columns: Mapping[str, str]) -> None:
        try:
            import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
            from pyarrow import parquet
        except ImportError:
            raise NotInstalled("writing Parquet", "pyarrow", "real") from None
        self._schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in columns.items()])
        self._batch = pa.RecordBatch.from_arrays
        self._array = pa.array
        self._sink = _Sink()
        self._writer = parquet.ParquetWriter(self._sink, self._schema)

    def rows(self, rows: Sequence[Sequence[Any]]) -> bytes:
        """Add rows; return the new bytes of the file."""
        cells = [[row[index] for row in rows] for index in range(len(self._schema))]
        columns = [self._array(values, field.type) for values, field in zip(cells, self._schema, strict=True)]
        self._writer.write_batch(self._batch(columns, schema=self._schema))
        return self._sink.taken()

    def end(self) -> bytes:
        """End the file; return its last bytes."""
        self._writer.close()
        return self._sink.taken()


class _Sink(io.RawIOBase):
    """File in memory; `taken` removes the bytes that it returns, but the position counts all written bytes."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._length = 0

    def writable(self) -> bool:
        return True

    def write(self, piece: Any) -> int:
        copied = bytes(piece)
        self._pieces.append(copied)
        self._length += len(copied)
        return len(copied)

    def tell(self) -> int:
        return self._length

    def taken(self) -> bytes:
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)
