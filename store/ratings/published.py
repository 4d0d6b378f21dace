"""The rating that stands for a service in the world: the newest of those that were published.

Unlike `store.ratings.ratings.latest` it takes nobody's side: whoever asks gets the same. And it does not pass
over a rating that was withdrawn, or a bad one could be taken back to bring an older, better one out again.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Select, select

from store.core import schema
from store.core.clock import now_ms, read_clock
from store.ratings import ratings as kept
from store.ratings.ratings import StoredRating


@dataclass(frozen=True)
class Seen:
    """A rating, and the moment it was looked up at (milliseconds since 1970, by the database's clock).

    Where there is none, there is no moment either: what looks the same then is the same.
    """

    rating: StoredRating | None = None
    at: int = 0


def rating(c: Connection, rating_id: str, tenant: str | None) -> Seen:
    """Look up a rating of the tenant, or anyone's that is public or unlisted."""
    found = kept.find(c, rating_id, tenant)
    return Seen() if found is None else Seen(found, read_clock(c))


def of_address(c: Connection, target_url: str, *, attribute: str | None = None, method: str | None = None) -> Seen:
    """Look up the newest public rating of whatever answers at an address.

    Parameters
    ----------
    c : Connection
        Where to read.
    target_url : str
        The address, exactly.
    attribute, method : str, optional
        Only ratings of this attribute, by this method.
    """
    ratings = schema.ratings
    found = select(ratings).where(ratings.c.target_url == target_url, ratings.c.visibility == "public")
    return _newest(c, found.where(*_equal(attribute, method)))


def of_target(c: Connection, target_id: str, *, attribute: str | None = None, method: str | None = None) -> Seen:
    """Look up the newest public or unlisted rating of a saved target, also of one that was removed since.

    Whoever has a target's id was given it; so unlisted ratings are shown too.
    """
    ratings, targets = schema.ratings, schema.targets
    found = select(ratings).join(
        targets,
        # tenant and address say no more than the id does; there is an index that begins with them
        (targets.c.tenant == ratings.c.tenant)
        & (targets.c.base_url == ratings.c.target_url)
        & (targets.c.id == ratings.c.target_id),
    )
    found = found.where(targets.c.id == target_id, ratings.c.visibility.in_(("public", "unlisted")))
    return _newest(c, found.where(*_equal(attribute, method)))


def _newest(c: Connection, found: Select[tuple[object, ...]]) -> Seen:
    ratings = schema.ratings
    newest = found.order_by(ratings.c.created_at.desc(), ratings.c.id.desc()).limit(1)
    row = c.execute(newest.add_columns(now_ms().label("seen_at"))).mappings().one_or_none()
    if row is None:
        return Seen()
    columns = dict(row)
    at = columns.pop("seen_at")
    return Seen(StoredRating(**columns), at)


def _equal(attribute: str | None, method: str | None) -> list[ColumnElement[bool]]:
    asked = {"attribute": attribute, "method": method}
    return [schema.ratings.c[name] == value for name, value in asked.items() if value is not None]
