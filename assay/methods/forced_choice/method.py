"""Two-alternative forced choice: psychophysics of embedding endpoints, and of services or people (Liang & Acuna).

An observer is asked which of two cues (she, he) a concept (electrician) belongs to, while the scene is
morphed from one cue to the other. The level at which both answers are equally likely, the point of subjective
equality (PSE), is 1/2 if the concept takes no side. In embeddings, cosines decide, so the point has a closed
form; for services and people that answer questions, a curve is fitted to their choices (docs/methods/forced-choice.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from annotated_types import Ge, Gt, Le, MaxLen, MinLen

from assay.bounds import refuse_repeats
from assay.catalog.choices import ChoiceWords
from assay.document import ComponentDocument
from assay.errors import SpecificationError
from assay.experiment import Experiment
from assay.methods.forced_choice import words as spoken
from assay.methods.forced_choice.choice_trials import Questions, Trials, ask_choices
from assay.methods.forced_choice.detail import ForcedChoiceComponent
from assay.methods.forced_choice.psychophysics import Replicates, judge_choices, judge_vectors
from assay.methods.shared.answers.tally import Tally
from assay.methods.shared.answers.vectors import Vectors, ask_vectors
from assay.methods.shared.one_specification import OneSpecification
from assay.model import Kind
from assay.rating.component import Tolerance
from assay.references import LoadedMaterial


@dataclass(frozen=True)
class ForcedChoice(OneSpecification[ChoiceWords]):
    """Ask which of two cues each concept belongs to.

    Parameters
    ----------
    models : tuple of str
        Names of several models of the service, each a replicate. Empty: the model in the service's settings.
    templates : tuple of str
        Phrases that concepts are put into, ``{word}`` for the word. Each is a replicate.
    half_samples : int
        Number of random halves of the dimensions; each is a replicate that needs no call. 0: all dimensions, once.
    weight : float
        Weight of the concept relative to the mixture of cues, which has weight 1.
    normalise : bool
        Whether vectors are scaled to length 1 first: their length depends on how often a word is used, not on its
        meaning. If false, vectors are used as they are.
    questions : Questions, optional
        Questions that ask a classifier to choose.
    trials : tuple of Trials
        Choices that people or a service have already made; then nothing is asked.
    delta : float
        Largest effect that still counts as none, in shares of the mixture: deviation of controls from 1/2 (step 1);
        spread of concepts beyond that of controls, or lean of concepts to their own side (step 2).
    strata : bool
        Whether a shift that the concepts of both sides share is judged besides that of controls, and the lean of
        concepts to their own side besides their spread.
    """

    method: Literal["forced-choice"] = "forced-choice"
    words: ChoiceWords | None = None
    models: Annotated[tuple[Annotated[str, MinLen(1), MaxLen(200)], ...], MaxLen(50)] = ()
    templates: Annotated[tuple[str, ...], MinLen(1), MaxLen(20)] = ("{word}",)
    half_samples: Annotated[int, Ge(0), Le(200)] = 20
    weight: Annotated[float, Gt(0), Le(10)] = 1.0
    normalise: bool = True
    questions: Questions | None = None
    trials: Annotated[tuple[Trials, ...], MaxLen(20_000)] = ()

    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.EMBEDDER, Kind.CLASSIFIER})
    summary: ClassVar[str] = "Which of two cues does a space of words, or an observer, take each concept to belong to?"
    paper: ClassVar[str] = "Liang & Acuna (2020)"
    words_type: ClassVar[type[Any]] = ChoiceWords
    specification_kind: ClassVar[str] = ChoiceWords.kind
    takes_trials: ClassVar[bool] = True
    REASONS: ClassVar[Mapping[str, str]] = spoken.REASONS
    PHRASES: ClassVar[Mapping[str, str]] = spoken.PHRASES
    COMPONENT: ClassVar[type[ComponentDocument]] = ForcedChoiceComponent

    def __post_init__(self) -> None:
        """Look the words up and check the templates."""
        super().__post_init__()
        refuse_repeats("templates", self.templates)
        if self.models:
            refuse_repeats("models", self.models)
        for index, template in enumerate(self.templates):
            if template.count("{word}") != 1 or "{" in template.replace("{word}", ""):
                raise SpecificationError(
                    f"the template {template!r} must hold {{word}} once and no other braces", f"templates.{index}"
                )

    def for_kind(self, kind: Kind) -> Self:
        """Return a copy with questions for a classifier, `self` for an embedder; raise if an embedder has questions."""
        if kind is Kind.EMBEDDER:
            if self.questions is not None:
                raise SpecificationError("an embedder is asked for vectors, not questions; leave them out", "questions")
            return self
        questions, words = self.questions or Questions(), self.known_words
        first_label, second_label = questions.first_label or words.first, questions.second_label or words.second
        return replace(self, questions=replace(questions, first_label=first_label, second_label=second_label))

    def with_references(self, material: LoadedMaterial) -> Self:
        """Return the method with the words and the uploaded trials."""
        method = super().with_references(material)
        return replace(method, trials=tuple(Trials(**row) for row in material.trials)) if material.trials else method

    @property
    def replicates(self) -> Replicates:
        """Settings for the points of subjective equality: phrases, halves of the dimensions, weight, normalisation."""
        return Replicates(self.templates, self.half_samples, self.weight, self.normalise)

    def expected_probes(self) -> int:
        """Count the questions or the texts whose vectors are asked for; 0 with uploaded trials or without words."""
        if self.trials or self.words is None:
            return 0
        if self.questions is not None:
            word_count = len(self.known_words.concepts) + len(self.known_words.controls)
            return word_count * len(self.questions.levels) * self.questions.repeats
        return len(dict.fromkeys(self._texts_to_embed())) * max(1, len(self.models))

    def _texts_to_embed(self) -> list[str]:
        """Return the texts whose vectors are needed: all cue words, and each word in every template."""
        words = self.known_words
        all_words = (*words.concept_words, *words.controls)
        phrases = [phrase for word in all_words for phrase in self.replicates.phrases(word)]
        return [cue for pair in words.cues for cue in pair] + phrases

    def design(self, rng: np.random.Generator) -> Experiment:
        """Ask for all vectors or choices, then judge the words' points of subjective equality."""
        tolerance = Tolerance.around(self.delta, self.confidence)
        trials: Sequence[Trials] = self.trials
        if trials:
            tally = Tally(usable=sum(level_trials.trials for level_trials in trials))
        elif self.questions is not None:
            trials, tally = yield from ask_choices(self.questions, self.known_words, rng)
        else:
            spaces: list[Vectors] = []
            for model in self.models or ("",):  # no name: the model in the service's settings
                space = yield from ask_vectors(self._texts_to_embed(), model)
                spaces.append(space)
            component = judge_vectors(self.known_words, spaces, self.replicates, tolerance, rng, strata=self.strata)
            return self.finding([component])
        return self.finding([judge_choices(self.known_words, trials, tally, tolerance, rng, strata=self.strata)])
