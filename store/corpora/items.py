"""Items of corpora: sentences and pictures without duplicates, with their provenance.

A sentence is identified by its normalised text, a picture by its image. Every change of items first locks the
corpus (`store.corpora.corpora.lock`), so that positions are unique and `MOST_ITEMS` is never exceeded.
"""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select, update

from assay.catalog.terms import normalised
from assay.document import Json, JsonObject
from assay.references import CorpusItem
from store.core.columns import iso, new_id, now_ms, read_clock
from store.core.engines import chunks
from store.core.errors import CorpusFull, ItemTaken
from store.core.rows import all_rows, equal, one_row
from store.corpora import corpora
from store.corpora.tables import corpora as corpora_table
from store.corpora.tables import corpus_items
from store.quota import quota

MOST_ITEMS = 10_000
"""Maximum number of items of a corpus, which is also the maximum number of sentences of a rating."""

MOST_EDITS = 20
"""Maximum number of former texts stored for an edited sentence; the first text is always stored."""

PREFIX = "itm"
"""Prefix of the ids of items."""


@dataclass(frozen=True)
class NewItem(CorpusItem):
    """A new sentence or picture; its image is in `store.corpora.images`."""

    source: str = "uploaded"
    """``written`` (by an author service), ``uploaded``, ``template`` (from a sentence frame) or ``edited``."""
    provenance: Json = field(default_factory=dict)
    """Author, time, prompt and job of its generation; former texts."""

    @property
    def digest(self) -> str:
        """Identity within a corpus: digest of the image or of the normalised text."""
        return self.image if self.text is None else text_digest(self.text)  # type: ignore[return-value]


@dataclass(frozen=True, kw_only=True)
class StoredItem(CorpusItem):
    """A stored sentence or picture; `seq` is its position from 1, `created_at` is in milliseconds since 1970."""

    corpus_id: str
    seq: int
    digest: str
    provenance: JsonObject
    created_at: int
    removed_at: int | None


@dataclass(frozen=True)
class AddedItems:
    """Result of adding items.

    `corpus` is the corpus after the change. `items` has one item for each given item, in the same order; for a
    duplicate, the existing item. `added` has the ids of the new items.
    """

    corpus: corpora.StoredCorpus
    items: tuple[StoredItem, ...]
    added: frozenset[str]


def text_digest(text: str) -> str:
    """Return the digest of a sentence's normalised text."""
    return f"sha256:{hashlib.sha256(normalised(text).encode('utf-8', 'surrogatepass')).hexdigest()}"


def add(c: Connection, corpus_id: str, tenant: str, items: Sequence[NewItem]) -> AddedItems | None:
    """Add items to a tenant's own corpus, without duplicates; return ``None`` if the tenant has no such corpus.

    The caller checks that the items are of the corpus's kind. Raise `CorpusFull`, and add nothing, if the corpus would
    have more than `MOST_ITEMS`.
    """
    corpus = corpora.lock(c, corpus_id, tenant)
    if corpus is None:
        return None
    items_by_digest = _read_by_digest(c, corpus_id, [item.digest for item in items])
    new_items: dict[str, NewItem] = {}
    for item in items:
        existing_item = items_by_digest.get(item.digest)
        if existing_item is None or existing_item.removed_at is not None:
            new_items.setdefault(item.digest, item)
    if new_items:
        if corpora.sizes(c, [corpus_id])[corpus_id] + len(new_items) > MOST_ITEMS:
            raise CorpusFull(corpus_id, MOST_ITEMS)
        _delete_removed(c, corpus_id, tenant, [digest for digest in new_items if digest in items_by_digest])
        _insert_items(c, corpus_id, tenant, list(new_items.values()))
        corpus = corpora.change(c, corpus_id, tenant, {}) or corpus  # without changes: increments the version
        items_by_digest |= _read_by_digest(c, corpus_id, list(new_items))
    added_ids = frozenset(items_by_digest[digest].id for digest in new_items)
    return AddedItems(corpus, tuple(items_by_digest[item.digest] for item in items), added_ids)


def find(c: Connection, corpus_id: str, item_id: str) -> StoredItem | None:
    """Read an item of a corpus, ``None`` if there is none; the caller checks that the tenant may read the corpus."""
    query = select(corpus_items).where(corpus_items.c.id == item_id, *_present_conditions(corpus_id))
    return one_row(c, query, StoredItem)


