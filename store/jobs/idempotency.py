"""Idempotency keys: a repeated request gets the recorded response of the first one.

Follows draft 07 of the ``Idempotency-Key`` header (IETF HTTPAPI working group): 409 while the first request
is in flight, 422 for another payload under the same key, otherwise the recorded response.
"""

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
"""Seconds after which a request without a final response counts as lost."""

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
    c: Connection, scope: str, key: str, payload_digest: str, kept_h: float = KEPT_H, in_flight_s: float = IN_FLIGHT_S
) -> RequestState | Replay:
    """Register a request, and return its state or the recorded response; the parameters are those of `find`."""
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
    state = find(c, scope, key, payload_digest, kept_h, in_flight_s)
    return "in-flight" if state == "new" else state  # "new": `purge` deleted the row between the two statements


def find(
    c: Connection, scope: str, key: str, payload_digest: str, kept_h: float = KEPT_H, in_flight_s: float = IN_FLIGHT_S
) -> RequestState | Replay:
    """Return the state of a request or its recorded response, without registering it.

    `scope` joins tenant, method and path; equal keys in other scopes are independent. A response is kept for `kept_h`
    hours. A request without a final response is lost after `in_flight_s` seconds: its provisional response then stands.
    """
    is_lost = (idempotency.c.began_at <= now_ms() - round(in_flight_s * 1000)).label("is_lost")
    query = select(idempotency, is_lost).where(*_same_key(scope, key), ~_is_expired(kept_h, in_flight_s))
    row = c.execute(query).mappings().one_or_none()
    if row is None:
        return "new"
    if row["payload_digest"] != payload_digest:
        return "mismatch"
    if row["body"] is None or (row["status"] is None and not row["is_lost"]):
        return "in-flight"
    return Replay(row["status"] or 202, row["body"], row["headers"])  # 202: the response before the end of the work


def complete(c: Connection, scope: str, key: str, status: int | None, body: bytes, headers: Mapping[str, str]) -> None:
    """Record the response of a request; with ``status=None``, its response so far: it waits for the end of its work."""
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
    is_abandoned = and_(idempotency.c.body.is_(None), idempotency.c.began_at <= now_ms() - round(in_flight_s * 1000))
    return or_(idempotency.c.began_at <= now_ms() - round(kept_h * 3_600_000), is_abandoned)
