"""Small files that unpack to far more than their size."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib

import numpy as np


def dictionary_bomb() -> bytes:
    """Return Parquet of less than 1 kB: one value of 14 MB, a thousand times."""
    import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
    from pyarrow import parquet

    column = pa.DictionaryArray.from_arrays(pa.array([0] * 1_000, pa.int32()), ["x" * 14_000_000])
    sink = io.BytesIO()
    parquet.write_table(pa.table({"a": column}), sink, compression="zstd")
    return sink.getvalue()


def words_bomb() -> bytes:
    """Return npz of 2 MB whose words take 480 MB."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in (("words", np.zeros(1_200, "U100000")), ("vectors", np.zeros((1_200, 2), np.float32))):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array)
    return sink.getvalue()


def pixel_bomb(width: int, height: int) -> bytes:
    """Return a PNG of one colour."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    rows = zlib.compress((b"\0" + b"\0" * width * 4) * height, 1)
    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
