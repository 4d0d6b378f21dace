"""Webhook endpoints. Their secrets sign each request and are shown only once."""

import base64
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlalchemy import Connection, select, update

from store.core.columns import SealedSecret, new_id, now_ms, sealed_columns, take_sealed
from store.core.errors import TooManyWebhooks
from store.quota import quota
from store.quota.tenant_rows import TenantRows
from store.security.secrets import Vault
from store.targets.domains import host_of
from store.webhooks.tables import deliveries, webhooks

EventType = Literal[
    "job.succeeded",
    "job.failed",
    "job.cancelled",
    "rating.published",
    "rating.changed",
    "rating.expiring",
    "rating.withdrawn",
    "service.changed",
]
"""Event types that an endpoint can subscribe to."""

PING = "ping"
"""Event type of a test delivery, sent only on request."""

CHALLENGE = "webhook.challenge"
"""Event type of the first delivery to an endpoint, which it answers with the token in the delivery."""

SECRET_PREFIX = "whsec_"  # noqa: S105  prefix of secrets in Standard Webhooks
SECRET_BYTES = 32
FIELD = "secret"

OVERLAP_S = 86_400
"""Seconds for which a replaced secret signs requests in addition to the new one."""

MOST_WEBHOOKS, MOST_OF_HOST = 100, 5
"""Maximum number of endpoints per tenant, and of these per host: each notice becomes a delivery to each of them."""


@dataclass(frozen=True)
class NewWebhook:
    """Fields of a new endpoint.

    `events` holds values of `EventType`; empty means all. `envelope` is ``standard`` or ``cloudevents``. The secret is
    encrypted for this endpoint's `id`.
    """

    tenant: str
    url: str
    description: str
    events: Sequence[str]
    envelope: str
    sealed_secret: SealedSecret
    id: str = field(default_factory=lambda: new_id("whk"))


@dataclass(frozen=True, kw_only=True)
class Webhook(NewWebhook):
    """A stored endpoint. Times are milliseconds since 1970; every change increments `version`.

    `state` is ``enabled`` or ``disabled``, `disabled_why` is ``gone`` (it answered HTTP 410), ``failing`` (for days) or
    ``unconfirmed`` (it did not answer its challenge). `confirmed_at` is ``None`` until it has answered a challenge;
    until then it gets nothing else. `failing_since` is the time of the first failure since the last success.
    `previous_secret` is the secret before the last rotation; it signs until `previous_until`.
    """

    events: tuple[str, ...]
    state: str
    disabled_why: str | None
    failing_since: int | None
    confirmed_at: int | None
    previous_secret: SealedSecret | None
    previous_until: int | None
    version: int
    created_at: int
    updated_at: int

    def wants(self, kind: str) -> bool:
        """Whether the endpoint subscribed to this event type."""
        return not self.events or kind in self.events


def new_secret() -> str:
    """Generate a secret in the format of Standard Webhooks: ``whsec_`` and 32 random bytes in base64."""
    return SECRET_PREFIX + base64.b64encode(os.urandom(SECRET_BYTES)).decode()


def seal(vault: Vault, plain_secret: str, tenant: str, webhook_id: str) -> SealedSecret:
    """Encrypt an endpoint's secret."""
    return vault.seal(plain_secret, tenant=tenant, target=webhook_id, field=FIELD)


def reveal(vault: Vault, sealed_secret: SealedSecret, tenant: str, webhook_id: str) -> str:
    """Decrypt an endpoint's current or previous secret; errors as for `Vault.open`."""
    return vault.open(sealed_secret, tenant=tenant, target=webhook_id, field=FIELD)


def webhook_from(**row: Any) -> Webhook:
    """Build an endpoint from a full row of the table."""
    sealed_secret = take_sealed(row)
    assert sealed_secret is not None  # noqa: S101  the column is never NULL
    previous_secret = take_sealed(row, "previous")
    del row["removed_at"]  # no field of `Webhook`
    row["events"] = tuple(row["events"])
    return Webhook(**row, sealed_secret=sealed_secret, previous_secret=previous_secret)


ROWS = TenantRows(
    webhooks,
    webhook_from,
    blank=sealed_columns(SealedSecret(ciphertext=b"", nonce=b"", key_id=""))
    | dict.fromkeys(("previous_ciphertext", "previous_nonce", "previous_key_id", "previous_until")),
)
find, page = ROWS.find, ROWS.page


def add(c: Connection, new_webhook: NewWebhook, *, confirmed: bool = True) -> Webhook:
    """Add an endpoint; unless it is `confirmed`, it gets nothing but a challenge (`store.webhooks.fan_out`).

    Raise `TooManyWebhooks` if the tenant has `MOST_WEBHOOKS` already, or `MOST_OF_HOST` at this host.
    """
    _check_count(c, new_webhook.tenant, new_webhook.url)
    values = {"id": new_webhook.id, "tenant": new_webhook.tenant, "state": "enabled", "version": 1}
    values |= {"confirmed_at": now_ms() if confirmed else None}
    values |= {"created_at": now_ms(), "updated_at": now_ms(), **sealed_columns(new_webhook.sealed_secret)}
    values |= _described_columns(new_webhook.url, new_webhook.description, new_webhook.events, new_webhook.envelope)
    return ROWS.add(c, values)


