"""Newest published rating of a service, as badges and catalogues show it.

Unlike `store.ratings.ratings.latest`, the result does not depend on the caller's tenant. A withdrawn rating is
not skipped; otherwise an owner could withdraw a bad rating to show an older, better one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, select

from store.core import schema
from store.core.clock import now_ms, read_clock
from store.core.rows import equal, one_row
from store.ratings import ratings as stored_ratings
from store.ratings.ratings import StoredRating


@dataclass(frozen=True)
class DatedRating:
    """A rating and the time of the query (milliseconds since 1970); without a rating the time is 0."""

    rating: StoredRating | None = None
    at: int = 0


def rating(c: Connection, rating_id: str, tenant: str | None) -> DatedRating:
    """Read a rating of the tenant, or a public or unlisted one."""
    found = stored_ratings.find(c, rating_id, tenant)
    return DatedRating() if found is None else DatedRating(found, read_clock(c))


def of_address(
    c: Connection, target_url: str, *, attribute: str | None = None, method: str | None = None
) -> DatedRating:
    """Read the newest public rating of an address, optionally for one attribute and method."""
    ratings = schema.ratings
    wanted = {"target_url": target_url, "visibility": "public", "attribute": attribute, "method": method}
    return _newest(c, select(ratings).where(*equal(ratings, **wanted)))


def of_target(c: Connection, target_id: str, *, attribute: str | None = None, method: str | None = None) -> DatedRating:
    """Read the newest public or unlisted rating of a saved target, even if the target was removed.

    Unlisted ratings are included, because only people who were given the target's id can ask for them.
    """
    ratings, targets = schema.ratings, schema.targets
    found = select(ratings).join(
        targets,
        # the id alone determines the row; tenant and address are compared because the index starts with them
        (targets.c.tenant == ratings.c.tenant)
        & (targets.c.base_url == ratings.c.target_url)
        & (targets.c.id == ratings.c.target_id),
    )
    found = found.where(targets.c.id == target_id, ratings.c.visibility.in_(("public", "unlisted")))
    return _newest(c, found.where(*equal(ratings, attribute=attribute, method=method)))


def _newest(c: Connection, found: Select[tuple[object, ...]]) -> DatedRating:
    ratings = schema.ratings
    newest = found.order_by(ratings.c.created_at.desc(), ratings.c.id.desc()).limit(1)
    return one_row(c, newest.add_columns(now_ms().label("read_at")), _dated) or DatedRating()


def _dated(*, read_at: int, **row: Any) -> DatedRating:
    return DatedRating(StoredRating(**row), read_at)
