"""Idempotency keys: a repeated request gets the recorded response of the first one.

Follows draft 07 of the ``Idempotency-Key`` header (IETF HTTPAPI working group): 409 while the first request
is in flight, 422 for another payload under the same key, otherwise the recorded response.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import ColumnElement, Connection, and_, delete, insert, or_, select, update

from store.core.columns import now_ms
from store.core.engines import insert_into
from store.jobs.tables import idempotency

KEPT_H = 24
"""Hours for which a response is kept."""

IN_FLIGHT_S = 120
"""Seconds after which a request without a recorded response counts as lost and can be sent again."""


RequestState = Literal["new", "in-flight", "mismatch"]
"""State of a request without a recorded response: it is new (execute it, then call `complete`), it is being executed
(HTTP 409), or its key was used with another payload (HTTP 422)."""


@dataclass(frozen=True)
class Replay:
    """The recorded response of an executed request."""

    status: int
    body: bytes
    headers: dict[str, str]


def begin(
    c: Connection,
    scope: str,
    key: str,
    payload_digest: str,
    *,
    kept_h: float = KEPT_H,
    in_flight_s: float = IN_FLIGHT_S,
) -> RequestState | Replay:
    """Register a request, and return its state or the recorded response.

    `scope` joins tenant, method and path; equal keys in other scopes are independent. A response is kept for `kept_h`
    hours. After `in_flight_s` seconds, a request without a response counts as lost.
    """
    values = {"scope": scope, "key": key, "payload_digest": payload_digest, "began_at": now_ms()}
    no_response = {"status": None, "headers": None, "body": None}
    statement = insert_into(c, idempotency)
    insert_or_replace = statement.values(values | no_response).on_conflict_do_update(
        index_elements=[idempotency.c.scope, idempotency.c.key],
        set_={name: statement.excluded[name] for name in ("payload_digest", "began_at", *no_response)},
        where=_is_expired(kept_h, in_flight_s),
    )
    if c.execute(insert_or_replace.returning(idempotency.c.key)).one_or_none() is not None:
        return "new"
    row = c.execute(select(idempotency).where(*_same_key(scope, key))).mappings().one_or_none()
    if row is None:  # the row was deleted (by `purge`) between the two statements
        return "in-flight"
    if row["payload_digest"] != payload_digest:
        return "mismatch"
    if row["status"] is None:
        return "in-flight"
    return Replay(row["status"], row["body"], row["headers"])


def is_known(c: Connection, scope: str, key: str) -> bool:
    """Whether a request with this key is registered, with or without a response."""
    return c.execute(select(idempotency.c.key).where(*_same_key(scope, key))).one_or_none() is not None


def complete(c: Connection, scope: str, key: str, status: int, body: bytes, headers: Mapping[str, str]) -> None:
    """Record the response of a request, which repeated requests will get."""
    response = update(idempotency).where(*_same_key(scope, key), idempotency.c.status.is_(None))
    c.execute(response.values(status=status, body=body, headers=dict(headers)))


def purge(c: Connection, *, kept_h: float = KEPT_H) -> int:
    """Delete requests older than `kept_h` hours; return their number."""
    return c.execute(delete(idempotency).where(idempotency.c.began_at <= now_ms() - round(kept_h * 3_600_000))).rowcount


def prove_write(c: Connection) -> bool:
    """Write and remove a row in one transaction, and return true; if it commits, the database accepts writes."""
    probe_key = "/readyz"
    is_probe = idempotency.c.scope == probe_key
    c.execute(delete(idempotency).where(is_probe))
    c.execute(insert(idempotency).values(scope=probe_key, key=probe_key, payload_digest="", began_at=now_ms()))
    c.execute(delete(idempotency).where(is_probe))
    return True


def _same_key(scope: str, key: str) -> list[ColumnElement[bool]]:
    return [idempotency.c.scope == scope, idempotency.c.key == key]


def _is_expired(kept_h: float, in_flight_s: float) -> ColumnElement[bool]:
    is_abandoned = and_(idempotency.c.status.is_(None), idempotency.c.began_at <= now_ms() - round(in_flight_s * 1000))
    return or_(idempotency.c.began_at <= now_ms() - round(kept_h * 3_600_000), is_abandoned)
