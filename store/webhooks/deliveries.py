"""What is on its way to receivers: a notice becomes one delivery for each, and every attempt is kept.

A delivery is claimed for a while (a lease) by whoever attempts it, so that two processes never send
it at the same time. Its id is the webhook-id and stays the same: a receiver that hears it twice,
because we died between sending and writing that down, can tell.

`store.webhooks.fan_out` makes deliveries, this module attempts them, and `store.webhooks.delivery_log` shows them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, or_, select, update

from store.core.agency_schema import deliveries, delivery_attempts, webhooks
from store.core.clock import now_ms, read_clock
from store.core.schema import outbox
from store.webhooks import webhooks as endpoints
from store.webhooks.webhooks import Webhook

LEASE_S = 30.0
"""Seconds until an attempt that was not recorded may be made again; longer than any attempt takes."""

AT_ONCE = 2
"""Attempts under way at one receiver, over all processes."""

AT_ONCE_TENANT = 16
"""Attempts under way for one tenant: each job may name a receiver of its own, and all may be slow."""

MOST_RECEIVERS = 1000
"""Due deliveries that are looked at in one round."""

DISABLED_AFTER_S = 5 * 86_400
"""Seconds of failures without a success after which an endpoint is told nothing more."""

KEPT_S = 30 * 86_400
"""Seconds for which an ended delivery is kept with its attempts."""


@dataclass(frozen=True)
class Claimed:
    """A delivery that is ours to attempt.

    Attributes
    ----------
    id, tenant : str
        The webhook-id; whose it is.
    url : str
        Where it goes.
    payload : dict
        What `store.webhooks.payloads.body_of` writes.
    number : int
        Of this attempt, from 1.
    claimed_at, lease_until : int
        Milliseconds since 1970; the lease names the claim.
    webhook : Webhook or None
        The endpoint with its sealed secrets; ``None`` for a job's ``callback_url``.
    """

    id: str
    tenant: str
    url: str
    payload: dict[str, Any]
    number: int
    claimed_at: int
    lease_until: int
    webhook: Webhook | None


@dataclass(frozen=True)
class Outcome:
    """What came of an attempt.

    Attributes
    ----------
    elapsed_ms : int
        How long it took.
    status : int or None
        What was answered; ``None`` where nothing was.
    failure : str or None
        Why it did not succeed, for people; ``None`` is success.
    response : str or None
        The beginning of the answer.
    """

    elapsed_ms: int
    status: int | None
    failure: str | None
    response: str | None


@dataclass(frozen=True)
class Next:
    """What is to be done after a failure.

    Attributes
    ----------
    delay_s : float or None
        Seconds until the next attempt; ``None`` gives up.
    rest_s : float
        Seconds for which the receiver gets nothing else either.
    gone : bool
        Whether the receiver asked never to be told again.
    """

    delay_s: float | None
    rest_s: float = 0.0
    gone: bool = False


def anything_due(c: Connection) -> bool:
    """Whether there is anything to hand over or to attempt: one read, so that waiting costs no transaction."""
    notices = select(outbox.c.id).where(outbox.c.state == "waiting", outbox.c.next_attempt_at <= now_ms())
    return bool(c.execute(select(or_(notices.exists(), select(deliveries.c.id).where(_is_free()).exists()))).scalar())


def choose(c: Connection, limit: int) -> list[str]:
    """Choose among what is due, the longest due first, so that no receiver and no tenant holds up another.

    At most `AT_ONCE` for each receiver and `AT_ONCE_TENANT` for each tenant, with what is under way. It
    only reads: with a long backlog it takes its time, and nobody who writes should wait for that.
    """
    receiver = func.coalesce(deliveries.c.webhook_id, deliveries.c.url)
    held = and_(deliveries.c.state == "waiting", deliveries.c.lease_until > now_ms())
    under_way = select(receiver.label("receiver"), func.count().label("attempts")).where(held).group_by(receiver)
    turn = func.row_number().over(partition_by=receiver, order_by=(deliveries.c.next_attempt_at, deliveries.c.id))
    columns = (deliveries.c.id, deliveries.c.tenant, deliveries.c.next_attempt_at)
    line = select(*columns, receiver.label("receiver"), turn.label("turn")).where(_is_free()).subquery()
    busy = under_way.subquery()
    fair = (
        select(line.c.id, line.c.tenant)
        .outerjoin(busy, busy.c.receiver == line.c.receiver)
        .where(line.c.turn + func.coalesce(busy.c.attempts, 0) <= AT_ONCE)
        .order_by(line.c.next_attempt_at, line.c.id)
        .limit(MOST_RECEIVERS)
    )
    tenants = select(deliveries.c.tenant, func.count()).where(held).group_by(deliveries.c.tenant)
    counted = Counter({row[0]: row[1] for row in c.execute(tenants)})
    chosen: list[str] = []
    for row in c.execute(fair):
        if len(chosen) < limit and counted[row.tenant] < AT_ONCE_TENANT:
            counted[row.tenant] += 1
            chosen.append(row.id)
    return chosen


def claim(c: Connection, ids: Sequence[str], lease_s: float = LEASE_S) -> list[Claimed]:
    """Take due deliveries: those of `choose` that nobody else has taken since.

    Parameters
    ----------
    c : Connection
        A transaction.
    ids : sequence of str
        Which ones.
    lease_s : float
        Seconds until another may take them unless `record` comes.
    """
    now = read_clock(c)
    if not ids:
        return []
    free = select(deliveries.c.id).where(deliveries.c.id.in_(ids), _is_free()).with_for_update(skip_locked=True)
    taken = update(deliveries).where(deliveries.c.id.in_(free), _is_free())
    rows = c.execute(taken.values(lease_until=now + round(lease_s * 1000)).returning(deliveries)).mappings().all()
    known = _webhooks_of(c, {row["webhook_id"] for row in rows} - {None})
    return [
        Claimed(
            id=row["id"],
            tenant=row["tenant"],
            url=row["url"],
            payload=row["payload"],
            number=row["attempts"] + 1,
            claimed_at=now,
            lease_until=row["lease_until"],
            webhook=known.get(row["webhook_id"]),
        )
        for row in rows
    ]


def record(c: Connection, claimed: Claimed, outcome: Outcome, then: Next | None = None) -> str | None:
    """Write down what came of an attempt.

    Parameters
    ----------
    c : Connection
        A transaction.
    claimed : Claimed
        Ours.
    outcome : Outcome
        What came of it.
    then : Next, optional
        What to do after a failure; left out after a success.

    Returns
    -------
    str or None
        How the delivery is left: ``delivered``, ``waiting``, ``given-up`` or ``disabled`` (with its
        endpoint). ``None`` if it is not ours any more; then nothing is written.
    """
    webhook = _lock_webhook(c, claimed)  # before the delivery, as everyone who changes both does
    end = "delivered" if then is None else "given-up" if then.delay_s is None else None
    left: dict[str, Any] = {"attempts": claimed.number, "lease_until": None}
    if end is None:
        assert then is not None and then.delay_s is not None  # noqa: S101, PT018
        left |= {"next_attempt_at": now_ms() + round(then.delay_s * 1000)}
    else:
        left |= {"state": end, "ended_at": now_ms()}
    ours = (deliveries.c.id == claimed.id, deliveries.c.state == "waiting")
    held = update(deliveries).where(*ours, deliveries.c.lease_until == claimed.lease_until).values(**left)
    if c.execute(held).rowcount == 0:
        return None
    c.execute(
        insert(delivery_attempts).values(
            delivery_id=claimed.id, number=claimed.number, at=claimed.claimed_at, **vars(outcome)
        )
    )
    if then is not None and then.rest_s > 0:
        _rest(c, claimed, then.rest_s)
    if webhook is not None and _judge(c, webhook, then):
        return "disabled"
    return end or "waiting"


def forget(c: Connection, kept_s: float = KEPT_S) -> int:
    """Delete deliveries that ended more than `kept_s` seconds ago; returns how many."""
    old = and_(deliveries.c.state != "waiting", deliveries.c.ended_at <= now_ms() - round(kept_s * 1000))
    return c.execute(delete(deliveries).where(old)).rowcount


# ---------------------------------------------------------------------------- what is due
def _is_free() -> ColumnElement[bool]:
    unheld = or_(deliveries.c.lease_until.is_(None), deliveries.c.lease_until <= now_ms())
    return and_(deliveries.c.state == "waiting", deliveries.c.next_attempt_at <= now_ms(), unheld)


def _webhooks_of(c: Connection, ids: Collection[str]) -> dict[str | None, Webhook]:
    if not ids:
        return {}
    rows = c.execute(select(webhooks).where(webhooks.c.id.in_(ids))).mappings()
    return {row["id"]: endpoints.webhook_from(row) for row in rows}


# ---------------------------------------------------------------------------- what a failure costs
def _lock_webhook(c: Connection, claimed: Claimed) -> Webhook | None:
    if claimed.webhook is None:
        return None
    locked = select(webhooks).where(webhooks.c.id == claimed.webhook.id, webhooks.c.removed_at.is_(None))
    row = c.execute(locked.with_for_update()).mappings().one_or_none()
    return None if row is None else endpoints.webhook_from(row)


def _rest(c: Connection, claimed: Claimed, rest_s: float) -> None:
    """Let a receiver that is under load come to itself: whatever waits for it waits that long."""
    of = (
        (deliveries.c.url == claimed.url, deliveries.c.webhook_id.is_(None), deliveries.c.tenant == claimed.tenant)
        if claimed.webhook is None
        else (deliveries.c.webhook_id == claimed.webhook.id,)
    )
    until = now_ms() + round(rest_s * 1000)
    early = (deliveries.c.state == "waiting", deliveries.c.next_attempt_at < until)
    c.execute(update(deliveries).where(*of, *early).values(next_attempt_at=until))


def _judge(c: Connection, webhook: Webhook, then: Next | None) -> bool:
    """Count a success or a failure for an endpoint; true if it is told nothing more from now on."""
    if then is None:
        if webhook.failing_since is not None:
            _since(c, webhook, None)
        return False
    since = webhook.failing_since or _since(c, webhook, now_ms())
    if then.gone:
        endpoints.disable(c, webhook.id, webhook.tenant, "gone")
        return True
    if since is not None and read_clock(c) - since >= DISABLED_AFTER_S * 1000:
        endpoints.disable(c, webhook.id, webhook.tenant, "failing")
        return True
    return False


def _since(c: Connection, webhook: Webhook, when: Any) -> int | None:
    changed = update(webhooks).where(webhooks.c.id == webhook.id)
    changed = changed.values(failing_since=when, version=webhooks.c.version + 1, updated_at=now_ms())
    since: int | None = c.execute(changed.returning(webhooks.c.failing_since)).scalar_one()
    return since
