"""Statistics and listing of all public ratings."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, case, func, or_, select

from store.core.clock import now_ms
from store.core.rows import all_rows, equal, json_part
from store.ratings import standing
from store.ratings.ratings import NEWEST_FIRST, StoredRating
from store.ratings.tables import ratings
from store.targets.domains import current_owners

INCONCLUSIVE = "inconclusive"
"""Category of ratings without a declared letter."""


@dataclass(frozen=True)
class LetterCount:
    """Number of targets of one kind that have one letter, by one method and for one attribute."""

    kind: str
    attribute: str
    method: str
    letter: str
    count: int


def distribution(
    c: Connection,
    *,
    kind: str | None = None,
    attribute: str | None = None,
    method: str | None = None,
    model: str | None = None,
) -> list[LetterCount]:
    """Count letters over the newest valid public rating of each target, method and attribute.

    Ratings of a target with an address count only if they stand for it, and only those of the first class of requesters
    at this address (`store.ratings.standing`). The list is sorted by kind, attribute, method and letter, and has no
    zeros.
    """
    same = (json_part(ratings.c.target, "digest"), ratings.c.method, ratings.c.attribute)
    owners = current_owners()
    requester = standing.rank(owners.c.tenant)
    position = func.row_number().over(partition_by=same, order_by=(requester, *NEWEST_FIRST))
    at_address = (func.coalesce(ratings.c.address, same[0]), ratings.c.method, ratings.c.attribute)
    of_kind = json_part(ratings.c.target, "kind")
    letter = case((and_(ratings.c.declared, ratings.c.letter.is_not(None)), ratings.c.letter), else_=INCONCLUSIVE)
    counting = (
        select(
            *(of_kind.label("kind"), ratings.c.attribute, ratings.c.method, letter.label("letter")),
            *(position.label("place"), requester.label("requester")),
            func.min(requester).over(partition_by=at_address).label("first_requester"),
        )
        .outerjoin_from(ratings, owners, owners.c.host == ratings.c.host)
        .where(_public(), ratings.c.expires_at > now_ms())
        .where(or_(ratings.c.address.is_(None), standing.stands(owners.c.tenant)))
        .where(*equal(ratings, attribute=attribute, method=method), *([] if kind is None else [of_kind == kind]))
        .where(*standing.of_model(model))
        .subquery()
    )
    group = (counting.c.kind, counting.c.attribute, counting.c.method, counting.c.letter)
    query = select(*group, func.count()).where(
        counting.c.place == 1, counting.c.requester == counting.c.first_requester
    )
    query = query.group_by(*group).order_by(*group)
    return [LetterCount(*row) for row in c.execute(query)]


def methodologies(c: Connection) -> list[str]:
    """List the methodology versions of public ratings."""
    return sorted(c.execute(select(ratings.c.methodology_version).where(_public()).distinct()).scalars())


def page(c: Connection, after: tuple[int, str] | None, limit: int) -> list[StoredRating]:
    """List public ratings that were not withdrawn, oldest first, after the row ``after = (created_at, id)``."""
    query = select(ratings).where(_public())
    if after is not None:
        time, last_id = after
        query = query.where(ratings.c.created_at >= time, or_(ratings.c.created_at > time, ratings.c.id > last_id))
    return all_rows(c, query.order_by(ratings.c.created_at, ratings.c.id).limit(limit), StoredRating)


def _public() -> ColumnElement[bool]:
    return and_(ratings.c.visibility == "public", ratings.c.withdrawn_at.is_(None))
