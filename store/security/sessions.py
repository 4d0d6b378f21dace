"""Sessions of people who signed in on a page: an opaque random token, of which only the SHA-256 is stored.

A session has the rights of the API key that the person entered, or of the rule for the person's account (OpenID
Connect). It ends with the key or the rule, after `IDLE_MS` without a request, and at the latest after `LONGEST_MS`.
A key, or an account, has at most `MOST_SESSIONS`; one more ends the oldest.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from secrets import token_urlsafe

from sqlalchemy import Connection, Select, and_, delete, insert, or_, select, update

from store.core.columns import now_ms
from store.core.engines import execute_if_writable
from store.security.keys import USE_NOTED_MS
from store.security.rights import Rule
from store.security.tables import api_keys, sessions

TOKEN_BYTES = 32
IDLE_MS = 12 * 3_600_000
LONGEST_MS = 7 * 86_400_000

MOST_SESSIONS = 50
"""Maximum number of sessions of a key, or of an account under a rule."""

MOST_DELETED = 100
"""Maximum number of ended sessions that a sign-in deletes: more than one, so that the table shrinks."""


@dataclass(frozen=True)
class SignedIn:
    """A person who signed in, with the rights of the session."""

    tenant: str
    scopes: tuple[str, ...]
    key_id: str | None
    """The API key that the person entered; ``None`` for a person with an account."""
    subject: str | None
    """The person's identifier at the OpenID Connect provider (claim ``sub``); ``None`` for a person with a key."""


def begin(
    c: Connection, *, previous: str = "", key_id: str | None = None, rule: str | None = None, subject: str | None = None
) -> str:
    """Begin a session with the rights of a key, or of a rule for sign-ins (its HMAC, `Vault.mark`); return its token.

    `previous` is the token of the session to replace, `subject` the person's identifier at the provider, if any.
    """
    end(c, previous)
    has_ended = or_(sessions.c.expires_at <= now_ms(), sessions.c.seen_at <= now_ms() - IDLE_MS)
    _delete_sessions(c, select(sessions.c.digest).where(has_ended).limit(MOST_DELETED))
    is_own = [sessions.c.key_id == key_id] if key_id else [sessions.c.subject == subject, sessions.c.rule == rule]
    # all but the newest `MOST_SESSIONS` - 1, so that there is room for the new session
    own_digests = select(sessions.c.digest).where(*is_own).order_by(sessions.c.expires_at.desc())
    _delete_sessions(c, own_digests.offset(MOST_SESSIONS - 1).limit(MOST_DELETED))
    token = token_urlsafe(TOKEN_BYTES)
    owner = {"key_id": key_id, "rule": rule, "subject": subject}
    times = {"seen_at": now_ms(), "expires_at": now_ms() + LONGEST_MS}
    c.execute(insert(sessions).values(digest=_digest(token), **owner, **times))
    return token


def find(c: Connection, token: str, rules: Mapping[str, Rule]) -> SignedIn | None:
    """Find the rights of a session; return ``None`` if it has ended, or its key or rule is no longer valid.

    The use is recorded at most once a minute. `rules` are the current rules for sign-ins by their HMACs (`Vault.mark`).
    """
    now = now_ms()
    key_is_valid = and_(
        sessions.c.key_id == api_keys.c.id,
        api_keys.c.revoked_at.is_(None),
        or_(api_keys.c.expires_at.is_(None), api_keys.c.expires_at > now),
    )
    row = c.execute(
        select(sessions, api_keys.c.tenant, api_keys.c.scopes, now.label("now"))
        .outerjoin(api_keys, key_is_valid)
        .where(sessions.c.digest == _digest(token), sessions.c.expires_at > now, sessions.c.seen_at > now - IDLE_MS)
    ).one_or_none()
    if row is None:
        return None
    rule = rules.get(row.rule) if row.rule else None
    tenant, scopes = (row.tenant, row.scopes) if rule is None else (rule.tenant, rule.scopes)
    if tenant is None:  # the session's key or rule is no longer valid
        return None
    if row.seen_at <= row.now - USE_NOTED_MS:
        execute_if_writable(c, update(sessions).where(sessions.c.digest == _digest(token)).values(seen_at=now_ms()))
    return SignedIn(tenant, tuple(scopes), row.key_id, row.subject)


def end(c: Connection, token: str) -> None:
    """End the session with this token, if there is one."""
    c.execute(delete(sessions).where(sessions.c.digest == _digest(token)))


def _delete_sessions(c: Connection, digests: Select[tuple[bytes]]) -> None:
    c.execute(delete(sessions).where(sessions.c.digest.in_(digests)))


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
