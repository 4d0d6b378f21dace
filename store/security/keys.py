"""API keys: shown once and stored as a digest.

The format is ``assay_<short>_<secret><crc>``: eight characters that identify the key, 256 random bits in 43
characters (base64url), and a CRC-32 in eight hexadecimal digits. With the checksum, a mistyped key is rejected
without a query, and secret scanners recognise a leaked key.
"""

import hashlib
import hmac
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from secrets import choice, token_urlsafe
from typing import Any, get_args

from sqlalchemy import Connection, insert, select, update

from store.core.columns import ALPHABET, new_id, now_ms
from store.core.engines import execute_if_writable
from store.core.rows import equal, page_of
from store.security.rights import Scope
from store.security.tables import api_keys

SCOPES: tuple[str, ...] = get_args(Scope)
"""Scopes that a key can have."""

KEY_FORMAT = re.compile(r"(assay_([0-9a-z]{8})_[0-9A-Za-z_-]{43})([0-9a-f]{8})")
SHORT_CHARACTERS = 8
SECRET_BYTES = 32
USE_NOTED_MS = 60_000
"""Minimum time between two writes of `last_used_at`, in milliseconds."""


@dataclass(frozen=True)
class ApiKey:
    """A key without its secret; `short` are eight characters that identify it in lists.

    Times are milliseconds since 1970; `last_used_at` is exact to a minute.
    """

    id: str
    tenant: str
    name: str
    short: str
    scopes: tuple[str, ...]
    created_at: int
    expires_at: int | None
    revoked_at: int | None
    last_used_at: int | None


def create(
    c: Connection, tenant: str, scopes: Sequence[str], name: str, expires_at: int | None = None
) -> tuple[ApiKey, str]:
    """Create a key (`expires_at` is in milliseconds since 1970); return it and its plain text, which is not stored."""
    short_id = "".join(choice(ALPHABET.lower()) for _ in range(SHORT_CHARACTERS))
    checked_part = f"assay_{short_id}_{token_urlsafe(SECRET_BYTES)}"
    plain_key = checked_part + _checksum(checked_part)
    values = {"id": new_id("key"), "tenant": tenant, "name": name, "short": short_id, "expires_at": expires_at}
    verification = {"digest": _digest(plain_key), "scopes": list(scopes)}
    statement = insert(api_keys).values(created_at=now_ms(), **values, **verification)
    return key_of(**c.execute(statement.returning(api_keys)).mappings().one()), plain_key


def verify(c: Connection, plain_key: str) -> ApiKey | None:
    """Verify a key; return ``None`` if it is malformed, unknown, revoked or expired.

    The use is recorded at most once a minute, even on a connection for reading, if the database can be written.
    """
    if (match := KEY_FORMAT.fullmatch(plain_key)) is None:
        return None
    checked_part, short_id, checksum = match.groups()
    if not hmac.compare_digest(_checksum(checked_part), checksum):
        return None
    query = select(api_keys, now_ms().label("now")).where(api_keys.c.short == short_id)
    row = c.execute(query).mappings().one_or_none()
    if row is None or not hmac.compare_digest(row["digest"], _digest(plain_key)):
        return None
    if row["revoked_at"] is not None or (row["expires_at"] is not None and row["expires_at"] <= row["now"]):
        return None
    if row["last_used_at"] is None or row["last_used_at"] <= row["now"] - USE_NOTED_MS:
        execute_if_writable(c, update(api_keys).where(api_keys.c.id == row["id"]).values(last_used_at=now_ms()))
    return key_of(**row)


def revoke(c: Connection, key_id: str, tenant: str) -> bool:
    """Revoke a tenant's key; return false if there is no such key or it is revoked already."""
    statement = update(api_keys).where(*equal(api_keys, id=key_id, tenant=tenant), api_keys.c.revoked_at.is_(None))
    return c.execute(statement.values(revoked_at=now_ms())).rowcount > 0


def page(c: Connection, tenant: str | None, *, before: tuple[int, str] | None = None, limit: int = 100) -> list[ApiKey]:
    """List a tenant's keys, including revoked ones, newest first; ``tenant=None``: of all tenants."""
    return page_of(c, select(api_keys).where(*equal(api_keys, tenant=tenant)), api_keys, key_of, before, limit)


def _checksum(checked_part: str) -> str:
    return f"{zlib.crc32(checked_part.encode('ascii')):08x}"


def _digest(plain_key: str) -> bytes:
    # 256 random bits cannot be guessed, so a slow hash is not needed
    return hashlib.sha256(plain_key.encode("ascii")).digest()


def key_of(**row: Any) -> ApiKey:
    """Build a key from a full row of the table."""
    return ApiKey(**{field.name: row[field.name] for field in fields(ApiKey)} | {"scopes": tuple(row["scopes"])})
