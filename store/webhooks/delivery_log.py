"""Delivery log: deliveries to a receiver with their attempts, and redelivery."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, case, select, update

from assay.document import JsonObject
from store.core.columns import now_ms
from store.core.rows import all_rows, equal, one_row, page_of
from store.webhooks.deliveries import Outcome
from store.webhooks.tables import deliveries, delivery_attempts, outbox

Receiver = Sequence[ColumnElement[bool]]
"""SQL conditions that select the deliveries to one receiver: a webhook endpoint, or the callback of a job."""


def to_webhook(webhook_id: str, tenant: str) -> Receiver:
    """Return the SQL conditions that select the deliveries to a webhook endpoint of a tenant."""
    return [deliveries.c.tenant == tenant, deliveries.c.webhook_id == webhook_id]


def to_callback(job_id: str, tenant: str) -> Receiver:
    """Return the SQL conditions that select the deliveries to the ``callback_url`` of a tenant's job."""
    notices = select(outbox.c.id).where(outbox.c.job_id == job_id)
    return [deliveries.c.tenant == tenant, deliveries.c.webhook_id.is_(None), deliveries.c.outbox_id.in_(notices)]


@dataclass(frozen=True, kw_only=True)
class Attempt(Outcome):
    """An attempt of a delivery; `at` is in milliseconds since 1970."""

    number: int
    at: int


@dataclass(frozen=True)
class Delivery:
    """A delivery; `id` is the webhook-id of every attempt. Times are milliseconds since 1970.

    `state` is ``waiting``, ``delivered`` or ``given-up``. `attempts` counts the attempts so far; `next_attempt_at` is
    when a waiting delivery is due.
    """

    id: str
    webhook_id: str | None
    url: str
    type: str
    payload: JsonObject
    state: str
    attempts: int
    created_at: int
    next_attempt_at: int
    ended_at: int | None


_SHOWN_COLUMNS = tuple(deliveries.c[name] for name in Delivery.__dataclass_fields__)


def find(c: Connection, delivery_id: str, receiver: Receiver) -> Delivery | None:
    """Read a delivery to a receiver; return ``None`` if the receiver has no such delivery."""
    return one_row(c, select(*_SHOWN_COLUMNS).where(deliveries.c.id == delivery_id, *receiver), Delivery)


def attempts(c: Connection, delivery_id: str) -> list[Attempt]:
    """List the attempts of a delivery, in order."""
    columns = (delivery_attempts.c[name] for name in Attempt.__dataclass_fields__)
    query = select(*columns).where(delivery_attempts.c.delivery_id == delivery_id).order_by(delivery_attempts.c.number)
    return all_rows(c, query, Attempt)


def page(
    c: Connection, receiver: Receiver, *, state: str | None = None, before: tuple[int, str] | None = None, limit: int
) -> list[Delivery]:
    """List a receiver's deliveries, newest first, starting after the row ``before = (created_at, id)``."""
    query = select(*_SHOWN_COLUMNS).where(*receiver, *equal(deliveries, state=state))
    return page_of(c, query, deliveries, Delivery, before, limit)


def redeliver(c: Connection, delivery_id: str, receiver: Receiver, url: str | None = None) -> Delivery | None:
    """Queue a delivery again, due at once, with the same webhook-id, to `url` if given; ``None``: no such delivery.

    The usual maximum number of attempts still applies, but at least one more is made. If an attempt is running, the
    next attempt follows after it.
    """
    is_waiting = deliveries.c.state == "waiting"
    statement = update(deliveries).where(deliveries.c.id == delivery_id, *receiver)
    statement = statement.values(
        state="waiting",
        url=deliveries.c.url if url is None else url,
        next_attempt_at=now_ms(),
        ended_at=None,
        lease_until=case((is_waiting, deliveries.c.lease_until), else_=None),
    )
    return one_row(c, statement.returning(*_SHOWN_COLUMNS), Delivery)
