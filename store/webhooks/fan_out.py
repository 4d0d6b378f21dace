"""Fan-out of notices: one delivery per receiver, with a body in the format of Standard Webhooks or CloudEvents.

The transaction that creates the deliveries also closes the notice's outbox row (state "delivered"), so that each
notice is turned into deliveries once, even after a crash.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from secrets import token_urlsafe
from typing import Any, Literal

from sqlalchemy import Connection, insert, select, update

from assay.document import Json, JsonObject
from store.core.columns import iso, new_id, now_ms, read_clock
from store.core.engines import insert_into
from store.core.rows import equal
from store.webhooks import outbox
from store.webhooks.deliveries import ClaimedDelivery
from store.webhooks.outbox import Notice
from store.webhooks.tables import deliveries, webhooks
from store.webhooks.webhooks import CHALLENGE, PING, Webhook, webhook_from

BATCH = 100

ENDS = frozenset({"job.succeeded", "job.failed", "job.cancelled"})
"""Event types that are sent to a job's `callback_url`; each job ends with one of them."""

TOKEN_BYTES = 24


@dataclass(frozen=True)
class _Message:
    """Content of a delivery: event type, time, facts, and URL of the subject."""

    kind: str
    at: int
    data: Json
    source: str
    outbox_id: int | None = None


@dataclass(frozen=True)
class HandedOver:
    """Result of `hand_over`, which turns notices into deliveries.

    `closed` is the number of closed notices. Notices in `malformed` had no valid payload; they were closed without
    a delivery, so that they do not block others.
    """

    closed: int = 0
    malformed: tuple[Notice, ...] = ()


def hand_over(c: Connection, base_url: str = "", limit: int = BATCH) -> HandedOver:
    """Turn up to `limit` due notices into deliveries and close them.

    Notices locked by another process are skipped. `base_url` is the public URL of this service, the start of a
    CloudEvent's ``source``.
    """
    notices = outbox.due(c, limit)
    if not notices:
        return HandedOver()
    endpoints = _lock_endpoints(c, {notice.tenant for notice in notices})
    now = read_clock(c)
    rows = []
    for notice in notices:
        if notice.data is None:
            outbox.give_up(c, notice.id)
            continue
        source = f"{base_url}/v1/jobs/{notice.job_id}"
        message = _Message(notice.kind, at=notice.created_at, data=notice.data, source=source, outbox_id=notice.id)
        receivers = _receivers(notice, endpoints)
        rows += [_delivery_row(message, notice.tenant, url, webhook, now) for url, webhook in receivers]
        outbox.mark_delivered(c, notice.id)
    if rows:
        c.execute(insert_into(c, deliveries).on_conflict_do_nothing(), rows)
    return HandedOver(len(notices), malformed=tuple(notice for notice in notices if notice.data is None))


def ping(c: Connection, webhook: Webhook, base_url: str = "") -> str:
    """Queue a test delivery to an endpoint, whatever its subscriptions; return its id. `base_url`: see `hand_over`."""
    return _queue_delivery(c, webhook, PING, {}, base_url)


def challenge(c: Connection, webhook: Webhook, base_url: str = "") -> str:
    """Queue a challenge to an endpoint, and drop an earlier challenge; return the delivery's id."""
    is_waiting = equal(deliveries, webhook_id=webhook.id, type=CHALLENGE, state="waiting")
    c.execute(update(deliveries).where(*is_waiting).values(state="given-up", ended_at=now_ms()))
    return _queue_delivery(c, webhook, CHALLENGE, {"challenge": token_urlsafe(TOKEN_BYTES)}, base_url)


def _queue_delivery(c: Connection, webhook: Webhook, kind: str, facts: Json, base_url: str) -> str:
    """Queue a delivery about an endpoint itself, to this endpoint; return the delivery's id."""
    now = read_clock(c)
    message = _Message(kind, now, {"webhook_id": webhook.id, **facts}, f"{base_url}/v1/webhooks/{webhook.id}")
    row = _delivery_row(message, webhook.tenant, webhook.url, webhook, now)
    c.execute(insert(deliveries).values(row))
    return str(row["id"])


def challenge_callback(c: Connection, challenge_id: str, notice: ClaimedDelivery, base_url: str = "") -> None:
    """Queue a challenge (a token to be returned) to the address of the callback `notice`, unless its id exists."""
    now = read_clock(c)
    job_id = notice.payload["data"]["job_id"]
    facts = {"job_id": job_id, "challenge": token_urlsafe(TOKEN_BYTES)}
    message = _Message(CHALLENGE, now, facts, f"{base_url}/v1/jobs/{job_id}")
    row = _delivery_row(message, notice.tenant, notice.url, webhook=None, now=now) | {"id": challenge_id}
    c.execute(insert_into(c, deliveries).on_conflict_do_nothing(), [row])


