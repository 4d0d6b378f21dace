"""Newest published rating of a service, as badges and catalogues show it.

Unlike `store.ratings.ratings.latest`, the result does not depend on the caller's tenant. A withdrawn rating hides the
older ones of its tenant; otherwise an owner could withdraw a bad rating to show an older, better one. By address, only
ratings that stand for it count (`store.ratings.standing`).
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, select

from store.core.columns import now_ms
from store.core.rows import equal, one_row
from store.ratings import services, standing
from store.ratings.ratings import NEWEST_FIRST, StoredRating, readable
from store.ratings.standing import Standing
from store.ratings.tables import ratings, replies, service_changes, service_ratings
from store.targets.domains import owner_of
from store.targets.tables import targets

_NEWEST_IS_WITHDRAWN: ColumnElement[int] = func.first_value(ratings.c.withdrawn_at.is_not(None)).over(
    partition_by=ratings.c.tenant, order_by=NEWEST_FIRST
)
"""SQL expression for a rating: whether its tenant's newest rating was withdrawn; such tenants are sorted last."""


@dataclass(frozen=True)
class DatedRating:
    """A rating, if any, with its `Standing` (who requested it); `at` is the time of the query, in ms since 1970.

    `objects` says whether the owner of the host objects to the rating. Without a rating, `at` is 0.
    """

    rating: StoredRating | None = None
    at: int = 0
    standing: Standing | None = None
    objects: bool = False


def rating(c: Connection, rating_id: str, tenant: str | None) -> DatedRating:
    """Read a rating of the tenant, or a public or unlisted rating; the result is empty for any other."""
    return _read_newest(c, select(ratings.c.id).where(ratings.c.id == rating_id, readable(tenant)))


def of_address(
    c: Connection, target_url: str, *, attribute: str | None = None, method: str | None = None, model: str | None = None
) -> DatedRating:
    """Read the public rating that counts for an address, optionally for one attribute, method and model.

    It is the newest rating by the most trusted class of requesters (`store.ratings.standing`); the result is empty if
    these rated several services at the address.
    """
    lookup = standing.of_address(target_url, tenant=None)
    conditions = [*lookup.conditions, *equal(ratings, attribute=attribute, method=method), *standing.of_model(model)]
    classes = (lookup.rank.label("rank"), ratings.c.withdrawn_at.is_not(None).label("withdrawn"))
    services = select(*classes, *standing.rated_service).where(*conditions).distinct().order_by(*classes).limit(2)
    rows = c.execute(services).all()
    if len(rows) > 1 and rows[0][:2] == rows[1][:2] and not rows[0].withdrawn:  # two services with equal `classes`
        return DatedRating()
    return _read_newest(c, select(ratings.c.id).where(*conditions), lookup.rank, _NEWEST_IS_WITHDRAWN)


def of_target(c: Connection, target_id: str, *, attribute: str | None = None, method: str | None = None) -> DatedRating:
    """Read the newest public or unlisted rating of a saved target, even if the target was removed.

    Unlisted ratings are included, because only people who were given the target's id can ask for them.
    """
    query = select(ratings.c.id).join(
        targets,
        # the id alone determines the row; tenant and address are compared because the index starts with them
        (targets.c.tenant == ratings.c.tenant)
        & (targets.c.base_url == ratings.c.target_url)
        & (targets.c.id == ratings.c.target_id),
    )
    query = query.where(targets.c.id == target_id, ratings.c.visibility.in_(("public", "unlisted")))
    return _read_newest(c, query.where(*equal(ratings, attribute=attribute, method=method)))


def of_service(c: Connection, name: str, *, attribute: str | None = None, method: str | None = None) -> DatedRating:
    """Read the newest public rating of exactly one service, by its name or a rating's id (`store.ratings.services`)."""
    service = services.find(c, name)
    if service is None:
        return DatedRating()
    filters = equal(service_ratings, attribute=attribute, method=method)
    id_query = select(ratings.c.id).join(service_ratings, service_ratings.c.rating_id == ratings.c.id)
    id_query = id_query.where(*service.conditions, service_ratings.c.current, *filters)  # `conditions`: public only
    return _read_newest(c, id_query, services.requester_class, _NEWEST_IS_WITHDRAWN)


def _read_newest(c: Connection, id_query: Select[tuple[str]], *ranks: ColumnElement[int]) -> DatedRating:
    """Read the newest of the ratings with the lowest `ranks` (SQL expressions); an empty result if there is none."""
    # ids are sorted without the documents, which can have hundreds of kilobytes
    newest_id = id_query.order_by(*ranks, *NEWEST_FIRST).limit(1)
    has_objection = select(replies.c.objects).where(replies.c.rating_id == ratings.c.id).scalar_subquery()
    changed_since = select(service_changes.c.since).where(service_changes.c.rating_id == ratings.c.id).scalar_subquery()
    facts = (now_ms().label("read_at"), owner_of(ratings.c.host).label("owner"), has_objection.label("objects"))
    query = select(ratings, *facts, changed_since.label("since"))
    return one_row(c, query.where(ratings.c.id == newest_id.scalar_subquery()), _rating_from_row) or DatedRating()


def _rating_from_row(
    *, read_at: int, owner: str | None, objects: bool | None, since: int | None, **row: Any
) -> DatedRating:
    """Build a `DatedRating`; `owner` owns the host and may object (`objects`); `since`: time of a noticed change."""
    rating = StoredRating(**row)
    return DatedRating(rating, read_at, standing.standing(rating, owner, since), bool(objects))
