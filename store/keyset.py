"""Pages that do not shift when rows are added: each begins after the last row of the one before."""

from __future__ import annotations

from sqlalchemy import ColumnElement, and_, or_


def older_than(
    created_at: ColumnElement[int], row_id: ColumnElement[str], before: tuple[int, str]
) -> ColumnElement[bool]:
    """Say "after that row" of a list sorted newest first by (created_at, id)."""
    when, last = before
    return and_(created_at <= when, or_(created_at < when, row_id < last))