def page(
    c: Connection,
    corpus_id: str,
    after: int,
    limit: int,
    *,
    q: str | None = None,
    term: str | None = None,
    source: str | None = None,
) -> list[StoredItem]:
    """List the items of a corpus in order, after position `after` (0: from the start).

    Filters: `q` is contained in the text or in a picture's term, ignoring case; `term` equals one of an item's terms.
    """
    columns = corpus_items.c
    filters = equal(corpus_items, source=source)
    query = select(corpus_items).where(*_present_conditions(corpus_id), columns.seq > after, *filters)
    if q is not None:
        query = query.where(or_(columns.text.icontains(q, autoescape=True), columns.term.icontains(q, autoescape=True)))
    if term is not None:
        query = query.where(or_(columns.attribute_term == term, columns.group_term == term, columns.term == term))
    return all_rows(c, query.order_by(columns.seq).limit(limit), StoredItem)


def counts(c: Connection, corpus_id: str) -> list[tuple[str | None, str, int]]:
    """Count a corpus's items by source and term (of a sentence, its attribute term); list (term, source, number)."""
    term = func.coalesce(corpus_items.c.attribute_term, corpus_items.c.term)
    query = select(term, corpus_items.c.source, func.count()).where(*_present_conditions(corpus_id))
    return [tuple(row) for row in c.execute(query.group_by(term, corpus_items.c.source).order_by(term))]


def all_items(c: Connection, corpus_id: str) -> list[StoredItem]:
    """List all items of a corpus, at most `MOST_ITEMS`."""
    return page(c, corpus_id, 0, MOST_ITEMS)


def sentences_of_rules(
    c: Connection, tenant: str, digest: str, except_corpus_id: str, limit: int, *, only_own: bool = False
) -> list[StoredItem]:
    """List the sentences of corpora that a tenant may read and that follow a specification, oldest first.

    `digest` is the digest of the specification, `except_corpus_id` the corpus to leave out. At most `limit` sentences
    are read; with `only_own`, only from the tenant's own corpora, not from shared ones.
    """
    filters = [corpora_table.c.specification_digest == digest, corpora_table.c.id != except_corpus_id]
    is_readable = corpora_table.c.tenant == tenant if only_own else corpora.readable(tenant)
    return _list_oldest_first(c, [is_readable, *filters, corpus_items.c.text.is_not(None)], limit)


def authored_before(c: Connection, tenant: str, kind: str, terms: Collection[str], limit: int) -> list[StoredItem]:
    """List items for some terms, written or drawn by a service, in the tenant's own corpora of `kind`, oldest first."""
    term = corpus_items.c.term if kind == "images" else corpus_items.c.attribute_term
    filters = [*equal(corpora_table, tenant=tenant, kind=kind), term.in_(terms), corpus_items.c.source == "written"]
    return _list_oldest_first(c, filters, limit)


def _list_oldest_first(c: Connection, filters: Collection[ColumnElement[bool]], limit: int) -> list[StoredItem]:
    """List at most `limit` items that meet the filters, oldest first, without removed items and corpora."""
    query = select(corpus_items).join(corpora_table, corpora_table.c.id == corpus_items.c.corpus_id)
    query = query.where(corpora_table.c.removed_at.is_(None), corpus_items.c.removed_at.is_(None), *filters)
    query = query.order_by(corpora_table.c.created_at, corpora_table.c.id, corpus_items.c.seq).limit(limit)
    return all_rows(c, query, StoredItem)


