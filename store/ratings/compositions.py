"""Compositions: what was inferred of services called one after the other, and what it was inferred from."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, func, insert, or_, select

from store.core.agency_schema import compositions
from store.core.clock import now_ms
from store.core.columns import new_id, sealed_from
from store.core.keyset import page_of
from store.core.schema import ratings, targets
from store.ratings.ratings import StoredRating
from store.targets.targets import StoredTarget

CANDIDATES = 25
"""Newest ratings of an address that are looked at for those of one description of it."""


@dataclass(frozen=True)
class NewComposition:
    """A composition to be kept.

    Attributes
    ----------
    tenant : str
        Whose it is.
    visibility : str
        ``private``, ``unlisted`` or ``public``.
    request : dict
        What was asked.
    document : dict
        What was inferred, without ``id`` and ``created_at``.
    """

    tenant: str
    visibility: str
    request: dict[str, Any]
    document: dict[str, Any]


@dataclass(frozen=True)
class StoredComposition:
    """A composition's row; `created_at` is in milliseconds since 1970."""

    id: str
    tenant: str
    visibility: str
    request: dict[str, Any]
    document: dict[str, Any]
    created_at: int

    @property
    def rating_ids(self) -> tuple[str, ...]:
        """The ratings it was inferred from."""
        return tuple(link["rating"]["id"] for link in self.document["chain"])


def add(c: Connection, new: NewComposition) -> StoredComposition:
    """Keep a composition."""
    values = {"id": new_id("cmp"), **vars(new), "created_at": now_ms()}
    row = c.execute(insert(compositions).values(values).returning(compositions)).mappings().one()
    return StoredComposition(**row)


def find(c: Connection, composition_id: str, tenant: str | None) -> StoredComposition | None:
    """Read a composition of the tenant, or one that is public or unlisted and whose ratings still are.

    A rating that has become private since takes the compositions that show it out of others' sight.
    """
    seen = or_(compositions.c.tenant == tenant, compositions.c.visibility.in_(("public", "unlisted")))
    row = c.execute(select(compositions).where(compositions.c.id == composition_id, seen)).mappings().one_or_none()
    if row is None:
        return None
    found = StoredComposition(**row)
    shown = found.tenant == tenant or len(readable(c, found.rating_ids, tenant)) == len(set(found.rating_ids))
    return found if shown else None


def page(c: Connection, tenant: str, *, before: tuple[int, str] | None = None, limit: int) -> list[StoredComposition]:
    """Read a tenant's compositions, newest first, after ``before = (created_at, id)`` of the page before."""
    query = select(compositions).where(compositions.c.tenant == tenant)
    query = page_of(query, compositions.c.created_at, compositions.c.id, before, limit)
    return [StoredComposition(**row) for row in c.execute(query).mappings()]


# ---------------------------------------------------------------------------- what is composed
def readable(c: Connection, ids: Collection[str], tenant: str | None) -> dict[str, StoredRating]:
    """Read several ratings by id in one query: the tenant's, and those that are public or unlisted."""
    if not ids:
        return {}
    seen = or_(ratings.c.tenant == tenant, ratings.c.visibility.in_(("public", "unlisted")))
    rows = c.execute(select(ratings).where(ratings.c.id.in_(set(ids)), seen)).mappings()
    return {row["id"]: StoredRating(**row) for row in rows}


def targets_named(c: Connection, tenant: str, ids: Collection[str]) -> dict[str, StoredTarget]:
    """Read several of a tenant's targets by id in one query."""
    if not ids:
        return {}
    query = select(targets).where(
        targets.c.id.in_(set(ids)), targets.c.tenant == tenant, targets.c.removed_at.is_(None)
    )
    return {row["id"]: _target(row) for row in c.execute(query).mappings()}


def latest_of_targets(
    c: Connection,
    tenant: str,
    digests: dict[str, str],
    wanted: Iterable[StoredTarget],
    *,
    attribute: str | None = None,
    method: str | None = None,
) -> dict[str, StoredRating]:
    """Find the newest rating for each of several targets that the tenant may see and that was not withdrawn.

    A rating is a target's if it was asked for by the target's id, or if it is of a service of the same
    description, by its digest.

    Parameters
    ----------
    c : Connection
        Where to read.
    tenant : str
        Who asks.
    digests : dict
        Digest of each target's description, by the target's id.
    wanted : iterable of StoredTarget
        The targets.
    attribute, method : str, optional
        Only such ratings.
    """
    by_id = {one.id: one for one in wanted}
    if not by_id:
        return {}
    newest_first = (ratings.c.created_at.desc(), ratings.c.id.desc())
    place = func.row_number().over(partition_by=(ratings.c.target_url, ratings.c.target_id), order_by=newest_first)
    addressed = or_(ratings.c.target_id.in_(by_id), ratings.c.target_url.in_({one.base_url for one in by_id.values()}))
    ranked = (
        select(ratings.c.id, ratings.c.target_id, ratings.c.target, ratings.c.created_at, place.label("place"))
        .where(addressed, ratings.c.withdrawn_at.is_(None), *_narrowed(attribute, method))
        .where(or_(ratings.c.tenant == tenant, ratings.c.visibility == "public"))
        .subquery()
    )
    query = select(ranked).where(ranked.c.place <= CANDIDATES).order_by(ranked.c.created_at.desc(), ranked.c.id.desc())
    chosen: dict[str, str] = {}
    for row in c.execute(query):
        for one in by_id:
            if row.target_id == one or row.target.get("digest") == digests[one]:
                chosen.setdefault(one, row.id)
    found = readable(c, chosen.values(), tenant)
    return {one: found[rating_id] for one, rating_id in chosen.items() if rating_id in found}


def _narrowed(attribute: str | None, method: str | None) -> list[ColumnElement[bool]]:
    given = {"attribute": attribute, "method": method}
    return [ratings.c[name] == value for name, value in given.items() if value is not None]


def _target(row: RowMapping) -> StoredTarget:
    fields = {name: value for name, value in row.items() if not name.startswith("secret_")}
    return StoredTarget(sealed_secret=sealed_from(row), **fields)
