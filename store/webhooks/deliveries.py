"""Queue of webhook deliveries: selection, leases and results of attempts.

A process leases a delivery before it sends it, so that two processes never send it at the same time. Its id is
the ``webhook-id`` of every attempt: a receiver can detect a repeated delivery, which happens if a process dies
after sending and before recording.

`store.webhooks.fan_out` creates deliveries; `store.webhooks.delivery_log` lists them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, or_, select, update

from assay.document import JsonObject
from store.core.columns import now_ms, read_clock
from store.core.rows import all_rows, equal, one_row
from store.webhooks import webhooks as endpoints
from store.webhooks.tables import deliveries, delivery_attempts, outbox, webhooks
from store.webhooks.webhooks import Webhook

LEASE_S = 45.0
"""Seconds after which a delivery without a recorded result can be sent again; longer than any attempt."""

AT_ONCE = 2
"""Maximum concurrent attempts per receiver, over all processes."""

AT_ONCE_TENANT = 16
"""Maximum concurrent attempts per tenant, because each of its jobs can name another slow receiver."""

DISABLED_AFTER_S = 5 * 86_400
"""Seconds of failures without a success after which an endpoint is disabled."""

KEPT_S = 30 * 86_400
"""Seconds for which a finished delivery and its attempts are stored."""


@dataclass(frozen=True)
class ClaimedDelivery:
    """A delivery leased by this process; `id` is the webhook-id.

    `payload` is the body, before `store.webhooks.fan_out.body_of` serialises it. `number` is the number of this
    attempt, from 1. Times are milliseconds since 1970; `lease_until` identifies the lease. `webhook` is ``None`` for a
    job's ``callback_url``.
    """

    id: str
    tenant: str
    url: str
    type: str
    payload: JsonObject
    number: int
    claimed_at: int
    lease_until: int
    webhook: Webhook | None


@dataclass(frozen=True)
class Outcome:
    """Result of an attempt.

    `status` is the HTTP status, `response` the beginning of the body; both are ``None`` without a response. `failure`
    is the reason of a failure, for display; ``None`` after a success.
    """

    elapsed_ms: int
    status: int | None = None
    failure: str | None = None
    response: str | None = None


@dataclass(frozen=True)
class Next:
    """Retry decision after a failure.

    `delay_s` is the time until the next attempt in seconds; ``None`` gives up. For `rest_s` seconds the receiver
    gets no delivery at all. `gone` says whether the receiver answered HTTP 410 (never send again).
    """

    delay_s: float | None
    rest_s: float = 0.0
    gone: bool = False


def anything_due(c: Connection) -> bool:
    """Whether a notice or a delivery is due. One read, so that polling needs no transaction."""
    due_notices = select(outbox.c.id).where(outbox.c.state == "waiting", outbox.c.next_attempt_at <= now_ms())
    due_deliveries = select(deliveries.c.id).where(_claimable())
    return bool(c.execute(select(or_(due_notices.exists(), due_deliveries.exists()))).scalar())


def choose(c: Connection, limit: int) -> list[str]:
    """Choose due deliveries, oldest first, without letting a receiver or tenant delay the others.

    At most `AT_ONCE` per receiver and `AT_ONCE_TENANT` per tenant, including leased ones. It only reads, because
    it is slow with a long backlog and must not block writers.
    """
    receiver = func.coalesce(deliveries.c.webhook_id, deliveries.c.url)
    is_leased = and_(deliveries.c.state == "waiting", deliveries.c.lease_until > now_ms())
    running_attempts = select(receiver.label("receiver"), func.count().label("attempts")).where(is_leased)
    rank = func.row_number().over(partition_by=receiver, order_by=(deliveries.c.next_attempt_at, deliveries.c.id))
    columns = (deliveries.c.id, deliveries.c.tenant, deliveries.c.next_attempt_at)
    due_deliveries = select(*columns, receiver.label("receiver"), rank.label("rank")).where(_claimable()).subquery()
    busy_receivers = running_attempts.group_by(receiver).subquery()
    oldest_first = (due_deliveries.c.next_attempt_at, due_deliveries.c.id)
    tenant_rank = func.row_number().over(partition_by=due_deliveries.c.tenant, order_by=oldest_first)
    fair_to_receivers = (
        select(due_deliveries, tenant_rank.label("tenant_rank"))
        .outerjoin(busy_receivers, busy_receivers.c.receiver == due_deliveries.c.receiver)
        .where(due_deliveries.c.rank + func.coalesce(busy_receivers.c.attempts, 0) <= AT_ONCE)
        .subquery()
    )
    tenant_attempts = select(deliveries.c.tenant, func.count().label("attempts")).where(is_leased)
    busy_tenants = tenant_attempts.group_by(deliveries.c.tenant).subquery()
    ids = (
        select(fair_to_receivers.c.id)
        .outerjoin(busy_tenants, busy_tenants.c.tenant == fair_to_receivers.c.tenant)
        .where(fair_to_receivers.c.tenant_rank + func.coalesce(busy_tenants.c.attempts, 0) <= AT_ONCE_TENANT)
        .order_by(fair_to_receivers.c.next_attempt_at, fair_to_receivers.c.id)
        .limit(limit)
    )
    return list(c.execute(ids).scalars())


def claim(c: Connection, ids: Sequence[str], lease_s: float = LEASE_S) -> list[ClaimedDelivery]:
    """Lease the deliveries of `choose` for `lease_s` seconds, except those that others have leased since."""
    now = read_clock(c)
    if not ids:
        return []
    free_ids = select(deliveries.c.id).where(deliveries.c.id.in_(ids), _claimable()).with_for_update(skip_locked=True)
    statement = update(deliveries).where(deliveries.c.id.in_(free_ids), _claimable())
    rows = c.execute(statement.values(lease_until=now + round(lease_s * 1000)).returning(deliveries)).mappings().all()
    known_webhooks = select(webhooks).where(webhooks.c.id.in_({row["webhook_id"] for row in rows} - {None}))
    webhook_by_id = {webhook.id: webhook for webhook in all_rows(c, known_webhooks, endpoints.webhook_from)}
    return [
        ClaimedDelivery(
            **{name: row[name] for name in ("id", "tenant", "url", "type", "payload", "lease_until")},
            number=row["attempts"] + 1,
            claimed_at=now,
            webhook=webhook_by_id.get(row["webhook_id"]),
        )
        for row in rows
    ]


def record(c: Connection, delivery: ClaimedDelivery, outcome: Outcome, retry: Next | None = None) -> str | None:
    """Record the result of an attempt; `retry` is the decision after a failure, ``None`` after a success.

    Return the new state of the delivery: ``delivered``, ``waiting``, ``given-up`` or ``disabled`` (with its endpoint).
    If the lease was lost, write nothing and return ``None``.
    """
    # the webhook is locked before the delivery, as everywhere, to prevent deadlocks
    webhook = _lock_webhook(c, delivery)
    end_state = None
    changes: JsonObject = {"attempts": delivery.number, "lease_until": None}
    if retry is not None and retry.delay_s is not None:
        changes |= {"next_attempt_at": now_ms() + round(retry.delay_s * 1000)}
    else:
        end_state = "delivered" if retry is None else "given-up"
        changes |= {"state": end_state, "ended_at": now_ms()}
    is_waiting = (deliveries.c.id == delivery.id, deliveries.c.state == "waiting")
    statement = update(deliveries).where(*is_waiting, deliveries.c.lease_until == delivery.lease_until)
    if c.execute(statement.values(**changes)).rowcount == 0:
        return None
    attempt = {"delivery_id": delivery.id, "number": delivery.number, "at": delivery.claimed_at}
    c.execute(insert(delivery_attempts).values(attempt | vars(outcome)))
    if retry is not None and retry.rest_s > 0:
        _postpone_others(c, delivery, retry.rest_s)
    if webhook is not None and delivery.type == endpoints.CHALLENGE:
        return _confirm_or_disable(c, webhook, end_state)
    if webhook is not None and _record_outcome(c, webhook, retry):
        return "disabled"
    return end_state or "waiting"


def _confirm_or_disable(c: Connection, webhook: Webhook, end_state: str | None) -> str:
    """After a challenge: confirm the endpoint if it answered, disable it if all attempts failed; return the state."""
    if end_state == "delivered":
        endpoints.confirm(c, webhook.id, webhook.tenant)
    elif end_state is not None:
        endpoints.disable(c, webhook.id, webhook.tenant, "unconfirmed")
        return "disabled"
    return end_state or "waiting"


def postpone(c: Connection, delivery: ClaimedDelivery, delay_s: float) -> None:
    """Queue a leased delivery again that was not sent, due after `delay_s` seconds; no attempt is counted."""
    conditions = (deliveries.c.id == delivery.id, deliveries.c.lease_until == delivery.lease_until)
    later = {"lease_until": None, "next_attempt_at": now_ms() + round(delay_s * 1000)}
    c.execute(update(deliveries).where(*conditions, deliveries.c.state == "waiting").values(later))


def delete_ended(c: Connection, kept_s: float = KEPT_S) -> int:
    """Delete deliveries that ended more than `kept_s` seconds ago; return their number."""
    has_expired = and_(deliveries.c.state != "waiting", deliveries.c.ended_at <= now_ms() - round(kept_s * 1000))
    return c.execute(delete(deliveries).where(has_expired)).rowcount


def _claimable() -> ColumnElement[bool]:
    """Return the condition that a delivery is due and not leased; an unconfirmed endpoint gets only challenges."""
    not_leased = or_(deliveries.c.lease_until.is_(None), deliveries.c.lease_until <= now_ms())
    may_receive = or_(
        deliveries.c.webhook_id.is_(None),
        deliveries.c.type == endpoints.CHALLENGE,
        deliveries.c.webhook_id.in_(select(webhooks.c.id).where(webhooks.c.confirmed_at.is_not(None))),
    )
    return and_(deliveries.c.state == "waiting", deliveries.c.next_attempt_at <= now_ms(), not_leased, may_receive)


def _lock_webhook(c: Connection, delivery: ClaimedDelivery) -> Webhook | None:
    if delivery.webhook is None:
        return None
    query = select(webhooks).where(webhooks.c.id == delivery.webhook.id, webhooks.c.removed_at.is_(None))
    return one_row(c, query.with_for_update(), endpoints.webhook_from)


def _postpone_others(c: Connection, delivery: ClaimedDelivery, rest_s: float) -> None:
    """Postpone all waiting deliveries to an overloaded receiver until `rest_s` seconds from now."""
    if delivery.webhook is None:
        to_receiver = [deliveries.c.webhook_id.is_(None), *equal(deliveries, url=delivery.url, tenant=delivery.tenant)]
    else:
        to_receiver = equal(deliveries, webhook_id=delivery.webhook.id)
    rest_end = now_ms() + round(rest_s * 1000)
    due_before = (deliveries.c.state == "waiting", deliveries.c.next_attempt_at < rest_end)
    c.execute(update(deliveries).where(*to_receiver, *due_before).values(next_attempt_at=rest_end))


def _record_outcome(c: Connection, webhook: Webhook, retry: Next | None) -> bool:
    """Record a success (no `retry`) or a failure of an endpoint; return whether it is disabled now."""
    if retry is None:
        if webhook.failing_since is not None:
            _set_failing_since(c, webhook, failing_since=None)
        return False
    since = webhook.failing_since or _set_failing_since(c, webhook, now_ms())
    if retry.gone:  # the receiver answered HTTP 410
        endpoints.disable(c, webhook.id, webhook.tenant, "gone")
        return True
    if since is not None and read_clock(c) - since >= DISABLED_AFTER_S * 1000:
        endpoints.disable(c, webhook.id, webhook.tenant, "failing")
        return True
    return False


def _set_failing_since(c: Connection, webhook: Webhook, failing_since: object) -> int | None:
    """Store since when an endpoint fails (an SQL expression; ``None``: it works again); return the stored time."""
    statement = update(webhooks).where(webhooks.c.id == webhook.id)
    statement = statement.values(failing_since=failing_since, version=webhooks.c.version + 1, updated_at=now_ms())
    since: int | None = c.execute(statement.returning(webhooks.c.failing_since)).scalar_one()
    return since
