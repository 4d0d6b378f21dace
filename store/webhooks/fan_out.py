"""How a notice leaves the outbox: it becomes one delivery for each receiver, in one transaction.

The outbox row is closed in the same transaction ("delivered" there means handed over), so that each
notice becomes its deliveries once, whatever dies in between.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from store.core.agency_schema import deliveries, webhooks
from store.core.clock import read_clock
from store.core.columns import new_id
from store.webhooks import outbox
from store.webhooks.outbox import Notice
from store.webhooks.payloads import wrap
from store.webhooks.webhooks import PING, Webhook, webhook_from

BATCH = 100


@dataclass(frozen=True)
class _News:
    """What is told: its type, when it happened, its facts, and the address of what it is about."""

    kind: str
    at: int
    data: Mapping[str, Any]
    source: str
    outbox_id: int | None = None


@dataclass(frozen=True)
class HandedOver:
    """What became of some notices.

    Attributes
    ----------
    closed : int
        How many were closed.
    malformed : tuple of Notice
        Those among them that hold nothing to tell; they were given up, so that they keep back no others.
    """

    closed: int = 0
    malformed: tuple[Notice, ...] = ()


def hand_over(c: Connection, base_url: str = "", limit: int = BATCH) -> HandedOver:
    """Turn due notices into deliveries and close them.

    Parameters
    ----------
    c : Connection
        A transaction. The notices are locked in it; those that another process holds are left to it.
    base_url : str
        Address of this service, where it knows it: what a CloudEvent's ``source`` begins with.
    limit : int
        Most notices to take.

    Returns
    -------
    HandedOver
        How many notices were closed, and which of them could not be read.
    """
    notices = outbox.due(c, limit)
    if not notices:
        return HandedOver()
    listening, now = _listening(c, {notice.tenant for notice in notices}), read_clock(c)
    rows = []
    for notice in notices:
        if notice.data is None:
            outbox.give_up(c, notice.id)
            continue
        source = f"{base_url}/v1/jobs/{notice.job_id}"
        news = _News(notice.kind, notice.created_at, notice.data, source, notice.id)
        rows += [_row(news, notice.tenant, url, webhook, now) for url, webhook in _receivers(notice, listening)]
    if rows:
        into = sqlite.insert(deliveries) if c.dialect.name == "sqlite" else postgresql.insert(deliveries)
        c.execute(into.on_conflict_do_nothing(), rows)
    for notice in notices:
        outbox.delivered(c, notice.id)  # one that was given up stays so
    return HandedOver(len(notices), tuple(notice for notice in notices if notice.data is None))


def ping(c: Connection, webhook: Webhook, base_url: str = "") -> str:
    """Have an endpoint called for its own sake, whatever it subscribed to; returns the delivery's id."""
    now = read_clock(c)
    news = _News(PING, now, {"webhook_id": webhook.id}, f"{base_url}/v1/webhooks/{webhook.id}")
    row = _row(news, webhook.tenant, webhook.url, webhook, now)
    c.execute(insert(deliveries).values(row))
    return str(row["id"])


def _receivers(notice: Notice, listening: Mapping[str, Sequence[Webhook]]) -> Iterator[tuple[str, Webhook | None]]:
    """Say who is told of a notice: endpoints that want it and were there when it happened, and the job's receiver."""
    for webhook in listening[notice.tenant]:
        if webhook.wants(notice.kind) and webhook.created_at <= notice.created_at:
            yield webhook.url, webhook
    if notice.callback_url is not None:
        yield notice.callback_url, None


def _listening(c: Connection, tenants: Collection[str]) -> Mapping[str, Sequence[Webhook]]:
    """Read the endpoints that are told anything, and hold them: none is removed or disabled meanwhile."""
    query = select(webhooks).where(webhooks.c.tenant.in_(tenants), webhooks.c.removed_at.is_(None))
    query = query.where(webhooks.c.state == "enabled").order_by(webhooks.c.id).with_for_update(read=True)
    found = defaultdict[str, list[Webhook]](list)
    for row in c.execute(query).mappings():
        found[row["tenant"]].append(webhook_from(row))
    return found


def _row(news: _News, tenant: str, url: str, webhook: Webhook | None, now: int) -> dict[str, Any]:
    message_id, envelope = new_id("dlv"), "standard" if webhook is None else webhook.envelope
    return {
        "id": message_id,
        "tenant": tenant,
        "webhook_id": None if webhook is None else webhook.id,
        "outbox_id": news.outbox_id,
        "url": url,
        "type": news.kind,
        "payload": wrap(envelope, message_id, news.kind, news.at, news.data, source=news.source),
        "state": "waiting",
        "attempts": 0,
        "created_at": now,
        "next_attempt_at": now,
        "lease_until": None,
        "ended_at": None,
    }