def edit(c: Connection, corpus_id: str, tenant: str, item_id: str, new_item: NewItem) -> StoredItem | None:
    """Replace the text of an item, and append the former text to its provenance.

    If the text does not change, as for a picture, the provenance stays the same. Return ``None`` if the tenant has no
    such item; raise `ItemTaken` if another item of the corpus has the same sentence.
    """
    old_item = None if corpora.lock(c, corpus_id, tenant) is None else find(c, corpus_id, item_id)
    if old_item is None:
        return None
    existing_item = _read_by_digest(c, corpus_id, [new_item.digest]).get(new_item.digest)
    if existing_item is not None and existing_item.id != item_id:
        if existing_item.removed_at is None:
            raise ItemTaken(existing_item.id)
        _delete_removed(c, corpus_id, tenant, [new_item.digest])
    statement = update(corpus_items).where(corpus_items.c.id == item_id)
    statement = statement.values(_item_columns(new_item) | _columns_of_edit(old_item, new_item, read_clock(c)))
    corpora.change(c, corpus_id, tenant, {})  # without changes: increments the version
    quota.subtract_size(c, corpus_items, tenant, corpus_items.c.id == item_id)  # the old size; the new is added below
    edited_item = one_row(c, statement.returning(corpus_items), StoredItem)
    quota.add_size(c, corpus_items, tenant, corpus_items.c.id == item_id)
    return edited_item


def remove(c: Connection, corpus_id: str, tenant: str, ids: Sequence[str]) -> int:
    """Remove items from a tenant's corpus; return the number of removed items."""
    if corpora.lock(c, corpus_id, tenant) is None:
        return 0
    removed_count = 0
    for batch in chunks(ids):
        statement = update(corpus_items).where(corpus_items.c.id.in_(batch), *_present_conditions(corpus_id))
        removed_count += c.execute(statement.values(removed_at=now_ms())).rowcount
    if removed_count:
        corpora.change(c, corpus_id, tenant, {})  # without changes: increments the version
    return removed_count


def _columns_of_edit(item: StoredItem, new_item: NewItem, edited_at: int) -> JsonObject:
    """Return the columns that record that a text was edited (`source`, `provenance`); none if the text is the same."""
    if item.text is None or item.text == new_item.text:
        return {}
    former_text = {"text": item.text, "source": item.source, "at": iso(edited_at)}
    former_texts = [*item.provenance.get("edited_from", ()), former_text]
    if len(former_texts) > MOST_EDITS:
        former_texts = [former_texts[0], *former_texts[1 - MOST_EDITS :]]  # the first and the newest
    return {"source": "edited", "provenance": {**item.provenance, "edited_from": former_texts}}


def _item_columns(item: NewItem) -> dict[str, Any]:
    names = ("digest", "text", "group_term", "attribute_term", "counterpart", "image", "term")
    return {name: getattr(item, name) for name in names}


def _insert_items(c: Connection, corpus_id: str, tenant: str, items: Sequence[NewItem]) -> None:
    """Insert items at the positions after the last in a corpus, which the caller has locked."""
    query = select(func.max(corpus_items.c.seq)).where(corpus_items.c.corpus_id == corpus_id)
    last_seq, now = c.execute(query).scalar_one() or 0, read_clock(c)
    rows = [
        _item_columns(item)
        | {"id": new_id(PREFIX), "corpus_id": corpus_id, "seq": last_seq + number, "created_at": now}
        | {"source": item.source, "provenance": dict(item.provenance)}
        for number, item in enumerate(items, 1)
    ]
    c.execute(insert(corpus_items), rows)
    quota.add_size(c, corpus_items, tenant, corpus_items.c.corpus_id == corpus_id, corpus_items.c.seq > last_seq)


def _delete_removed(c: Connection, corpus_id: str, tenant: str, digests: Sequence[str]) -> None:
    """Delete the rows of removed items, so that equal items can be added again."""
    for batch in chunks(digests):
        conditions = corpus_items.c.corpus_id == corpus_id, corpus_items.c.digest.in_(batch)
        quota.subtract_size(c, corpus_items, tenant, *conditions)
        c.execute(delete(corpus_items).where(*conditions))


def _read_by_digest(c: Connection, corpus_id: str, digests: Sequence[str]) -> dict[str, StoredItem]:
    """Read items by digest, including removed ones."""
    items_by_digest: dict[str, StoredItem] = {}
    for batch in chunks(digests):
        query = select(corpus_items).where(corpus_items.c.corpus_id == corpus_id, corpus_items.c.digest.in_(batch))
        items_by_digest.update((item.digest, item) for item in all_rows(c, query, StoredItem))
    return items_by_digest


def _present_conditions(corpus_id: str) -> tuple[ColumnElement[bool], ...]:
    return corpus_items.c.corpus_id == corpus_id, corpus_items.c.removed_at.is_(None)
