"""Rating history of a target: each rating with its predecessor."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, case, func, literal, or_, select

from store.core.rows import all_rows, equal, json_part, newest_first
from store.ratings.ratings import StoredRating
from store.ratings.standing import Whose, of_address, of_model
from store.ratings.tables import ratings


@dataclass(frozen=True)
class Step:
    """A rating, and its tenant's previous rating by the same method for the same attribute, without withdrawn ones.

    `previous` is ``None`` for the first rating and for a withdrawn rating.
    """

    rating: StoredRating
    previous: StoredRating | None


def of_url(
    c: Connection,
    tenant: str | None,
    target_url: str,
    *,
    whose: Whose = "address",
    attribute: str | None = None,
    method: str | None = None,
    model: str | None = None,
    before: tuple[int, str] | None = None,
    limit: int,
) -> list[Step]:
    """List ratings of an address, public ones and the tenant's own, newest first, including withdrawn ones.

    `whose` is ``mine`` (the tenant's own), ``all``, or ``address``: those that a look-up by address may return, and
    only by the most trusted class of requesters that made any (`store.ratings.standing`). ``tenant=None`` lists only
    public ratings. The page starts after the rating ``before = (created_at, id)``.
    """
    lookup = of_address(target_url, tenant, whose)
    conditions = [*lookup.conditions, *of_model(model)]
    return _read_steps(c, conditions, attribute, method, before, limit, rank=lookup.rank)


def of_target(
    c: Connection,
    tenant: str,
    target_id: str,
    target_url: str,
    digest: str,
    *,
    attribute: str | None = None,
    method: str | None = None,
    before: tuple[int, str] | None = None,
    limit: int,
) -> list[Step]:
    """List the tenant's ratings of a saved target, newest first; filters as for `of_url`.

    A rating is listed if its request named the target's id, or if the rated service has this `target_url` and `digest`.
    """
    equal_description = and_(ratings.c.target_url == target_url, json_part(ratings.c.target, "digest") == digest)
    is_of_target = [ratings.c.tenant == tenant, or_(ratings.c.target_id == target_id, equal_description)]
    return _read_steps(c, is_of_target, attribute, method, before, limit)


def _read_steps(
    c: Connection,
    conditions: list[ColumnElement[bool]],
    attribute: str | None,
    method: str | None,
    before: tuple[int, str] | None,
    limit: int,
    *,
    rank: ColumnElement[int] | None = None,
) -> list[Step]:
    """Read a page of steps (a rating and its predecessor) in two statements: pairs of ids, then the ratings.

    Only the ratings with the lowest `rank` are listed. A rating's predecessor has the same tenant: ratings of two
    tenants do not show a change of the service. Withdrawn ratings have no predecessor and are never predecessors.
    """
    rank = literal(0) if rank is None else rank
    series = (ratings.c.method, ratings.c.attribute, ratings.c.tenant, ratings.c.withdrawn_at.is_not(None))
    earlier_id = func.lag(ratings.c.id).over(partition_by=series, order_by=(ratings.c.created_at, ratings.c.id))
    ranked_ratings = (
        select(
            *(ratings.c.id, ratings.c.created_at, ratings.c.withdrawn_at, earlier_id.label("earlier_id")),
            *(rank.label("rank"), func.min(rank).over().label("first_rank")),
        )
        .where(*conditions, *equal(ratings, attribute=attribute, method=method))
        .subquery()
    )
    is_not_withdrawn = ranked_ratings.c.withdrawn_at.is_(None)
    query = select(ranked_ratings.c.id, case((is_not_withdrawn, ranked_ratings.c.earlier_id)).label("previous_id"))
    query = query.where(ranked_ratings.c.rank == ranked_ratings.c.first_rank)
    page: Select[Any] = newest_first(query, ranked_ratings.c.created_at, ranked_ratings.c.id, before, limit)
    id_pairs = [(row.id, row.previous_id) for row in c.execute(page)]
    ids = {rating_id for id_pair in id_pairs for rating_id in id_pair if rating_id is not None}
    rows = all_rows(c, select(ratings).where(ratings.c.id.in_(ids)), StoredRating) if ids else []
    by_id: dict[str | None, StoredRating] = {rating.id: rating for rating in rows}
    return [Step(by_id[rating_id], by_id.get(previous_id)) for rating_id, previous_id in id_pairs]
