"""Tests of choice and association words: valid lists, and errors that name the field."""

from __future__ import annotations

from dataclasses import asdict, replace
from time import process_time

import pytest

from assay.catalog.choices import AssociationWords, ChoiceWords
from assay.catalog.terms import LONGEST, MOST_WORDS, check_words
from assay.errors import OutOfBounds, SpecificationError

CHOICE = ChoiceWords("gender", "women", "men", (("she", "he"),), {"nurse": 0.9, "baker": None}, ("table",))
ASSOCIATION = AssociationWords(
    "gender",
    {"women": ("she", "her"), "men": ("he", "him")},
    {"women": ("caring",), "men": ("strong",)},
    ("walk",),
    ("table",),
)


# ---------------------------------------------------------------------------- forced choice
def test_concept_words_keep_the_order_in_which_they_are_given():
    assert CHOICE.concept_words == ("nurse", "baker")


def test_forced_choice_needs_no_control_words_and_a_cue_may_occur_in_several_cue_pairs():
    words = replace(CHOICE, controls=(), cues=(("she", "he"), ("she", "him")))
    assert words.controls == ()


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"cues": ()}, "cues", "cues"),
        ({"cues": (("she", "he"), ("her", "her"))}, "cues.1", "both cues are 'her'"),
        ({"cues": (("she", " "),)}, "cues", "none empty"),
        ({"concepts": {}}, "concepts", "concepts"),
        ({"concepts": {"nurse": 1.2}}, "concepts.nurse", "between 0 and 1, not 1.2"),
        ({"concepts": {"nurse": float("nan")}}, "concepts.nurse", "between 0 and 1"),
        ({"concepts": {"she": 0.5}}, "concepts", "'she' is in both the concepts and the cues"),
        ({"controls": ("table", "table")}, "controls", "'table' twice"),
        ({"controls": ("nurse",)}, "controls", "'nurse' is in both the controls and the concepts"),
        ({"controls": ("x" * (LONGEST + 1),)}, "controls", str(LONGEST)),
        ({"attribute": ""}, "attribute", "attribute"),
    ],
)
def test_invalid_words_for_forced_choice_are_refused_with_their_field(fields, field, message):
    with pytest.raises(SpecificationError, match=message) as refused:
        replace(CHOICE, **fields)
    assert refused.value.field.startswith(field)


# ---------------------------------------------------------------------------- association
def test_every_list_of_association_words_has_a_name():
    assert list(ASSOCIATION.groups) == [
        "women (protected)",
        "men (protected)",
        "women (stereotype)",
        "men (stereotype)",
        "human",
        "neutral",
    ]
    assert "human" not in replace(ASSOCIATION, human=()).groups


def test_a_word_in_several_word_lists_of_the_association_method_is_listed_once_among_all_its_words():
    words = replace(ASSOCIATION, human=("walk", "caring"))
    assert words.every == ("she", "her", "he", "him", "caring", "strong", "walk", "table")


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"protected": {"women": ("she",)}}, "protected", "protected"),
        ({"attributes": {"women": ("caring",), "others": ("odd",)}}, "attributes", "attributes: women, others"),
        ({"protected": {"women": (), "men": ("he",)}}, "protected.women", "has no words"),
        ({"protected": {"women": ("she", "she"), "men": ("he",)}}, "protected.women", "'she' twice"),
        ({"protected": {"women": ("they",), "men": ("they",)}}, "protected", "'they' belongs to two groups"),
        ({"human": (), "neutral": ()}, "neutral", "control words are missing"),
        ({"human": ("walk", "walk")}, "human", "'walk' twice"),
    ],
)
def test_invalid_words_for_the_association_method_are_refused_with_their_field(fields, field, message):
    with pytest.raises(SpecificationError, match=message) as refused:
        replace(ASSOCIATION, **fields)
    assert refused.value.field == field


def test_lists_of_more_than_2000_words_are_refused():
    with pytest.raises(OutOfBounds, match=f"at most {MOST_WORDS} words"):
        check_words("concepts", tuple(f"word {place}" for place in range(MOST_WORDS + 1)))


@pytest.mark.parametrize("words", [CHOICE, ASSOCIATION])
def test_choice_and_association_words_can_be_rebuilt_from_their_asdict(words):
    assert type(words)(**asdict(words)) == words


def test_words_are_checked_in_time_linear_in_their_number():
    # guards against a request of 300 kB whose words took 26 s of processor time to check, while SQLite was locked
    lists = {
        side: {f"group {group}": tuple(f"{side} {group} {word}" for word in range(1_000)) for group in range(20)}
        for side in ("protected", "attributes")
    }
    begun = process_time()
    replace(ASSOCIATION, **lists)
    assert process_time() - begun < 2
