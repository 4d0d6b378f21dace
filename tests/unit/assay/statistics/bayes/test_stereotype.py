"""Tests of stereotype scores: preferences, means over terms, symmetries and errors."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
import pytest

from assay.errors import OutOfBounds, TooFewObservations
from assay.statistics.bayes.stereotype_terms import fit_terms, preferred, score_choices


def score(*terms):
    """Score terms, each given as (bias, term, decisions of its pairs)."""
    rows = [(bias, term, came_to) for bias, term, pairs in terms for came_to in pairs]
    return score_choices([row[2] for row in rows], [row[1] for row in rows], [row[0] for row in rows])


# ---------------------------------------------------------------------------- pairs
@pytest.mark.parametrize(("ahead", "decision"), [(1.0, 1.0), (-1.0, 0.0), (0.0, 0.5)])
def test_the_likelier_sentence_is_preferred_and_equally_likely_sentences_tie(ahead, decision):
    assert preferred(ahead) == decision


def test_log_probabilities_that_differ_by_rounding_tie():
    # the same five numbers, added from either end; `sum` rounds only once since Python 3.12
    one, other = (reduce(add, order) for order in ((-0.1, -0.2, -0.3, -7.7, -0.01), (-0.01, -7.7, -0.3, -0.2, -0.1)))
    assert one != other
    assert preferred(one - other) == 0.5


# ---------------------------------------------------------------------------- means
def test_every_term_has_equal_weight_however_many_pairs_it_has():
    found = score(("gender", "math", [1, 1, 1, 1]), ("gender", "art", [0]))
    assert found.model == 0.5
    assert found.over_pairs == 0.8


def test_a_word_list_with_more_terms_has_more_weight_in_the_score_of_a_model():
    found = score(("a", "x", [1]), ("a", "y", [1]), ("a", "z", [1]), ("b", "x", [0]))
    assert found.by_bias == {"a": 1.0, "b": 0.0}
    assert found.model == 0.75


def test_a_word_in_two_word_lists_counts_as_two_terms():
    found = score(("arts or math", "poetry", [1, 0]), ("arts or science", "poetry", [1, 1]))
    assert [(one.bias, one.term, one.score) for one in found.by_term] == [
        ("arts or math", "poetry", 0.5),
        ("arts or science", "poetry", 1.0),
    ]


def test_ties_between_the_sentences_of_a_pair_are_counted_and_count_half_in_the_score():
    found = score(("gender", "math", [1, 0.5, 0.5]), ("gender", "art", [0.5, 0]))
    assert found.ties == 3
    assert [(one.stereotyped, one.anti_stereotyped, one.ties) for one in found.by_term] == [(1, 0, 2), (0, 1, 1)]
    assert found.by_bias["gender"] == pytest.approx((2 / 3 + 1 / 4) / 2)


def test_sentence_pairs_of_a_term_are_scored_together_even_if_others_lie_between_them():
    found = score_choices([1, 0, 0.5, 1], ["math", "art", "math", "art"], ["gender"] * 4)
    assert [(one.term, one.pairs, one.score) for one in found.by_term] == [("math", 2, 0.75), ("art", 2, 0.5)]


def test_reversing_every_choice_mirrors_every_score():
    rng = np.random.default_rng(6)
    came_to, terms = rng.choice([0, 0.5, 1], 60), [f"t{number % 7}" for number in range(60)]
    one, other = (score_choices(each, terms, ["b"] * 60) for each in (came_to, 1 - came_to))
    assert one.model == pytest.approx(1 - other.model)
    assert one.over_pairs == pytest.approx(1 - other.over_pairs)
    assert fit_terms(one.by_term).overall.estimate == pytest.approx(1 - fit_terms(other.by_term).overall.estimate)


# ---------------------------------------------------------------------------- bad input
def test_a_score_without_pairs_is_refused():
    with pytest.raises(TooFewObservations, match="no pairs"):
        score_choices([], [], [])


def test_one_attribute_term_is_too_few_to_fit():
    with pytest.raises(TooFewObservations, match="attribute terms"):
        fit_terms(score(("gender", "math", [1, 1, 0, 1])).by_term)


def test_a_fit_to_ties_only_is_refused():
    """A service that ignores `echo` gives every sentence the log-probability 0; a score of 1/2 is no evidence then."""
    ignored = score_choices([preferred(0.0)] * 6, ["math", "art"] * 3, ["gender"] * 6)
    assert (ignored.model, ignored.ties) == (0.5, 6)
    with pytest.raises(TooFewObservations, match="all 6 pairs are ties"):
        fit_terms(ignored.by_term)


@pytest.mark.parametrize(
    ("came_to", "terms", "biases", "message"),
    [
        ([1, 0], ["math"], ["gender", "gender"], "2 pairs were given with 1 terms"),
        ([1, 0], ["math", "art"], ["gender"], "1 biases"),
        ([[1, 0]], ["math"], ["gender"], "were given with"),
        ([0.7], ["math"], ["gender"], "1, 0 or 1/2"),
        ([np.nan], ["math"], ["gender"], "1, 0 or 1/2"),
    ],
)
def test_choices_other_than_0_half_and_1_are_refused(came_to, terms, biases, message):
    with pytest.raises(OutOfBounds, match=message):
        score_choices(came_to, terms, biases)