def answers_challenge(payload: Json, answer: str | None) -> bool:
    """Whether the answer to a challenge is its token, alone or as ``{"challenge": token}``."""
    token = payload["data"]["challenge"]
    text = (answer or "").strip()
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    json_token = document.get("challenge") if isinstance(document, dict) else document  # the latter: a JSON string
    return token in (text, json_token)


def _receivers(notice: Notice, endpoints: Mapping[str, Sequence[Webhook]]) -> Iterator[tuple[str, Webhook | None]]:
    """Yield the receivers of a notice: endpoints that subscribed and existed at the time, and the job's callback.

    A callback gets one notice: the end of its job.
    """
    for webhook in endpoints[notice.tenant]:
        if webhook.wants(notice.kind) and webhook.created_at <= notice.created_at:
            yield webhook.url, webhook
    if notice.callback_url is not None and notice.kind in ENDS:
        yield notice.callback_url, None


def _lock_endpoints(c: Connection, tenants: Collection[str]) -> Mapping[str, Sequence[Webhook]]:
    """Read the enabled endpoints by tenant, locked so that none is removed or disabled meanwhile."""
    query = select(webhooks).where(webhooks.c.tenant.in_(tenants), webhooks.c.removed_at.is_(None))
    query = query.where(webhooks.c.state == "enabled").order_by(webhooks.c.id).with_for_update(read=True)
    by_tenant = defaultdict[str, list[Webhook]](list)
    for row in c.execute(query).mappings():
        by_tenant[row["tenant"]].append(webhook_from(**row))
    return by_tenant


def _delivery_row(message: _Message, tenant: str, url: str, webhook: Webhook | None, now: int) -> dict[str, Any]:
    """Return the row of a new delivery to an endpoint, or to a ``callback_url`` if `webhook` is ``None``."""
    delivery_id = new_id("dlv")
    envelope = "standard" if webhook is None else webhook.envelope
    return {
        "id": delivery_id,
        "tenant": tenant,
        "webhook_id": None if webhook is None else webhook.id,
        "outbox_id": message.outbox_id,
        "url": url,
        "type": message.kind,
        "payload": wrap(envelope, delivery_id, message.kind, message.at, message.data, source=message.source),
        "state": "waiting",
        "attempts": 0,
        "created_at": now,
        "next_attempt_at": now,
        "lease_until": None,
        "ended_at": None,
    }


Envelope = Literal["standard", "cloudevents"]

MOST_BYTES = 20_000
"""Maximum size of a body; Standard Webhooks recommends less than 20 kB."""

CUT_TEXT = 500
"""Maximum characters of each text in a body that would otherwise be too long."""

CONTENT_TYPES: Mapping[str, str] = {"standard": "application/json", "cloudevents": "application/cloudevents+json"}


def wrap(envelope: str, message_id: str, kind: str, at: int, data: Json, *, source: str = "/") -> JsonObject:
    """Build the payload of a notice in the format of its receiver.

    `envelope` is ``standard``, or ``cloudevents`` (CloudEvents 1.0, structured mode). `message_id` is the
    webhook-id and the id of a CloudEvent. `at` is the time of the event, in milliseconds since 1970. `source` is
    the URL of the subject, relative if the service's public URL is not set; only CloudEvents have it.
    """
    facts = _shorten(data)
    if envelope == "standard":
        return {"type": kind, "timestamp": iso(at), "data": facts}
    return {
        "specversion": "1.0",
        "id": message_id,
        "source": source,
        "type": kind,
        "time": iso(at),
        "datacontenttype": "application/json",
        "data": facts,
    }


def body_of(payload: Json) -> bytes:
    """Serialise a payload; the bytes, which are signed, are the same for every attempt."""
    return json.dumps(payload, separators=(",", ":"), allow_nan=False).encode("ascii")


def content_type_of(payload: Json) -> str:
    """Return the media type of a payload from `wrap`."""
    return CONTENT_TYPES["cloudevents" if "specversion" in payload else "standard"]


def _shorten(data: Json) -> JsonObject:
    """If a body would be too long, keep only 20 scalar facts, shortened; receivers can look up the others."""
    facts = dict(data)
    if len(body_of(facts)) <= MOST_BYTES - 1_000:  # 1,000 bytes are reserved for the envelope
        return facts
    scalars = ((name, value) for name, value in facts.items() if isinstance(value, str | int | float | None))
    short_facts = {name: value[:CUT_TEXT] if isinstance(value, str) else value for name, value in scalars}
    return dict(list(short_facts.items())[:20]) | {"cut": True}