def _check_count(c: Connection, tenant: str, url: str, except_id: str | None = None) -> None:
    """Raise `TooManyWebhooks` if a tenant can have no further endpoint with this URL; `except_id` is not counted."""
    quota.lock(c, tenant)  # held until the transaction ends, so that concurrent requests are added up
    query = select(webhooks.c.url).where(webhooks.c.tenant == tenant, webhooks.c.removed_at.is_(None))
    urls = list(c.execute(query if except_id is None else query.where(webhooks.c.id != except_id)).scalars())
    if len(urls) >= MOST_WEBHOOKS:
        raise TooManyWebhooks(f"you have {MOST_WEBHOOKS} endpoints already, the maximum")
    host = host_of(url)
    if sum(host_of(other_url) == host for other_url in urls) >= MOST_OF_HOST:
        raise TooManyWebhooks(f"you have {MOST_OF_HOST} endpoints at {host} already, the maximum for a host")


def confirm(c: Connection, webhook_id: str, tenant: str) -> Webhook | None:
    """Record that an endpoint has answered its challenge, so that it gets notices; ``None`` if it was removed."""
    return ROWS.change(c, webhook_id, tenant, {"confirmed_at": now_ms()})


def replace(
    c: Connection, webhook_id: str, tenant: str, *, url: str, description: str, events: Sequence[str], envelope: str
) -> Webhook | None:
    """Change an endpoint, and send its waiting deliveries to its new URL; `unconfirm_if_moved` must be called before.

    Return ``None`` if the tenant has no such endpoint. Raises `TooManyWebhooks` as `add`.
    """
    _check_count(c, tenant, url, except_id=webhook_id)
    columns = _described_columns(url, description, events, envelope)
    webhook = ROWS.change(c, webhook_id, tenant, columns | {"failing_since": None})
    if webhook is not None:
        _update_waiting(c, webhook_id, url=url)
    return webhook


def unconfirm_if_moved(c: Connection, webhook_id: str, tenant: str, url: str) -> bool:
    """Mark an endpoint as unconfirmed if `url` differs from its URL; return whether it differs."""
    statement = update(webhooks).where(*ROWS.where(webhook_id, tenant), webhooks.c.url != url).values(confirmed_at=None)
    return c.execute(statement).rowcount > 0


def rotate(c: Connection, webhook_id: str, tenant: str, new_sealed_secret: SealedSecret) -> Webhook | None:
    """Replace an endpoint's secret; the old secret also signs for `OVERLAP_S` seconds. ``None``: no endpoint.

    A secret that was replaced earlier stops signing at once, so that at most two secrets sign.
    """
    columns = sealed_columns(new_sealed_secret) | {"previous_until": now_ms() + OVERLAP_S * 1000}
    columns |= {f"previous_{name}": webhooks.c[f"secret_{name}"] for name in ("ciphertext", "nonce", "key_id")}
    return ROWS.change(c, webhook_id, tenant, columns)


def enable(c: Connection, webhook_id: str, tenant: str) -> Webhook | None:
    """Enable an endpoint again; ``None`` if there is none. Deliveries that were given up are not resent."""
    return ROWS.change(c, webhook_id, tenant, {"state": "enabled", "disabled_why": None, "failing_since": None})


def disable(c: Connection, webhook_id: str, tenant: str, reason: str) -> Webhook | None:
    """Disable an endpoint and give up its waiting deliveries; return ``None`` if there is no such endpoint."""
    webhook = ROWS.change(c, webhook_id, tenant, {"state": "disabled", "disabled_why": reason})
    if webhook is not None:
        _update_waiting(c, webhook_id, state="given-up", ended_at=now_ms())
    return webhook


def remove(c: Connection, webhook_id: str, tenant: str) -> bool:
    """Remove an endpoint, delete its secrets and give up its waiting deliveries; return false if there is none."""
    is_removed = ROWS.remove(c, webhook_id, tenant)
    if is_removed:
        _update_waiting(c, webhook_id, state="given-up", ended_at=now_ms())
    return is_removed


def _described_columns(url: str, description: str, events: Sequence[str], envelope: str) -> dict[str, Any]:
    return {"url": url, "description": description, "events": list(dict.fromkeys(events)), "envelope": envelope}


def _update_waiting(c: Connection, webhook_id: str, **values: object) -> None:
    is_waiting = (deliveries.c.webhook_id == webhook_id, deliveries.c.state == "waiting")
    c.execute(update(deliveries).where(*is_waiting).values(**values))
