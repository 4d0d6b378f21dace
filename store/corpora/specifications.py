"""Specifications: named word lists with immutable versions, shipped with Assay or added by a tenant."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import ColumnElement, Connection, func, select, update

from assay.canonical import digest_of
from assay.catalog.shipped import specifications as shipped
from assay.catalog.specification import WORDS, AnyWords, Specification
from assay.document import Json, JsonObject
from assay.errors import SpecificationError
from store.core.columns import now_ms
from store.core.engines import insert_into
from store.core.errors import NameTaken, StoreUnavailable
from store.core.rows import all_rows, equal, newest_first, one_row
from store.corpora.tables import specifications
from store.quota import quota

TRIES = 5
"""Maximum attempts to add a version, in case concurrent transactions take its number."""


@dataclass(frozen=True)
class StoredSpecification:
    """A version of a specification; `assay.catalog.specification.Specification` describes the other fields."""

    name: str
    title: str
    kind: str
    language: str
    citation: str
    words: JsonObject
    """The words, as JSON."""
    version: int
    """Number of this version, from 1."""
    latest: int
    """Number of the newest version."""
    digest: str
    """Digest of the name, title, kind, language, citation and words."""
    created_at: int
    """Time of the version in milliseconds since 1970; 0 if it is shipped with Assay."""
    shipped: bool
    """Whether the specification is shipped with Assay, not added by a tenant."""

    def as_specification(self) -> Specification:
        """Parse the stored words, and return the specification that methods take."""
        words = read_words(self.kind, self.words)
        return Specification(self.name, self.title, self.kind, self.language, self.citation, words)


def find(c: Connection, tenant: str, name: str, version: int | None = None) -> StoredSpecification | None:
    """Read a version of a specification, by default the newest; return ``None`` if there is none.

    A tenant's specification takes precedence over a specification that a later release ships under the same name.
    """
    filters = equal(specifications, name=name, version=version)
    query = select(specifications, _latest_version(tenant)).where(*_present_conditions(tenant), *filters)
    newest_query = query.order_by(specifications.c.version.desc()).limit(1)
    if (specification := one_row(c, newest_query, _specification_from_row)) is not None:
        return specification
    shipped_specification = shipped().get(name)
    has_version = version in {None, 1}  # a shipped specification has a single version
    return _as_stored(shipped_specification) if shipped_specification is not None and has_version else None


def find_named(c: Connection, tenant: str, reference: str) -> StoredSpecification | None:
    """Read a specification by a reference such as ``name`` or ``name@2``; return ``None`` if there is none."""
    name, separator, digits = reference.partition("@")
    if not separator:
        return find(c, tenant, name)
    # a number of at most 9 digits fits the column; no version has a longer one
    return find(c, tenant, name, int(digits)) if digits.isdecimal() and len(digits) < 10 else None


def page(
    c: Connection, tenant: str, *, kind: str | None = None, before: tuple[int, str] | None = None, limit: int
) -> list[StoredSpecification]:
    """List the tenant's specifications, newest first, then shipped ones, after ``before = (created_at, name)``."""
    own_specifications: list[StoredSpecification] = []
    after_time, after_name = before or (None, None)
    if after_time is None or after_time > 0:  # shipped specifications, which come last, have the time 0
        latest = _latest_version(tenant)  # a filter, and a column of the result
        filters = equal(specifications, version=latest, kind=kind)
        query = select(specifications, latest).where(*_present_conditions(tenant), *filters)
        query = newest_first(query, specifications.c.created_at, specifications.c.name, before, limit)
        own_specifications = all_rows(c, query, _specification_from_row)
        after_name = None  # no shipped specification was on an earlier page
    return [*own_specifications, *_shipped_after(kind, after_name)][:limit]


def add(c: Connection, tenant: str, specification: Specification) -> StoredSpecification:
    """Add the first version of a specification; raise `NameTaken` if the tenant or Assay has one with this name.

    Version numbers of a removed specification are not reused, so references in ratings stay unambiguous.
    """
    name = specification.name
    if name in shipped() or find(c, tenant, name) is not None:
        raise NameTaken(name)
    query = select(func.max(specifications.c.version)).where(*equal(specifications, tenant=tenant, name=name))
    last_version = c.execute(query).scalar_one() or 0  # removed specifications count too
    stored_specification = _insert(c, tenant, specification, last_version + 1)
    if stored_specification is None:  # another request has just added one
        raise NameTaken(name)
    return stored_specification


