"""Values of columns: ids, sealed secrets, and JSON that survives any text, compressed where it is large.

Targets answer with NUL characters and lone surrogates, which Postgres refuses in text. So small
documents are stored as ASCII JSON (everything else escaped), and replies of targets, like everything that
may be large, as the bytes of JSON, exact to the last surrogate and in the order it had.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Dialect, LargeBinary, RowMapping, Text
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


ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base 32: no I, L, O or U, so that an id survives being read aloud."""
PAIRS = tuple(one + other for one in ALPHABET for other in ALPHABET)


def new_id(prefix: str) -> str:
    """Make an id that nobody else makes and that sorts by when it was made.

    Parameters
    ----------
    prefix : str
        What is named: ``job``, ``rat``, ``tgt``, ``key``, ``evt``.

    Returns
    -------
    str
        ``prefix_`` and 26 characters: 48 bits of milliseconds, 80 bits of randomness.
        The milliseconds are this process's and only serve index locality; what happened
        when is told by the database's clock (`store.core.clock`).
    """
    number = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10))
    return f"{prefix}_" + "".join([PAIRS[number >> shift & 1023] for shift in range(120, -1, -10)])


@dataclass(frozen=True)
class SealedSecret:
    """A secret as it is stored.

    Attributes
    ----------
    ciphertext : bytes
        With GCM's tag at its end.
    nonce : bytes
        12 random bytes, never used twice under a key.
    key_id : str
        Which key sealed it.
    last4 : str
        The last characters of the plain text, or fewer of a short one, to recognise it by.
    """

    ciphertext: bytes = field(repr=False)
    nonce: bytes = field(repr=False)
    key_id: str
    last4: str


def sealed_columns(sealed: SealedSecret | None) -> dict[str, Any]:
    """Spread a sealed secret over its columns."""
    return {
        "secret_ciphertext": sealed and sealed.ciphertext,
        "secret_nonce": sealed and sealed.nonce,
        "secret_key_id": sealed and sealed.key_id,
        "secret_last4": sealed and sealed.last4,
    }


def sealed_from(row: RowMapping) -> SealedSecret | None:
    """Gather a sealed secret from its columns."""
    if row["secret_ciphertext"] is None:
        return None
    return SealedSecret(
        bytes(row["secret_ciphertext"]), bytes(row["secret_nonce"]), row["secret_key_id"], row["secret_last4"]
    )
