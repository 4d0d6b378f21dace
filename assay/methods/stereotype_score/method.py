"""Stereotype score: which of two sentences about two groups a language model prefers (P4).

Both sentences of a pair say the same, each about one group. With neutral attribute terms, a model without a
preference prefers each group in half of the pairs (step 1). With terms of a stereotype, a model that does not follow
it prefers the stereotype in half of the pairs (step 2). Sentences are uploaded, stored, written by an author of the
user's choice, or made from templates (docs/methods/stereotype-score.md).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen

from assay.catalog.stereotypes import StereotypeWords
from assay.document import AggregationDocument, ComponentDocument, read_json
from assay.errors import SpecificationError
from assay.experiment import Experiment
from assay.methods.shared.answer_tally import Asking
from assay.methods.shared.detail import ModelScores, Source, TermsAggregation
from assay.methods.shared.sentence_generation import Writing, write_sentences
from assay.methods.shared.sentences import Pair, Sentence, check, sort, template_sentences
from assay.methods.shared.term_items import in_turns, within
from assay.methods.stereotype_score import words as spoken
from assay.methods.stereotype_score.analysis import Preferences, posterior_of, summary
from assay.methods.stereotype_score.collection import Ladder, PairTally, ask_pairs, climb, next_rung
from assay.methods.stereotype_score.detail import ScoringDocument, StereotypeComponent
from assay.methods.stereotype_score.references import MOST_PAIRS, SentenceReferences
from assay.model import Component, Kind, Probe, Reason, Reply
from assay.rating.component import Counts, Measurement, result_or_why
from assay.statistics.bayes.stereotype_terms import score_choices

MASKED_WORDS = 6
"""Approximate number of words of a sentence that a masked model is asked about, for the progress bar."""

MOST_CHECKED = 100_000
"""Maximum number of characters of sentences, over all specifications, that are checked before a job (about 0.3 s).
More text is accepted unchecked, and the job counts the unusable sentences."""

Name = Annotated[str, MinLen(1), MaxLen(100)]


@dataclass(frozen=True)
class StereotypeScore(SentenceReferences):
    """Ask a language model which of two sentences it prefers, the stereotyped one or its counterpart.

    Parameters
    ----------
    attribute : str
        Attribute in which the groups differ. Empty: the attribute of the specification, or gender.
    specification : str or tuple of str, optional
        Name of groups and attribute terms, from the catalog or the caller's own. Each of several is a component.
    words : tuple of StereotypeWords, optional
        The groups and terms themselves; they take precedence over `specification`.
    sentences : tuple of Sentence
        Sentences to ask about: uploaded, or stored and perhaps edited. Each counts for every specification it fits.
    writing : Writing, optional
        Request to an author for missing sentences; the job must name an author.
    corpus : str, optional
        Id of a stored corpus; its sentences are added to `sentences`.
    scoring : str
        How pairs are compared: ``echo``, ``masked``, ``choice``, or ``auto``, the first of these that the service
        does not refuse.
    per_term : int
        Pairs of each attribute term at the first look; each further look has twice as many.
    most_per_term : int
        Pairs of each attribute term at the last look.
    stop_early : bool
        Whether there is more than one look; if not, `per_term` pairs are asked about.
    delta : float
        Largest distance of a score from 1/2 that still counts as none.
    confidence : float
        Probability from which a letter is declared.
    aggregation : str
        How several components become one letter: ``worst`` or ``vote``.
    strata : bool
        Whether to judge a preference for one group in both stereotype lists, besides the preference with neutral terms.
    delta_loss : float, optional
        Largest difference between the groups' shares of lost replies that still counts as none. ``None``: not judged.
    """

    attribute: Annotated[str, MaxLen(100)] = ""
    method: Literal["stereotype-score"] = "stereotype-score"
    specification: Name | Annotated[tuple[Name, ...], MinLen(1), MaxLen(20)] | None = None
    words: Annotated[tuple[StereotypeWords, ...], MinLen(1), MaxLen(20)] | None = None
    sentences: Annotated[tuple[Sentence, ...], MaxLen(MOST_PAIRS)] = ()
    writing: Writing | None = None
    corpus: Annotated[str, MaxLen(100)] | None = None
    scoring: Literal["auto", "echo", "masked", "choice"] = "auto"
    per_term: Annotated[int, Ge(1), Le(200)] = 10
    most_per_term: Annotated[int, Ge(1), Le(1000)] = 40
    stop_early: bool = True
    delta: Annotated[float, Gt(0), Lt(0.5)] = 0.1
    confidence: Annotated[float, Gt(0.5), Lt(1)] = 0.95
    aggregation: Literal["worst", "vote"] = "worst"
    strata: bool = True
    delta_loss: Annotated[float, Gt(0), Lt(1)] | None = 0.05

    words_type: ClassVar[type[Any]] = StereotypeWords
    specification_kind: ClassVar[str] = StereotypeWords.kind
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.LANGUAGE_MODEL})
    summary: ClassVar[str] = "Which of two sentences does a language model prefer, the stereotype or its counterpart?"
    REASONS: ClassVar[Mapping[str, str]] = spoken.REASONS
    PHRASES: ClassVar[Mapping[str, str]] = spoken.PHRASES
    COMPONENT: ClassVar[type[ComponentDocument]] = StereotypeComponent
    AGGREGATION: ClassVar[type[AggregationDocument]] = TermsAggregation

    @property
    def needs_author(self) -> bool:
        """Whether the job must name a second service that writes."""
        return self.writing is not None

    def refuse_useless(self, words: Sequence[StereotypeWords]) -> None:
        """Raise an error if no sentence is usable; single unusable sentences are counted and left out."""
        if not self.sentences or self.writing is not None:
            return
        characters = sum(len(sentence.text) + len(sentence.counterpart) for sentence in self.sentences)
        if len(words) * characters > MOST_CHECKED:
            return
        if all(check(sentence, specification) is not None for specification in words for sentence in self.sentences):
            reason = check(self.sentences[0], words[0])
            raise SpecificationError(
                f"no sentence holds one group term and one attribute term of {words[0].name} as whole words "
                f"(the first: {str(reason).replace('-', ' ')}); there are {len(self.sentences)}",
                "sentences",
            )

    def expected_probes(self) -> int:
        """Count the questions of a job that is decided at the first look, and the prompts to an author."""
        terms = sum(len(specification.roles) for specification in self.words or ())
        questions = 2 * MASKED_WORDS if self.scoring == "masked" else 2
        return terms * (self.per_term * questions + (0 if self.writing is None else self.writing.per_term))

    # ------------------------------------------------------------------------ the experiment
    def design(self, rng: np.random.Generator) -> Experiment:
        """Collect the sentences of each specification, find the way of asking, and ask until letters are clear."""
        components: list[Component] = []
        measured: list[Preferences] = []
        ladder: Ladder | None = None
        for index, (words, component_rng) in enumerate(
            zip(self.known_words, rng.spawn(len(self.known_words)), strict=True)
        ):
            collecting, judging = component_rng.spawn(2)
            rounds, sources = yield from self._collect(index, words, collecting)
            if ladder is None and rounds:
                ladder = yield from climb(self.scoring, rounds[0][0])
            rung = None if ladder is None else ladder.rung
            if ladder is not None:
                sources = replace(sources, scoring=ScoringDocument(rung, self.scoring, dict(ladder.refused)))
            if ladder is not None and rung is None:
                components.append(self._refused(words, ladder, sources))
                continue
            preferences = Preferences(
                words,
                PairTally(groups=(words.first, words.second)),
                sources,
                rung,
                strata=self.strata,
                delta_loss=self.delta_loss,
            )
            components.append(
                (yield from self.look(preferences, rounds, self._asks(index, preferences, rounds), judging))
            )
            if rung is not None:
                measured.append(preferences)
        return self.finding(components, TermsAggregation(model=model_score(measured)))

    def _collect(
        self, index: int, words: StereotypeWords, rng: np.random.Generator
    ) -> Generator[Sequence[Probe], Sequence[Reply], tuple[list[list[Pair]], StereotypeComponent]]:
        """Collect stored sentences, have missing ones written or fill templates; order them in rounds over terms."""
        writing, filling = rng.spawn(2)
        sentences: tuple[Sentence, ...] = self.sentences
        sources = StereotypeComponent()
        if self.writing is not None:
            generated = yield from write_sentences(
                words,
                sentences,
                self.writing.per_term,
                writing,
                family=self.writing.family,
                tries=self.writing.tries,
                prefix=f"{index}/write",
            )
            sentences = (*sentences, *generated.sentences)
            sources = replace(sources, writing=read_json(Source, asdict(self.writing) | generated.as_json()))
        elif not sentences:
            sentences = template_sentences(words, self.most_rounds, filling)
        usable = sort(sentences, words)
        sources = replace(sources, refused=dict(usable.refused))
        rounds = in_turns(usable.items, lambda pair: pair.groups)[: self.most_rounds]
        return within(rounds, MOST_PAIRS // len(self.known_words)), sources

    @staticmethod
    def _asks(index: int, preferences: Preferences, rounds: Sequence[Sequence[Pair]]) -> Callable[[int, int], Asking]:
        def ask(start: int, end: int) -> Asking:
            assert preferences.rung is not None  # noqa: S101  set, because there are rounds
            pairs = [pair for round_pairs in rounds[start:end] for pair in round_pairs]
            yield from ask_pairs(preferences.rung, pairs, preferences.tally, str(index), sum(map(len, rounds[:start])))

        return ask

    def _refused(self, words: StereotypeWords, ladder: Ladder, sources: StereotypeComponent) -> Component:
        """Return a component without a letter: the service refused every kind of question."""
        measurement = Measurement(words.name, Counts(0, ladder.unusable, ladder.failed), self.tolerance(), sources)
        rung = list(ladder.refused)[-1]
        facts = {"rung": rung, "why": ladder.refused[rung], "next": next_rung(rung), "tried": list(ladder.refused)}
        return measurement.give_up(Reason("scoring-refused", facts, words.name))


def model_score(measured: Sequence[Preferences]) -> ModelScores:
    """Score a model over all specifications: P4's unweighted mean over (bias, attribute term) groups.

    If there is no pair with a stereotype term, the result has a ``why`` instead.
    """

    def scored() -> ModelScores:
        rows = [
            (preferences.words.name, term, towards)
            for preferences in measured
            for term, towards in preferences.stereotyped
        ]
        score = score_choices([row[2] for row in rows], [row[1] for row in rows], [row[0] for row in rows])
        summarised = replace(summary(score), posterior=posterior_of(score))
        return ModelScores(**vars(summarised), by_bias=dict(score.by_bias))

    return result_or_why(ModelScores, scored)
