"""Saved targets, which requests can refer to by id. Their secrets are stored encrypted and never returned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, insert, select, update

from store.core.clock import now_ms
from store.core.columns import SealedSecret, new_id, sealed_columns, sealed_from
from store.core.keyset import page_of
from store.core.schema import targets


@dataclass(frozen=True)
class NewTarget:
    """Fields of a new target.

    Attributes
    ----------
    kind, protocol : str
        ``translator``, ``classifier`` …; the API that it speaks.
    settings, limits : dict
        Settings of the protocol; concurrency, requests_per_second and timeout_s.
    visibility : str
        ``private``, ``unlisted`` or ``public``.
    sealed_secret : SealedSecret or None
        Encrypted for this target's `id`.
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
        """Last characters of the secret, or ``None`` if there is none."""
        return None if self.sealed_secret is None else self.sealed_secret.last4


def add(c: Connection, new: NewTarget) -> StoredTarget:
    """Add a target."""
    row = {"id": new.id, "tenant": new.tenant, "version": 1, "created_at": now_ms(), "updated_at": now_ms()}
    values = row | _described(new) | sealed_columns(new.sealed_secret)
    return target_from(c.execute(insert(targets).values(values).returning(targets)).mappings().one())


def find(c: Connection, target_id: str, tenant: str | None, *, removed: bool = False) -> StoredTarget | None:
    """Read a tenant's target; ``tenant=None`` reads any tenant's.

    A removed target is returned only with ``removed=True``, for jobs that were requested before.
    """
    row = c.execute(select(targets).where(*_of(target_id, tenant, removed))).mappings().one_or_none()
    return None if row is None else target_from(row)


def page(c: Connection, tenant: str, *, before: tuple[int, str] | None = None, limit: int) -> list[StoredTarget]:
    """List a tenant's targets, newest first, starting after the row ``before = (created_at, id)``."""
    query = select(targets).where(targets.c.tenant == tenant, targets.c.removed_at.is_(None))
    query = page_of(query, targets.c.created_at, targets.c.id, before, limit)
    return [target_from(row) for row in c.execute(query).mappings()]


def replace(
    c: Connection,
    target_id: str,
    tenant: str,
    new: NewTarget,
    *,
    keep_secret: bool = False,
    version: int | None = None,
) -> StoredTarget | None:
    """Replace the description of a target.

    Parameters
    ----------
    target_id, tenant : str
        The target; the id and tenant in `new` are ignored.
    new : NewTarget
        The new description. Its secret must be encrypted for `target_id`.
    keep_secret : bool
        Whether to keep the stored secret, which callers cannot read and send again.
    version : int, optional
        Replace only this version (``If-Match``).

    Returns
    -------
    StoredTarget or None
        ``None`` if the tenant has no such target or it has another version.
    """
    values = _described(new) | ({} if keep_secret else sealed_columns(new.sealed_secret))
    changed = update(targets).where(*_of(target_id, tenant, removed=False))
    if version is not None:
        changed = changed.where(targets.c.version == version)
    changed = changed.values(version=targets.c.version + 1, updated_at=now_ms(), **values)
    row = c.execute(changed.returning(targets)).mappings().one_or_none()
    return None if row is None else target_from(row)


def remove(c: Connection, target_id: str, tenant: str) -> bool:
    """Remove a target, delete its secret and keep its ratings; return false if there is none."""
    removed = update(targets).where(*_of(target_id, tenant, removed=False))
    removed = removed.values(
        version=targets.c.version + 1, updated_at=now_ms(), removed_at=now_ms(), **sealed_columns(None)
    )
    return c.execute(removed).rowcount > 0


def descriptor(target: StoredTarget) -> dict[str, Any]:
    """Return the description that a job stores: everything except the secret."""
    return {
        "name": target.name,
        "kind": target.kind,
        "protocol": target.protocol,
        "base_url": target.base_url,
        "settings": target.settings,
        "limits": target.limits,
    }


def _described(new: NewTarget) -> dict[str, Any]:
    return {
        "name": new.name,
        "kind": new.kind,
        "protocol": new.protocol,
        "base_url": new.base_url,
        "settings": new.settings,
        "limits": new.limits,
        "visibility": new.visibility,
    }


def _of(target_id: str, tenant: str | None, removed: bool) -> list[ColumnElement[bool]]:
    conditions = [targets.c.id == target_id]
    if tenant is not None:
        conditions.append(targets.c.tenant == tenant)
    if not removed:
        conditions.append(targets.c.removed_at.is_(None))
    return conditions


def target_from(row: RowMapping) -> StoredTarget:
    """Build a target from a full row of the table."""
    fields = {name: value for name, value in row.items() if not name.startswith("secret_")}
    return StoredTarget(sealed_secret=sealed_from(row), **fields)
