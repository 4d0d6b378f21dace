"""Sentences and images that an author generated for a job: read from the ledger, and stored in a corpus for reuse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from assay.document import Json
from assay.methods import AnyMethod
from assay.model import AUTHORED, Observation
from assay.references import AuthoredItems, CorpusItem
from store.core.database import Connection, Database
from store.corpora import corpora
from store.corpora import items as corpus_items
from store.corpora.corpora import NewCorpus, StoredCorpus
from store.corpora.items import MOST_ITEMS, NewItem
from store.corpora.materials import author_of, new_item, rules_for
from store.corpora.specifications import dump_words
from store.jobs import observations
from store.jobs.jobs import Job

ROWS_A_READ = 500


@dataclass(frozen=True)
class Authored:
    """Valid items that an author generated for a rating; `corpus_id` is empty if the rating names no corpus."""

    request: AuthoredItems
    items: tuple[NewItem, ...]
    corpus_id: str = ""


def collect(database: Database, job: Job, method: AnyMethod) -> tuple[Authored, ...]:
    """Read the valid items that an author generated from the ledger of a rating's job."""
    names = method.references()
    if job.author is None or not names.authored:
        return ()
    corpus_id = "" if names.corpus is None else names.corpus.name.partition("@")[0]
    authored_items = method.authored_items(list(read_ledger(database, job)))
    items = [new_items(group, author_of(job.author), job.id) for group in authored_items]
    return tuple(
        Authored(item_kind, group, corpus_id) for item_kind, group in zip(names.authored, items, strict=True) if group
    )


def keep(c: Connection, job: Job, authored_groups: Sequence[Authored]) -> None:
    """Store items in the rating's corpus if the tenant owns it and the items fit it, otherwise in a new corpus.

    `c` is the connection of the transaction that ends the job, `authored_groups` the result of `collect`.
    """
    for group in authored_groups:
        corpus = corpora.lock(c, group.corpus_id, job.tenant) if group.corpus_id else None
        if corpus is None or not _may_hold(corpus, group.request):
            corpus = corpora.add(c, _new_corpus(c, job, group.request))
        corpus_items.add(c, corpus.id, job.tenant, group.items[: room_of(c, corpus.id)])


def room_of(c: Connection, corpus_id: str) -> int:
    """Return the number of items that a corpus can still take; the caller has locked it."""
    return max(0, MOST_ITEMS - corpora.sizes(c, [corpus_id])[corpus_id])


def read_ledger(database: Database, job: Job) -> Iterator[Observation]:
    """Read the observations of an author's texts and images from a job's ledger."""
    after = 0
    with database.read() as c:
        while rows := observations.page(c, job.id, after, ROWS_A_READ):
            yield from (row.observation for row in rows if isinstance(row.observation.probe.ask, AUTHORED))
            after = rows[-1].seq


def new_items(material: Iterable[CorpusItem], author: Json, job_id: str) -> tuple[NewItem, ...]:
    """Build corpus items with their provenance: author, prompt, job and unit."""
    return tuple(
        new_item(item, {"author": author, "prompt": item.prompt, "job": job_id, "unit": item.id}) for item in material
    )


def _may_hold(corpus: StoredCorpus, items: AuthoredItems) -> bool:
    """Whether an author's items fit a corpus: it has the same kind, and no specification with other words."""
    if corpus.kind != items.kind:
        return False
    return items.words is None or corpus.rules is None or dict(corpus.rules.words) == dump_words(items.words)


def _new_corpus(c: Connection, job: Job, items: AuthoredItems) -> NewCorpus:
    rules, language = None, "en"
    if items.words is not None:
        rules, language = rules_for(c, job.tenant, items.words, items.specification)
    verb = "drawn" if items.kind == "images" else "written"
    return NewCorpus(
        tenant=job.tenant,
        name=f"{items.name}, {verb} for a rating"[:200],
        kind=items.kind,
        language=language,
        attribute=items.attribute,
        rules=rules,
        description=f"{verb.capitalize()} by {(job.author or {}).get('name')} for the job {job.id}",
    )
