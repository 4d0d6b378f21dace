"""Sentences and pictures that an author made for a job: read from the ledger, and kept in a corpus.

They are kept so that nobody pays for them twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.catalog.stereotypes import StereotypeWords
from assay.methods import AnyMethod, StereotypeScore, VisualStereotype
from assay.methods.stereotype_score.inputs import Sentence
from assay.methods.stereotype_score.sentence_generation import usable
from assay.methods.visual_stereotype.image_generation import Family, draw_prompt, image_of
from assay.model import Draw, Write
from store.core.database import Database
from store.corpora import corpora
from store.corpora import items as corpus_items
from store.corpora.corpora import NewCorpus, StoredCorpus
from store.corpora.items import MOST_ITEMS, NewItem
from store.corpora.materials import AUTHORED, as_item, author_of
from store.corpora.rules import rules_for
from store.corpora.specifications import dump_words
from store.jobs import observations
from store.jobs.jobs import Job

ROWS_A_READ = 500


@dataclass(frozen=True)
class Authored:
    """Items that an author made for a rating, for one corpus.

    Attributes
    ----------
    words : StereotypeWords or None
        What sentences are about; ``None`` for pictures.
    items : tuple of NewItem
        What is of use.
    """

    words: StereotypeWords | None
    items: tuple[NewItem, ...]


def collect(database: Database, job: Job, method: AnyMethod) -> tuple[Authored, ...]:
    """Read from a rating's ledger the sentences or pictures that its author made and that are of use."""
    made: list[Authored] = []
    if job.author is not None and isinstance(method, StereotypeScore) and method.writing is not None:
        written, author = list(authored(database, job, Write)), author_of(job.author)
        made = [Authored(words, usable_items(written, words, author, job.id)) for words in method.words or ()]
    elif job.author is not None and isinstance(method, VisualStereotype) and method.drawing is not None:
        made = [Authored(None, _pictures(database, job, method, method.drawing.prompt))]
    return tuple(each for each in made if each.items)


def keep(c: Any, job: Job, made: Sequence[Authored]) -> None:
    """Keep items in the corpus that the rating names, if they fit into it and it is the tenant's; else in a new one.

    Parameters
    ----------
    c : connection
        Of the transaction that ends the job.
    job : Job
        The rating's.
    made : sequence of Authored
        From `collect`.
    """
    named = str((job.experiment or {}).get("corpus") or "").partition("@")[0]
    for each in made:
        corpus = corpora.lock(c, named, job.tenant) if named else None
        if corpus is None or not _fits(corpus, each.words):
            corpus = corpora.add(c, _new_corpus(c, job, each.words))
        corpus_items.add(c, corpus.id, job.tenant, each.items[: room_of(c, corpus.id)])


def room_of(c: Any, corpus_id: str) -> int:
    """Count the items that a corpus still takes, which the caller has locked so that nobody fills it meanwhile."""
    return max(0, MOST_ITEMS - corpora.sizes(c, [corpus_id])[corpus_id])


def authored(database: Database, job: Job, kind: type[Write | Draw]) -> Iterator[Any]:
    """Read the observations of what an author was asked for a job: to write, or to draw."""
    after = 0
    with database.read() as c:
        while rows := observations.page(c, job.id, after, ROWS_A_READ):
            yield from (row.observation for row in rows if isinstance(row.observation.probe.ask, kind))
            after = rows[-1].seq


def usable_items(written: Sequence[Any], words: StereotypeWords, author: Any, job_id: str) -> tuple[NewItem, ...]:
    """Make items of those texts that are of use, whatever became of the job that had them written."""
    sentences = [usable(each.reply.value, words, each.probe.unit) for each in written]
    prompts = {each.probe.unit: each.probe.ask.prompt for each in written}
    return sentence_items((one for one in sentences if one is not None), words, prompts, author, job_id)


def sentence_items(
    sentences: Iterable[Sentence], words: StereotypeWords, prompts: Mapping[str, str], author: Any, job_id: str
) -> tuple[NewItem, ...]:
    """Make items of sentences, each with its author and its prompt; leave out those that break the rules."""
    made = [
        as_item(one, words, {"author": author, "prompt": prompts.get(one.id), "job": job_id, "unit": one.id})
        for one in sentences
    ]
    return tuple(item for item in made if isinstance(item, NewItem))


def _pictures(database: Database, job: Job, method: VisualStereotype, prompt: Family) -> tuple[NewItem, ...]:
    """Make items of the pictures that were drawn, each image once."""
    terms = {draw_prompt(term, prompt): term for words in method.words or () for term in words.roles}
    author = author_of(job.author or {})
    items: dict[str, NewItem] = {}
    for each in authored(database, job, Draw):
        asked = each.probe.ask.prompt
        image, term = image_of(each.reply.value), terms.get(asked)
        if image is not None and term is not None:
            how = {"author": author, "prompt": asked, "job": job.id, "unit": each.probe.unit}
            items.setdefault(image, NewItem(image=image, term=term, source=AUTHORED, provenance=how))
    return tuple(items.values())


def _fits(corpus: StoredCorpus, words: StereotypeWords | None) -> bool:
    """Whether a corpus takes pictures, or sentences of these words."""
    if words is None:
        return corpus.kind == "images"
    return corpus.rules is None or dict(corpus.rules.words) == dump_words(words)


def _new_corpus(c: Any, job: Job, words: StereotypeWords | None) -> NewCorpus:
    asked, author = job.experiment or {}, (job.author or {}).get("name")
    if words is None:
        names = ", ".join(str(each["name"]) for each in asked.get("words") or ())
        return NewCorpus(
            tenant=job.tenant,
            name=f"{names}, drawn for a rating"[:200],
            kind="images",
            language="en",
            attribute=str(asked.get("attribute") or "several"),
            description=f"Drawn by {author} for the job {job.id}",
        )
    rules, language = rules_for(c, job.tenant, words, asked.get("specification"))
    return NewCorpus(
        tenant=job.tenant,
        name=f"{words.name}, written for a rating",
        kind="sentences",
        language=language,
        attribute=words.attribute,
        rules=rules,
        description=f"Written by {author} for the job {job.id}",
    )
