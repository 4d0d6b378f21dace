"""Endpoints that are told what happens. Their secrets sign what is sent, and are shown once."""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, func, insert, select, update

from store.core.agency_schema import deliveries, webhooks
from store.core.clock import now_ms
from store.core.columns import SealedSecret, new_id, sealed_columns, sealed_from
from store.core.keyset import page_of
from store.security.secrets import Vault

EVENTS = (
    "job.succeeded",
    "job.failed",
    "job.cancelled",
    "rating.published",
    "rating.changed",
    "rating.expiring",
    "rating.withdrawn",
)
"""Types of notice that an endpoint can subscribe to."""

PING = "ping"
"""The type of a notice that is only sent when it is asked for."""

SECRET_PREFIX = "whsec_"  # noqa: S105  how Standard Webhooks marks a secret
SECRET_BYTES = 32
FIELD = "secret"

OVERLAP_S = 86_400
"""Seconds for which a secret that was replaced still signs beside the new one."""

MOST_WEBHOOKS = 100
"""Endpoints of one tenant: each notice becomes as many deliveries."""


@dataclass(frozen=True)
class NewWebhook:
    """An endpoint to be told.

    Attributes
    ----------
    tenant, url, description : str
        Whose it is, where it is, and what its owner calls it.
    events : sequence of str
        Of `EVENTS`; empty means all.
    envelope : str
        ``standard`` or ``cloudevents``.
    sealed_secret : SealedSecret
        Sealed with this endpoint's `id`.
    id : str
        Made here unless given.
    """

    tenant: str
    url: str
    description: str
    events: Sequence[str]
    envelope: str
    sealed_secret: SealedSecret
    id: str = field(default_factory=lambda: new_id("whk"))


@dataclass(frozen=True)
class Webhook:
    """An endpoint as it is kept. Times are milliseconds since 1970; `version` grows with every change.

    Attributes
    ----------
    state : str
        ``enabled`` or ``disabled``.
    disabled_why : str or None
        ``gone`` (it answered 410) or ``failing`` (for days).
    failing_since : int or None
        When the first of the attempts failed that have failed without a success since.
    previous_secret : SealedSecret or None
        The secret before the last rotation.
    previous_until : int or None
        Until when that one still signs.
    """

    id: str
    tenant: str
    url: str
    description: str
    events: tuple[str, ...]
    envelope: str
    state: str
    disabled_why: str | None
    failing_since: int | None
    sealed_secret: SealedSecret
    previous_secret: SealedSecret | None
    previous_until: int | None
    version: int
    created_at: int
    updated_at: int

    def wants(self, kind: str) -> bool:
        """Whether it subscribed to notices of this type."""
        return not self.events or kind in self.events


def new_secret() -> str:
    """Make a secret as Standard Webhooks writes it: ``whsec_`` and the base64 of 32 random bytes."""
    return SECRET_PREFIX + base64.b64encode(os.urandom(SECRET_BYTES)).decode()


def seal(vault: Vault, plain: str, tenant: str, webhook_id: str) -> SealedSecret:
    """Seal an endpoint's secret where it belongs."""
    return vault.seal(plain, tenant=tenant, target=webhook_id, field=FIELD)


def reveal(vault: Vault, sealed: SealedSecret, tenant: str, webhook_id: str) -> str:
    """Open an endpoint's secret, the present one or the one before.

    Raises
    ------
    SecretLost, SecretMoved
        As `Vault.open`.
    """
    return vault.open(sealed, tenant=tenant, target=webhook_id, field=FIELD)


def add(c: Connection, new: NewWebhook) -> Webhook | None:
    """Keep an endpoint; ``None`` where the tenant has `MOST_WEBHOOKS` already."""
    kept = select(func.count()).where(webhooks.c.tenant == new.tenant, webhooks.c.removed_at.is_(None))
    if c.execute(kept).scalar_one() >= MOST_WEBHOOKS:
        return None
    values = {
        "id": new.id,
        "tenant": new.tenant,
        "state": "enabled",
        "version": 1,
        "created_at": now_ms(),
        "updated_at": now_ms(),
        **_described(new.url, new.description, new.events, new.envelope),
        **sealed_columns(new.sealed_secret),
    }
    return webhook_from(c.execute(insert(webhooks).values(values).returning(webhooks)).mappings().one())


def find(c: Connection, webhook_id: str, tenant: str) -> Webhook | None:
    """Read a tenant's endpoint."""
    row = c.execute(select(webhooks).where(*_of(webhook_id, tenant))).mappings().one_or_none()
    return None if row is None else webhook_from(row)


