"""Column types and values: ids, encrypted secrets, text, and JSON that preserves any string; `metadata` of all tables.

Targets reply with NUL characters and lone surrogates, which Postgres rejects in text columns. Small
documents are therefore stored as ASCII JSON (other characters escaped). Replies of targets and other
large documents are stored as the bytes of JSON, with every character and the key order preserved.

Times are milliseconds since 1970 by the clock of the database: leases, back-off and expiry compare times written by
different machines. Milliseconds are exact integers in both databases and need no time zone.
"""

import json
import os
import secrets
import time
import zlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Dialect,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    cast,
    select,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import SchemaItem
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator

from migrations.columns import NAMES


class now_ms(FunctionElement[int]):  # noqa: N801 - named like the SQL function
    """SQL expression: time at which the statement began, in milliseconds since 1970."""

    type = BigInteger()
    name = "now_ms"
    inherit_cache = True


@compiles(now_ms, "sqlite")
def _compile_for_sqlite(_element: now_ms, _compiler: object, **_options: object) -> str:
    # unixepoch('subsec') needs SQLite 3.42; within a statement both calls return the same time
    return "(CAST(strftime('%s', 'now') AS INTEGER) * 1000 + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER))"


@compiles(now_ms, "postgresql")
def _compile_for_postgresql(_element: now_ms, _compiler: object, **_options: object) -> str:
    # floor, because a cast would round half of all times up to a future millisecond
    return "CAST(floor(extract(epoch FROM statement_timestamp()) * 1000) AS BIGINT)"


def seconds_since(time: ColumnElement[int]) -> ColumnElement[float]:
    """Return the seconds since a time in milliseconds, as an SQL expression."""
    return cast((now_ms() - time) / 1000.0, Float)  # without a cast, Postgres returns a `Decimal`


def read_clock(connection: Connection) -> int:
    """Return the database's time, in milliseconds since 1970."""
    return int(connection.execute(select(now_ms())).scalar_one())


def iso(epoch_ms: int) -> str:
    """Format a time as ISO 8601 in UTC with whole seconds: ``2026-01-02T03:04:05Z``."""
    return datetime.fromtimestamp(epoch_ms // 1000, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


metadata = MetaData(naming_convention=NAMES)
"""SQLAlchemy's collection of tables: those of every imported `tables.py`, one of which is in each package."""


def define_table(name: str, *items: SchemaItem, **options: Any) -> Table:
    """Define a table of `metadata` by its columns, constraints and indexes."""
    return Table(name, metadata, *items, **options)


Counted = BigInteger().with_variant(Integer, "sqlite")  # SQLite increments INTEGER keys only

COMPRESS_ABOVE_BYTES = 512
ZLIB_FIRST_BYTE = 0x78  # the character "x", with which no JSON text starts


def pack(value: object) -> bytes:
    """Serialise a JSON value to bytes, compressed with zlib above 512 bytes.

    Raise `ValueError` if the value contains NaN or infinity.
    """
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    content = text.encode("utf-8", "surrogatepass")
    return zlib.compress(content, level=6) if len(content) > COMPRESS_ABOVE_BYTES else content


def unpack(packed: bytes) -> Any:
    """Parse bytes written by `pack`."""
    content = zlib.decompress(packed) if packed[0] == ZLIB_FIRST_BYTE else packed
    return json.loads(content.decode("utf-8", "surrogatepass"))


def storable(text: str) -> str:
    r"""Escape characters that a text column cannot store: NUL and lone surrogates become ``\x00``, ``\ud800``."""
    if text.isascii() and "\0" not in text:
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


class AnyText(TypeDecorator[str]):
    """Text column for untrusted input: NUL and lone surrogates are escaped, so queries do not fail."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Escape characters that the database cannot store."""
        return None if value is None else storable(value)


class Json(TypeDecorator[Any]):
    """Column for a small JSON document, stored as ASCII text."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: object, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Serialise to JSON; ``None`` becomes NULL."""
        return None if value is None else json.dumps(value, separators=(",", ":"), allow_nan=False)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:  # noqa: ARG002
        """Parse JSON; NULL becomes ``None``."""
        return None if value is None else json.loads(value)


class Packed(TypeDecorator[Any]):
    """Column for a JSON document of any size, stored as bytes and compressed above 512 bytes."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: object, dialect: Dialect) -> bytes | None:  # noqa: ARG002
        """Serialise with `pack`; ``None`` becomes NULL."""
        return None if value is None else pack(value)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> Any:  # noqa: ARG002
        """Parse with `unpack`; NULL becomes ``None``."""
        return None if value is None else unpack(value)


ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base 32: no I, L, O or U, so that an id can be read aloud."""
CHARACTER_PAIRS = tuple(first + second for first in ALPHABET for second in ALPHABET)
"""The numbers from 0 to 1023 as two digits of `ALPHABET`, in order."""

SEED_BITS = 53
"""Bits of a seed: integers up to 2**53 are exact in every JSON parser."""


def random_seed() -> int:
    """Return a seed that nobody can predict, for a rating whose request gives none."""
    return secrets.randbits(SEED_BITS)


def random_nonce() -> str:
    """Return a random text (nonce) that keeps the published hash of an experiment and a seed from being guessed."""
    return secrets.token_hex(16)


def new_id(prefix: str) -> str:
    """Return a unique identifier that sorts by creation time: ``prefix_`` and 26 characters.

    The characters encode 48 bits of milliseconds and 80 random bits. The milliseconds come from this process's clock
    and only serve index locality; columns use the database's clock (`now_ms`).
    """
    number = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10))
    pairs = [CHARACTER_PAIRS[number >> shift & 1023] for shift in range(120, -1, -10)]  # each pair encodes 10 bits
    return f"{prefix}_{''.join(pairs)}"


@dataclass(frozen=True)
class SealedSecret:
    """An encrypted secret.

    `ciphertext` ends with the tag of AES-GCM. `nonce` has 12 random bytes, never used twice under the key `key_id`.
    `last4` has the last characters of the plain text, at most four, to recognise it by; empty if they are not stored.
    """

    ciphertext: bytes = field(repr=False)
    nonce: bytes = field(repr=False)
    key_id: str
    last4: str = ""


def sealed_columns(sealed: SealedSecret | None) -> dict[str, Any]:
    """Return the values of the columns ``secret_…`` for an encrypted secret; without a secret, all are ``None``."""
    return {f"secret_{name}": getattr(sealed, name, None) for name in ("ciphertext", "nonce", "key_id", "last4")}


def take_sealed(row: dict[str, Any], prefix: str = "secret") -> SealedSecret | None:
    """Remove the columns ``<prefix>_…`` from a row, and return the secret that they hold; ``None`` if they are NULL."""
    ciphertext, nonce, key_id = (row.pop(f"{prefix}_{name}") for name in ("ciphertext", "nonce", "key_id"))
    last4 = row.pop(f"{prefix}_last4", "")
    return None if ciphertext is None else SealedSecret(ciphertext, nonce, key_id, last4)
