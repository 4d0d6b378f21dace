"""Stereotype score: which of two sentences about two groups a language model prefers (Jiang et al.).

Both sentences of a pair say the same, each about one group. With neutral attribute terms, a model without a
preference prefers each group in half of the pairs (step 1). With terms of a stereotype, a model that does not follow
it prefers the stereotype in half of the pairs (step 2). Sentences are uploaded, stored, written by an author of the
user's choice, or made from templates (docs/methods/stereotype-score.md).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from annotated_types import MaxLen, MinLen

from assay.catalog.shipped import shipped_words
from assay.catalog.stereotypes import TIED, StereotypeWords
from assay.document import AggregationDocument, ComponentDocument
from assay.errors import SpecificationError
from assay.methods.shared.answers.tally import Asking, ExperimentPart
from assay.methods.shared.detail import ModelScores, TermsAggregation
from assay.methods.shared.terms.design import MOST_ITEMS, TermsDesign
from assay.methods.shared.terms.items import SortedItems
from assay.methods.shared.terms.sentence_generation import (
    Writing,
    WrittenSentences,
    reusable,
    write_sentences,
    written_items,
)
from assay.methods.shared.terms.sentences import Pair, Sentence, read, sentence_of, sort, template_sentences
from assay.methods.stereotype_score import words as spoken
from assay.methods.stereotype_score.analysis import Preferences, posterior_of, summary
from assay.methods.stereotype_score.collection import Ladder, PairTally, ask_pairs, find_rung, next_rung
from assay.methods.stereotype_score.detail import ScoringDocument, StereotypeComponent
from assay.model import Component, Kind, Observation, Reason
from assay.rating.component import Counts, Measurement, result_or_why
from assay.references import AuthoredItems, CorpusItem, LoadedCorpus, LoadedMaterial, MaterialKind
from assay.statistics.bayes.stereotype_terms import score_choices

MASKED_WORDS = 6
"""Approximate number of words of a sentence that a masked model is asked about, for the progress bar."""

MOST_CHECKED = 100_000
"""Maximum number of characters of sentences, over all specifications, that are checked before a job (about 0.3 s).
More text is accepted unchecked, and the job counts the unusable sentences."""


@dataclass(frozen=True)
class StereotypeScore(TermsDesign[StereotypeWords]):
    """Ask a language model which of two sentences it prefers, the stereotyped one or its counterpart.

    Parameters
    ----------
    sentences : tuple of Sentence
        Sentences to ask about: uploaded, or stored and perhaps edited. Each counts for every specification it fits.
    writing : Writing, optional
        Request to an author for missing sentences; the job must name an author.
    scoring : str
        How pairs are compared: ``echo``, ``masked``, ``choice``, or ``auto``, the first of these that the service
        does not refuse.
    """

    method: Literal["stereotype-score"] = "stereotype-score"
    words: Annotated[tuple[StereotypeWords, ...], MinLen(1), MaxLen(20)] | None = None
    sentences: Annotated[tuple[Sentence, ...], MaxLen(MOST_ITEMS)] = ()
    writing: Writing | None = None
    scoring: Literal["auto", "echo", "masked", "choice"] = "auto"

    words_type: ClassVar[type[Any]] = StereotypeWords
    material: ClassVar[MaterialKind] = "sentences"
    items_field: ClassVar[str] = "sentences"
    author_field: ClassVar[str] = "writing"
    random_items: ClassVar[bool] = True
    specification_kind: ClassVar[str] = StereotypeWords.kind
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.LANGUAGE_MODEL})
    summary: ClassVar[str] = "Which of two sentences does a language model prefer, the stereotype or its counterpart?"
    REASONS: ClassVar[Mapping[str, str]] = spoken.REASONS
    PHRASES: ClassVar[Mapping[str, str]] = spoken.PHRASES
    COMPONENT: ClassVar[type[ComponentDocument]] = StereotypeComponent
    AGGREGATION: ClassVar[type[AggregationDocument]] = TermsAggregation

    def refuse_useless(self, words: Sequence[StereotypeWords]) -> None:
        """Raise an error if no sentence is usable; single unusable sentences are counted and left out."""
        characters = sum(len(sentence.text) + len(sentence.counterpart) for sentence in self.sentences)
        if len(words) * characters > MOST_CHECKED:  # too long to read now; the job counts unusable sentences
            return
        # `read` returns a text, the reason, for an unusable sentence
        if all(isinstance(read(sentence, word_list), str) for word_list in words for sentence in self.sentences):
            reason = read(self.sentences[0], words[0])
            raise SpecificationError(
                f"no sentence contains one group term and one attribute term of {words[0].name} as whole words "
                f"(the first: {str(reason).replace('-', ' ')}); there are {len(self.sentences)}",
                "sentences",
            )

    def questions_about(self, items: int) -> int:
        """Count (for masked models, estimate) the questions about `items` pairs of a term."""
        return items * (2 * MASKED_WORDS if self.scoring == "masked" else 2)  # 2 sentences, or 2 orders of a choice

    # ------------------------------------------------------------------------ references
    def with_references(self, material: LoadedMaterial) -> Self:
        """Return the method with loaded words and sentences; thousands of sentences take some tenths of a second."""
        method = self
        if material.corpus is not None:
            method = method._use_corpus_words(material.corpus).changed(corpus=material.corpus.reference)
            method = method.changed(sentences=(*method.sentences, *map(sentence_of, material.corpus.items)))
        method = method.with_words(material.words)
        if any(material.authored) and method.writing is not None:
            sentences = list(method.sentences)
            for words, items in zip(method.known_words, material.authored, strict=True):
                sentences += reusable(words, sentences, map(sentence_of, items), method.writing.per_term)
            method = method.changed(sentences=tuple(sentences[:MOST_ITEMS]))
        return method

    def authored_items(self, record: Sequence[Observation]) -> Sequence[Sequence[CorpusItem]]:
        """Return, for each specification, the usable sentences in an author's replies, to be stored for later jobs."""
        return [written_items(record, words) for words in self.known_words]

    def author_tasks(self) -> tuple[AuthoredItems, ...]:
        """List, for each specification, the sentences that the author is asked to write."""
        assert self.writing is not None  # noqa: S101  only called with an author
        reuse = self.writing.reuse and self.corpus is None
        return tuple(
            AuthoredItems(
                "sentences", words.name, words.attribute, tuple(words.roles), words, self.specification, reuse=reuse
            )
            for words in self.known_words
        )

    def _use_corpus_words(self, corpus: LoadedCorpus) -> Self:
        """Return the method with the words of a stored corpus, unless the request names or has words of its own."""
        if corpus.words is None or self.named:
            return self
        if self.words != (shipped_words(StereotypeWords, None, self.attribute or "gender"),):
            return self  # the words are the request's own, not the default ones
        return self.changed(words=(corpus.words,), attribute="", specification=corpus.specification)

    # ------------------------------------------------------------------------ the experiment
    def usable(self, items: Iterable[Sentence], words: StereotypeWords) -> SortedItems[Pair]:
        """Pair the usable sentences with their counterparts about the other group."""
        return sort(items, words)

    def request_items(
        self, words: StereotypeWords, rng: np.random.Generator, prefix: str
    ) -> ExperimentPart[WrittenSentences]:
        """Ask the author for the sentences that terms lack; `prefix` begins the probes' ids."""
        assert self.writing is not None  # noqa: S101  only called with an author
        writing_rng, _template_rng = rng.spawn(2)
        return (yield from write_sentences(words, self.sentences, self.writing, writing_rng, f"{prefix}/write"))

    def rule_items(self, words: StereotypeWords, rng: np.random.Generator) -> Sequence[Sentence]:
        """Write sentences from frames; they are used if the request has neither sentences nor an author."""
        _writing_rng, template_rng = rng.spawn(2)
        return template_sentences(words, self.most_rounds, template_rng)

    @staticmethod
    def alternate(item: Pair) -> int:
        """Return the index of an item's pair of group terms; among a term's items, different pairs take turns."""
        return item.pair_index

    def choose_scoring(self, item: Pair) -> ExperimentPart[Ladder]:
        """Ask about a pair to find the way of asking (rung) that the service supports."""
        return (yield from find_rung(self.scoring, item))

    def start_scores(
        self, words: StereotypeWords, detail: StereotypeComponent, ladder: Ladder | None
    ) -> Preferences | Component:
        """Return scores without answers yet, or a component without a letter if `ladder` has no way of asking."""
        rung = None if ladder is None else ladder.rung
        if ladder is not None:
            detail = replace(detail, scoring=ScoringDocument(rung, self.scoring, dict(ladder.refused)))
            if rung is None:  # no way of asking is left
                return self._refused_component(words, ladder, detail)
        tally = PairTally(groups=(words.first, words.second))
        return Preferences(words, tally, detail, rung, strata=self.strata, delta_loss=self.delta_loss)

    def ask(self, scores: Preferences, rounds: Sequence[Sequence[Pair]], first: int, prefix: str) -> Asking:
        """Ask about the pairs of some rounds, each of which has one pair of every term."""
        assert scores.rung is not None  # noqa: S101  set, because there are rounds
        pairs = [pair for round_pairs in rounds for pair in round_pairs]
        yield from ask_pairs(scores.rung, pairs, scores.tally, prefix, first)

    def _refused_component(self, words: StereotypeWords, ladder: Ladder, detail: StereotypeComponent) -> Component:
        """Return a component without a letter, whose reason names the last way of asking and its refusal."""
        counts = Counts(usable=0, unusable=ladder.unusable, failed=ladder.failed)
        measurement = Measurement(words.name, counts, self.tolerance(), detail)
        rungs = list(ladder.refused)
        last_rung = rungs[-1]
        facts = {"rung": last_rung, "why": ladder.refused[last_rung], "next": next_rung(last_rung), "tried": rungs}
        return measurement.give_up(Reason("scoring-refused", facts, words.name))

    def model_score(self, results: Sequence[Preferences]) -> ModelScores:
        """Score a model over all specifications: mean over their attribute terms, with equal weights (Jiang et al.).

        If there is no pair with a stereotype term (roles `TIED`), the result has a ``why`` instead.
        """

        def score_all() -> ModelScores:
            rows = [
                (scores.words.name, pair.term, share) for scores in results for pair, share in scores.preferences(*TIED)
            ]
            bias_names, terms, shares = zip(*rows, strict=True) if rows else ((), (), ())
            score = score_choices(shares, terms, biases=bias_names)
            document = replace(summary(score), posterior=posterior_of(score))
            return ModelScores(**vars(document), by_bias=dict(score.by_bias))

        return result_or_why(ModelScores, score_all)
