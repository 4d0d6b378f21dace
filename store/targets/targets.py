"""Saved targets, which requests can refer to by id. Their secrets are stored encrypted and never returned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, insert, or_, select, update

from store.core.clock import now_ms
from store.core.columns import SealedSecret, new_id, sealed_columns, take_sealed
from store.core.rows import equal, one_row, page_of
from store.quota import quota
from store.targets.tables import targets

DESCRIBED = ("name", "kind", "protocol", "base_url", "settings", "limits")


@dataclass(frozen=True)
class NewTarget:
    """Fields of a new target.

    `protocol` is the API of the service. `limits` has concurrency, requests_per_second and timeout_s. `visibility` is
    ``private``, ``unlisted`` or ``public``. The secret is encrypted for this target's `id`.
    """

    tenant: str
    name: str
    kind: str
    protocol: str
    base_url: str
    settings: dict[str, Any]
    limits: dict[str, Any]
    visibility: str = "private"
    sealed_secret: SealedSecret | None = None
    id: str = field(default_factory=lambda: new_id("tgt"))


@dataclass(frozen=True)
class StoredTarget:
    """A saved target. Times are milliseconds since 1970; every change increments `version`."""

    id: str
    tenant: str
    name: str
    kind: str
    protocol: str
    base_url: str
    settings: dict[str, Any]
    limits: dict[str, Any]
    visibility: str
    sealed_secret: SealedSecret | None
    version: int
    created_at: int
    updated_at: int
    removed_at: int | None

    @property
    def secret_last4(self) -> str | None:
        """Last characters of the secret, or ``None`` if there is no secret."""
        return None if self.sealed_secret is None else self.sealed_secret.last4


def add(c: Connection, new: NewTarget) -> StoredTarget:
    """Add a target."""
    row = {"id": new.id, "tenant": new.tenant, "version": 1, "created_at": now_ms(), "updated_at": now_ms()}
    values = row | _described(new) | sealed_columns(new.sealed_secret)
    stored = target_from(**c.execute(insert(targets).values(values).returning(targets)).mappings().one())
    quota.added(c, targets, new.tenant, targets.c.id == new.id)
    return stored


def find(c: Connection, target_id: str, tenant: str | None, *, removed: bool = False) -> StoredTarget | None:
    """Read a tenant's target; with ``tenant=None``, a target of any tenant.

    A removed target is returned only with ``removed=True``, for jobs that were requested before.
    """
    return one_row(c, select(targets).where(*_of(target_id, tenant, removed)), target_from)


def page(
    c: Connection,
    tenant: str,
    *,
    kind: str | None = None,
    q: str | None = None,
    before: tuple[int, str] | None = None,
    limit: int,
) -> list[StoredTarget]:
    """List a tenant's targets, newest first, starting after the row ``before = (created_at, id)``.

    `q` is searched for in names and addresses.
    """
    query = select(targets).where(
        targets.c.tenant == tenant, targets.c.removed_at.is_(None), *equal(targets, kind=kind)
    )
    if q is not None:
        query = query.where(or_(*(targets.c[name].icontains(q, autoescape=True) for name in ("name", "base_url"))))
    return page_of(c, query, targets, target_from, before, limit)


def replace(
    c: Connection, target_id: str, tenant: str, new: NewTarget, *, keep_secret: bool = False, version: int | None = None
) -> StoredTarget | None:
    """Replace the description of a target; return ``None`` if the tenant has no such target or version.

    Parameters
    ----------
    new : NewTarget
        The new description; its id and tenant are ignored. Its secret must be encrypted for `target_id`.
    keep_secret : bool
        Whether to keep the stored secret, which callers cannot read and send again.
    version : int, optional
        Replace only this version (``If-Match``).
    """
    values = _described(new) | ({} if keep_secret else sealed_columns(new.sealed_secret))
    changed = update(targets).where(*_of(target_id, tenant, removed=False), *equal(targets, version=version))
    changed = changed.values(version=targets.c.version + 1, updated_at=now_ms(), **values)
    quota.removing(c, targets, tenant, *_of(target_id, tenant, removed=False))
    replaced = one_row(c, changed.returning(targets), target_from)
    quota.added(c, targets, tenant, *_of(target_id, tenant, removed=False))
    return replaced


def remove(c: Connection, target_id: str, tenant: str) -> bool:
    """Remove a target, delete its settings and secret, and keep its ratings; return false if there is none."""
    quota.removing(c, targets, tenant, *_of(target_id, tenant, removed=False))
    removed = update(targets).where(*_of(target_id, tenant, removed=False)).values(settings={}, **sealed_columns(None))
    removed = removed.values(version=targets.c.version + 1, updated_at=now_ms(), removed_at=now_ms())
    return c.execute(removed).rowcount > 0


def descriptor(target: StoredTarget) -> dict[str, Any]:
    """Return the description that a job stores: everything except the secret."""
    return {name: getattr(target, name) for name in DESCRIBED}


def _described(new: NewTarget) -> dict[str, Any]:
    return {name: getattr(new, name) for name in (*DESCRIBED, "visibility")}


def _of(target_id: str, tenant: str | None, removed: bool) -> list[ColumnElement[bool]]:
    conditions = equal(targets, id=target_id, tenant=tenant)
    return conditions if removed else [*conditions, targets.c.removed_at.is_(None)]


def target_from(**row: Any) -> StoredTarget:
    """Build a target from a full row of the table."""
    return StoredTarget(sealed_secret=take_sealed(row), **row)
