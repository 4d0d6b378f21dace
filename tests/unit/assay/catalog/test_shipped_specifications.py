"""Tests that the shipped specifications are usable, name a source and have the words of the papers."""

from __future__ import annotations

from importlib.resources import files

import pytest

from assay.catalog import attributes
from assay.catalog.choices import AssociationWords, ChoiceWords
from assay.catalog.labour import occupations
from assay.catalog.shipped import is_shipped, shipped_words, specifications
from assay.catalog.specification import WORDS
from assay.catalog.stereotypes import StereotypeWords, VisualWords
from assay.catalog.tables import read_table
from assay.errors import UnknownName

P1_CUES = {
    ("female", "male"),
    ("woman", "man"),
    ("girl", "boy"),
    ("sister", "brother"),
    ("she", "he"),
    ("her", "him"),
    ("hers", "his"),
    ("daughter", "son"),
}
"""The cue pairs of Liang & Acuna (2020), section 4."""

WEAT_SIZES = {
    1: (25, 25),
    2: (25, 25),
    3: (32, 25),
    4: (18, 25),
    5: (18, 8),
    6: (8, 8),
    7: (8, 8),
    8: (8, 8),
    9: (6, 7),
    10: (8, 8),
}
"""Number of words in each target set and in each attribute set of the tests of Caliskan, Bryson & Narayanan (2017)."""


@pytest.mark.parametrize("name", specifications())
class TestEvery:
    def test_a_shipped_word_list_has_a_title_and_a_citation(self, name):
        one = specifications()[name]
        assert (one.name, one.words.name) == (name, name)
        assert one.title
        assert one.citation
        assert one.language == "en"

    def test_a_shipped_word_list_is_read_into_the_class_of_its_kind(self, name):
        one = specifications()[name]
        due = {"choices": ChoiceWords, "association": AssociationWords, "stereotype": StereotypeWords}
        due |= {"visual": VisualWords}
        assert isinstance(one.words, due[one.kind])

    def test_a_shipped_word_list_is_returned_for_its_name_and_attribute(self, name):
        one = specifications()[name]
        assert shipped_words(WORDS[one.kind], name, one.words.attribute) is one.words
        assert is_shipped(name)

    def test_a_shipped_word_list_has_at_least_40_control_words_and_none_is_a_stereotype_or_concept(self, name):
        words = specifications()[name].words
        least = 50
        if isinstance(words, StereotypeWords | VisualWords):
            controls, others, least = set(words.neutral), {*words.first_terms, *words.second_terms}, 40
        elif isinstance(words, ChoiceWords):
            controls, others = set(words.controls), set(words.concepts)
        else:
            controls = {*words.human, *words.neutral}
            others = {word for listed in words.attributes.values() for word in listed}
        assert len(controls) >= least
        assert not controls & others

    def test_a_shipped_word_list_is_refused_if_words_of_another_kind_are_requested(self, name):
        other = AssociationWords if specifications()[name].kind == "choices" else ChoiceWords
        with pytest.raises(UnknownName, match=name):
            shipped_words(other, name, "gender")


def test_every_shipped_word_list_has_its_own_file_or_is_built_from_the_file_of_an_attribute():
    found = {entry.name.removesuffix(".toml") for entry in files("assay.catalog").joinpath("words").iterdir()}
    contrasts = {name for name, one in specifications().items() if name == f"{one.words.attribute}-{one.kind}"}
    assert found - {"controls", "stereotypes"} == set(specifications()) - contrasts
    assert {name.rpartition("-")[0] for name in contrasts} <= set(attributes())


def test_the_gender_cue_pairs_equal_those_of_liang_and_acuna():
    words = shipped_words(ChoiceWords, "gender-occupations", "gender")
    assert set(words.cues) == P1_CUES
    assert (words.first, words.second) == ("women", "men")


def test_the_concept_words_for_gender_are_the_occupations_with_a_known_share_of_women():
    known = {one.name: one.share_women for one in occupations() if one.share_women is not None}
    assert dict(shipped_words(ChoiceWords, None, "gender").concepts) == known
    assert len(known) > 90
    assert known["nurse"] > 0.8 > 0.2 > known["carpenter"]


def test_in_the_love_hate_word_list_love_is_the_first_cue_and_hate_the_second():
    words = shipped_words(ChoiceWords, "love-hate", "affection")
    assert words.cues == (("love", "hate"),)
    assert {"teacher", "examiner"} <= set(words.concepts)
    assert set(words.concepts.values()) == {None}


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("p2-gender", {"woman", "man"}),
        ("p2-religion", {"christian", "jew", "muslim"}),
        ("p2-race", {"black", "caucasian", "asian"}),
    ],
)
def test_the_word_lists_of_the_association_paper_have_stereotypes_of_every_group_and_control_words(name, groups):
    words = specifications()[name].words
    assert set(words.protected) == set(words.attributes) == groups
    assert len(words.human) > 50
    assert len(words.neutral) > 150


@pytest.mark.parametrize("number", WEAT_SIZES)
def test_the_weat_word_lists_are_as_long_as_in_the_paper(number):
    words = specifications()[f"weat-{number}"].words
    targets, attributes = WEAT_SIZES[number]
    assert len(words.protected) == len(words.attributes) == 2
    assert {len(listed) for listed in words.protected.values()} == {targets}
    assert {len(listed) for listed in words.attributes.values()} == {attributes}


def test_control_words_name_their_source():
    assert "Dobrzeniecka" in read_table("words/controls")["source"]


def test_an_attribute_without_words_is_refused_with_the_known_attributes():
    with pytest.raises(UnknownName, match="gender") as refused:
        shipped_words(ChoiceWords, None, "height")
    assert "affection" in refused.value.known


def test_a_missing_word_list_name_counts_as_shipped_and_an_unknown_name_does_not():
    assert is_shipped(None)
    assert not is_shipped("mine@2")