def page(c: Connection, tenant: str, *, before: tuple[int, str] | None = None, limit: int) -> list[Webhook]:
    """Read a tenant's endpoints, newest first, after ``before = (created_at, id)`` of the page before."""
    query = select(webhooks).where(webhooks.c.tenant == tenant, webhooks.c.removed_at.is_(None))
    query = page_of(query, webhooks.c.created_at, webhooks.c.id, before, limit)
    return [webhook_from(row) for row in c.execute(query).mappings()]


def replace(
    c: Connection,
    webhook_id: str,
    tenant: str,
    *,
    url: str,
    description: str,
    events: Sequence[str],
    envelope: str,
) -> Webhook | None:
    """Change what an endpoint is told and where. What waits for it goes to the new address."""
    changed = _change(c, webhook_id, tenant, failing_since=None, **_described(url, description, events, envelope))
    if changed is not None:
        _waiting(c, webhook_id, url=url)
    return changed


def rotate(
    c: Connection, webhook_id: str, tenant: str, fresh: SealedSecret, overlap_s: float = OVERLAP_S
) -> Webhook | None:
    """Put a new secret in place of the present one, which goes on signing beside it for `overlap_s` seconds.

    A secret that was replaced before that, and still signed, stops at once: there are never three.
    """
    return _change(
        c,
        webhook_id,
        tenant,
        previous_ciphertext=webhooks.c.secret_ciphertext,
        previous_nonce=webhooks.c.secret_nonce,
        previous_key_id=webhooks.c.secret_key_id,
        previous_until=now_ms() + round(overlap_s * 1000),
        **sealed_columns(fresh),
    )


def enable(c: Connection, webhook_id: str, tenant: str) -> Webhook | None:
    """Tell an endpoint again. What was given up meanwhile is not sent by itself."""
    return _change(c, webhook_id, tenant, state="enabled", disabled_why=None, failing_since=None)


def disable(c: Connection, webhook_id: str, tenant: str, why: str) -> Webhook | None:
    """Tell an endpoint nothing more, and give up what waits for it."""
    changed = _change(c, webhook_id, tenant, state="disabled", disabled_why=why)
    if changed is not None:
        _waiting(c, webhook_id, state="given-up", ended_at=now_ms())
    return changed


def remove(c: Connection, webhook_id: str, tenant: str) -> bool:
    """Hide an endpoint, forget its secrets and give up what waits for it. False where there is none."""
    forgotten = dict.fromkeys(("previous_ciphertext", "previous_nonce", "previous_key_id", "previous_until"))
    blank = sealed_columns(SealedSecret(b"", b"", "", ""))
    if _change(c, webhook_id, tenant, removed_at=now_ms(), **forgotten, **blank) is None:
        return False
    _waiting(c, webhook_id, state="given-up", ended_at=now_ms())
    return True


def webhook_from(row: RowMapping) -> Webhook:
    """Read a full row of `webhooks`."""
    own = ("id", "tenant", "url", "description", "envelope", "state", "disabled_why", "failing_since")
    times = ("previous_until", "version", "created_at", "updated_at")
    sealed = sealed_from(row)
    assert sealed is not None  # noqa: S101  the column is never empty
    previous = None
    if row["previous_ciphertext"] is not None:
        cipher, nonce = bytes(row["previous_ciphertext"]), bytes(row["previous_nonce"])
        previous = SealedSecret(cipher, nonce, row["previous_key_id"], "")
    return Webhook(
        events=tuple(row["events"]),
        sealed_secret=sealed,
        previous_secret=previous,
        **{name: row[name] for name in own + times},
    )


def _described(url: str, description: str, events: Sequence[str], envelope: str) -> dict[str, Any]:
    return {"url": url, "description": description, "events": list(dict.fromkeys(events)), "envelope": envelope}


def _of(webhook_id: str, tenant: str) -> list[ColumnElement[bool]]:
    return [webhooks.c.id == webhook_id, webhooks.c.tenant == tenant, webhooks.c.removed_at.is_(None)]


def _change(c: Connection, webhook_id: str, tenant: str, **values: Any) -> Webhook | None:
    changed = update(webhooks).where(*_of(webhook_id, tenant))
    changed = changed.values(version=webhooks.c.version + 1, updated_at=now_ms(), **values)
    row = c.execute(changed.returning(webhooks)).mappings().one_or_none()
    return None if row is None else webhook_from(row)


def _waiting(c: Connection, webhook_id: str, **values: Any) -> None:
    waits = (deliveries.c.webhook_id == webhook_id, deliveries.c.state == "waiting")
    c.execute(update(deliveries).where(*waits).values(**values))
