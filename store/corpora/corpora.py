"""Corpora: sentences and pictures that a tenant keeps, so that what was made once is made once.

A private corpus is its tenant's alone. A shared one is read by every tenant of the agency and written
by its own. `store.corpora.items` holds what is in them. A version counts the changes of a corpus and of
its items: what a rating was asked with is named by id and version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, func, insert, or_, select, update

from store.core.clock import now_ms
from store.core.columns import new_id
from store.core.corpora_schema import corpora, corpus_items
from store.core.keyset import page_of

PREFIX = "crp"
"""What the ids of corpora begin with."""


@dataclass(frozen=True)
class Rules:
    """The specification that the items of a corpus keep to.

    Attributes
    ----------
    name : str
        What it is called where it was written.
    version : int or None
        Which version; ``None`` where the words were given without a specification.
    digest : str
        Of its words and what is told of them.
    words : dict
        The words themselves, as JSON: who may read a corpus may read them too.
    """

    name: str
    version: int | None
    digest: str
    words: Mapping[str, Any]


@dataclass(frozen=True)
class NewCorpus:
    """A corpus to be kept.

    Attributes
    ----------
    tenant, name : str
        Whose it is, and what people call it.
    kind : str
        ``sentences`` or ``images``.
    language, attribute : str
        What its sentences are written in, and what its groups differ in.
    rules : Rules or None
        The specification its items keep to.
    licence, citation, description : str
        On what terms others may use it, where it comes from, and what it is; empty where nobody said.
    visibility : str
        ``private`` or ``shared``.
    id : str
        Made here unless given.
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


@dataclass(frozen=True)
class StoredCorpus:
    """A kept corpus, without its items. Times are milliseconds since 1970."""

    id: str
    tenant: str
    name: str
    kind: str
    language: str
    attribute: str
    rules: Rules | None
    licence: str
    citation: str
    description: str
    visibility: str
    version: int
    created_at: int
    updated_at: int
    removed_at: int | None

    @property
    def reference(self) -> str:
        """What experiments remember it by: its id and version."""
        return f"{self.id}@{self.version}"


CHANGEABLE = frozenset({"name", "licence", "citation", "description", "visibility"})
"""What of a corpus can be changed. Its items were checked against the rest."""


def add(c: Connection, new: NewCorpus) -> StoredCorpus:
    """Keep a corpus, which is empty at first."""
    told = {name: value for name, value in vars(new).items() if name != "rules"}
    written = {"version": 1, "created_at": now_ms(), "updated_at": now_ms()}
    row = c.execute(insert(corpora).values(told | written | _columns(new.rules)).returning(corpora)).mappings().one()
    return _corpus(row)


def find(c: Connection, corpus_id: str, tenant: str) -> StoredCorpus | None:
    """Read a corpus that the tenant may read: its own, or one that is shared."""
    query = select(corpora).where(corpora.c.id == corpus_id, readable(tenant))
    row = c.execute(query).mappings().one_or_none()
    return None if row is None else _corpus(row)


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
    """Read the corpora that a tenant may read, newest first.

    Parameters
    ----------
    c : Connection
        Where to read.
    tenant : str
        Its own are read, and everyone's shared ones.
    kind, attribute, visibility : str, optional
        Only those. Of the private ones there are only one's own.
    specification : str, optional
        Only those that keep to it: its name, ``name@version``, or its digest. Tenants name their specifications
        as they like: only a digest says that two are the same.
    before : (int, str), optional
        ``(created_at, id)`` of the last of the page before.
    limit : int
        Most corpora to return.
    """
    query = select(corpora).where(readable(tenant))
    for column, wanted in (
        (corpora.c.kind, kind),
        (corpora.c.attribute, attribute),
        (corpora.c.visibility, visibility),
    ):
        if wanted is not None:
            query = query.where(column == wanted)
    if specification is not None:
        query = query.where(_keeps_to(specification))
    query = page_of(query, corpora.c.created_at, corpora.c.id, before, limit)
    return [_corpus(row) for row in c.execute(query).mappings()]


def sizes(c: Connection, ids: Sequence[str]) -> dict[str, int]:
    """Count the items of several corpora, by their ids."""
    there = and_(corpus_items.c.corpus_id.in_(ids), corpus_items.c.removed_at.is_(None))
    query = select(corpus_items.c.corpus_id, func.count()).where(there).group_by(corpus_items.c.corpus_id)
    counted = {row[0]: row[1] for row in c.execute(query)} if ids else {}
    return {each: counted.get(each, 0) for each in ids}


def lock(c: Connection, corpus_id: str, tenant: str) -> StoredCorpus | None:
    """Read a tenant's own corpus, and keep others from changing it until the transaction ends."""
    query = select(corpora).where(*_own(corpus_id, tenant)).with_for_update()
    row = c.execute(query).mappings().one_or_none()
    return None if row is None else _corpus(row)


def change(
    c: Connection, corpus_id: str, tenant: str, changes: Mapping[str, str], version: int | None = None
) -> StoredCorpus | None:
    """Change what is told of a corpus (`CHANGEABLE`), or nothing but its version.

    Returns
    -------
    StoredCorpus or None
        ``None`` where the tenant has no such corpus, or not in the `version` that is asked for.
    """
    unknown = set(changes) - CHANGEABLE
    if unknown:
        raise ValueError(f"{', '.join(sorted(unknown))} of a corpus cannot be changed")
    changed = update(corpora).where(*_own(corpus_id, tenant))
    if version is not None:
        changed = changed.where(corpora.c.version == version)
    changed = changed.values(version=corpora.c.version + 1, updated_at=now_ms(), **changes)
    row = c.execute(changed.returning(corpora)).mappings().one_or_none()
    return None if row is None else _corpus(row)


def remove(c: Connection, corpus_id: str, tenant: str) -> bool:
    """Hide a corpus and what is in it. False where there is none. Ratings have their own copy of the sentences."""
    gone = update(corpora).where(*_own(corpus_id, tenant)).values(removed_at=now_ms(), version=corpora.c.version + 1)
    return c.execute(gone).rowcount > 0


def readable(tenant: str) -> ColumnElement[bool]:
    """Narrow a query to the corpora that a tenant may read."""
    return and_(corpora.c.removed_at.is_(None), or_(corpora.c.tenant == tenant, corpora.c.visibility == "shared"))


def _own(corpus_id: str, tenant: str) -> tuple[ColumnElement[bool], ...]:
    return corpora.c.id == corpus_id, corpora.c.tenant == tenant, corpora.c.removed_at.is_(None)


def _keeps_to(specification: str) -> ColumnElement[bool]:
    if specification.startswith("sha256:"):
        return corpora.c.specification_digest == specification
    name, mark, number = specification.partition("@")
    if not mark:
        return corpora.c.specification == name
    version = int(number) if number.isdecimal() and len(number) < 10 else -1
    return and_(corpora.c.specification == name, corpora.c.specification_version == version)


def _columns(rules: Rules | None) -> dict[str, Any]:
    return {
        "specification": None if rules is None else rules.name,
        "specification_version": None if rules is None else rules.version,
        "specification_digest": None if rules is None else rules.digest,
        "words": None if rules is None else dict(rules.words),
    }


def _corpus(row: RowMapping) -> StoredCorpus:
    told = dict(row)
    name, version, digest, words = (
        told.pop(each) for each in ("specification", "specification_version", "specification_digest", "words")
    )
    return StoredCorpus(rules=None if name is None else Rules(name, version, digest, words), **told)
