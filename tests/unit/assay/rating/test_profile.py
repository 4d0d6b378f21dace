"""Tests of the worst letter of several ratings, declared only with joint confidence."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.document import ComponentDocument, RatingDocument, ReasonDocument
from assay.model import Letter
from assay.rating.difference import worst_of


def cell(letter: str, sure: float = 0.99, declared: bool = True) -> RatingDocument:
    rest = (1 - sure) / 2
    shares = {each: sure if each == letter else rest for each in Letter}
    return RatingDocument(Letter(letter), declared, shares, confidence=0.95)


def test_a_service_whose_ratings_are_all_missing_has_no_worst_letter():
    assert worst_of([], missing=3) is None


@pytest.mark.parametrize(
    ("letters", "worst"), [(["UCS"], "UCS"), (["UCS", "DSBS"], "DSBS"), (["DSBS", "BS", "UCS"], "BS")]
)
def test_the_worst_letter_is_chosen_in_the_order_bs_dsbs_ucs(letters, worst):
    found = worst_of([cell(letter) for letter in letters])
    assert (found.letter, found.declared) == (worst, True)


def test_the_worst_letter_of_eight_declared_ratings_may_be_undeclared():
    assert worst_of([cell("UCS", 0.96)]).declared
    together = worst_of([cell("UCS", 0.96)] * 8)
    assert not together.declared
    assert together.probabilities.of(Letter.UCS) == pytest.approx(0.96**8)


def test_if_ratings_are_missing_the_worst_letter_can_be_declared_bs_but_not_dsbs():
    assert worst_of([cell("BS", 0.995)], missing=5).declared
    assert not worst_of([cell("DSBS")], missing=1).declared


def test_the_worst_letter_of_a_single_rating_is_the_letter_of_that_rating():
    unsure = worst_of([cell("DSBS", 0.6, declared=False)])
    assert (unsure.letter, unsure.declared) == ("DSBS", False)


DRAWN = st.lists(st.tuples(st.sampled_from(list(Letter)), st.floats(0.34, 1)), min_size=1, max_size=8)


@pytest.mark.slow
@given(DRAWN.flatmap(lambda drawn: st.tuples(st.just(drawn), st.permutations(drawn))))
def test_the_worst_letter_of_several_ratings_does_not_depend_on_their_order(drawn):
    one, other = (worst_of([cell(letter, sure) for letter, sure in each]) for each in drawn)
    assert one.letter == other.letter
    assert [one.probabilities.of(letter) for letter in Letter] == pytest.approx(
        [other.probabilities.of(letter) for letter in Letter]
    )
    assert sum(one.probabilities.of(letter) for letter in Letter) == pytest.approx(1)


LOST = ReasonDocument("letter-depends-on-what-was-lost")


@pytest.mark.parametrize("letter", ["UCS", "DSBS"])
@pytest.mark.parametrize(
    "withheld",
    [
        {"reasons": (LOST,)},
        {"components": (ComponentDocument(reasons=(ReasonDocument("may-be-chance"),)),)},
        {"reasons": (ReasonDocument("component-unmeasured"),)},
        {"reasons": (ReasonDocument("no-component-declared"),)},
    ],
    ids=["lost replies", "chance in a component", "unmeasured component", "no component declares it"],
)
def test_no_worst_letter_but_bs_is_declared_if_the_letter_of_a_rating_is_withheld(letter, withheld):
    undeclared = replace(cell("UCS", 0.999, declared=False), **withheld)
    found = worst_of([cell(letter, 0.999), undeclared])
    assert (found.letter, found.declared) == (letter, False)
    assert worst_of([cell("BS", 0.999), undeclared]).declared


def test_a_joint_bs_is_declared_only_if_the_ratings_with_a_letter_that_is_not_withheld_are_enough_for_it():
    withheld = replace(cell("BS", 0.999, declared=False), reasons=(LOST,))
    assert not worst_of([withheld, cell("UCS", 0.999)]).declared
    assert worst_of([withheld, cell("BS", 0.999)]).declared


def test_the_worst_letter_needs_a_rating_that_declares_it_with_the_confidence_that_one_of_several_needs():
    assert worst_of([cell("BS", 0.96)]).declared
    assert not worst_of([cell("BS", 0.96)] + [cell("UCS", 0.999)] * 4).declared
