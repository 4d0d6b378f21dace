"""Keyset pagination: each page starts after the last row of the previous one, so new rows shift nothing."""

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
    """Limit a query to one page of a list sorted newest first.

    Parameters
    ----------
    created_at, row_id : ColumnElement
        The sort key.
    before : (int, str) or None
        ``(created_at, id)`` of the last row of the previous page; ``None`` selects the first page.
    """
    if before is not None:
        time, last_id = before
        query = query.where(and_(created_at <= time, or_(created_at < time, row_id < last_id)))
    return query.order_by(created_at.desc(), row_id.desc()).limit(limit)
