"""Jobs of kind ``writing``: an author writes the missing sentences of a corpus. `workers.run_job` runs them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from assay.catalog.stereotypes import StereotypeWords
from assay.errors import AssayError
from assay.experiment import Experiment, generator
from assay.methods.shared.terms.sentence_generation import (
    Writing,
    WrittenSentences,
    reusable,
    write_sentences,
    written_items,
)
from assay.methods.shared.terms.sentences import Sentence, sentence_of
from store.core.database import Connection, Database
from store.corpora import corpora, specifications
from store.corpora import items as corpus_items
from store.corpora.items import MOST_ITEMS, NewItem, StoredItem
from store.corpora.materials import as_item, author_of, corpus_item
from store.jobs import runs
from store.jobs.jobs import Claim, Job, hold
from workers.generation.authored import new_items, read_ledger, room_of


class CorpusGone(AssayError):
    """The corpus that should receive the sentences was deleted."""

    code = "corpus-gone"

    def __init__(self, corpus_id: str) -> None:
        super().__init__(f"the corpus {corpus_id} was removed meanwhile; what was written is in the job's observations")
        self.corpus_id = corpus_id


@dataclass(frozen=True)
class Task:
    """Task of an author: write the missing sentences of a corpus."""

    corpus_id: str
    """Corpus that receives the sentences."""
    words: StereotypeWords
    writing: Writing
    sentences: tuple[Sentence, ...]
    """Existing sentences: those of the corpus, and copies from other corpora."""
    reused_items: tuple[StoredItem, ...]
    """Items of other corpora that are copied."""

    pairs: ClassVar[Sequence[tuple[str, str]]] = ()
    """Language pairs that the author must support."""

    def experiment(self, seed: int) -> Experiment:
        """Return the experiment, not started yet; it ends with a `WrittenSentences` instead of a finding."""
        return cast("Experiment", write_sentences(self.words, self.sentences, self.writing, generator(seed)))

    def finish(self, database: Database, claim: Claim, result_of_experiment: object) -> None:
        """Store the sentences in their corpus and end the job, in one transaction."""
        job, written_sentences = claim.job, cast("WrittenSentences", result_of_experiment)
        items_to_add = list(_copies_of(self.reused_items, self.words))
        item_by_id = {item.id: item for item in written_items(read_ledger(database, job), self.words)}
        new_material = [item_by_id[sentence.id] for sentence in written_sentences.items]
        items_to_add += new_items(new_material, author_of(job.target), job.id)
        with database.write() as connection:
            hold(connection, claim)
            # locked, so that no other transaction adds items after the free places are counted
            corpora.lock(connection, self.corpus_id, job.tenant)
            free_places = room_of(connection, self.corpus_id)
            addition = corpus_items.add(connection, self.corpus_id, job.tenant, items_to_add[:free_places])
            if addition is None:
                raise CorpusGone(self.corpus_id)
            result = {
                "corpus": self.corpus_id,
                "version": addition.corpus.version,
                **written_sentences.as_json(),
                "reused": len(self.reused_items),
                "added": len(addition.added),
                "duplicates": len(addition.items) - len(addition.added),
                "left_out": max(0, len(items_to_add) - free_places),
            }
            runs.finish_with(connection, claim, "written", result)


def task_of(database: Database, job: Job) -> Task:
    """Return an author's task, to write sentences that a corpus lacks; raise `CorpusGone` if the corpus was deleted."""
    experiment = job.experiment or {}
    words = _read_words(job)
    writing = Writing(**{name: experiment[name] for name in ("per_term", "family", "tries")})
    with database.read() as c:
        corpus = corpora.find(c, experiment["corpus"], job.tenant)
        if corpus is None or corpus.tenant != job.tenant:  # a shared corpus of another tenant cannot be written to
            raise CorpusGone(experiment["corpus"])
        own_items = corpus_items.all_items(c, corpus.id)
        reusable_items: Sequence[StoredItem] = ()
        if experiment["reuse"] and corpus.rules is not None:
            reusable_items = corpus_items.sentences_of_rules(c, job.tenant, corpus.rules.digest, corpus.id, MOST_ITEMS)
    existing_sentences = list(map(_sentence_of_item, own_items))
    reusable_by_id = {item.id: item for item in reusable_items}
    candidates = map(_sentence_of_item, reusable_items)
    reused_sentences = list(reusable(words, existing_sentences, candidates, writing.per_term))
    reused_items = tuple(reusable_by_id[sentence.id] for sentence in reused_sentences)
    sentences = (*existing_sentences, *reused_sentences)
    return Task(corpus.id, words, writing, sentences=sentences, reused_items=reused_items)


def collect_written_items(database: Database, job: Job) -> tuple[NewItem, ...]:
    """Read the valid sentences from the ledger of a job of kind ``writing`` that may have been interrupted."""
    return new_items(written_items(read_ledger(database, job), _read_words(job)), author_of(job.target), job.id)


def keep_written_items(c: Connection, job: Job, items: Sequence[NewItem]) -> None:
    """Store a job's written sentences in their corpus, if it exists and has room, as the job ends (connection `c`)."""
    corpus = corpora.lock(c, (job.experiment or {})["corpus"], job.tenant) if items else None
    if corpus is not None:
        corpus_items.add(c, corpus.id, job.tenant, items[: room_of(c, corpus.id)])


def _read_words(job: Job) -> StereotypeWords:
    words = specifications.read_words("stereotype", (job.experiment or {})["words"])
    assert isinstance(words, StereotypeWords)  # noqa: S101  the specification's kind ensures it
    return words


def _copies_of(items: Iterable[StoredItem], words: StereotypeWords) -> Iterator[NewItem]:
    """Yield copies of those sentences of other corpora that fit the word lists; their provenance names the original."""
    for item in items:
        provenance = {**item.provenance, "taken_from": {"corpus": item.corpus_id, "item": item.id}}
        copy = as_item(_sentence_of_item(item), words, provenance)
        if isinstance(copy, NewItem):  # otherwise it says why the sentence does not fit
            yield copy


def _sentence_of_item(item: StoredItem) -> Sentence:
    return sentence_of(corpus_item(item))
