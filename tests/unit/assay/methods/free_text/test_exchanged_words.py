"""Texts rewritten for another value: pronouns, nouns and names are exchanged, and nothing else."""

from __future__ import annotations

import re

import pytest

from assay.catalog import attribute, attributes
from assay.catalog.decisions import mentioned
from assay.catalog.profiles import exchanged_words
from assay.errors import SpecificationError
from assay.methods.free_text.exchange import Exchange, given_names

GENDER = exchanged_words(attribute("gender"))
PERSONS = {"he": "Robert", "she": "Mary"}


@pytest.mark.parametrize(
    ("she", "he"),
    [
        ("Mary lost her keys. I told her that.", "Robert lost his keys. I told him that."),
        ("She saw HER and Mary's sister.", "He saw HIM and Robert's brother."),
        ("The woman herself asked for it.", "The man himself asked for it."),
        ("MARY said: she is an actress.", "MARY said: he is an actor."),
        ("We thank her. Her work is her pride.", "We thank him. His work is his pride."),
        ("The shepherd heard Maryland.", "The shepherd heard Maryland."),
        ("We hired her immediately, and I saw her yesterday.", "We hired him immediately, and I saw him yesterday."),
        ("Her family and her early work count.", "His family and his early work count."),
        ("Ladies, daughters and wives; she/her.", "Gentlemen, sons and husbands; he/him."),
        ("Dear Sir or Madam, he or she is welcome.", "Dear Sir or Madam, he or she is welcome."),
    ],
)
def test_words_about_women_are_replaced_by_words_about_men(she, he):
    assert Exchange(GENDER, PERSONS).rewrite(she, "she", "he") == he


@pytest.mark.parametrize(
    "text", ["He lost his keys; Robert helped him.", "A man, a brother and a waiter.", "Nothing of the kind."]
)
def test_exchanging_the_words_twice_restores_the_text(text):
    exchange = Exchange(GENDER, PERSONS)
    there = exchange.rewrite(text, "he", "she")
    assert exchange.rewrite(there, "she", "he") == text
    assert exchange.rewrite(text, "he", "he") == text


def test_exchanging_the_group_in_a_text_replaces_only_the_words_in_which_its_two_mentions_differ():
    exchange = Exchange({}, {"he": "a 34-year-old man", "she": "a 34-year-old woman"})
    assert exchange.rewrite("The woman, a 34-year-old woman, left.", "she", "he") == "The man, a 34-year-old man, left."


def test_first_names_and_surnames_are_replaced_separately():
    exchange = Exchange({}, {"black": "Lakisha Booker", "white": "Emily Walsh"})
    assert exchange.rewrite("Ms Booker, Lakisha to friends", "black", "white") == "Ms Walsh, Emily to friends"


def test_exchanging_both_gender_and_race_in_a_text_replaces_the_words_of_each():
    words = exchanged_words(attribute("gender-and-race"))
    exchange = Exchange(words, dict.fromkeys(words, "Alex"))
    assert exchange.rewrite("She is a Black woman.", "she, black", "he, white") == "He is a White man."


@pytest.mark.parametrize("name", [name for name in attributes() if "free-text" not in attribute(name).without])
def test_every_attribute_can_replace_its_mentions_of_one_value_by_another(name):
    tested = attribute(name)
    words = exchanged_words(tested)
    assert {len(rows) for rows in words.values()} == {len(next(iter(words.values())))}
    people = mentioned(tested, "explicit")
    first, *_, last = people
    for index in range(len(people[first])):
        exchange = Exchange(words, {value: persons[index] for value, persons in people.items()})
        text = f"I know {people[first][index]}."
        assert exchange.rewrite(text, first, last) == f"I know {people[last][index]}."


def test_an_attribute_without_mentions_of_people_is_refused_for_free_text():
    with pytest.raises(SpecificationError):
        mentioned(attribute("place-of-worship"), "explicit")


def test_names_invented_by_the_writer_are_replaced_by_names_of_the_group_in_every_version():
    exchange = Exchange(GENDER, {"he": "a 34-year-old man", "she": "a 34-year-old woman"}, turn=0)
    versions = [exchange.rewrite("Jamal met Kareem. Jamal smiled at Emily.", "he", after) for after in ("he", "she")]
    for version, gender in zip(versions, ("he", "she"), strict=True):
        first, second, again, other = re.findall(r"[A-Z][a-z]+", version)
        assert first == again != second
        assert {given_names()[name][0] for name in (first, second, other)} == {gender}
        assert not {"Jamal", "Kareem"} & {first, second}


def test_texts_about_different_groups_with_equal_names_get_equal_names_in_each_version():
    """Otherwise names of one group would stay in all versions, and an unbiased writer would seem biased."""
    values = {"black": "a Black person", "white": "a white person", "asian": "an Asian person"}
    exchange = Exchange({}, values, turn=1)
    for after in values:
        assert len({exchange.rewrite("Jamal met Greg and Emily.", before, after) for before in values}) == 1


def test_a_name_from_the_prompt_is_replaced_only_by_the_name_of_the_other_group_in_the_prompt():
    exchange = Exchange({}, {"black": "Lakisha Booker", "white": "Emily Walsh"}, turn=3)
    assert exchange.rewrite("Lakisha spoke.", "black", "white") == "Emily spoke."
    assert exchange.rewrite("Emily spoke.", "white", "white") == "Emily spoke."


def test_a_replaced_name_keeps_its_gender_if_race_is_exchanged_and_its_race_otherwise():
    exchange = Exchange({}, {"black": "a Black person", "white": "a white person"}, turn=5)
    name = exchange.rewrite("Jamal", "black", "white")
    assert given_names()[name] == ("he", "white")
    assert given_names()[exchange.rewrite("Jamal", "white", "white")] == ("he", "white")
    either = Exchange({}, {"elderly": "an old person", "young": "a young person"}, turn=5)
    assert either.rewrite("Jamal", "young", "elderly") == either.rewrite("Greg", "young", "young")
