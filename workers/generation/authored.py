"""Sentences and images that an author generated for a job: read from the ledger, and stored in a corpus for reuse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.methods import AnyMethod
from assay.model import AUTHORED, Observation
from assay.references import AuthoredItems, CorpusItem
from store.core.database import Database
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

    wanted: AuthoredItems
    items: tuple[NewItem, ...]
    corpus_id: str = ""


def collect(database: Database, job: Job, method: AnyMethod) -> tuple[Authored, ...]:
    """Read from a rating's ledger the valid items that an author generated."""
    names = method.references()
    if job.author is None or not names.authored:
        return ()
    corpus_id = "" if names.corpus is None else names.corpus.name.partition("@")[0]
    made = method.authored_items(list(authored(database, job)))
    items = [new_items(some, author_of(job.author), job.id) for some in made]
    return tuple(Authored(each, some, corpus_id) for each, some in zip(names.authored, items, strict=True) if some)


def keep(c: Any, job: Job, made: Sequence[Authored]) -> None:
    """Store items in the rating's corpus if the tenant owns it and the items fit it, otherwise in a new corpus.

    `c` is the connection of the transaction that ends the job, `made` the result of `collect`.
    """
    for each in made:
        corpus = corpora.lock(c, each.corpus_id, job.tenant) if each.corpus_id else None
        if corpus is None or not _fits(corpus, each.wanted):
            corpus = corpora.add(c, _new_corpus(c, job, each.wanted))
        corpus_items.add(c, corpus.id, job.tenant, each.items[: room_of(c, corpus.id)])


def room_of(c: Any, corpus_id: str) -> int:
    """Return the number of items that a corpus can still take; the caller has locked it."""
    return max(0, MOST_ITEMS - corpora.sizes(c, [corpus_id])[corpus_id])


def authored(database: Database, job: Job) -> Iterator[Observation]:
    """Read the observations of an author's texts and images from a job's ledger."""
    after = 0
    with database.read() as c:
        while rows := observations.page(c, job.id, after, ROWS_A_READ):
            yield from (row.observation for row in rows if isinstance(row.observation.probe.ask, AUTHORED))
            after = rows[-1].seq


def new_items(made: Iterable[CorpusItem], author: Mapping[str, Any], job_id: str) -> tuple[NewItem, ...]:
    """Build items with their author, prompt and job."""
    return tuple(new_item(one, {"author": author, "prompt": one.prompt, "job": job_id, "unit": one.id}) for one in made)


def _fits(corpus: StoredCorpus, wanted: AuthoredItems) -> bool:
    """Whether the corpus may hold the author's items: it is of the same kind, and was not made for other words."""
    if corpus.kind != wanted.kind:
        return False
    return wanted.words is None or corpus.rules is None or dict(corpus.rules.words) == dump_words(wanted.words)


def _new_corpus(c: Any, job: Job, wanted: AuthoredItems) -> NewCorpus:
    rules, language = None, "en"
    if wanted.words is not None:
        rules, language = rules_for(c, job.tenant, wanted.words, wanted.specification)
    done = "drawn" if wanted.kind == "images" else "written"
    return NewCorpus(
        tenant=job.tenant,
        name=f"{wanted.name}, {done} for a rating"[:200],
        kind=wanted.kind,
        language=language,
        attribute=wanted.attribute,
        rules=rules,
        description=f"{done.capitalize()} by {(job.author or {}).get('name')} for the job {job.id}",
    )
