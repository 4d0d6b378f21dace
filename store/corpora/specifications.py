"""Specifications: named lists of words, in versions that never change; the shipped ones and a tenant's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import ColumnElement, Connection, RowMapping, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from assay.canonical import digest_of
from assay.catalog.shipped import specifications as shipped
from assay.catalog.specification import WORDS, AnyWords, Specification
from assay.errors import SpecificationError
from store.core.clock import now_ms
from store.core.errors import NameTaken, StoreUnavailable
from store.core.keyset import page_of
from store.core.schema import specifications

TRIES = 5
"""Before a version whose number others keep taking is given up."""


@dataclass(frozen=True)
class StoredSpecification:
    """A version of a specification.

    Attributes
    ----------
    name, title, kind, language, citation : str
        As of `assay.catalog.specification.Specification`.
    words : dict
        The words, as JSON.
    version, latest : int
        Which version this is, from 1, and the newest there is.
    digest : str
        Over all of the above but the versions.
    created_at : int
        Milliseconds since 1970; 0 for one that is shipped.
    shipped : bool
        Whether it comes with Assay.
    """

    name: str
    title: str
    kind: str
    language: str
    citation: str
    words: dict[str, Any]
    version: int
    latest: int
    digest: str
    created_at: int
    shipped: bool

    def read(self) -> Specification:
        """Build the specification that methods use."""
        words = read_words(self.kind, self.words)
        return Specification(self.name, self.title, self.kind, self.language, self.citation, words)


def find(c: Connection, tenant: str, name: str, version: int | None = None) -> StoredSpecification | None:
    """Read a version of a specification, the newest unless one is asked for.

    A tenant's own come before those that are shipped, in case a later release ships one of that name.
    """
    query = select(specifications, _latest(tenant)).where(*_kept(tenant), specifications.c.name == name)
    if version is not None:
        query = query.where(specifications.c.version == version)
    newest = query.order_by(specifications.c.version.desc()).limit(1)
    row = c.execute(newest).mappings().one_or_none()
    if row is not None:
        return _stored(row)
    ours = shipped().get(name)
    return None if ours is None or version not in {None, 1} else _of_shipped(ours)


def find_named(c: Connection, tenant: str, reference: str) -> StoredSpecification | None:
    """Read what a request names as ``name`` or ``name@2``."""
    name, mark, number = reference.partition("@")
    if not mark:
        return find(c, tenant, name)
    return find(c, tenant, name, int(number)) if number.isdecimal() and len(number) < 10 else None


def page(
    c: Connection, tenant: str, *, kind: str | None = None, before: tuple[int, str] | None = None, limit: int
) -> list[StoredSpecification]:
    """Read the newest version of each specification: a tenant's own, newest first, and then the shipped ones.

    Parameters
    ----------
    before : (int, str), optional
        ``(created_at, name)`` of the last of the page before.
    """
    rows: list[StoredSpecification] = []
    if before is None or before[0] > 0:
        latest = _latest(tenant)
        query = select(specifications, latest).where(*_kept(tenant), specifications.c.version == latest)
        if kind is not None:
            query = query.where(specifications.c.kind == kind)
        query = page_of(query, specifications.c.created_at, specifications.c.name, before, limit)
        rows, before = [_stored(row) for row in c.execute(query).mappings()], None
    return (rows + list(_shipped_after(kind, before and before[1])))[:limit]


def add(c: Connection, tenant: str, new: Specification) -> StoredSpecification:
    """Keep the first version of a specification.

    One that was removed leaves its numbers: what a rating once called version 1 is never another's.

    Raises
    ------
    NameTaken
        If it is there already, the tenant's own or shipped.
    """
    if new.name in shipped() or find(c, tenant, new.name) is not None:
        raise NameTaken(new.name)
    kept = _insert(c, tenant, new, _highest(c, tenant, new.name) + 1)
    if kept is None:
        raise NameTaken(new.name)
    return kept


def add_version(c: Connection, tenant: str, new: Specification) -> tuple[StoredSpecification, bool] | None:
    """Keep a further version of a tenant's specification.

    Returns
    -------
    (StoredSpecification, bool) or None
        The newest version, and whether it was made now: the same content makes no new one. ``None`` where
        the tenant has no such specification.

    Raises
    ------
    SpecificationError
        If it is of another kind than the versions before.
    """
    for _ in range(TRIES):
        newest = find(c, tenant, new.name)
        if newest is None or newest.shipped:
            return None
        if newest.kind != new.kind:
            raise SpecificationError(f"{new.name} is for {newest.kind}; give the new one another name", "kind")
        if newest.digest == _digest(new):
            return newest, False
        if (kept := _insert(c, tenant, new, newest.version + 1)) is not None:
            return kept, True
    raise StoreUnavailable("conflict", 1)


def remove(c: Connection, tenant: str, name: str) -> bool:
    """Hide every version of a tenant's specification. False where there is none."""
    gone = update(specifications).where(*_kept(tenant), specifications.c.name == name).values(removed_at=now_ms())
    return c.execute(gone).rowcount > 0


