"""One clock for every process: the database's, in milliseconds since 1970.

Leases, back-off and expiry compare times written by different machines; only one clock may be
asked. Milliseconds are exact integers in both databases and need no time zone.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BigInteger, Connection, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement


class now_ms(FunctionElement[int]):  # noqa: N801 - it reads as the SQL function it is
    """Milliseconds since 1970 when the statement began, by the database's clock."""

    type = BigInteger()
    name = "now_ms"
    inherit_cache = True


@compiles(now_ms, "sqlite")
def _sqlite(_element: now_ms, _compiler: Any, **_options: Any) -> str:
    # unixepoch('subsec') needs SQLite 3.42; both calls see the same instant within a statement
    return "(CAST(strftime('%s', 'now') AS INTEGER) * 1000 + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER))"


@compiles(now_ms, "postgresql")
def _postgresql(_element: now_ms, _compiler: Any, **_options: Any) -> str:
    # floor, because a cast would round half of all instants into the future
    return "CAST(floor(extract(epoch FROM statement_timestamp()) * 1000) AS BIGINT)"


def read_clock(connection: Connection) -> int:
    """Ask the database what time it is, in milliseconds since 1970."""
    return int(connection.execute(select(now_ms())).scalar_one())


def iso(epoch_ms: int) -> str:
    """Write a time as documents show it: ``2026-01-02T03:04:05Z`` (UTC, whole seconds)."""
    return datetime.fromtimestamp(epoch_ms // 1000, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
