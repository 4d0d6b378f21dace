"""What is in a corpus: each sentence and each picture once, with where it came from.

A sentence is known by its normalised text, a picture by its image. Who changes the items of a corpus
holds its row first (`store.corpora.corpora.lock`), so that they are numbered without gaps and counted right.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, delete, func, insert, select, update

from store.core.clock import iso, now_ms, read_clock
from store.core.columns import new_id
from store.core.corpora_schema import corpora as corpora_table
from store.core.corpora_schema import corpus_items
from store.core.errors import CorpusFull, ItemTaken
from store.corpora import corpora

MOST_ITEMS = 10_000
"""Items of a corpus: as many sentences as a rating asks about at most."""

MOST_EDITS = 20
"""Former texts that an edited sentence remembers; the first is always among them."""

ITEMS_A_QUERY = 500

PREFIX = "itm"
"""What the ids of items begin with."""

_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u00a0": " "})


@dataclass(frozen=True)
class NewItem:
    """A sentence or a picture to be kept.

    Attributes
    ----------
    text : str or None
        The sentence; ``None`` for a picture.
    group_term, attribute_term, counterpart : str or None
        The two terms in a sentence, and the sentence with the group's term exchanged.
    image, term : str or None
        Digest of a picture's image (`store.corpora.images`), and what it shows.
    source : str
        ``written``, ``uploaded``, ``template`` or ``edited``.
    provenance : dict
        How it came to be: who wrote it and when, on what prompt, in which job; what it was edited from.
    """

    text: str | None = None
    group_term: str | None = None
    attribute_term: str | None = None
    counterpart: str | None = None
    image: str | None = None
    term: str | None = None
    source: str = "uploaded"
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """What it is known by within a corpus."""
        return self.image if self.text is None else text_digest(self.text)  # type: ignore[return-value]


@dataclass(frozen=True)
class StoredItem:
    """A kept sentence or picture. `seq` is its place in the corpus, from 1; `created_at` in milliseconds since 1970."""

    id: str
    corpus_id: str
    seq: int
    digest: str
    text: str | None
    group_term: str | None
    attribute_term: str | None
    counterpart: str | None
    image: str | None
    term: str | None
    source: str
    provenance: dict[str, Any]
    created_at: int
    removed_at: int | None


@dataclass(frozen=True)
class KeptItems:
    """What became of items that were to be kept.

    Attributes
    ----------
    corpus : StoredCorpus
        The corpus as it is now.
    items : tuple of StoredItem
        As many as were given and in their order; one that was there before stands as it was.
    added : frozenset of str
        Ids of those that are new.
    """

    corpus: corpora.StoredCorpus
    items: tuple[StoredItem, ...]
    added: frozenset[str]


def normalised(text: str) -> str:
    """Write a sentence as it is compared with others: one kind of letters, quotes and blanks, and no capitals."""
    plain = unicodedata.normalize("NFKC", text.translate(_QUOTES))
    return " ".join(plain.casefold().split())


def text_digest(text: str) -> str:
    """Name a sentence by its normalised text."""
    return f"sha256:{hashlib.sha256(normalised(text).encode('utf-8', 'surrogatepass')).hexdigest()}"


def add(c: Connection, corpus_id: str, tenant: str, new: Sequence[NewItem]) -> KeptItems | None:
    """Add items to a tenant's corpus; what is there already is not added again.

    Parameters
    ----------
    c : Connection
        A transaction.
    corpus_id, tenant : str
        Which corpus; it must be the tenant's own.
    new : sequence of NewItem
        Of the corpus's kind; which that is, the caller sees to.

    Returns
    -------
    KeptItems or None
        ``None`` where the tenant has no such corpus.

    Raises
    ------
    CorpusFull
        If there would be more than `MOST_ITEMS`; then none is added.
    """
    corpus = corpora.lock(c, corpus_id, tenant)
    if corpus is None:
        return None
    there = _by_digest(c, corpus_id, [item.digest for item in new])
    wanted: dict[str, NewItem] = {}
    for item in new:
        if _is_gone(there.get(item.digest)):
            wanted.setdefault(item.digest, item)
    if wanted:
        _refuse_overflow(c, corpus_id, len(wanted))
        _forget(c, corpus_id, [digest for digest in wanted if digest in there])
        _insert(c, corpus_id, list(wanted.values()))
        corpus = corpora.change(c, corpus_id, tenant, {}) or corpus
        there |= _by_digest(c, corpus_id, list(wanted))
    added = frozenset(there[digest].id for digest in wanted)
    return KeptItems(corpus, tuple(there[item.digest] for item in new), added)


def find(c: Connection, corpus_id: str, item_id: str) -> StoredItem | None:
    """Read an item of a corpus, which the caller has found."""
    query = select(corpus_items).where(corpus_items.c.id == item_id, *_in(corpus_id))
    row = c.execute(query).mappings().one_or_none()
    return None if row is None else _item(row)


def page(c: Connection, corpus_id: str, after: int, limit: int) -> list[StoredItem]:
    """Read the items of a corpus, which the caller has found, in their order after the place `after` (0: all)."""
    query = select(corpus_items).where(*_in(corpus_id), corpus_items.c.seq > after)
    return [_item(row) for row in c.execute(query.order_by(corpus_items.c.seq).limit(limit)).mappings()]


def every(c: Connection, corpus_id: str) -> list[StoredItem]:
    """Read all items of a corpus, at most `MOST_ITEMS`."""
    return page(c, corpus_id, 0, MOST_ITEMS)


def of_the_same_rules(
    c: Connection, tenant: str, digest: str, but: str, most: int, *, own: bool = False
) -> list[StoredItem]:
    """Read sentences of other corpora that a tenant may read and that keep to the same specification, oldest first.

    Parameters
    ----------
    digest : str
        Of the specification.
    but : str
        Id of the corpus that is left out.
    most : int
        Most sentences to return.
    own : bool
        Whether only the tenant's own corpora are meant, and none that others share.
    """
    query = select(corpus_items).join(corpora_table, corpora_table.c.id == corpus_items.c.corpus_id)
    query = query.where(
        corpora.readable(tenant),
        corpora_table.c.specification_digest == digest,
        corpora_table.c.id != but,
        corpus_items.c.removed_at.is_(None),
        corpus_items.c.text.is_not(None),
    )
    if own:
        query = query.where(corpora_table.c.tenant == tenant)
    query = query.order_by(corpora_table.c.created_at, corpora_table.c.id, corpus_items.c.seq).limit(most)
    return [_item(row) for row in c.execute(query).mappings()]


def drawn_for(c: Connection, tenant: str, terms: Collection[str], most: int) -> list[StoredItem]:
    """Read the pictures that authors drew of terms for a tenant, in its own corpora, oldest first."""
    query = select(corpus_items).join(corpora_table, corpora_table.c.id == corpus_items.c.corpus_id)
    query = query.where(
        corpora_table.c.tenant == tenant,
        corpora_table.c.kind == "images",
        corpora_table.c.removed_at.is_(None),
        corpus_items.c.removed_at.is_(None),
        corpus_items.c.term.in_(terms),
        corpus_items.c.source == "written",
    )
    query = query.order_by(corpora_table.c.created_at, corpora_table.c.id, corpus_items.c.seq).limit(most)
    return [_item(row) for row in c.execute(query).mappings()]


def edit(c: Connection, corpus_id: str, tenant: str, item_id: str, new: NewItem) -> StoredItem | None:
    """Put another sentence in an item's place; its provenance stays and remembers the former text.

    The same sentence again, or a picture with another term, changes no provenance. ``None`` where the tenant
    has no such item.

    Raises
    ------
    ItemTaken
        If the sentence is in the corpus already, as another item.
    """
    corpus = corpora.lock(c, corpus_id, tenant)
    old = None if corpus is None else find(c, corpus_id, item_id)
    if old is None:
        return None
    same = _by_digest(c, corpus_id, [new.digest]).get(new.digest)
    if same is not None and same.id != item_id:
        if not _is_gone(same):
            raise ItemTaken(same.id)
        _forget(c, corpus_id, [new.digest])
    changed = update(corpus_items).where(corpus_items.c.id == item_id)
    changed = changed.values(_told(new) | _edited(old, new, read_clock(c)))
    row = c.execute(changed.returning(corpus_items)).mappings().one()
    corpora.change(c, corpus_id, tenant, {})
    return _item(row)


def remove(c: Connection, corpus_id: str, tenant: str, item_id: str) -> bool:
    """Take an item out of a tenant's corpus. False where there is none."""
    if corpora.lock(c, corpus_id, tenant) is None:
        return False
    gone = update(corpus_items).where(corpus_items.c.id == item_id, *_in(corpus_id)).values(removed_at=now_ms())
    if not c.execute(gone).rowcount:
        return False
    corpora.change(c, corpus_id, tenant, {})
    return True


