"""How values become columns: JSON that survives any text, compressed where it is large.

Targets answer with NUL characters and lone surrogates, which Postgres refuses in text. So small
documents are stored as ASCII JSON (everything else escaped), and what targets said, like all that
may be large, as the bytes of JSON, exact to the last surrogate and in the order it had.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

from sqlalchemy import Dialect, LargeBinary, Text
from sqlalchemy.types import TypeDecorator

COMPRESS_ABOVE_BYTES = 512
ZLIB_FIRST_BYTE = 0x78  # 'x', with which no JSON text begins


def pack(value: Any) -> bytes:
    """Write a JSON-able value as bytes, compressed above 512 of them.

    Raises
    ------
    ValueError
        If it holds NaN or an infinity.
    """
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    written = text.encode("utf-8", "surrogatepass")
    return zlib.compress(written, level=6) if len(written) > COMPRESS_ABOVE_BYTES else written


def unpack(packed: bytes) -> Any:
    """Read what `pack` wrote, to the last surrogate."""
    written = zlib.decompress(packed) if packed[0] == ZLIB_FIRST_BYTE else packed
    return json.loads(written.decode("utf-8", "surrogatepass"))


def storable(text: str) -> str:
    r"""Escape what a database cannot hold in text: NUL and lone surrogates become ``\x00``, ``\ud800``."""
    if text.isascii() and "\0" not in text:
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


class AnyText(TypeDecorator[str]):
    """Text from outside: a filter or a name with a NUL finds nothing instead of failing."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Escape what the database cannot hold."""
        return None if value is None else storable(value)


class Json(TypeDecorator[Any]):
    """A small JSON document as ASCII text, legible in any database shell."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Write JSON; ``None`` is NULL."""
        return None if value is None else json.dumps(value, separators=(",", ":"), allow_nan=False)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:  # noqa: ARG002
        """Read JSON."""
        return None if value is None else json.loads(value)


class Packed(TypeDecorator[Any]):
    """A JSON document of any size as (compressed) bytes."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> bytes | None:  # noqa: ARG002
        """Pack; ``None`` is NULL."""
        return None if value is None else pack(value)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> Any:  # noqa: ARG002
        """Unpack."""
        return None if value is None else unpack(value)
