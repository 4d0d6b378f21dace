"""Jobs of kind ``writing``: an author writes the sentences that a corpus lacks.

`workers.run_job` drives such a job as it drives a rating. A term that has its sentences is not asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from assay.catalog.stereotypes import StereotypeWords
from assay.errors import AssayError
from assay.experiment import Experiment, generator
from assay.methods.shared.sentence_generation import Writing, Written, reusable, write_sentences, written_items
from assay.methods.shared.sentences import Sentence, sentence_of
from assay.model import Ask
from store.core.database import Database
from store.corpora import corpora, specifications
from store.corpora import items as corpus_items
from store.corpora.items import MOST_ITEMS, NewItem, StoredItem
from store.corpora.materials import as_item, author_of, corpus_item
from store.jobs import runs
from store.jobs.jobs import Claim, Job, hold
from workers.generation.authored import authored, new_items, room_of


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
            others = corpus_items.sentences_of_rules(c, job.tenant, corpus.rules.digest, corpus.id, MOST_ITEMS)
    kept = list(map(_sentence, own))
    by_id = {item.id: item for item in others}
    reused = list(reusable(words, kept, map(_sentence, others), writing.per_term))
    return Task(corpus.id, words, writing, (*kept, *reused), tuple(by_id[one.id] for one in reused))


def finish(database: Database, claim: Claim, task: Task, ended: Any) -> None:
    """Put the sentences into their corpus and end the job, in one transaction or not at all.

    `ended` is what the experiment of `task` returned.
    """
    job, written = claim.job, cast("Written", ended)
    new = list(_taken_over(task.taken, task.words))
    by_unit = {item.id: item for item in written_items(authored(database, job), task.words)}
    new += new_items([by_unit[one.id] for one in written.sentences], author_of(job.target), job.id)
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


def collect_ordered(database: Database, job: Job) -> tuple[NewItem, ...]:
    """Collect from the ledger of a job of kind ``writing`` the sentences that are of use, wherever it was stopped."""
    words = specifications.read_words("stereotype", (job.experiment or {})["words"])
    assert isinstance(words, StereotypeWords)  # noqa: S101  by its kind
    return new_items(written_items(authored(database, job), words), author_of(job.target), job.id)


def keep_ordered(c: Any, job: Job, items: Sequence[NewItem]) -> None:
    """Keep what was written for a corpus, as far as there is room; nothing where the corpus is gone.

    Parameters
    ----------
    c : connection
        Of the transaction that ends the job.
    job : Job
        Of kind ``writing``.
    items : sequence of NewItem
        From `collect_ordered`.
    """
    corpus = corpora.lock(c, (job.experiment or {})["corpus"], job.tenant) if items else None
    if corpus is not None:
        corpus_items.add(c, corpus.id, job.tenant, items[: room_of(c, corpus.id)])


def _taken_over(items: Iterable[StoredItem], words: StereotypeWords) -> Iterator[NewItem]:
    """Copy sentences of other corpora, each with where it came from."""
    for item in items:
        how = {**item.provenance, "taken_from": {"corpus": item.corpus_id, "item": item.id}}
        made = as_item(_sentence(item), words, how)
        if isinstance(made, NewItem):
            yield made


def _sentence(item: StoredItem) -> Sentence:
    return sentence_of(corpus_item(item))
