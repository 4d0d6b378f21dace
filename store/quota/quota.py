"""Bytes that each tenant has stored, counted in the transaction that stores or deletes them.

The ``info`` of a table names the columns that count. The counts are rows of `stored_bytes`, so that reading them costs
the same for any number of stored rows. Adding something locks the tenant's counts, so that concurrent requests cannot
exceed the quota together. Only jobs are added without this lock if they are small (`SMALL_BYTES`), because a tenant may
request hundreds of them at once; each database connection then has a count of its own (`shard`).
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import ColumnElement, Connection, Integer, Table, func, literal, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from store.core.engines import insert_into, lock_transaction
from store.core.errors import QuotaExceeded
from store.quota.tables import stored_bytes

ROW_BYTES = 200
"""Bytes counted for a row, in addition to its counted columns."""

SMALL_BYTES = 1 << 16
"""Size of a job in bytes up to which it is added without a lock on the tenant's counts."""

SHARDS = 64

QUOTA_OPTION = "tenant_quota"
"""Name of the option of database connections with the quota in bytes that they enforce; workers enforce none."""


class byte_length(FunctionElement[int]):  # noqa: N801  SQL functions are in lower case
    """Length of a text or binary column in bytes; 0 for NULL."""

    type = Integer()
    inherit_cache = True


@compiles(byte_length)
def _compile_for_standard_sql(element: Any, compiler: Any, **options: Any) -> str:
    return f"coalesce(octet_length({compiler.process(element.clauses, **options)}), 0)"


@compiles(byte_length, "sqlite")
def _compile_for_sqlite(element: Any, compiler: Any, **options: Any) -> str:  # octet_length came with SQLite 3.43
    return f"coalesce(length(CAST({compiler.process(element.clauses, **options)} AS BLOB)), 0)"


def counted_sizes(table: Table) -> list[ColumnElement[int]]:
    """Return an SQL expression for the bytes of each counted column; an integer column holds a number of bytes."""
    columns = [table.c[name] for name in table.info["counted"]]
    return [column if isinstance(column.type, Integer) else byte_length(column) for column in columns]


def add_size(c: Connection, table: Table, tenant: str, *where: ColumnElement[bool]) -> None:
    """Add the size of the rows that meet `where`, added in this transaction, to the tenant's stored bytes.

    Raise `QuotaExceeded` if the tenant then stores more than its quota, and the connection enforces it.
    """
    lock(c, tenant)
    _add_to_count(c, tenant, table.name, _size_of(c, table, *where))
    check(c, tenant)


def subtract_size(c: Connection, table: Table, tenant: str, *where: ColumnElement[bool]) -> None:
    """Subtract the size of the rows that meet `where`; call this before the transaction deletes or replaces them."""
    lock(c, tenant)
    _add_to_count(c, tenant, table.name, -_size_of(c, table, *where))


def size_of_jobs(new_jobs: Iterable[Mapping[str, Any]]) -> int:
    """Return the size in bytes of new jobs, each given as a mapping from columns to values."""
    return sum(
        ROW_BYTES  # for the other columns
        + sum(_json_size(row[name]) for name in ("target", "author", "experiment"))
        + len((row["callback_url"] or "").encode())
        for row in new_jobs
    )


def add_job_size(c: Connection, tenant: str, size: int) -> None:
    """Count new jobs of `size` bytes that are added in this transaction; raise `QuotaExceeded` as `add_size`."""
    is_small = size <= SMALL_BYTES
    if not is_small:  # many small ones may be requested at once, each counted without a lock
        lock(c, tenant)
    _add_to_count(c, tenant, "jobs", size, own_shard=is_small)
    check(c, tenant)


def lock(c: Connection, tenant: str) -> None:
    """Lock a tenant's counts of bytes until the transaction ends."""
    lock_transaction(c, f"stored:{tenant}")


def check(c: Connection, tenant: str) -> None:
    """Raise `QuotaExceeded` if a tenant stores more than its quota, and the connection enforces it."""
    quota = c.get_execution_options().get(QUOTA_OPTION)
    if quota is None:
        return
    query = select(func.coalesce(func.sum(stored_bytes.c.bytes), 0)).where(stored_bytes.c.tenant == tenant)
    if (used_bytes := int(c.execute(query).scalar_one())) > quota:
        raise QuotaExceeded(used_bytes, quota, by_kind(c, tenant))


def by_kind(c: Connection, tenant: str) -> dict[str, int]:
    """Return the bytes that a tenant stores, by kind (name of the table), the largest first."""
    size = func.sum(stored_bytes.c.bytes)
    query = select(stored_bytes.c.kind, size.label("size")).where(stored_bytes.c.tenant == tenant)
    rows = c.execute(query.group_by(stored_bytes.c.kind).order_by(size.desc(), stored_bytes.c.kind))
    return {row.kind: int(row.size) for row in rows if row.size}


def _size_of(c: Connection, table: Table, *where: ColumnElement[bool]) -> int:
    size = sum(counted_sizes(table), literal(ROW_BYTES))
    return int(c.execute(select(func.coalesce(func.sum(size), 0)).select_from(table).where(*where)).scalar_one())


def _json_size(value: object) -> int:
    return 0 if value is None else len(json.dumps(value, separators=(",", ":")))


def _add_to_count(c: Connection, tenant: str, kind: str, size: int, *, own_shard: bool = False) -> None:
    """Add bytes to the tenant's count of a kind; with `own_shard`, to a part of it that few connections change."""
    shard = func.pg_backend_pid() % SHARDS if own_shard and c.dialect.name == "postgresql" else 0
    statement = insert_into(c, stored_bytes).values(tenant=tenant, kind=kind, bytes=size, shard=shard)
    new_count = {"bytes": stored_bytes.c.bytes + statement.excluded.bytes}
    c.execute(statement.on_conflict_do_update(index_elements=list(stored_bytes.primary_key), set_=new_count))
