"""Sentences that an author writes, and the corpora they are kept in.

A job of kind ``writing`` asks an author for the sentences that a corpus lacks; `workers.run_job` drives it as it
drives a rating. What is kept is looked at first: a term that has its sentences is not asked for. A rating that
has sentences written leaves them in a corpus, too, so that nobody pays for them twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from assay.catalog.stereotypes import StereotypeWords
from assay.errors import AssayError
from assay.experiment import Experiment, generator
from assay.methods import AnyMethod, StereotypeScore
from assay.model import Ask, Write
from assay.sentences import Sentence
from assay.writing import Writing, Written, usable, write_sentences
from store import corpora, corpus_items, observations, runs, specifications
from store.corpora import NewCorpus
from store.corpus_items import MOST_ITEMS, NewItem, StoredItem
from store.corpus_rules import lacking, rules_for, told
from store.corpus_sentences import as_item, as_sentence, author_of
from store.database import Database
from store.jobs import Claim, Job, hold

ROWS_A_READ = 500


class CorpusGone(AssayError):
    """The corpus that was to take the sentences is not there any more."""

    code = "corpus-gone"

    def __init__(self, corpus_id: str) -> None:
        super().__init__(f"the corpus {corpus_id} was removed meanwhile; what was written is in the job's observations")
        self.corpus_id = corpus_id


@dataclass(frozen=True)
class Task:
    """What an author is asked for.

    Attributes
    ----------
    corpus_id : str
        The corpus that takes the sentences.
    words : StereotypeWords
        What they are about.
    writing : Writing
        How many are wanted, and how they are asked for.
    kept : tuple of Sentence
        Those that need not be written: of the corpus itself, and those that are taken over.
    taken : tuple of StoredItem
        Of other corpora, for terms that this one lacks.
    """

    corpus_id: str
    words: StereotypeWords
    writing: Writing
    kept: tuple[Sentence, ...]
    taken: tuple[StoredItem, ...]

    def experiment(self, seed: int) -> Experiment:
        """Begin to ask. What comes of it is a `Written`, where a rating has its finding."""
        how = self.writing
        asking = write_sentences(
            self.words, self.kept, how.per_term, generator(seed), family=how.family, tries=how.tries
        )
        return cast("Experiment", asking)

    def first_questions(self, seed: int) -> list[Ask]:
        """List what the author is asked first."""
        return [probe.ask for probe in next(self.experiment(seed), ())]


def task_of(database: Database, job: Job) -> Task:
    """Look at what is kept, and find what is lacking.

    Raises
    ------
    CorpusGone
        If the job's corpus was removed.
    """
    asked = job.experiment or {}
    words = specifications.read_words("stereotype", asked["words"])
    assert isinstance(words, StereotypeWords)  # noqa: S101  by its kind
    writing = Writing(asked["per_term"], asked["family"], asked["tries"])
    with database.read() as c:
        corpus = corpora.find(c, asked["corpus"], job.tenant)
        if corpus is None or corpus.tenant != job.tenant:
            raise CorpusGone(asked["corpus"])
        own = corpus_items.every(c, corpus.id)
        others: Sequence[StoredItem] = ()
        if asked["reuse"] and corpus.rules is not None:
            others = corpus_items.of_the_same_rules(c, job.tenant, corpus.rules.digest, corpus.id, MOST_ITEMS)
    kept = [as_sentence(item) for item in own]
    taken = tuple(lacking(words, kept, others, writing.per_term))
    return Task(corpus.id, words, writing, (*kept, *map(as_sentence, taken)), taken)


def finish(database: Database, claim: Claim, task: Task, written: Written) -> None:
    """Put the sentences into their corpus and end the job, in one transaction or not at all."""
    job = claim.job
    new = list(_taken_over(task.taken, task.words))
    new += _items(written.sentences, task.words, _prompts(database, job), author_of(job.target), job.id)
    with database.write() as c:
        hold(c, claim)
        corpora.lock(c, task.corpus_id, job.tenant)  # so that nobody fills it after its room is counted
        room = room_of(c, task.corpus_id)
        kept = corpus_items.add(c, task.corpus_id, job.tenant, new[:room])
        if kept is None:
            raise CorpusGone(task.corpus_id)
        result = {
            "corpus": task.corpus_id,
            "version": kept.corpus.version,
            **written.as_json(),
            "reused": len(task.taken),
            "added": len(kept.added),
            "duplicates": len(kept.items) - len(kept.added),
            "left_out": max(0, len(new) - room),
        }
        runs.finish_with(c, claim, "written", result)


def glean_ordered(database: Database, job: Job) -> tuple[NewItem, ...]:
    """Collect from the ledger of a job of kind ``writing`` the sentences that are of use, wherever it was stopped."""
    words = specifications.read_words("stereotype", (job.experiment or {})["words"])
    assert isinstance(words, StereotypeWords)  # noqa: S101  by its kind
    return _gleaned(list(_written(database, job)), words, author_of(job.target), job.id)


def keep_ordered(c: Any, job: Job, items: Sequence[NewItem]) -> None:
    """Keep what was written for a corpus, as far as there is room; nothing where the corpus is gone.

    Parameters
    ----------
    c : connection
        Of the transaction that ends the job.
    job : Job
        Of kind ``writing``.
    items : sequence of NewItem
        From `glean_ordered`.
    """
    corpus = corpora.lock(c, (job.experiment or {})["corpus"], job.tenant) if items else None
    if corpus is not None:
        corpus_items.add(c, corpus.id, job.tenant, items[: room_of(c, corpus.id)])


def room_of(c: Any, corpus_id: str) -> int:
    """Count the items that a corpus still takes, which the caller has locked so that nobody fills it meanwhile."""
    return max(0, MOST_ITEMS - corpora.sizes(c, [corpus_id])[corpus_id])


# ---------------------------------------------------------------------------- what a rating had written
@dataclass(frozen=True)
class Gleaned:
    """What an author wrote for a rating, by the words it is about."""

    words: StereotypeWords
    items: tuple[NewItem, ...]


def glean(database: Database, job: Job, method: AnyMethod) -> tuple[Gleaned, ...]:
    """Collect from a rating's ledger the sentences that its author wrote and that are of use."""
    if not isinstance(method, StereotypeScore) or method.writing is None or job.author is None:
        return ()
    written, author = list(_written(database, job)), author_of(job.author)
    found = [Gleaned(words, _gleaned(written, words, author, job.id)) for words in method.words or ()]
    return tuple(each for each in found if each.items)


