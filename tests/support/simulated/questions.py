"""Language models that answer questions about two people with a known bias.

A model recognises a shipped question by its text. Everything else is a hash of the question, its options and the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from assay.methods.questions.asked import AskedQuestion, most_turns, shipped_questions
from assay.methods.questions.method import GroupQuestions
from assay.model import Ask, Choose, Failure, Finding, Letter, Reply
from tests.support.simulated.base import SimulatedService, letter_of
from tests.support.simulated.free_text import rng_of


@cache
def known_questions(attribute: str) -> Mapping[str, AskedQuestion]:
    """Return the shipped questions about an attribute, as a mapping from their text."""
    questions = shipped_questions(attribute, most_turns(attribute), np.random.default_rng(0))
    return {asked.text: asked for asked in questions}


@dataclass(frozen=True)
class Answerer:
    """How a model answers; without an effect it says "cannot be known", or follows the fact.

    Attributes
    ----------
    stereotyped, guessed : float
        Shares of open questions that are answered by the stereotype, and by any person.
    named : str
        Group that it names in `leaning` of the open questions, whatever is asked.
    ignored : float
        Share of facts against the stereotype that are answered by the stereotype.
    mistaken : float
        Share of all facts that are answered by any option.
    first : float
        Share of all questions that are answered by the first letter.
    evading : bool
        Whether every question is answered by "cannot be known".
    refused, refused_of_group : float
        Shares of refusals: of all questions, and of facts that ascribe the stereotype to the stereotyped group.
    """

    stereotyped: float = 0.0
    guessed: float = 0.0
    named: str = ""
    leaning: float = 0.0
    ignored: float = 0.0
    mistaken: float = 0.0
    first: float = 0.0
    evading: bool = False
    refused: float = 0.0
    refused_of_group: float = 0.0

    def answer(self, asked: AskedQuestion, options: tuple[str, ...], seed: int) -> str | None:
        """Return the text of the chosen option; ``None`` for a refusal."""
        question, rng = asked.question, rng_of(seed, asked.text, *options)
        texts, fits = question.options, asked.fits_stereotype
        assert question.stereotyped is not None
        other = next(at for at in range(3) if at not in {question.unknown, question.stereotyped})
        by_stereotype = question.stereotyped if question.negative else other
        if rng.random() < self.refused + (self.refused_of_group if fits else 0.0):
            return None
        if rng.random() < self.first:
            return options[0]
        if self.evading:
            return texts[question.unknown]
        draw = rng.random()
        if fits is None:
            if draw < self.stereotyped:
                return texts[by_stereotype]
            if draw < self.stereotyped + self.guessed:
                return texts[(question.stereotyped, other)[rng.integers(2)]]
            if self.named in asked.groups and rng.random() < self.leaning:
                return texts[asked.groups.index(self.named)]
        elif draw < self.mistaken:
            return texts[rng.integers(3)]
        elif fits is False and draw < self.mistaken + self.ignored:
            return texts[by_stereotype]
        return texts[question.right]


def service(
    answerer: Answerer,
    *,
    letter: Letter | None = None,
    seed: int = 0,
    reply_of: Callable[[Choose, str | None], Reply] | None = None,
    **fields: object,
) -> SimulatedService:
    """Make a simulated model; `reply_of` makes the reply of a chosen option."""
    method = GroupQuestions(**{"attribute": "gender", **fields})  # type: ignore[arg-type]
    known = known_questions(method.attribute)

    def answer(ask: Ask) -> Reply:
        assert isinstance(ask, Choose)
        text = answerer.answer(known[ask.text], ask.options, seed)
        if reply_of is not None:
            return reply_of(ask, text)
        if text is None:
            return Reply(failure=Failure("declined", "the answer was a refusal"))
        return Reply({"choice": ask.options.index(text)})

    return SimulatedService(method, answer, letter or Letter.UCS)


def answering_service(step_1: float, step_2: float, seed: int) -> SimulatedService:
    """Make a model that follows the stereotype in `step_1` of open questions and `step_2` of the facts against it."""
    simulated = service(Answerer(stereotyped=step_1, ignored=step_2), seed=seed, letter=letter_of(step_1, step_2, 0.1))
    return replace(simulated, truths={"effects.step_1": step_1, "effects.step_2": step_2})


@dataclass(frozen=True)
class AnswererWorld:
    """A model that answers questions; `deserves` are the letters that may be declared."""

    answerer: Answerer
    deserves: frozenset[Letter]
    fields: Mapping[str, Any] = field(default_factory=dict)

    def deserved(self, size: float) -> frozenset[Letter]:  # noqa: ARG002 - same signature as other worlds
        """Return the letters that may be declared."""
        return self.deserves

    def rate(self, seed: int, size: float = 1.0) -> Finding:  # noqa: ARG002 - same signature as other worlds
        """Rate the answers of a seed."""
        return service(self.answerer, seed=seed, **self.fields).rate(seed)


FAIR, SENSITIVE, BIASED = (frozenset({letter}) for letter in (Letter.UCS, Letter.DSBS, Letter.BS))
BRIEF: Mapping[str, Any] = {"turns": 1, "most_turns": 1}

ANSWERERS: Mapping[str, AnswererWorld] = {
    "even answerer": AnswererWorld(Answerer(), FAIR),
    "even answerer that guesses half, briefly": AnswererWorld(Answerer(guessed=0.5), FAIR, BRIEF),
    "even answerer that always guesses, briefly": AnswererWorld(Answerer(guessed=1.0), FAIR, BRIEF),
    "even answerer that always guesses": AnswererWorld(Answerer(guessed=1.0), FAIR),
    "even answerer that mistakes a third of the facts": AnswererWorld(Answerer(mistaken=0.33), FAIR),
    "even answerer, first letter in half": AnswererWorld(Answerer(first=0.5), FAIR),
    "half a tolerance of stereotypes": AnswererWorld(Answerer(stereotyped=0.05, guessed=0.2), FAIR),
    "half a tolerance of ignored facts": AnswererWorld(Answerer(ignored=0.05, mistaken=0.1), FAIR),
    "always the first letter": AnswererWorld(Answerer(first=1.0), frozenset()),
    "always cannot be known": AnswererWorld(Answerer(evading=True), frozenset()),
    "refuses half of all": AnswererWorld(Answerer(refused=0.5), frozenset()),
    "stereotypes in 30 % of open questions": AnswererWorld(Answerer(stereotyped=0.3, guessed=0.2), BIASED),
    "names women whatever is asked": AnswererWorld(Answerer(named="she", leaning=0.4), BIASED),
    "ignores 40 % of the facts against": AnswererWorld(Answerer(ignored=0.4), SENSITIVE),
    "refuses facts about the stereotyped group": AnswererWorld(Answerer(refused_of_group=0.15), BIASED),
}
"""Answering models by a name that says what they do."""
