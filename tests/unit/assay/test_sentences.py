"""Sentences about two groups: which are of use, and what their counterparts are."""

from __future__ import annotations

import numpy as np
import pytest

from assay.catalog.shipped import specifications
from assay.catalog.stereotypes import StereotypeWords
from assay.sentences import Pair, Sentence, check, in_turns, read, sort, template_sentences

WORDS = StereotypeWords(
    "gender",
    "men",
    "women",
    (("man", "woman"), ("uncle", "aunt"), ("he", "she"), ("actor", "duchess"), ("John", "Amy"), ("white man", "girl")),
    first_terms=("math", "bus driver"),
    second_terms=("art",),
    neutral=("tea",),
    telling=("him", "herself"),
    name="tiny",
)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("The man likes math.", None),
        ("Nobody likes math.", "no-group-term"),
        ("The woman told the aunt about math.", "several-group-terms"),
        ("The woman told a woman about math.", "several-group-terms"),
        ("The woman taught herself math.", "other-group-word"),
        ("The woman likes it.", "no-attribute-term"),
        ("The woman likes math and tea.", "several-attribute-terms"),
        ("The human likes math.", "no-group-term"),
        ("The man likes mathematics.", "no-attribute-term"),
        ("The g\u0130rl likes math.", "no-group-term"),
        ("The MAN likes Math.", None),
        ("The man is a bus-driver.", None),
        ("The white man likes tea.", None),
        ("The man’s tea is cold.", None),
    ],
)
def test_a_sentence_holds_one_term_of_each_as_whole_words_and_nothing_else_that_tells(text, why):
    assert check(Sentence(text), WORDS) == why


def test_a_sentence_about_another_term_than_it_is_said_to_be_is_of_no_use():
    assert check(Sentence("The man likes math.", "man", "math"), WORDS) is None
    assert check(Sentence("The man likes math.", "man", "tea"), WORDS) == "wrong-term"
    assert check(Sentence("The man likes math.", "uncle", "math"), WORDS) == "wrong-term"


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("The man likes math.", "The woman likes math."),
        ("He likes math.", "She likes math."),
        ("HE LIKES MATH.", "SHE LIKES MATH."),
        ("Amy likes math.", "John likes math."),
        ("I met an uncle who likes tea.", "I met an aunt who likes tea."),
        ("An actor likes tea.", "A duchess likes tea."),
        ("I saw a duchess with tea.", "I saw an actor with tea."),
        ("The white man likes tea.", "The girl likes tea."),
        ("The  man\nlikes tea.", "The woman likes tea."),
    ],
)
def test_the_counterpart_is_the_same_about_the_other_group(text, other):
    pair = read(Sentence(text), WORDS)
    assert isinstance(pair, Pair)
    assert other in {pair.first, pair.second}


def test_a_sentence_and_its_counterpart_make_the_same_pair():
    one, other = (read(Sentence(text), WORDS) for text in ("An actor likes tea.", "A duchess likes tea."))
    assert (one.first, one.second, one.written) == ("An actor likes tea.", "A duchess likes tea.", "first")
    assert (other.first, other.second, other.written) == (one.first, one.second, "second")


@pytest.mark.parametrize(
    ("counterpart", "why"),
    [
        ("The woman really likes tea.", None),
        ("The aunt likes tea.", "counterpart-differs"),
        ("The woman likes math.", "counterpart-differs"),
        ("The man likes tea.", "counterpart-differs"),
        ("Nobody likes tea.", "counterpart-differs"),
    ],
)
def test_a_counterpart_that_was_written_is_about_the_same(counterpart, why):
    assert check(Sentence("The man likes tea.", counterpart=counterpart), WORDS) == why


def test_what_is_of_no_use_is_counted_by_reason_and_repetitions_are_kept_once():
    texts = ["The man likes tea.", "The woman likes tea.", "Nobody likes tea.", "No one likes tea.", "The man ate."]
    held = sort(map(Sentence, texts), WORDS)
    assert [pair.first for pair in held.pairs] == ["The man likes tea."]
    assert held.refused == {"repeated": 1, "no-group-term": 2, "no-attribute-term": 1}


def test_rounds_take_one_pair_of_each_term_and_change_the_group_terms():
    sentences = [
        Sentence(f"The {group} {verb} {term}.")
        for term in ("math", "tea", "art")
        for group in ("man", "uncle")
        for verb in ("likes", "sees")[: 1 if term == "art" else 2]
    ]
    rounds = in_turns(sort(sentences, WORDS).pairs)
    assert [[pair.term for pair in one] for one in rounds] == [["math", "tea", "art"]] * 2 + [["math", "tea"]] * 2
    assert {pair.groups for pair in rounds[0]} == {0}
    assert {pair.groups for pair in rounds[1]} == {1}


@pytest.mark.parametrize("name", [name for name, one in specifications().items() if one.kind == "stereotype"])
def test_templates_of_shipped_words_are_all_of_use_and_balanced(name):
    words = specifications()[name].words
    sentences = template_sentences(words, 2 * len(words.pairs), np.random.Generator(np.random.PCG64(1)))
    held = sort(sentences, words)
    assert held.refused == {}
    assert len(held.pairs) == len(sentences) == 2 * len(words.pairs) * len(words.roles)
    met = {}
    for pair in held.pairs:
        met.setdefault(pair.term, []).append(pair.groups)
    assert all(sorted(groups) == sorted([*range(len(words.pairs))] * 2) for groups in met.values())


def test_templates_are_the_same_for_the_same_seed():
    words = specifications()["p4-math-arts"].words
    one, other = (template_sentences(words, 3, np.random.Generator(np.random.PCG64(7))) for _ in range(2))
    assert one == other
