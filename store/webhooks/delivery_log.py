"""What was sent to a receiver and what came of it, for its owner; and sending it again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, case, select, update

from store.core.agency_schema import deliveries, delivery_attempts
from store.core.clock import now_ms
from store.core.keyset import page_of
from store.core.schema import outbox


@dataclass(frozen=True)
class ToWebhook:
    """An endpoint of a tenant."""

    webhook_id: str
    tenant: str


@dataclass(frozen=True)
class ToCallback:
    """The own receiver of a tenant's job."""

    job_id: str
    tenant: str


Receiver = ToWebhook | ToCallback


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


def find(c: Connection, delivery_id: str, receiver: Receiver) -> Delivery | None:
    """Read a delivery to a receiver."""
    row = c.execute(select(*_SHOWN).where(deliveries.c.id == delivery_id, *_to(receiver))).one_or_none()
    return None if row is None else Delivery(*row)


def attempts(c: Connection, delivery_id: str) -> list[Attempt]:
    """Read the attempts at a delivery, in order."""
    shown = (delivery_attempts.c[name] for name in Attempt.__dataclass_fields__)
    query = select(*shown).where(delivery_attempts.c.delivery_id == delivery_id).order_by(delivery_attempts.c.number)
    return [Attempt(*row) for row in c.execute(query)]


def page(
    c: Connection,
    receiver: Receiver,
    *,
    state: str | None = None,
    before: tuple[int, str] | None = None,
    limit: int,
) -> list[Delivery]:
    """Read a receiver's deliveries, newest first, after ``before = (created_at, id)`` of the page before."""
    query = select(*_SHOWN).where(*_to(receiver))
    if state is not None:
        query = query.where(deliveries.c.state == state)
    query = page_of(query, deliveries.c.created_at, deliveries.c.id, before, limit)
    return [Delivery(*row) for row in c.execute(query)]


def redeliver(c: Connection, delivery_id: str, receiver: Receiver, url: str | None = None) -> Delivery | None:
    """Send a delivery again at once, to `url` if its receiver has moved there, under the same webhook-id.

    It is tried as often as is left of its schedule, and at least once. One that is being attempted
    now is attempted again after that.
    """
    waits = deliveries.c.state == "waiting"
    again = update(deliveries).where(deliveries.c.id == delivery_id, *_to(receiver))
    again = again.values(
        state="waiting",
        url=deliveries.c.url if url is None else url,
        next_attempt_at=now_ms(),
        ended_at=None,
        lease_until=case((waits, deliveries.c.lease_until), else_=None),
    )
    row = c.execute(again.returning(*_SHOWN)).one_or_none()
    return None if row is None else Delivery(*row)


def _to(receiver: Receiver) -> list[ColumnElement[bool]]:
    mine = deliveries.c.tenant == receiver.tenant
    match receiver:
        case ToWebhook(webhook_id):
            return [mine, deliveries.c.webhook_id == webhook_id]
        case ToCallback(job_id):
            news = select(outbox.c.id).where(outbox.c.job_id == job_id)
            return [mine, deliveries.c.webhook_id.is_(None), deliveries.c.outbox_id.in_(news)]
