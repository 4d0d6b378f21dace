"""Corpora: collections of sentences or pictures that ratings can reuse.

Only its owner can read a private corpus; every tenant can read a shared one, and only its owner can change it.
The items are in `store.corpora.items`. `version` counts the changes of a corpus and its items, so a rating
refers to its input by id and version.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, func, or_, select

from assay.document import Json
from store.core.columns import new_id, now_ms
from store.core.rows import equal, one_row, page_of
from store.corpora.tables import corpora, corpus_items
from store.quota import quota
from store.quota.tenant_rows import TenantRows

PREFIX = "crp"
"""Prefix of the ids of corpora."""


@dataclass(frozen=True)
class Rules:
    """The specification that the items of a corpus follow.

    If the request contained the words instead of naming a saved specification, `version` is ``None``, and `digest` is
    that of the words. `words` is a copy as JSON, because readers of a shared corpus cannot read the specification.
    """

    name: str
    version: int | None
    digest: str
    words: Json


@dataclass(frozen=True)
class NewCorpus:
    """Fields of a new corpus.

    `kind` is ``sentences`` or ``images``, `visibility` is ``private`` or ``shared``. `attribute` (such as
    gender) distinguishes its groups of people. `licence`, `citation` and `description` are empty if unknown.
    """

    tenant: str
    name: str
    kind: str
    language: str
    attribute: str
    rules: Rules | None = None
    licence: str = ""
    citation: str = ""
    description: str = ""
    visibility: str = "private"
    id: str = field(default_factory=lambda: new_id(PREFIX))


@dataclass(frozen=True, kw_only=True)
class StoredCorpus(NewCorpus):
    """A corpus without its items. Times are milliseconds since 1970."""

    version: int
    created_at: int
    updated_at: int
    removed_at: int | None

    @property
    def reference(self) -> str:
        """Text by which an experiment refers to this version of the corpus: ``id@version``."""
        return f"{self.id}@{self.version}"


def _corpus_from_row(*, specification: str | None, words: Any, **row: Any) -> StoredCorpus:
    version, digest = row.pop("specification_version"), row.pop("specification_digest")
    rules = None if specification is None else Rules(name=specification, version=version, digest=digest, words=words)
    return StoredCorpus(rules=rules, **row)


ROWS = TenantRows(corpora, _corpus_from_row, blank={"words": None})

lock = ROWS.lock
"""Read a tenant's own corpus and lock it until the transaction ends; return ``None`` if there is none."""


def add(c: Connection, new_corpus: NewCorpus) -> StoredCorpus:
    """Add a corpus without items."""
    values = {name: value for name, value in vars(new_corpus).items() if name != "rules"}
    values |= {"version": 1, "created_at": now_ms(), "updated_at": now_ms()}
    if (rules := new_corpus.rules) is not None:
        values |= {"specification": rules.name, "specification_version": rules.version}
        values |= {"specification_digest": rules.digest, "words": dict(rules.words)}
    return ROWS.add(c, values)


def find(c: Connection, corpus_id: str, tenant: str) -> StoredCorpus | None:
    """Read a corpus of the tenant or a shared corpus; return ``None`` if the tenant may read no such corpus."""
    return one_row(c, select(corpora).where(corpora.c.id == corpus_id, readable(tenant)), _corpus_from_row)


def page(
    c: Connection,
    tenant: str,
    *,
    kind: str | None = None,
    attribute: str | None = None,
    visibility: str | None = None,
    specification: str | None = None,
    before: tuple[int, str] | None = None,
    limit: int,
) -> list[StoredCorpus]:
    """List a tenant's corpora and all shared ones, newest first, starting after ``before = (created_at, id)``.

    The other arguments are filters. `specification` is a name, ``name@version`` or digest. Tenants choose names freely;
    only equal digests mean equal specifications.
    """
    filters = equal(corpora, kind=kind, attribute=attribute, visibility=visibility)
    query = select(corpora).where(readable(tenant), *filters)
    if specification is not None:
        query = query.where(_follows_specification(specification))
    return page_of(c, query, corpora, _corpus_from_row, before, limit)


def sizes(c: Connection, ids: Sequence[str]) -> dict[str, int]:
    """Count the items of several corpora, by corpus id."""
    of_present_items = and_(corpus_items.c.corpus_id.in_(ids), corpus_items.c.removed_at.is_(None))
    query = select(corpus_items.c.corpus_id, func.count().label("size")).where(of_present_items)
    rows = c.execute(query.group_by(corpus_items.c.corpus_id)) if ids else ()
    counts = {row.corpus_id: row.size for row in rows}
    return {corpus_id: counts.get(corpus_id, 0) for corpus_id in ids}  # an empty corpus has no row


def change(
    c: Connection, corpus_id: str, tenant: str, changes: Mapping[str, str], version: int | None = None
) -> StoredCorpus | None:
    """Change fields of a corpus, if it still has this `version` (``None``: any), and increment the version.

    Return ``None`` if the tenant has no such corpus, or it has another version. Only the name, licence, citation,
    description and visibility may change: the items were validated against the other fields.
    """
    return ROWS.change(c, corpus_id, tenant, changes, version=version)


def remove(c: Connection, corpus_id: str, tenant: str) -> bool:
    """Remove a corpus and its items; return false if there is none. Ratings keep their own copy of the sentences."""
    if lock(c, corpus_id, tenant) is None:
        return False
    quota.subtract_size(c, corpus_items, tenant, corpus_items.c.corpus_id == corpus_id)
    c.execute(delete(corpus_items).where(corpus_items.c.corpus_id == corpus_id))
    return ROWS.remove(c, corpus_id, tenant)


def readable(tenant: str) -> ColumnElement[bool]:
    """Return the condition that a tenant may read a corpus."""
    return and_(corpora.c.removed_at.is_(None), or_(corpora.c.tenant == tenant, corpora.c.visibility == "shared"))


def _follows_specification(specification: str) -> ColumnElement[bool]:
    """Return the condition that a corpus follows a specification: a name, ``name@version`` or digest."""
    if specification.startswith("sha256:"):
        return corpora.c.specification_digest == specification
    name, separator, digits = specification.partition("@")
    if not separator:
        return corpora.c.specification == name
    # a number of at most nine digits fits the column; other texts become -1, which is the version of no corpus
    version = int(digits) if digits.isdecimal() and len(digits) < 10 else -1
    return and_(corpora.c.specification == name, corpora.c.specification_version == version)
