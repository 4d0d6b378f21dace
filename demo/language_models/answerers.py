"""Chat models that answer the catalog's questions about two people; the letters are by docs/methods/questions.md."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import ClassVar

from assay.catalog.sentences.questions import (
    QuestionTemplate,
    attributes_with_questions,
    people_in_questions,
    question_templates,
    unknown_options,
)
from assay.model import Letter
from demo.language_models.models import ChatModel, Tokens, tokens
from demo.predictors.prediction import by_name
from demo.translators.behaviours import chance

CERTAIN = -8.0
"""Log-probability of the options that a model does not choose, relative to the chosen one."""


@dataclass(frozen=True)
class Question:
    """A question as the model understands it: the options with their meanings."""

    stereotype: str
    """The option that the stereotype suggests."""
    unknown: str
    fact: str | None
    """The option that the fact in the prompt proves right; ``None`` for a question without a fact."""


Answers = Callable[[str, Question, Sequence[str]], str | None]
"""Function of the prompt, the question and its options: the chosen option, or ``None`` for a refusal."""


@dataclass(frozen=True, kw_only=True)
class Answerer(ChatModel):
    """Chat model that understands the catalog's questions."""

    answers: Answers = field(repr=False)
    tokens: Tokens = field(default=partial(tokens, lean=0.0, stereotype=0.0), repr=False)

    methods: ClassVar[tuple[str, ...]] = ("questions",)

    def choose(self, prompt: str, options: Sequence[str]) -> list[float] | None:
        """Return the options' log-probabilities (`CERTAIN` for those not chosen), or ``None`` for a refusal."""
        question = understand(prompt, options)
        if question is None:  # no question of the catalog
            return self.options(options)
        answer = self.answers(prompt, question, options)
        return None if answer is None else [0.0 if option == answer else CERTAIN for option in options]


@cache
def _templates_with_people() -> tuple[tuple[QuestionTemplate, Mapping[str, tuple[str, ...]], re.Pattern[str]], ...]:
    """Return (template, words for people by value, pattern that finds who did the bad thing in the fact) triples."""
    return tuple(
        (template, people_in_questions(name), _fact_pattern(template.fact))
        for name in attributes_with_questions()
        for template in question_templates(name)
    )


def _fact_pattern(fact: str) -> re.Pattern[str]:
    words = re.escape(fact).replace(re.escape("{Bad}"), "(?P<bad>.+?)", 1).replace(re.escape("{good}"), ".+?")
    return re.compile(rf"\. {words}")


def understand(prompt: str, options: Sequence[str]) -> Question | None:
    """Return the catalog's question that a prompt asks (who did a bad thing, or who did not), or ``None``."""
    unknown_option = next((option for option in options if option in unknown_options()), None)
    for template, people, fact_pattern in _templates_with_people():
        question_text = next((text for text in (template.negative, template.positive) if f"\n{text}" in prompt), None)
        if question_text is None or unknown_option is None:
            continue
        is_negative = question_text == template.negative  # it asks who did the bad thing
        option_by_value = {
            value: next((option for option in options if option.casefold() in map(str.casefold, people[value])), None)
            for value in (template.stereotyped, template.counterpart)
        }
        stereotyped, counterpart = option_by_value.values()  # the options for these two people
        if stereotyped is None or counterpart is None:
            continue
        match = fact_pattern.search(prompt)
        fact_option = None  # the answer by the prompt's fact, if it states any
        if match is not None:
            stereotyped_did_it = match["bad"].casefold() == stereotyped.casefold()
            fact_option = stereotyped if stereotyped_did_it == is_negative else counterpart
        return Question(stereotyped if is_negative else counterpart, unknown_option, fact_option)
    return None


def _answer_by_facts(prompt: str, question: Question, _: Sequence[str], *, open_share: float, ignored: float) -> str:
    """Choose the stereotype in a share `ignored` of prompts (`open_share` if without fact), else fact or "unknown"."""
    probability = open_share if question.fact is None else ignored
    return question.stereotype if chance("answerer", prompt) < probability else question.fact or question.unknown


ANSWERERS = by_name(
    Answerer(
        name="even-answerer",
        summary="Follows the facts, and says that it cannot be known where there are none.",
        letter=Letter.UCS,
        answers=partial(_answer_by_facts, open_share=0.0, ignored=0.0),
    ),
    Answerer(
        name="stereotyped-answerer",
        summary="Follows the facts; without them, names a person by the stereotype in a half.",
        letter=Letter.BS,
        answers=partial(_answer_by_facts, open_share=0.5, ignored=0.0),
    ),
    Answerer(
        name="heedless-answerer",
        summary="Says that it cannot be known without facts, and ignores half of those against a stereotype.",
        letter=Letter.DSBS,
        answers=partial(_answer_by_facts, open_share=0.0, ignored=0.5),
    ),
    Answerer(
        name="first-letter-answerer",
        summary="Chooses A, whatever is asked about people.",
        answers=lambda _prompt, _question, options: options[0],
    ),
    Answerer(name="refusing-answerer", summary="Refuses to answer questions about people.", answers=lambda *_: None),
)
"""Answerers by name."""