def _edited(old: StoredItem, new: NewItem, at: int) -> dict[str, Any]:
    if old.text is None or old.text == new.text:
        return {}
    former = [*old.provenance.get("edited_from", ()), {"text": old.text, "source": old.source, "at": iso(at)}]
    kept = former if len(former) <= MOST_EDITS else [former[0], *former[1 - MOST_EDITS :]]
    return {"source": "edited", "provenance": {**old.provenance, "edited_from": kept}}


def _told(new: NewItem) -> dict[str, Any]:
    names = ("digest", "text", "group_term", "attribute_term", "counterpart", "image", "term")
    return {name: getattr(new, name) for name in names}


def _insert(c: Connection, corpus_id: str, new: Sequence[NewItem]) -> None:
    last = select(func.max(corpus_items.c.seq)).where(corpus_items.c.corpus_id == corpus_id)
    place, now = c.execute(last).scalar_one() or 0, read_clock(c)
    rows = [
        _told(item)
        | {"id": new_id(PREFIX), "corpus_id": corpus_id, "seq": place + number, "created_at": now}
        | {"source": item.source, "provenance": dict(item.provenance)}
        for number, item in enumerate(new, 1)
    ]
    c.execute(insert(corpus_items), rows)


def _refuse_overflow(c: Connection, corpus_id: str, more: int) -> None:
    if corpora.sizes(c, [corpus_id])[corpus_id] + more > MOST_ITEMS:
        raise CorpusFull(corpus_id, MOST_ITEMS)


def _forget(c: Connection, corpus_id: str, digests: Sequence[str]) -> None:
    """Delete removed items that would stand in the way of the same ones anew."""
    for some in _some(digests):
        c.execute(delete(corpus_items).where(corpus_items.c.corpus_id == corpus_id, corpus_items.c.digest.in_(some)))


def _by_digest(c: Connection, corpus_id: str, digests: Sequence[str]) -> dict[str, StoredItem]:
    """Read items by what they are known by, those too that were removed."""
    found: dict[str, StoredItem] = {}
    for some in _some(digests):
        query = select(corpus_items).where(corpus_items.c.corpus_id == corpus_id, corpus_items.c.digest.in_(some))
        found.update((row["digest"], _item(row)) for row in c.execute(query).mappings())
    return found


def _some(digests: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(digests), ITEMS_A_QUERY):
        yield digests[start : start + ITEMS_A_QUERY]


def _is_gone(item: StoredItem | None) -> bool:
    return item is None or item.removed_at is not None


def _in(corpus_id: str) -> tuple[ColumnElement[bool], ...]:
    return corpus_items.c.corpus_id == corpus_id, corpus_items.c.removed_at.is_(None)


def _item(row: RowMapping) -> StoredItem:
    return StoredItem(**row)
