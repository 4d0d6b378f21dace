"""What was sent to an endpoint and what came of it, for its owner; and sending it again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, case, select, update

from store.agency import deliveries, delivery_attempts
from store.clock import now_ms
from store.keyset import older_than


@dataclass(frozen=True)
class Attempt:
    """One attempt at a delivery; `at` is in milliseconds since 1970, `status` None where nothing was answered."""

    number: int
    at: int
    elapsed_ms: int
    status: int | None
    failure: str | None
    response: str | None


@dataclass(frozen=True)
class Delivery:
    """A delivery as it stands. Times are milliseconds since 1970.

    Attributes
    ----------
    id : str
        The webhook-id of every attempt.
    state : str
        ``waiting``, ``delivered`` or ``given-up``.
    attempts : int
        Made so far.
    next_attempt_at : int
        When a waiting one is due.
    """

    id: str
    webhook_id: str | None
    url: str
    type: str
    payload: dict[str, Any]
    state: str
    attempts: int
    created_at: int
    next_attempt_at: int
    ended_at: int | None


_SHOWN = tuple(deliveries.c[name] for name in Delivery.__dataclass_fields__)


def find(c: Connection, delivery_id: str, webhook_id: str, tenant: str) -> Delivery | None:
    """Read a delivery of a tenant's endpoint."""
    row = c.execute(select(*_SHOWN).where(*_of(delivery_id, webhook_id, tenant))).one_or_none()
    return None if row is None else Delivery(*row)


def attempts(c: Connection, delivery_id: str) -> list[Attempt]:
    """Read the attempts at a delivery, in order."""
    shown = (delivery_attempts.c[name] for name in Attempt.__dataclass_fields__)
    query = select(*shown).where(delivery_attempts.c.delivery_id == delivery_id).order_by(delivery_attempts.c.number)
    return [Attempt(*row) for row in c.execute(query)]


def page(
    c: Connection,
    webhook_id: str,
    tenant: str,
    *,
    state: str | None = None,
    before: tuple[int, str] | None = None,
    limit: int,
) -> list[Delivery]:
    """Read an endpoint's deliveries, newest first, after ``before = (created_at, id)`` of the page before."""
    query = select(*_SHOWN).where(deliveries.c.webhook_id == webhook_id, deliveries.c.tenant == tenant)
    if state is not None:
        query = query.where(deliveries.c.state == state)
    if before is not None:
        query = query.where(older_than(deliveries.c.created_at, deliveries.c.id, before))
    query = query.order_by(deliveries.c.created_at.desc(), deliveries.c.id.desc()).limit(limit)
    return [Delivery(*row) for row in c.execute(query)]


def redeliver(c: Connection, delivery_id: str, webhook_id: str, tenant: str, url: str) -> Delivery | None:
    """Send a delivery again at once, to where its endpoint is now, under the same webhook-id.

    It is tried as often as is left of its schedule, and at least once. One that is being attempted
    now is attempted again after that.
    """
    waits = deliveries.c.state == "waiting"
    again = update(deliveries).where(*_of(delivery_id, webhook_id, tenant))
    again = again.values(
        state="waiting",
        url=url,
        next_attempt_at=now_ms(),
        ended_at=None,
        lease_until=case((waits, deliveries.c.lease_until), else_=None),
    )
    row = c.execute(again.returning(*_SHOWN)).one_or_none()
    return None if row is None else Delivery(*row)


def _of(delivery_id: str, webhook_id: str, tenant: str) -> list[ColumnElement[bool]]:
    mine = (deliveries.c.tenant == tenant, deliveries.c.webhook_id == webhook_id)
    return [deliveries.c.id == delivery_id, *mine]
