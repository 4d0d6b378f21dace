"""Tests of stereotype words: required lists, and the shipped specifications."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from assay.catalog.shipped import shipped_words, specifications
from assay.catalog.stereotypes import StereotypeWords
from assay.errors import SpecificationError, UnknownName

DATA = Path(__file__).resolve().parents[5] / "shared" / "data" / "biastestgpt"
PREDEFINED = DATA / "bias_specs_with_glove_and_thesaurus.json"
SHIPPED = [name for name, one in specifications().items() if one.kind == "stereotype" and name.startswith("p4-")]
AMBIGUOUS = {"him", "his", "her", "hers"}

WORDS = StereotypeWords("gender", "men", "women", (("man", "woman"),), ("math",), ("art",), ("tea",), ("his",))


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"first_terms": (), "second_terms": ()}, "first_terms"),
        ({"pairs": (("man", "Man"),)}, "pairs"),
        ({"pairs": (("man", "woman"), ("man", "girl"))}, "pairs"),
        ({"second_terms": ("Math",)}, "second_terms"),
        ({"neutral": ("woman",)}, "neutral"),
        ({"telling": ("tea",)}, "telling"),
        ({"first_terms": ("math", "math")}, "first_terms"),
        ({"first_terms": ("part-time", "part time")}, "first_terms"),
        ({"first_terms": ("part-time",), "second_terms": ("part time",)}, "second_terms"),
        ({"first_terms": ("sous-chef",), "second_terms": ("Sous\u2010Chef",)}, "second_terms"),
        ({"pairs": (("he", "she"), (" He", "girl"))}, "pairs"),
        ({"pairs": (("fianc\u00e9", "fiance\u0301"),)}, "pairs"),
        ({"second_terms": (" math ",)}, "second_terms"),
        ({"neutral": (" ",)}, "neutral"),
        ({"telling": ("-",)}, "telling"),
        ({"frames": ("The {group} sleeps.",)}, "frames.0"),
        ({"frames": ("{The_group} likes {attribute} and {attribute}.",)}, "frames.0"),
        ({"frames": ("{The_group} likes {attribute}.", "{group} {0} {attribute}")}, "frames.1"),
        ({"frames": ("{group likes {attribute}.",)}, "frames.0"),
        ({"frames": ("{group!r} likes {attribute}.",)}, "frames.0"),
        ({"frames": ("{group:d} likes {attribute}.",)}, "frames.0"),
        ({"frames": ("{group} likes {attribute:>300000000}.",)}, "frames.0"),
        ({"frames": ("{group:{width}} likes {attribute}.",)}, "frames.0"),
        ({"frames": ("{group} likes {an_attribute:}.",)}, "frames.0"),
        ({"frames": ("{group} likes {attribute} {{or not}}.",)}, "frames.0"),
    ],
)
def test_invalid_stereotype_words_are_refused_with_their_field(changes, field):
    with pytest.raises(SpecificationError) as refused:
        replace(WORDS, **changes)
    assert refused.value.field == field


def test_stereotype_score_accepts_a_single_list_of_attribute_terms_instead_of_two():
    assert replace(WORDS, second_terms=(), neutral=()).roles == {"math": "first"}


def test_white_space_around_terms_is_removed():
    words = replace(WORDS, pairs=((" man", "old\t woman"),), first_terms=("math ",), telling=("his\n",))
    assert words == replace(WORDS, pairs=(("man", "old woman"),))


@pytest.mark.parametrize("name", SHIPPED)
class TestAShippedSpecification:
    def test_a_word_list_of_the_stereotype_score_paper_has_at_least_40_neutral_terms_and_a_source(self, name):
        one = specifications()[name]
        assert len(one.words.neutral) >= 40
        assert "Jiang" in one.citation
        assert one.words.name == name

    @pytest.mark.skipif(not PREDEFINED.exists(), reason="the paper's specifications are not beside the project")
    def test_a_word_list_of_the_stereotype_score_paper_has_its_printed_terms_except_ambiguous_pronouns(self, name):
        one = specifications()[name]
        printed = next(each for each in json.loads(PREDEFINED.read_text()) if f" {each['name']} (" in one.citation)
        lists = [set(terms) for terms in printed["attributes"].values()]
        assert set(one.words.first_terms) in lists
        assert set(one.words.second_terms) in lists
        groups = [{*terms} - AMBIGUOUS for terms in printed["social_groups"].values()]
        for side in (0, 1):
            assert {pair[side] for pair in one.words.pairs} in groups


def test_all_fifteen_word_lists_scored_in_the_stereotype_score_paper_are_shipped():
    assert len(SHIPPED) == 15


def test_default_stereotype_words_are_chosen_by_attribute_and_words_of_another_method_are_refused():
    assert shipped_words(StereotypeWords, None, "gender").name == "p4-professions"
    with pytest.raises(UnknownName, match="p2-gender"):
        shipped_words(StereotypeWords, "p2-gender", "gender")
