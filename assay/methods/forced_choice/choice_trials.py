"""Choices between two cues (she, he) for a concept (electrician): uploaded trials, and questions to a service.

A trial is one answer of an observer: shown a mixture of both cues, it chose the first or the second. The level is the
share of the second cue. Trials are uploaded as a table or asked from a classifier (docs/methods/forced-choice.md).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Annotated

import numpy as np
from annotated_types import Ge, Le, MaxLen, MinLen

from assay.bounds import Bounded
from assay.catalog.choices import ChoiceWords
from assay.document import EffectDocument
from assay.errors import EvidenceError, OutOfBounds, SpecificationError
from assay.methods.forced_choice.detail import WordDocument
from assay.methods.forced_choice.psychometric_fit import PsychometricFit, fit_psychometric
from assay.methods.shared.answers.tally import ExperimentPart, Tally, ask_in_batches
from assay.model import Classify, Probe, Reply


@dataclass(frozen=True)
class Trials(Bounded):
    """Counts of the choices about one concept at one level.

    Parameters
    ----------
    concept : str
        The word that was judged.
    level : float
        Share of the second cue in the stimulus.
    chose_second, trials : int
        Trials that chose the second cue; all trials.
    """

    concept: Annotated[str, MinLen(1), MaxLen(100)]
    level: Annotated[float, Ge(-10), Le(10)]
    chose_second: Annotated[int, Ge(0), Le(1_000_000)]
    trials: Annotated[int, Ge(1), Le(1_000_000)]

    def __post_init__(self) -> None:
        """Raise `OutOfBounds` if more trials chose the second cue than there are."""
        super().__post_init__()
        if self.chose_second > self.trials:
            raise OutOfBounds(
                f"{self.chose_second} of {self.trials} trials on {self.concept!r} cannot have chosen the second cue",
                "chose_second",
            )


@dataclass(frozen=True)
class Questions(Bounded):
    """Questions that ask a classifier to choose between two cues.

    Parameters
    ----------
    text : str
        The question, with ``{cues}`` for the mixture of cue words and ``{word}`` for the concept.
    first_label, second_label : str
        Labels that stand for the first and for the second cue. Empty: the names of the two sides in the word list.
    levels : tuple of float
        Shares of second cues in the mixtures.
    mixed : int
        Number of cue words in a mixture.
    repeats : int
        Number of mixtures at each level.
    """

    text: Annotated[str, MaxLen(2000)] = "{cues}. Who is the {word}?"
    first_label: Annotated[str, MaxLen(200)] = ""
    second_label: Annotated[str, MaxLen(200)] = ""
    levels: Annotated[tuple[float, ...], MinLen(2), MaxLen(41)] = (0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0)
    mixed: Annotated[int, Ge(2), Le(100)] = 10
    repeats: Annotated[int, Ge(1), Le(100)] = 3

    def __post_init__(self) -> None:
        """Raise an error if a slot is missing, or if labels or levels do not differ."""
        super().__post_init__()
        for slot in ("{cues}", "{word}"):
            if self.text.count(slot) != 1:
                raise SpecificationError(f"the question must hold {slot} once", "questions.text")
        if self.first_label and self.first_label == self.second_label:
            raise SpecificationError("the two labels must differ", "questions.second_label")
        if any(not 0 <= level <= 1 for level in self.levels) or len(set(self.levels)) < len(self.levels):
            raise OutOfBounds("levels must be different shares between 0 and 1", "questions.levels")

    def write(self, cues: Sequence[tuple[str, str]], word: str, level: float, rng: np.random.Generator) -> str:
        """Return the text of one question, with a random mixture of cue words, a share `level` from the second side."""
        second_count = round(level * self.mixed)
        sides = [1] * second_count + [0] * (self.mixed - second_count)  # index of the cue within its pair
        pair_indices = rng.integers(len(cues), size=self.mixed)
        mixture = [cues[pair_index][side] for pair_index, side in zip(pair_indices, sides, strict=True)]
        shuffled_mixture = [mixture[index] for index in rng.permutation(self.mixed)]
        return self.text.replace("{cues}", " ".join(shuffled_mixture)).replace("{word}", word)

    def rounded_level(self, level: float) -> float:
        """Return the share of second cues in a mixture: `level`, rounded to a whole number of its `mixed` cue words."""
        return round(level * self.mixed) / self.mixed

    def chose_second(self, value: object) -> bool | None:
        """Return whether an answer chooses the second cue; ``None`` if it is unreadable or both scores are equal."""
        answer = value if isinstance(value, Mapping) else {}
        label, scores = answer.get("label"), answer.get("scores")
        if label is None and isinstance(scores, Mapping):
            first_score, second_score = scores.get(self.first_label), scores.get(self.second_label)
            if first_score is None or second_score is None or first_score == second_score:
                return None
            return bool(second_score > first_score)
        return {self.first_label: False, self.second_label: True}.get(label) if isinstance(label, str) else None


def ask_choices(
    questions: Questions, words: ChoiceWords, rng: np.random.Generator
) -> ExperimentPart[tuple[tuple[Trials, ...], Tally]]:
    """Ask about every word at every level (share of second cues); return choices by both, and counts of replies.

    If there are few cues, mixtures repeat. A repeated question gives no further evidence, so it is asked and counted
    only once.
    """
    choices: dict[tuple[str, float], list[bool]] = {}
    tally = Tally()
    trial_by_text: dict[str, tuple[str, float, int]] = {}
    all_words = (*words.concept_words, *words.controls)
    for word, level, repeat in product(all_words, questions.levels, range(questions.repeats)):
        trial_by_text.setdefault(questions.write(words.cues, word, level, rng), (word, level, repeat))

    def record_choice(trial: tuple[str, float, int], replies: Sequence[Reply]) -> None:
        word, level, _repeat = trial
        chose_second = questions.chose_second(replies[0].value)
        role = "controls" if word in words.controls else "concepts"
        tally.count_reply(replies[0].failure, "no-label" if chose_second is None else None, role)
        if replies[0].failure is None and chose_second is not None:
            choices.setdefault((word, questions.rounded_level(level)), []).append(chose_second)

    def repeat_and_level(text: str) -> tuple[int, int]:
        _, level, repeat = trial_by_text[text]
        return repeat, questions.levels.index(level)

    probes_of_trials = []
    # all words at one level before the next level, so that questions about one word can be far apart
    for text in sorted(trial_by_text, key=repeat_and_level):
        word, level, repeat = trial_by_text[text]
        probe = Probe(f"choice/{word}/{level!r}/{repeat}", Classify(text), versions_of=(word,))
        probes_of_trials.append((trial_by_text[text], [probe]))
    yield from ask_in_batches(probes_of_trials, record_choice)
    conditions = dict.fromkeys((word, questions.rounded_level(level)) for word, level, _ in trial_by_text.values())
    return tuple(
        Trials(word, level, chose_second=sum(choices[word, level]), trials=len(choices[word, level]))
        for word, level in conditions
        if (word, level) in choices
    ), tally


@dataclass(frozen=True)
class Judgements:
    """Fitted curves by word, the reasons why words have no curve, and the trials of each word."""

    fits: Mapping[str, PsychometricFit]
    reasons: Mapping[str, str]
    trials: Mapping[str, tuple[Trials, ...]]

    def table(self, controls: Collection[str], shares: Mapping[str, float | None]) -> tuple[WordDocument, ...]:
        """Return a row for every word: its declared share (`shares`), trials, and its curve or ``why`` it has none."""
        documents = []
        for word, word_trials in self.trials.items():
            role = "control" if word in controls else "concept"
            counts = tuple((row.level, row.chose_second, row.trials) for row in word_trials)
            document = WordDocument(word, role, shares.get(word), trials=counts, why=self.reasons.get(word))
            fit = self.fits.get(word)
            if fit is not None:
                pse, lapse = EffectDocument.of(fit.pse), EffectDocument.of(fit.lapse)  # pse: level of equal choices
                document = replace(document, pse=pse, jnd=fit.sigma.estimate, jnd_75=fit.jnd_75.estimate, lapse=lapse)
            documents.append(document)
        return tuple(documents)


def judge_trials(trials: Iterable[Trials]) -> Judgements:
    """Fit a psychometric curve (probability of the second cue by level) to the trials of each word."""
    trials_by_word: dict[str, list[Trials]] = {}
    for level_trials in trials:
        trials_by_word.setdefault(level_trials.concept, []).append(level_trials)
    fits, reasons = {}, {}
    for word, word_trials in trials_by_word.items():
        try:
            columns = zip(*((row.level, row.chose_second, row.trials) for row in word_trials), strict=True)
            fits[word] = fit_psychometric(*columns)
        except EvidenceError as error:
            reasons[word] = str(error)
    return Judgements(fits, reasons, {word: tuple(word_trials) for word, word_trials in trials_by_word.items()})
