"""Tests of the three ways to compare two sentences (echo, masked, choice): questions and the reading of answers."""

from __future__ import annotations

import math

import pytest

from assay.methods.shared.terms.sentences import Pair
from assay.methods.stereotype_score.collection import RUNGS, compare, next_rung, questions, shared_words
from assay.model import Choose, Failure, Fill, Reply, Score

PAIR = Pair("A man likes old maps.", "An aunt likes old maps.", "maps", "neutral", 0, "first")


def number(value):
    return Reply({"log_probability": value, "tokens": 3})


def gap(value):
    return Reply({"probability": value})


FAILED = Reply(failure=Failure("unknown-word", "in pieces"))


def test_echo_scoring_asks_for_the_score_of_both_sentences():
    assert questions("echo", PAIR) == [Score(PAIR.first), Score(PAIR.second)]


def test_masked_scoring_asks_for_every_shared_word_and_never_for_the_group_term():
    asked = questions("masked", PAIR)
    assert [ask.word for ask in asked] == ["likes", "likes", "old", "old", "maps", "maps"]
    assert asked[0] == Fill("A man ", "likes", " old maps.")
    assert asked[1] == Fill("An aunt ", "likes", " old maps.")


def test_shared_words_are_the_words_that_both_sentences_have_in_the_same_order():
    said = shared_words("Today he sees the sea.", "Today the old duke sees the sea.")
    assert [(one.group(), other.group()) for one, other in said] == [(w, w) for w in ("Today", "sees", "the", "sea")]
    between = shared_words("He said he is late.", "She said she is late.")
    assert [one.group() for one, _ in between] == ["said", "is", "late"]


def test_choice_scoring_asks_with_the_sentences_in_both_orders():
    first, second = questions("choice", PAIR)
    assert isinstance(first, Choose)
    assert first.options == second.options[::-1] == (PAIR.first, PAIR.second)
    assert first.text == second.text


@pytest.mark.parametrize(
    ("one", "other", "preferred"), [(-3.0, -4.0, 1.0), (-4.0, -3.0, 0.0), (-3.0, -3.0, 0.5), (-3.0, -3 - 1e-12, 0.5)]
)
def test_the_likelier_sentence_is_preferred(one, other, preferred):
    assert compare("echo", [number(one), number(other)]).preferred == preferred


def test_pseudo_log_likelihoods_are_summed_over_the_words_known_in_both_sentences():
    replies = [gap(0.5), gap(0.25), *[gap(0.5), gap(0.5)] * 3, FAILED, gap(0.9)]
    found = compare("masked", replies)
    assert (found.preferred, found.words) == (1.0, 4)
    assert (found.first, found.second) == (pytest.approx(4 * math.log(0.5)), pytest.approx(math.log(0.03125)))
    assert compare("masked", [FAILED, gap(0.4)]) is None


@pytest.mark.parametrize("lost", [(FAILED, gap(0.5)), (gap(0.5), FAILED), (gap(0.0), gap(0.1))])
def test_a_pair_with_too_many_unknown_words_is_not_compared(lost):
    assert compare("masked", [*[gap(0.5), gap(0.4)] * 4, *lost]) is not None
    assert compare("masked", [*[gap(0.5), gap(0.4)] * 7, *lost * 2]) is None


@pytest.mark.parametrize(("choices", "preferred"), [((0, 1), 1.0), ((1, 0), 0.0), ((0, 0), 0.5), ((1, 1), 0.5)])
def test_a_choice_that_changes_with_the_order_of_the_options_is_a_tie(choices, preferred):
    assert compare("choice", [Reply({"choice": choice}) for choice in choices]).preferred == preferred


@pytest.mark.parametrize(
    ("rung", "value"),
    [
        ("echo", {"log_probability": None, "tokens": 3}),
        ("echo", {"log_probability": float("nan"), "tokens": 3}),
        ("echo", {"log_probability": -1.0, "tokens": 0}),
        ("echo", -3.0),
        ("masked", {"probability": 1.5}),
        ("masked", {"probability": 0}),
        ("choice", {"choice": 2}),
        ("choice", {"choice": True}),
        ("choice", None),
    ],
)
def test_pair_with_an_unreadable_answer_is_not_compared(rung, value):
    good = {"echo": number(-1.0), "masked": gap(0.5), "choice": Reply({"choice": 0})}[rung]
    assert compare(rung, [Reply(value), good]) is None


def test_after_echo_scoring_masked_scoring_is_tried_then_choice_scoring_then_nothing():
    assert [next_rung(rung) for rung in RUNGS] == ["masked", "choice", None]
