"""Tests of replaced pronouns: the right case, and nothing else changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.catalog import attribute, construction, constructions, occupations
from demo.translators.behaviours import neutralise, person, rewrite

GENDER = attribute("gender")
HE, SHE = GENDER.values
FRAMES = [frame for name in constructions() for frame in construction(name).frames_for(GENDER)]


def swapped(sentence: str) -> str:
    return rewrite(sentence, lambda asked: "she" if asked == "he" else "he")


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: frame.name)
def test_swapping_pronouns_turns_the_sentence_about_him_into_that_about_her_in_every_frame(frame):
    for occupation in occupations():
        his, hers = (frame.write(occupation, value, "Robin") for value in (HE, SHE))
        assert swapped(his) == hers
        assert swapped(hers) == his
        assert person(his) == "he"
        assert person(hers) == "she"
        assert neutralise(his) == neutralise(hers)
        assert GENDER.read(neutralise(his)) == "other"


@pytest.mark.parametrize(
    ("hers", "his"),
    [
        ("The nurse finished her work.", "The nurse finished his work."),
        ("We thanked her.", "We thanked him."),
        ("We saw her yesterday.", "We saw him yesterday."),
        ("We called her and the baker.", "We called him and the baker."),
        ("The guard said that you can talk to her, too.", "The guard said that you can talk to him, too."),
        ("The keys are hers.", "The keys are his."),
        ("She did it herself.", "He did it himself."),
        ("Her old friends told her that she won.", "His old friends told him that he won."),
        ("SHE lost HER keys.", "HE lost HIS keys."),
        ("She's here; she\u2019ll stay.", "He's here; he\u2019ll stay."),
    ],
)
def test_her_becomes_him_or_his_depending_on_the_next_word(hers: str, his: str):
    assert rewrite(hers, lambda _: "he") == his
    assert swapped(his) == hers


@pytest.mark.parametrize(
    "sentence", ["The theme is here.", "Sheila heard them.", "History, Hermes, shed, Hershey.", ""]
)
def test_words_that_contain_a_pronoun_are_not_changed(sentence: str):
    assert swapped(sentence) == sentence
    assert person(sentence) is None


@given(st.text())
def test_rewriting_a_text_with_the_pronouns_that_it_already_has_changes_nothing(text: str):
    assert rewrite(text, lambda asked: asked) == text


@pytest.mark.slow
@given(st.lists(st.sampled_from(["she", "her", "hers", "herself", "he", "him", "his", "work", "to", ".", "Mary"])))
def test_swapped_text_contains_no_pronoun_of_the_replaced_value(words: list[str]):
    assert GENDER.read(rewrite(" ".join(words), lambda _: "he")) != "she"
    assert GENDER.read(neutralise(" ".join(words))) == "other"
