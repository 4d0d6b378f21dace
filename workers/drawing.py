"""Pictures that an author drew for a rating, and the corpus they are kept in, so that nobody pays for them twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from assay.drawing import draw_prompt, image_of
from assay.methods import AnyMethod, VisualStereotype
from assay.model import Draw
from store import corpora, corpus_items, observations
from store.corpora import NewCorpus
from store.corpus_items import NewItem
from store.corpus_pictures import AUTHORED
from store.corpus_sentences import author_of
from store.database import Database
from store.jobs import Job
from workers.writing import room_of

ROWS_A_READ = 500


def glean_drawn(database: Database, job: Job, method: AnyMethod) -> tuple[NewItem, ...]:
    """Collect from a rating's ledger the pictures that its author drew, each image once."""
    if not isinstance(method, VisualStereotype) or method.drawing is None or job.author is None:
        return ()
    family = method.drawing.prompt
    terms = {draw_prompt(term, family): term for words in method.words or () for term in words.roles}
    author = author_of(job.author)
    items: dict[str, NewItem] = {}
    for unit, ask, value in _drawn(database, job):
        image, term = image_of(value), terms.get(ask.prompt)
        if image is not None and term is not None:
            how = {"author": author, "prompt": ask.prompt, "job": job.id, "unit": unit}
            items.setdefault(image, NewItem(image=image, term=term, source=AUTHORED, provenance=how))
    return tuple(items.values())


def keep_drawn(c: Any, job: Job, items: Sequence[NewItem]) -> None:
    """Keep what was drawn for a rating: in the corpus that it names, where that is its tenant's, else in a new one.

    Parameters
    ----------
    c : connection
        Of the transaction that ends the job.
    job : Job
        The rating's.
    items : sequence of NewItem
        From `glean_drawn`.
    """
    if not items:
        return
    asked = job.experiment or {}
    named = str(asked.get("corpus") or "").partition("@")[0]
    corpus = corpora.lock(c, named, job.tenant) if named else None
    if corpus is None or corpus.kind != "images":
        names = ", ".join(str(words["name"]) for words in asked.get("words") or ())
        new = NewCorpus(
            tenant=job.tenant,
            name=f"{names}, drawn for a rating"[:200],
            kind="images",
            language="en",
            attribute=str(asked.get("attribute") or "several"),
            description=f"Drawn by {(job.author or {}).get('name')} for the job {job.id}",
        )
        corpus = corpora.add(c, new)
    corpus_items.add(c, corpus.id, job.tenant, items[: room_of(c, corpus.id)])


def _drawn(database: Database, job: Job) -> Iterator[tuple[str, Draw, Any]]:
    """Go through what an author was asked to draw for a job, and what it answered."""
    after = 0
    with database.read() as c:
        while rows := observations.page(c, job.id, after, ROWS_A_READ):
            for row in rows:
                probe, reply = row.observation.probe, row.observation.reply
                if isinstance(probe.ask, Draw):
                    yield probe.unit, probe.ask, reply.value
            after = rows[-1].seq
