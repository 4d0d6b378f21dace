"""Rating history of a target: each rating with its predecessor."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Row, case, func, or_, select

from store.core.rows import equal, newest_first
from store.core.schema import ratings
from store.ratings.ratings import StoredRating


@dataclass(frozen=True)
class Step:
    """A rating and the previous one of the same method and attribute that was not withdrawn.

    `previous` is ``None`` for the first rating and for a withdrawn one.
    """

    rating: StoredRating
    previous: StoredRating | None


def of_url(
    c: Connection,
    tenant: str | None,
    target_url: str,
    *,
    attribute: str | None = None,
    method: str | None = None,
    before: tuple[int, str] | None = None,
    limit: int,
) -> list[Step]:
    """List the tenant's and all public ratings of an address, newest first, including withdrawn ones.

    ``tenant=None`` lists only public ratings. The page starts after the rating ``before = (created_at, id)``.
    """
    visible = or_(ratings.c.tenant == tenant, ratings.c.visibility == "public")
    return _steps(c, [ratings.c.target_url == target_url, visible], attribute, method, before, limit)


def of_target(
    c: Connection,
    tenant: str,
    target_id: str,
    *,
    attribute: str | None = None,
    method: str | None = None,
    before: tuple[int, str] | None = None,
    limit: int,
) -> list[Step]:
    """List the tenant's ratings of a saved target at any address, newest first; filters as for `of_url`."""
    which = [ratings.c.tenant == tenant, ratings.c.target_id == target_id]
    return _steps(c, which, attribute, method, before, limit)


def _steps(
    c: Connection,
    which: list[ColumnElement[bool]],
    attribute: str | None,
    method: str | None,
    before: tuple[int, str] | None,
    limit: int,
) -> list[Step]:
    """Read a page in two statements: pairs of ids, then the ratings."""
    pairs = _pairs(c, which + equal(ratings, attribute=attribute, method=method), before, limit)
    found = _read(c, {one for pair in pairs for one in (pair.id, pair.previous_id) if one is not None})
    return [Step(found[pair.id], found.get(pair.previous_id)) for pair in pairs]


def _pairs(
    c: Connection, which: list[ColumnElement[bool]], before: tuple[int, str] | None, limit: int
) -> list[Row[tuple[str, str | None]]]:
    """Select ids, newest first, each with the id of its predecessor.

    Withdrawn ratings are partitions of their own in the window function, and get no predecessor.
    """
    withdrawn = ratings.c.withdrawn_at.is_not(None)
    series = (ratings.c.method, ratings.c.attribute, withdrawn)
    earlier = func.lag(ratings.c.id).over(partition_by=series, order_by=(ratings.c.created_at, ratings.c.id))
    all_of_it = (
        select(ratings.c.id, ratings.c.created_at, ratings.c.withdrawn_at, earlier.label("earlier_id"))
        .where(*which)
        .subquery()
    )
    valid = all_of_it.c.withdrawn_at.is_(None)
    query = select(all_of_it.c.id, case((valid, all_of_it.c.earlier_id)).label("previous_id"))
    return list(c.execute(newest_first(query, all_of_it.c.created_at, all_of_it.c.id, before, limit)))


def _read(c: Connection, ids: Collection[str]) -> dict[str | None, StoredRating]:
    rows = c.execute(select(ratings).where(ratings.c.id.in_(ids))).mappings() if ids else ()
    return {row["id"]: StoredRating(**row) for row in rows}
