"""Sessions of people who signed in on a page: an opaque random token, of which only the SHA-256 is stored.

A session has the rights of the key that was pasted; it ends with the key, after `IDLE_MS` without a request, and after
`LONGEST_MS` in any case.
"""

from __future__ import annotations

import hashlib
from secrets import token_urlsafe

from sqlalchemy import Connection, delete, insert, or_, select, update
from sqlalchemy.exc import DBAPIError

from store.core.clock import now_ms
from store.core.engines import unavailable
from store.core.schema import api_keys, sessions
from store.security import keys
from store.security.keys import USE_NOTED_MS, ApiKey

TOKEN_BYTES = 32
IDLE_MS = 12 * 3_600_000
LONGEST_MS = 7 * 86_400_000


def begin(c: Connection, key_id: str) -> str:
    """Begin a session with the rights of a key; return its token."""
    c.execute(delete(sessions).where(or_(sessions.c.expires_at <= now_ms(), sessions.c.seen_at <= now_ms() - IDLE_MS)))
    token = token_urlsafe(TOKEN_BYTES)
    values = {"digest": _digest(token), "key_id": key_id, "seen_at": now_ms(), "expires_at": now_ms() + LONGEST_MS}
    c.execute(insert(sessions).values(values))
    return token


def find(c: Connection, token: str) -> ApiKey | None:
    """Find the key of a session that has not ended; that it was used is recorded at most once a minute."""
    now = now_ms()
    query = (
        select(api_keys, sessions.c.seen_at, now.label("now"))
        .join(sessions, sessions.c.key_id == api_keys.c.id)
        .where(
            sessions.c.digest == _digest(token),
            sessions.c.expires_at > now,
            sessions.c.seen_at > now - IDLE_MS,
            api_keys.c.revoked_at.is_(None),
            or_(api_keys.c.expires_at.is_(None), api_keys.c.expires_at > now),
        )
    )
    row = c.execute(query).mappings().one_or_none()
    if row is None:
        return None
    if row["seen_at"] <= row["now"] - USE_NOTED_MS:
        _record_use(c, token)
    return keys.key_of(**row)


def end(c: Connection, token: str) -> None:
    """End a session."""
    c.execute(delete(sessions).where(sessions.c.digest == _digest(token)))


def _record_use(c: Connection, token: str) -> None:
    try:
        c.execute(update(sessions).where(sessions.c.digest == _digest(token)).values(seen_at=now_ms()))
    except DBAPIError as error:  # reading goes on where nothing can be written
        if unavailable(error) is None:
            raise


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
