"""Pages that do not shift when rows are added: each begins after the last row of the one before."""

from __future__ import annotations

from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Select, and_, or_

Row = TypeVar("Row", bound=tuple[Any, ...])


def page_of(
    query: Select[Row],
    created_at: ColumnElement[int],
    row_id: ColumnElement[str],
    before: tuple[int, str] | None,
    limit: int,
) -> Select[Row]:
    """Narrow a query to one page of a list sorted newest first.

    Parameters
    ----------
    query : Select
        The whole list, in any order.
    created_at, row_id : ColumnElement
        What it is sorted by.
    before : (int, str) or None
        ``(created_at, id)`` of the last row of the page before; ``None`` is the first page.
    limit : int
        Most rows of the page.
    """
    if before is not None:
        when, last = before
        query = query.where(and_(created_at <= when, or_(created_at < when, row_id < last)))
    return query.order_by(created_at.desc(), row_id.desc()).limit(limit)
