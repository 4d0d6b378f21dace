"""Requests that may be sent twice: the first is carried out, the rest get its answer.

The table of the ``Idempotency-Key`` header (draft 07 of the HTTPAPI working group): 409 while the
first is in flight, 422 for another payload under the same key, else the recorded answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, delete, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from store.core.clock import now_ms
from store.core.schema import idempotency

KEPT_H = 24
IN_FLIGHT_S = 120
"""After this long an unanswered request was lost with its process, and may be sent again."""


@dataclass(frozen=True)
class Fresh:
    """Carry the request out, then `complete` or `forget` it."""


@dataclass(frozen=True)
class InFlight:
    """The same request is being carried out: 409."""


@dataclass(frozen=True)
class Mismatch:
    """The key was used for another payload: 422."""


@dataclass(frozen=True)
class Replay:
    """The request was carried out; this was the answer."""

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
) -> Fresh | InFlight | Replay | Mismatch:
    """Ask whether a request is to be carried out, and note that it is.

    Parameters
    ----------
    c : Connection
        A transaction.
    scope : str
        What keys are told apart by: API key, method and path.
    key : str
        The requester's.
    payload_digest : str
        Digest of the body.
    kept_h, in_flight_s : float
        Hours for which an answer is kept; seconds for which an unanswered request is waited for.
    """
    values = {"scope": scope, "key": key, "payload_digest": payload_digest, "began_at": now_ms()}
    blank = {"status": None, "headers": None, "body": None}
    insert = sqlite.insert(idempotency) if c.dialect.name == "sqlite" else postgresql.insert(idempotency)
    mine = insert.values(values | blank).on_conflict_do_update(
        index_elements=[idempotency.c.scope, idempotency.c.key],
        set_={name: insert.excluded[name] for name in ("payload_digest", "began_at", *blank)},
        where=_over(kept_h, in_flight_s),
    )
    if c.execute(mine.returning(idempotency.c.key)).one_or_none() is not None:
        return Fresh()
    found = select(idempotency).where(*_of(scope, key))
    row = c.execute(found).mappings().one_or_none()
    if row is None:  # forgotten by its owner between the two statements
        return InFlight()
    if row["payload_digest"] != payload_digest:
        return Mismatch()
    if row["status"] is None:
        return InFlight()
    return Replay(row["status"], bytes(row["body"]), row["headers"])


def is_known(c: Connection, scope: str, key: str) -> bool:
    """Whether a request with this key was seen, answered or not."""
    return c.execute(select(idempotency.c.key).where(*_of(scope, key))).one_or_none() is not None


def complete(c: Connection, scope: str, key: str, status: int, body: bytes, headers: Mapping[str, str]) -> None:
    """Record the answer, for whoever sends the request again."""
    answer = update(idempotency).where(*_of(scope, key), idempotency.c.status.is_(None))
    c.execute(answer.values(status=status, body=body, headers=dict(headers)))


def forget(c: Connection, scope: str, key: str) -> None:
    """Forget a request that failed on our side, so that it may be sent again."""
    c.execute(delete(idempotency).where(*_of(scope, key), idempotency.c.status.is_(None)))


def purge(c: Connection, *, kept_h: float = KEPT_H) -> int:
    """Delete what is older than it need be kept; returns how many."""
    return c.execute(delete(idempotency).where(idempotency.c.began_at <= now_ms() - round(kept_h * 3_600_000))).rowcount


def _of(scope: str, key: str) -> list[ColumnElement[bool]]:
    return [idempotency.c.scope == scope, idempotency.c.key == key]


def _over(kept_h: float, in_flight_s: float) -> ColumnElement[bool]:
    lost = and_(idempotency.c.status.is_(None), idempotency.c.began_at <= now_ms() - round(in_flight_s * 1000))
    return or_(idempotency.c.began_at <= now_ms() - round(kept_h * 3_600_000), lost)
