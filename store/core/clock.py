"""The database's clock, in milliseconds since 1970, used by every process.

Leases, back-off and expiry compare times written by different machines, so all times come from one clock.
Milliseconds are exact integers in both databases and need no time zone.
"""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import BigInteger, Connection, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement


class now_ms(FunctionElement[int]):  # noqa: N801 - named like the SQL function
    """SQL expression: time at which the statement began, in milliseconds since 1970."""

    type = BigInteger()
    name = "now_ms"
    inherit_cache = True


@compiles(now_ms, "sqlite")
def _sqlite(_element: now_ms, _compiler: object, **_options: object) -> str:
    # unixepoch('subsec') needs SQLite 3.42; within a statement both calls return the same time
    return "(CAST(strftime('%s', 'now') AS INTEGER) * 1000 + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER))"


@compiles(now_ms, "postgresql")
def _postgresql(_element: now_ms, _compiler: object, **_options: object) -> str:
    # floor, because a cast would round half of all times up to a future millisecond
    return "CAST(floor(extract(epoch FROM statement_timestamp()) * 1000) AS BIGINT)"


def read_clock(connection: Connection) -> int:
    """Return the database's time, in milliseconds since 1970."""
    return int(connection.execute(select(now_ms())).scalar_one())


def iso(epoch_ms: int) -> str:
    """Format a time as ISO 8601 in UTC with whole seconds: ``2026-01-02T03:04:05Z``."""
    return datetime.fromtimestamp(epoch_ms // 1000, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
