"""Executed plans of Postgres (EXPLAIN ANALYZE), and what they read, for tests and benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import Connection, event

from store.core.database import Database


def plans(database: Database, work: Callable[[Connection], object]) -> list[dict[str, Any]]:
    """Return the executed plans of all statements of some work."""
    statements: list[tuple[str, Any]] = []

    def note(_connection: object, _cursor: object, statement: str, parameters: Any, *_: object) -> None:
        statements.append((statement, parameters))

    with database.write() as c:
        event.listen(c, "before_cursor_execute", note)
        with c.begin_nested() as undone:
            work(c)
            undone.rollback()
        event.remove(c, "before_cursor_execute", note)
        explained = [
            c.exec_driver_sql(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}", parameters).scalar_one()
            for statement, parameters in statements
            if "SAVEPOINT" not in statement
        ]
        c.rollback()
    assert explained
    return [one[0]["Plan"] for one in explained]


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a node of a plan and all nodes below it."""
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes(inner)


def rows_read(plan: dict[str, Any], *tables: str) -> float:
    """Count the rows that were read of some tables (by default all), including those filtered out."""
    read = 0.0
    for node in nodes(plan):
        table = node.get("Relation Name")
        if table is not None and "Scan" in node["Node Type"] and table in (tables or (table,)):
            removed = sum(node.get(f"Rows Removed by {why}", 0) for why in ("Filter", "Index Recheck"))
            read += (node["Actual Rows"] + removed) * node["Actual Loops"]
    return read


def blocks_read(plan: dict[str, Any]) -> int:
    """Count the blocks of 8 kB that a statement read."""
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])
