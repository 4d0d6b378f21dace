"""Tests of sentences that an author writes: missing ones are requested, and unusable ones requested again."""

from __future__ import annotations

import pytest

from assay.catalog.stereotypes import StereotypeWords
from assay.errors import OutOfBounds
from assay.experiment import BUDGET, generator
from assay.methods.shared.terms.sentence_generation import PROMPTS, Writing, write_prompt, write_sentences
from assay.methods.shared.terms.sentences import Sentence
from assay.model import Failure, Reply

WORDS = StereotypeWords(
    "gender",
    "men",
    "women",
    (("man", "woman"), ("he", "she")),
    first_terms=("math", "chess"),
    second_terms=("art", "lace"),
    neutral=("tea", "rain"),
    telling=("his", "her"),
    name="tiny",
)


def ask(author, kept=(), per_term=2, **options):
    """Generate sentences with a function as author; return the result and all probes."""
    asking, asked = write_sentences(WORDS, kept, Writing(per_term, **options), generator(0)), []
    try:
        batch = next(asking)
        while True:
            asked += batch
            batch = asking.send([author(probe.ask) for probe in batch])
    except StopIteration as end:
        return end.value, asked


def obedient(question):
    _, group, _, term, _ = question.prompt.split('"', 4)
    return Reply(f"The {group} thinks of {term} {question.number} times.")


def test_a_language_model_writes_the_wanted_number_of_sentences_and_every_group_term_is_used():
    written, asked = ask(obedient)
    assert written.wanted == written.asked == len(written.items) == len(asked) == 12
    assert len({probe.unit for probe in asked}) == len(asked)
    groups = [sentence.group_term for sentence in written.items]
    assert set(groups) == {"man", "woman", "he", "she"}
    assert {sentence.id for sentence in written.items} == {probe.unit for probe in asked}


def test_stored_sentences_are_not_requested_from_the_language_model_again():
    kept = [Sentence("The man likes tea."), Sentence("She sees rain."), Sentence("Nobody knows."), Sentence("He art.")]
    written, _ = ask(obedient, kept)
    assert written.wanted == 12 - 3
    assert ask(obedient, [Sentence(f"The man has {n} {t}.") for t in WORDS.roles for n in (1, 2)])[1] == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no-text"),
        (None, "no-text"),
        ("Here you are:\nThe man likes tea.", "several-lines"),
        ("x" * 1001, "too-long"),
        ("As a language model I have no man.", "no-attribute-term"),
        ("He and she like math.", "several-group-terms"),
    ],
)
def test_unusable_sentences_of_a_model_are_counted_listed_as_examples_and_requested_again(text, why):
    written, asked = ask(lambda question: Reply(text), per_term=1, tries=2)
    assert dict(written.refused) == {why: 12}
    assert (written.items, written.asked, len(asked)) == ([], 12, 12)
    assert written.examples[0]["why"] == why


def test_an_unusable_sentence_is_requested_again_under_the_next_number():
    tried = []

    def second_time(question):
        tried.append(question)
        return obedient(question) if question.number else Reply("No.")

    written, asked = ask(second_time, per_term=1)
    assert len(written.items) == 6
    assert [probe.ask.number for probe in asked] == [0] * 6 + [1] * 6


def test_a_sentence_that_the_model_wrote_before_is_refused_as_repeated():
    written, _ = ask(lambda question: Reply(obedient(question).value.replace("0", "1")), per_term=5, tries=1)
    assert written.refused["repeated"] > 0
    assert len({sentence.text for sentence in written.items}) == len(written.items)


def test_failed_requests_for_sentences_are_counted_by_code_and_a_used_up_budget_ends_the_requests():
    written, _ = ask(lambda question: Reply(failure=Failure("http-500", "down")), per_term=1, tries=2)
    assert dict(written.failed) == {"http-500": 12}
    written, asked = ask(lambda question: Reply(failure=Failure(BUDGET, "")), per_term=1)
    assert (written.unasked, written.asked, len(asked)) == (6, 0, 6)


def test_quotation_marks_around_a_text_are_stripped():
    written, _ = ask(lambda question: Reply(f"“{obedient(question).value}”\n"))
    assert not any("“" in sentence.text for sentence in written.items)
    assert written.refused == {}


@pytest.mark.parametrize("family", PROMPTS)
def test_every_prompt_for_a_sentence_quotes_the_group_term_and_the_attribute_term_first(family):
    prompt = write_prompt(WORDS, "she", "art", family)
    assert prompt.split('"')[1::2][:2] == ["she", "art"]
    assert ("lace" in prompt) == ("woman" in prompt) == (family == "in-context")


def test_settings_for_writing_sentences_that_are_out_of_bounds_are_refused():
    with pytest.raises(OutOfBounds, match="tries"):
        Writing(tries=0)
