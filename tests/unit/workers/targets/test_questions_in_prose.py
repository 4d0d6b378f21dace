"""Letters of models that answer questions in sentences, after reasoning, or with refusals, read as in an adapter."""

from __future__ import annotations

import math

import pytest

from assay.catalog.sentences.questions import unknown_options
from assay.model import Choose, Letter, Reply
from assay.rating.decision import rate
from tests.support.simulated.free_text import REFUSALS
from tests.support.simulated.questions import Answerer, service
from workers.targets.protocols.http.choice_letters import LETTERS
from workers.targets.protocols.http.language_model import ModelOutput, accept_worded

BS, DSBS, UCS = Letter.BS, Letter.DSBS, Letter.UCS

STYLES = {
    "letter": "{letter}",
    "letter and words": "{letter}. {option}",
    "the answer is": "The answer is {letter}: {lower}.",
    "the answer is, bold": "**Answer: {letter}) {option}**",
    "words alone": "{option}.",
    "after thoughts": "<think>Is it A, or B? I cannot know.</think>The answer is {letter}.",
    "JSON": '{{"answer": "{letter}"}}',
    "it is": "It is {letter}, {lower}.",
}
"""Templates of answers, by their style."""

MODELS = {
    "even": (Answerer(), UCS),
    "stereotyped": (Answerer(stereotyped=0.5), BS),
    "heedless": (Answerer(ignored=0.6), DSBS),
}
"""Simulated models with the letter that each must get."""


def reply(ask: Choose, text: str | None, style: str, refusal: str = REFUSALS["en"]) -> Reply:
    """Return the reply of a model that answers in a style, read by the adapter."""
    if text is None:
        return accept_worded(ModelOutput(refusal), ask, "here")
    letter, lower = LETTERS[ask.options.index(text)], text[:1].lower() + text[1:]
    return accept_worded(ModelOutput(style.format(letter=letter, option=text, lower=lower)), ask, "here")


def letter_of(answerer: Answerer, style: str, seed: int = 0, refusal: str = REFUSALS["en"]) -> Letter | None:
    made = service(answerer, seed=seed, reply_of=lambda ask, text: reply(ask, text, style, refusal))
    rating = rate(made.rate(seed))
    return rating.letter if rating.declared else None


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("model", MODELS)
def test_a_model_gets_the_letter_of_its_bias_in_every_style_of_answer(model, style):
    answerer, letter = MODELS[model]
    assert letter_of(answerer, STYLES[style]) is letter


UNKNOWN = ("It cannot be determined.", "I don't know.", "Not enough information", "Neither of them.", "Unknown")


@pytest.mark.parametrize("model", MODELS)
def test_model_that_answers_in_free_prose_gets_the_letter_of_its_bias(model):
    def in_own_words(ask: Choose, text: str | None) -> Reply:
        assert text is not None
        sentence = f"It was {text[:1].lower()}{text[1:]}."
        if text in unknown_options():
            sentence = UNKNOWN[len(ask.text) % len(UNKNOWN)]
        return accept_worded(ModelOutput(sentence), ask, "here")

    answerer, letter = MODELS[model]
    rating = rate(service(answerer, reply_of=in_own_words).rate(0))
    assert (rating.letter, rating.declared) == (letter, True)


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("model", MODELS)
def test_a_model_gets_the_letter_of_its_bias_in_every_style_of_answer_with_every_seed(model, style):
    answerer, letter = MODELS[model]
    assert {letter_of(answerer, STYLES[style], seed) for seed in range(20)} == {letter}


@pytest.mark.parametrize("language", REFUSALS)
def test_a_model_that_refuses_all_questions_gets_no_letter_in_any_language(language):
    for share in (0.5, 1.0):
        assert letter_of(Answerer(refused=share), "{letter}", refusal=REFUSALS[language]) is None


@pytest.mark.parametrize("language", REFUSALS)
def test_a_model_that_refuses_questions_about_one_group_is_never_declared_unbiased(language):
    assert letter_of(Answerer(refused_of_group=0.3), "{letter}", refusal=REFUSALS[language]) in {BS, None}


def test_a_biased_model_that_answers_with_letters_and_probabilities_is_rated_bs():
    def likely(ask: Choose, text: str | None) -> Reply:
        assert text is not None
        chosen = ask.options.index(text)
        first = [(letter, math.log(0.9 if at == chosen else 0.05)) for at, letter in enumerate("ABC")]
        return accept_worded(ModelOutput("ABC"[chosen], first), ask, "here")

    rating = rate(service(Answerer(stereotyped=0.5), reply_of=likely).rate(0))
    assert (rating.letter, rating.declared) == (BS, True)


@pytest.mark.parametrize("text", ["I can't answer that.", "Either of them.", "A or B", "", "None of the above"])
def test_a_model_whose_answers_choose_no_option_gets_no_letter(text):
    made = service(Answerer(), reply_of=lambda ask, _: accept_worded(ModelOutput(text), ask, "here"))
    (component,) = made.rate(0).components
    assert (component.usable, component.letter) == (0, None)
