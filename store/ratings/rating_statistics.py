"""Statistics and listing of all public ratings."""

from __future__ import annotations

from collections import Counter

from sqlalchemy import ColumnElement, Connection, and_, case, func, or_, select

from store.core.columns import now_ms
from store.core.rows import all_rows, equal
from store.ratings import standing
from store.ratings.ratings import StoredRating
from store.ratings.standing import WHOLE, Conditions
from store.ratings.tables import ratings, service_ratings
from store.targets.domains import current_owners

INCONCLUSIVE = "inconclusive"
"""Category of ratings without a declared letter."""


def distribution(
    c: Connection,
    *,
    kind: str | None = None,
    attribute: str | None = None,
    method: str | None = None,
    model: str | None = None,
    part: Conditions = WHOLE,
) -> Counter[tuple[str, str, str, str]]:
    """Count letters over the newest valid public rating of each service, method and attribute.

    Ratings of a service with an address count only if they stand for it, and only those of the most trusted requesters
    at this address (`store.ratings.standing`).
    """
    rated, owners = service_ratings.c, current_owners()
    requester = standing.rank(owners.c.tenant, service_ratings)
    newest_first = (requester, rated.created_at.desc(), rated.rating_id.desc())
    position = func.row_number().over(
        partition_by=(rated.service, rated.method, rated.attribute), order_by=newest_first
    )
    letter = case((and_(rated.declared, rated.letter.is_not(None)), rated.letter), else_=INCONCLUSIVE)
    address = func.coalesce(rated.address, rated.service)
    numbered = (
        select(
            *(rated.kind, rated.attribute, rated.method, letter.label("letter"), address.label("address")),
            *(position.label("position"), requester.label("requester")),
        )
        .outerjoin_from(service_ratings, owners, owners.c.host == rated.host)
        .where(rated.visibility == "public", rated.withdrawn_at.is_(None), rated.expires_at > now_ms())
        .where(or_(rated.address.is_(None), standing.stands(owners.c.tenant, service_ratings)))
        .where(*equal(service_ratings, attribute=attribute, method=method, kind=kind), *part)
    )
    if model is not None:
        numbered = numbered.join(ratings, ratings.c.id == rated.rating_id).where(*standing.of_model(model))
    row = numbered.subquery().c
    first_requester = func.min(row.requester).over(partition_by=(row.address, row.method, row.attribute))
    group = (row.kind, row.attribute, row.method, row.letter)
    newest = select(*group, row.requester, first_requester.label("first")).where(row.position == 1).subquery().c
    counted = (newest.kind, newest.attribute, newest.method, newest.letter)
    query = select(*counted, func.count()).where(newest.requester == newest.first).group_by(*counted)
    return Counter({tuple(group): number for *group, number in c.execute(query)})


def methodologies(c: Connection) -> list[str]:
    """List the methodology versions of public ratings."""
    return sorted(c.execute(select(ratings.c.methodology_version).where(_is_public()).distinct()).scalars())


def page(c: Connection, after: tuple[int, str] | None, limit: int) -> list[StoredRating]:
    """List public ratings that were not withdrawn, oldest first, after the row ``after = (created_at, id)``."""
    query = select(ratings).where(_is_public())
    if after is not None:
        time, last_id = after
        query = query.where(ratings.c.created_at >= time, or_(ratings.c.created_at > time, ratings.c.id > last_id))
    return all_rows(c, query.order_by(ratings.c.created_at, ratings.c.id).limit(limit), StoredRating)


def _is_public() -> ColumnElement[bool]:
    return and_(ratings.c.visibility == "public", ratings.c.withdrawn_at.is_(None))