def dump_words(words: AnyWords) -> dict[str, Any]:
    """Write words down as JSON."""
    written: dict[str, Any] = _adapter(words.kind).dump_python(words, mode="json")
    return written


def read_words(kind: str, written: Mapping[str, Any]) -> AnyWords:
    """Build what `dump_words` wrote."""
    words: AnyWords = _adapter(kind).validate_python(dict(written))
    return words


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(WORDS[kind])


def _digest(new: Specification) -> str:
    return digest_of(_described(new))


def _described(new: Specification) -> dict[str, Any]:
    return {
        "name": new.name,
        "title": new.title,
        "kind": new.kind,
        "language": new.language,
        "citation": new.citation,
        "words": dump_words(replace(new.words, name=new.name)),
    }


def _insert(c: Connection, tenant: str, new: Specification, version: int) -> StoredSpecification | None:
    """Write a version, unless somebody took its number a moment ago."""
    start = sqlite.insert(specifications) if c.dialect.name == "sqlite" else postgresql.insert(specifications)
    values = _described(new) | {"tenant": tenant, "version": version, "digest": _digest(new), "created_at": now_ms()}
    made = c.execute(start.values(values).on_conflict_do_nothing().returning(specifications)).mappings().one_or_none()
    return None if made is None else _stored({**made, "latest": version})


def _highest(c: Connection, tenant: str, name: str) -> int:
    """Find the highest number that was ever given out, also to what was removed."""
    mine = specifications.c.tenant == tenant, specifications.c.name == name
    return c.execute(select(func.max(specifications.c.version)).where(*mine)).scalar_one() or 0


def _kept(tenant: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return specifications.c.tenant == tenant, specifications.c.removed_at.is_(None)


def _latest(tenant: str) -> Any:
    """The newest version of a row's specification."""
    other = specifications.alias()
    newest = select(func.max(other.c.version)).where(other.c.tenant == tenant, other.c.name == specifications.c.name)
    return newest.where(other.c.removed_at.is_(None)).correlate(specifications).scalar_subquery().label("latest")


def _shipped_after(kind: str | None, name: str | None) -> Iterator[StoredSpecification]:
    names = list(shipped())
    for ours in names[0 if name not in names else names.index(name) + 1 :]:
        specification = shipped()[ours]
        if kind in {None, specification.kind}:
            yield _of_shipped(specification)


def _of_shipped(ours: Specification) -> StoredSpecification:
    described = _described(ours)
    return StoredSpecification(
        **described, version=1, latest=1, digest=digest_of(described), created_at=0, shipped=True
    )


def _stored(row: RowMapping | Mapping[str, Any]) -> StoredSpecification:
    fields = {name: value for name, value in row.items() if name not in {"tenant", "removed_at"}}
    return StoredSpecification(shipped=False, **fields)