def keep_gleaned(c: Any, job: Job, gleaned: Sequence[Gleaned]) -> None:
    """Keep what was written for a rating: in the corpus that it names, where that is its tenant's, else in a new one.

    Parameters
    ----------
    c : connection
        Of the transaction that ends the job.
    job : Job
        The rating's.
    gleaned : sequence of Gleaned
        From `glean`.
    """
    asked = job.experiment or {}
    named = str(asked.get("corpus") or "").partition("@")[0]
    for each in gleaned:
        corpus = corpora.lock(c, named, job.tenant) if named else None
        fits = corpus is not None and (corpus.rules is None or dict(corpus.rules.words) == told(each.words))
        if corpus is None or not fits:
            corpus = corpora.add(c, _corpus_for(c, job, each.words))
        corpus_items.add(c, corpus.id, job.tenant, each.items[: room_of(c, corpus.id)])


def _corpus_for(c: Any, job: Job, words: StereotypeWords) -> NewCorpus:
    rules, language = rules_for(c, job.tenant, words, (job.experiment or {}).get("specification"))
    return NewCorpus(
        tenant=job.tenant,
        name=f"{words.name}, written for a rating",
        kind="sentences",
        language=language,
        attribute=words.attribute,
        rules=rules,
        description=f"Written by {(job.author or {}).get('name')} for the job {job.id}",
    )


# ---------------------------------------------------------------------------- items
def _gleaned(written: Sequence[Any], words: StereotypeWords, author: Any, job_id: str) -> tuple[NewItem, ...]:
    """Make items of those texts that are of use, whatever became of the job that had them written."""
    replies = {each.probe.unit: each.reply.value for each in written}
    prompts = {each.probe.unit: each.probe.ask.prompt for each in written}
    sentences = [one for unit, value in replies.items() if (one := usable(value, words, unit)) is not None]
    return tuple(_items(sentences, words, prompts, author, job_id))


def _items(
    sentences: Iterable[Sentence], words: StereotypeWords, prompts: Mapping[str, str], author: Any, job_id: str
) -> list[NewItem]:
    made = []
    for sentence in sentences:
        how = {"author": author, "prompt": prompts.get(sentence.id), "job": job_id, "unit": sentence.id}
        item = as_item(sentence, words, how)
        if isinstance(item, NewItem):
            made.append(item)
    return made


def _taken_over(items: Iterable[StoredItem], words: StereotypeWords) -> Iterator[NewItem]:
    """Copy sentences of other corpora, each with where it came from."""
    for item in items:
        how = {**item.provenance, "taken_from": {"corpus": item.corpus_id, "item": item.id}}
        made = as_item(as_sentence(item), words, how)
        if isinstance(made, NewItem):
            yield made


def _prompts(database: Database, job: Job) -> dict[str, str]:
    return {each.probe.unit: each.probe.ask.prompt for each in _written(database, job)}


def _written(database: Database, job: Job) -> Iterator[Any]:
    """Go through what an author was asked for a job, and what it answered."""
    after = 0
    with database.read() as c:
        while rows := observations.page(c, job.id, after, ROWS_A_READ):
            yield from (row.observation for row in rows if isinstance(row.observation.probe.ask, Write))
            after = rows[-1].seq