def add_version(c: Connection, tenant: str, specification: Specification) -> tuple[StoredSpecification, bool] | None:
    """Add a version to a tenant's specification; return ``None`` if the tenant has no such specification.

    Return the newest version, and whether it was added now: if the newest version has equal content, none is added.
    Raise `SpecificationError` if `specification` is of another kind than the earlier versions.
    """
    for _ in range(TRIES):
        newest = find(c, tenant, specification.name)
        if newest is None or newest.shipped:
            return None
        if newest.kind != specification.kind:
            raise SpecificationError(
                f"{specification.name} is of kind {newest.kind}, not {specification.kind}; choose another name", "kind"
            )
        if newest.digest == _digest(specification):
            return newest, False
        if (new_version := _insert(c, tenant, specification, newest.version + 1)) is not None:
            return new_version, True
    raise StoreUnavailable("conflict")


def remove(c: Connection, tenant: str, name: str) -> bool:
    """Remove all versions of a tenant's specification, including their words; return false if it does not exist."""
    quota.subtract_size(c, specifications, tenant, *_present_conditions(tenant), specifications.c.name == name)
    statement = update(specifications).where(*_present_conditions(tenant), specifications.c.name == name)
    statement = statement.values(removed_at=now_ms(), words={})
    return c.execute(statement).rowcount > 0


def dump_words(words: AnyWords) -> JsonObject:
    """Convert the words of a specification to a JSON object."""
    document: JsonObject = _type_adapter(words.kind).dump_python(words, mode="json")
    return document


def read_words(kind: str, document: Json) -> AnyWords:
    """Build the words of a specification of this kind from the JSON object that `dump_words` returns."""
    words: AnyWords = _type_adapter(kind).validate_python(dict(document))
    return words


@cache
def _type_adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(WORDS[kind])


def _digest(specification: Specification) -> str:
    return digest_of(_described_columns(specification))


def _described_columns(specification: Specification) -> dict[str, Any]:
    fields = {name: getattr(specification, name) for name in ("name", "title", "kind", "language", "citation")}
    # the words hold a name too; it is set to the specification's, so that it cannot change the digest
    return fields | {"words": dump_words(replace(specification.words, name=specification.name))}


def _insert(c: Connection, tenant: str, specification: Specification, version: int) -> StoredSpecification | None:
    """Insert a version; return ``None`` if its number is taken."""
    values = {"version": version, "digest": _digest(specification), "created_at": now_ms()}
    values |= _described_columns(specification)
    statement = insert_into(c, specifications).values(tenant=tenant, **values).on_conflict_do_nothing()
    row = c.execute(statement.returning(specifications)).mappings().one_or_none()
    if row is None:
        return None
    is_inserted = equal(specifications, tenant=tenant, name=specification.name, version=version)
    quota.add_size(c, specifications, tenant, *is_inserted)
    return _specification_from_row(**row, latest=version)


def _present_conditions(tenant: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return specifications.c.tenant == tenant, specifications.c.removed_at.is_(None)


def _latest_version(tenant: str) -> Any:
    """Return a subquery, called ``latest``: the newest version number of the specification in the outer query's row."""
    versions = specifications.alias()
    conditions = versions.c.tenant == tenant, versions.c.name == specifications.c.name, versions.c.removed_at.is_(None)
    latest = select(func.max(versions.c.version)).where(*conditions)
    return latest.correlate(specifications).scalar_subquery().label("latest")


def _shipped_after(kind: str | None, name: str | None) -> Iterator[StoredSpecification]:
    """Yield the shipped specifications of a kind (``None``: any) after `name`, or all if none has this name."""
    names = list(shipped())
    start = names.index(name) + 1 if name in names else 0
    for specification in list(shipped().values())[start:]:
        if kind in {None, specification.kind}:
            yield _as_stored(specification)


def _as_stored(specification: Specification) -> StoredSpecification:
    columns = _described_columns(specification)
    return StoredSpecification(**columns, version=1, latest=1, digest=digest_of(columns), created_at=0, shipped=True)


def _specification_from_row(**row: Any) -> StoredSpecification:
    columns = {name: value for name, value in row.items() if name not in {"tenant", "removed_at"}}
    return StoredSpecification(shipped=False, **columns)
