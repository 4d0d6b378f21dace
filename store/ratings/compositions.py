"""Compositions: inferred ratings of services that are called in sequence, and the ratings they derive from."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, and_, case, func, or_, select

from assay.document import JsonObject
from store.core.columns import new_id, now_ms
from store.core.rows import equal, one_row
from store.quota.tenant_rows import TenantRows
from store.ratings import standing
from store.ratings.ratings import NEWEST_FIRST, StoredRating, find_all
from store.ratings.tables import compositions, ratings
from store.targets.domains import owner_of
from store.targets.targets import StoredTarget

CANDIDATES = 25
"""Maximum number of newest ratings of an address that are compared with a target's description."""


@dataclass(frozen=True)
class NewComposition:
    """A new composition (a chain of services with its inferred letter); its document lacks ``id``, ``created_at``."""

    tenant: str
    visibility: str
    request: JsonObject
    document: JsonObject


@dataclass(frozen=True, kw_only=True)
class StoredComposition(NewComposition):
    """A composition's row; `created_at` is in milliseconds since 1970."""

    id: str
    created_at: int

    @property
    def rating_ids(self) -> tuple[str, ...]:
        """Ids of the ratings that the composition combines."""
        return tuple(link["rating"]["id"] for link in self.document["chain"])


ROWS = TenantRows(compositions, StoredComposition)
page, remove = ROWS.page, ROWS.remove


def add(c: Connection, new_composition: NewComposition) -> StoredComposition:
    """Store a composition: a chain of services with its inferred letter."""
    return ROWS.add(c, {"id": new_id("cmp"), **vars(new_composition), "created_at": now_ms()})


def find(c: Connection, composition_id: str, tenant: str | None) -> StoredComposition | None:
    """Read a composition of the tenant, or a public or unlisted composition; return ``None`` for any other.

    Other tenants can read it only while they can read every rating that it shows.
    """
    is_visible = or_(compositions.c.tenant == tenant, compositions.c.visibility.in_(("public", "unlisted")))
    query = select(compositions).where(compositions.c.id == composition_id, is_visible)
    composition = one_row(c, query, StoredComposition)
    if composition is None or composition.tenant == tenant:
        return composition
    rating_ids = set(composition.rating_ids)
    return composition if len(find_all(c, rating_ids, tenant)) == len(rating_ids) else None


def latest_of_targets(
    c: Connection,
    tenant: str,
    digests: dict[str, str],
    stored_targets: Iterable[StoredTarget],
    *,
    attribute: str | None = None,
    method: str | None = None,
) -> dict[str, StoredRating]:
    """Read the rating that counts for each target, by the target's id, among ratings that were not withdrawn.

    A rating is of a target if its request named the target's id, or if the rated service has the same description
    (`digests` has its digest, by target id). The newest rating by the tenant counts; if there is none, the newest of
    the most trusted class of requesters, among public ratings that a look-up by address may return
    (`store.ratings.standing`). Ratings of uploads count only for a target without an address.
    """
    targets_by_id = {target.id: target for target in stored_targets}
    if not targets_by_id:
        return {}
    is_own = ratings.c.tenant == tenant
    owner = owner_of(ratings.c.host)
    rank = case((is_own, -1), else_=standing.rank(owner))  # before all classes of requesters, which begin at 0
    target_and_rank = (rank, ratings.c.target_url, ratings.c.target_id)
    position = func.row_number().over(partition_by=target_and_rank, order_by=NEWEST_FIRST)
    addresses = {target.base_url for target in targets_by_id.values()}
    is_of_target = or_(ratings.c.target_id.in_(targets_by_id), ratings.c.target_url.in_(addresses))
    is_no_upload_at_address = or_(ratings.c.address.is_(None), ratings.c.description.is_distinct_from("uploaded"))
    columns = (ratings.c.id, ratings.c.target_id, ratings.c.target, ratings.c.created_at)
    ranked_ratings = (
        select(*columns, rank.label("rank"), position.label("place"))
        .where(is_of_target, ratings.c.withdrawn_at.is_(None), *equal(ratings, attribute=attribute, method=method))
        .where(is_no_upload_at_address, or_(is_own, and_(ratings.c.visibility == "public", standing.stands(owner))))
        .subquery()
    )
    query = select(ranked_ratings).where(ranked_ratings.c.place <= CANDIDATES)  # their descriptions are compared below
    query = query.order_by(ranked_ratings.c.rank, ranked_ratings.c.created_at.desc(), ranked_ratings.c.id.desc())
    rating_id_of_target: dict[str, str] = {}
    for row in c.execute(query):  # the first rating of a target counts
        for target_id in targets_by_id:
            if row.target_id == target_id or row.target.get("digest") == digests[target_id]:
                rating_id_of_target.setdefault(target_id, row.id)
    readable_ratings = find_all(c, rating_id_of_target.values(), tenant)
    return {
        target_id: readable_ratings[rating_id]
        for target_id, rating_id in rating_id_of_target.items()
        if rating_id in readable_ratings
    }
