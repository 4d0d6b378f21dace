"""Rows of tenants, which every resource adds, finds, lists, changes and removes in the same way.

Each change is counted towards the tenant's storage quota (`store.quota.quota`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Connection, Executable, Select, Table, Update, delete, insert, select, update

from store.core.columns import now_ms
from store.core.rows import Rows, equal, one_row, page_of
from store.quota import quota

T = TypeVar("T")


@dataclass(frozen=True)
class TenantRows(Generic[T]):
    """Functions on a table whose rows have an ``id`` and a ``tenant``."""

    table: Table
    """The table. If it has the column ``removed_at``, removed rows stay in it, and no function returns them."""
    build: Callable[..., T]
    """Function that builds an object from the columns of a row, by name."""
    blank: Mapping[str, Any] = field(default_factory=dict)
    """Values that a row gets when it is removed."""
    computed: tuple[ColumnElement[Any], ...] = ()
    """SQL expressions that `build` takes in addition to the columns."""

    def where(self, row_id: str, tenant: str | None) -> list[ColumnElement[bool]]:
        """Return the conditions that select a row of a tenant (with ``tenant=None``, of any) that was not removed."""
        return [*equal(self.table, id=row_id, tenant=tenant), *self.present]

    @property
    def present(self) -> list[ColumnElement[bool]]:
        """The condition that a row was not removed."""
        return [self.table.c.removed_at.is_(None)] if "removed_at" in self.table.c else []

    def select(self, *conditions: ColumnElement[bool]) -> Select[Any]:
        """Return the query for rows that meet the conditions."""
        return select(self.table, *self.computed).where(*conditions)

    def add(self, c: Connection, values: Mapping[str, Any]) -> T:
        """Add a row, and count its size."""
        row = c.execute(insert(self.table).values(values).returning(self.table, *self.computed)).mappings().one()
        quota.add_size(c, self.table, row["tenant"], self.table.c.id == row["id"])
        return self.build(**row)

    def find(self, c: Connection, row_id: str, tenant: str | None) -> T | None:
        """Read a tenant's row (with ``tenant=None``, of any tenant); ``None`` if there is none."""
        return one_row(c, self.select(*self.where(row_id, tenant)), self.build)

    def lock(self, c: Connection, row_id: str, tenant: str | None) -> T | None:
        """Read a row as `find` does, and lock it until the transaction ends."""
        return one_row(c, self.select(*self.where(row_id, tenant)).with_for_update(), self.build)

    def page(
        self,
        c: Connection,
        tenant: str | None,
        *conditions: ColumnElement[bool],
        before: tuple[int, str] | None = None,
        limit: int,
        **filters: object,
    ) -> Rows[T]:
        """List a tenant's rows that meet `conditions`, newest first, after the row ``before = (created_at, id)``.

        `filters` maps columns to their required values; ``None`` means any value.
        """
        query = self.select(*equal(self.table, tenant=tenant, **filters), *self.present, *conditions)
        return page_of(c, query, self.table, self.build, before, limit)

    def change(
        self, c: Connection, row_id: str, tenant: str, values: Mapping[str, Any], *, version: int | None = None
    ) -> T | None:
        """Change a row and increment its version; with `version`, only a row of this version (``If-Match``).

        Return ``None`` if the tenant has no such row or version.
        """
        conditions = self.where(row_id, tenant)
        is_counted = not values.keys().isdisjoint(self.table.info["counted"])  # whether its size changes
        if is_counted:
            quota.subtract_size(c, self.table, tenant, *conditions)
        statement = self._update_row(row_id, tenant, values).where(*equal(self.table, version=version))
        changed = one_row(c, statement.returning(self.table, *self.computed), self.build)
        if is_counted:
            quota.add_size(c, self.table, tenant, *conditions)
        return changed

    def remove(self, c: Connection, row_id: str, tenant: str) -> bool:
        """Remove a row; return false if the tenant has no such row."""
        conditions = self.where(row_id, tenant)
        quota.subtract_size(c, self.table, tenant, *conditions)
        statement: Executable = delete(self.table).where(*conditions)
        if self.present:  # removed rows stay in the table
            statement = self._update_row(row_id, tenant, {"removed_at": now_ms(), **self.blank})
        return c.execute(statement).rowcount > 0

    def _update_row(self, row_id: str, tenant: str, values: Mapping[str, Any]) -> Update:
        changes = {"version": self.table.c.version + 1, "updated_at": now_ms(), **values}
        return update(self.table).where(*self.where(row_id, tenant)).values(changes)
