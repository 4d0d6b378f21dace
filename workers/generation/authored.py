"""Sentences and images that an author generated for a job: read from the ledger, and stored in a corpus for reuse."""

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
    """Valid texts or images that an author made for one request of a rating; `corpus_id`: the rating's corpus or ""."""

    request: AuthoredItems
    items: tuple[NewItem, ...]
    corpus_id: str = ""


def collect(database: Database, job: Job, method: AnyMethod) -> tuple[Authored, ...]:
    """Read the valid texts or images that a rating's author made, one group per request; empty without an author."""
    references = method.references()
    if job.author is None or not references.authored:
        return ()
    corpus_id = "" if references.corpus is None else references.corpus.name.partition("@")[0]  # without the version
    material_groups = method.authored_items(list(read_ledger(database, job)))
    item_groups = [new_items(material, author_of(job.author), job.id) for material in material_groups]
    requests_with_items = zip(references.authored, item_groups, strict=True)
    return tuple(Authored(request, items, corpus_id) for request, items in requests_with_items if items)


def keep(c: Connection, job: Job, authored_groups: Sequence[Authored]) -> None:
    """Store each group in the rating's corpus or, if the tenant does not own it or the items do not fit, in a new one.

    `c` is the connection of the transaction that ends the job, `authored_groups` the result of `collect`.
    """
    for group in authored_groups:
        corpus = corpora.lock(c, group.corpus_id, job.tenant) if group.corpus_id else None
        if corpus is None or not _may_hold(corpus, group.request):
            corpus = corpora.add(c, _new_corpus(c, job, group.request))
        corpus_items.add(c, corpus.id, job.tenant, group.items[: room_of(c, corpus.id)])


def room_of(c: Connection, corpus_id: str) -> int:
    """Return the number of items that a corpus can still take; the caller must have locked the corpus."""
    return max(0, MOST_ITEMS - corpora.sizes(c, [corpus_id])[corpus_id])


def read_ledger(database: Database, job: Job) -> Iterator[Observation]:
    """Read the observations of an author's texts and images from a job's ledger."""
    last_seq = 0
    with database.read() as connection:
        while rows := observations.page(connection, job.id, last_seq, ROWS_A_READ):
            yield from (row.observation for row in rows if isinstance(row.observation.probe.ask, AUTHORED))
            last_seq = rows[-1].seq


def new_items(material: Iterable[CorpusItem], author: Json, job_id: str) -> tuple[NewItem, ...]:
    """Build corpus items with their provenance: author, prompt, job, and the id of the question in the job."""
    return tuple(
        new_item(item, {"author": author, "prompt": item.prompt, "job": job_id, "unit": item.id}) for item in material
    )


def _may_hold(corpus: StoredCorpus, request: AuthoredItems) -> bool:
    """Whether a corpus may take the requested items: it has the same kind and, if it has word lists, the same ones."""
    if corpus.kind != request.kind:
        return False
    return request.words is None or corpus.rules is None or dict(corpus.rules.words) == dump_words(request.words)


def _new_corpus(c: Connection, job: Job, request: AuthoredItems) -> NewCorpus:
    """Describe a new corpus for items that fit no existing corpus; it gets the word lists for which they were made."""
    rules, language = None, "en"
    if request.words is not None:
        rules, language = rules_for(c, job.tenant, request.words, request.specification)
    participle = "drawn" if request.kind == "images" else "written"
    return NewCorpus(
        tenant=job.tenant,
        name=f"{request.name}, {participle} for a rating"[:200],  # the maximum length of a corpus's name
        kind=request.kind,
        language=language,
        attribute=request.attribute,
        rules=rules,
        description=f"{participle.capitalize()} by {(job.author or {}).get('name')} for the job {job.id}",
    )
