"""Tests of the words for people of each attribute, of intersections, and of requests that name them."""

import re

import pytest

from assay.catalog import attribute, attributes
from assay.catalog.profiles import frames, people, write_profile
from assay.catalog.values import USUAL
from assay.errors import OutOfBounds, SpecificationError, UnknownName
from assay.methods import Alternation
from store.ratings.experiment_json import dump_method, parse_method

WITH_PEOPLE = [name for name in attributes() if "alternation" not in attribute(name).without]


def test_sixteen_attributes_have_words_for_people_and_the_four_usual_attributes_are_listed_first():
    assert attributes()[:4] == USUAL
    assert len(WITH_PEOPLE) == 16


@pytest.mark.parametrize("name", WITH_PEOPLE)
class TestPeople:
    def test_every_value_of_an_attribute_has_at_least_twelve_different_mentions_of_people(self, name):
        for words in people(attribute(name)).values():
            assert len(set(words)) == len(words) >= 12

    def test_the_nth_mention_of_a_person_differs_between_all_values_of_an_attribute(self, name):
        for persons in zip(*people(attribute(name)).values(), strict=True):
            assert len(set(persons)) == len(persons), persons

    def test_texts_about_people_have_no_unfilled_placeholder_and_no_wrong_article(self, name):
        for words in people(attribute(name)).values():
            for person in words:
                text = write_profile(frames()[0], person, "glad")
                assert not set(text) & set("{}"), text
                assert not re.search(r"\b[Aa] [aeio]", text), text


def test_two_combined_attributes_have_every_combination_of_their_values_in_words_of_both():
    cells = people(attribute("gender-and-race"))
    assert list(cells)[:2] == ["he, black", "he, white"]
    assert len(cells) == 8
    assert cells["she, black"][1] == "this Black woman"
    assert cells["he, hispanic"][1] == "this Hispanic man"
    assert people(attribute("age-and-parenthood"))["elderly, parent"][0] == "the elderly neighbour with small children"


def test_a_request_that_lists_two_attributes_tests_every_combination_of_their_values():
    method = parse_method({"method": "alternation", "attribute": ["gender", "disability"]})
    assert isinstance(method, Alternation)
    assert method.attribute == "gender-and-disability"
    assert method.values == ("he, non-disabled", "he, disabled", "she, non-disabled", "she, disabled")
    assert parse_method(dump_method(method)) == method


def test_a_request_that_lists_a_single_attribute_tests_that_attribute():
    assert parse_method({"method": "alternation", "attribute": ["age"]}).attribute == "age"


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("gender-and-nonsense", UnknownName, "nonsense"),
        ("gender-and-gender", SpecificationError, "twice"),
        ("gender-and-race-names", SpecificationError, "no words that can be combined"),
        ("religion-and-nationality", OutOfBounds, "20 combinations"),
    ],
)
def test_attributes_that_cannot_be_combined_are_refused_with_the_reason(name, error, message):
    with pytest.raises(error, match=message):
        attribute(name)


@pytest.mark.parametrize("attribute_name", [[], [1], {"gender": 1}, ["gender", None]])
def test_an_empty_or_malformed_list_of_attributes_in_a_request_is_refused(attribute_name):
    with pytest.raises(SpecificationError, match="attribute"):
        parse_method({"method": "alternation", "attribute": attribute_name})


@pytest.mark.parametrize("method", ["round-trip", "one-hop", "forced-choice", "association", "stereotype-score"])
def test_methods_that_mention_no_people_refuse_two_combined_attributes(method):
    with pytest.raises(SpecificationError):
        parse_method({"method": method, "attribute": "gender-and-race"})
