"""Targets a tenant keeps, so that they can be rated by name; their secrets go in and never come out."""

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
    """A target to be kept.

    Attributes
    ----------
    tenant : str
        Whose it is.
    name, kind, protocol, base_url : str
        What it is called, what it does, how it is spoken to and where.
    settings, limits : dict
        The protocol's settings; concurrency, requests_per_second, timeout_s.
    visibility : str
        ``private``, ``unlisted`` or ``public``.
    sealed_secret : SealedSecret or None
        Sealed with this target's `id`.
    id : str
        Made here unless given.
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
    """A kept target. Times are milliseconds since 1970; `version` grows with every change."""

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
        """What the secret is recognised by; ``None`` where there is none."""
        return None if self.sealed_secret is None else self.sealed_secret.last4


def add(c: Connection, new: NewTarget) -> StoredTarget:
    """Keep a target."""
    written = {"id": new.id, "tenant": new.tenant, "version": 1, "created_at": now_ms(), "updated_at": now_ms()}
    values = written | _described(new) | sealed_columns(new.sealed_secret)
    return _target(c.execute(insert(targets).values(values).returning(targets)).mappings().one())


def find(c: Connection, target_id: str, tenant: str | None, *, removed: bool = False) -> StoredTarget | None:
    """Read a tenant's target; workers say ``None`` for the tenant.

    A removed one is found only where `removed` is true: jobs asked for before may still need it.
    """
    row = c.execute(select(targets).where(*_of(target_id, tenant, removed))).mappings().one_or_none()
    return None if row is None else _target(row)


def page(c: Connection, tenant: str, *, before: tuple[int, str] | None = None, limit: int) -> list[StoredTarget]:
    """Read a tenant's targets, newest first, after ``before = (created_at, id)`` of the page before."""
    query = select(targets).where(targets.c.tenant == tenant, targets.c.removed_at.is_(None))
    query = page_of(query, targets.c.created_at, targets.c.id, before, limit)
    return [_target(row) for row in c.execute(query).mappings()]


def replace(
    c: Connection,
    target_id: str,
    tenant: str,
    new: NewTarget,
    *,
    keep_secret: bool = False,
    version: int | None = None,
) -> StoredTarget | None:
    """Put a new description in a target's place.

    Parameters
    ----------
    c : Connection
        A transaction.
    target_id, tenant : str
        Which target; those in `new` are not used.
    new : NewTarget
        What it becomes. Its secret must be sealed with `target_id`.
    keep_secret : bool
        Keep the secret that is stored, since nobody can read it to send it again.
    version : int, optional
        Replace only this version (``If-Match``).

    Returns
    -------
    StoredTarget or None
        ``None`` where the tenant has no such target, or not in that version.
    """
    values = _described(new) | ({} if keep_secret else sealed_columns(new.sealed_secret))
    changed = update(targets).where(*_of(target_id, tenant, removed=False))
    if version is not None:
        changed = changed.where(targets.c.version == version)
    changed = changed.values(version=targets.c.version + 1, updated_at=now_ms(), **values)
    row = c.execute(changed.returning(targets)).mappings().one_or_none()
    return None if row is None else _target(row)


def remove(c: Connection, target_id: str, tenant: str) -> bool:
    """Hide a target and forget its secret; its ratings stay. False where there is none."""
    gone = update(targets).where(*_of(target_id, tenant, removed=False))
    gone = gone.values(version=targets.c.version + 1, updated_at=now_ms(), removed_at=now_ms(), **sealed_columns(None))
    return c.execute(gone).rowcount > 0


def descriptor(target: StoredTarget) -> dict[str, Any]:
    """Describe a target as a job carries it: everything but the secret."""
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


def _target(row: RowMapping) -> StoredTarget:
    fields = {name: value for name, value in row.items() if not name.startswith("secret_")}
    return StoredTarget(sealed_secret=sealed_from(row), **fields)
