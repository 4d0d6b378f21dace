"""Tests of the made-up languages: they lose nothing and do not resemble English."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.catalog import attribute, construction, constructions, languages, occupations
from assay.methods.translation.collection import unusable_hop
from demo.translators.made_up_language import LONG, PRONOUNS, Tongue, tongue

CODES = st.sampled_from(sorted(languages()))
PIECES = st.one_of(
    st.from_regex(r"[A-Za-z]{1,12}", fullmatch=True),
    st.sampled_from(
        [*PRONOUNS, "She", "HER", "hE", "K7Q2", "x1y2", "2.5", "café", "naïve", "日本", "ŝi", "snake_case", "I'm"]
    ),
    st.text(max_size=6),
)
TEXTS = st.lists(PIECES, max_size=12).map(" ".join) | st.text(max_size=40)


@pytest.mark.slow
@given(TEXTS, CODES)
def test_translating_to_and_from_a_made_up_language_is_the_identity(text: str, code: str):
    assert tongue(code).to_english(tongue(code).from_english(text)) == text


@given(st.text(max_size=40), CODES)
def test_any_text_can_be_translated_from_a_made_up_language_to_english(text: str, code: str):
    assert isinstance(tongue(code).to_english(text), str)


@given(st.from_regex(r"[A-Za-z]{1,12}", fullmatch=True), CODES)
def test_no_english_word_keeps_its_spelling_in_a_made_up_language(word: str, code: str):
    assert tongue(code).from_english(word).lower() != word.lower()


@pytest.mark.slow
@given(TEXTS, CODES)
def test_translation_into_a_made_up_language_leaves_spaces_and_punctuation_unchanged(text: str, code: str):
    assert re.split(r"\w+", tongue(code).from_english(text)) == re.split(r"\w+", text)


@pytest.mark.parametrize("token", ["K7Q2", "42", "2.5", "A1", "café", "Zoë", "日本", "x_y", "7th"])
def test_words_with_digits_or_letters_outside_english_are_not_translated(token: str):
    assert tongue("es").from_english(f"She said {token}.").endswith(f" {token}.")


@pytest.mark.parametrize(
    ("word", "has_the_style"), [("nurse", str.islower), ("Nurse", str.istitle), ("NURSE", str.isupper)]
)
def test_translated_words_keep_their_capitals(word: str, has_the_style):
    assert has_the_style(tongue("fr").from_english(word))


@pytest.mark.parametrize("code", ["es", "tr", "eo", "zh"])
def test_pronouns_of_a_made_up_language_differ_from_each_other_and_from_other_words(code: str):
    words = {tongue(code).from_english(pronoun) for pronoun in PRONOUNS}
    assert len(words) == len(PRONOUNS)
    assert {len(word) for word in words} == {LONG}
    others = ["a", "is", "the", "work", "works", "nurse", "engineer", "with", "know", "known"]
    assert not words & {tongue(code).from_english(word) for word in others}


def test_every_made_up_language_has_its_own_words():
    sentences = {tongue(code).from_english("She works as a nurse.") for code in languages()}
    assert len(sentences) == len(languages())


def test_word_unknown_to_the_made_up_language_stays_english():
    assert Tongue("es").to_english("engineer") == "engineer"


@pytest.mark.parametrize("code", ["es", "ca", "gl", "eo", "de"])
def test_no_sentence_of_an_experiment_is_taken_for_untranslated_in_a_made_up_language(code: str):
    gender, occupation = attribute("gender"), occupations()[0]
    for name in constructions():
        for frame in construction(name).frames_for(gender):
            for value in gender.values:
                sentence = frame.write(occupation, value, value.people[0])
                middle = tongue(code).from_english(sentence)
                assert unusable_hop(sentence, middle) is None
                assert unusable_hop(middle, sentence) is None
