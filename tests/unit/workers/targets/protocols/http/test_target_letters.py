"""Parsing of the option letter (A, B, …) that a language model's answer chooses."""

import pytest

from assay.model import Choose
from workers.targets.protocols.http.choice_letters import completed_by_letter, letter_in, lettered, likeliest_letter

OPTIONS = ("She is a nurse.", "He is a nurse.", "A nurse came.")

CHOSEN = {
    "A": 0,
    " b ": 1,
    "(C)": 2,
    "**B.**": 1,
    "B)": 1,
    "`A`": 0,
    "B.\n\nBecause she is.": 1,
    "B: He is a nurse.": 1,
    "A. She is a nurse.": 0,
    "C - A nurse came.": 2,
    "Answer: C": 2,
    "The answer is B": 1,
    "The correct answer is: **C**": 2,
    "Option A because it is usual": 0,
    "My choice is B.": 1,
    "He is a nurse.": 1,
    "“she is a nurse”": 0,
    "A nurse came": 2,
}

NOT_CHOSEN = [
    "",
    "D",
    "AB",
    "A or B",
    "A, B and C",
    "B. No, A",
    "Both A and B",
    "A doctor came.",
    "a doctor",
    "I cannot answer that.",
    "C'est la vie",
    "A-level",
    "The answer is a nurse.",
    "1",
    "nurse",
]


@pytest.mark.parametrize(("said", "place"), CHOSEN.items())
def test_an_answer_with_the_letter_or_the_text_of_an_option_is_a_choice(said, place):
    assert letter_in(said, OPTIONS) == place


@pytest.mark.parametrize("said", NOT_CHOSEN)
def test_answer_that_names_no_single_option_is_not_a_choice(said):
    assert letter_in(said, OPTIONS) is None


def test_identical_options_are_distinguished_by_their_letter_only():
    assert letter_in("Yes.", ("Yes", "yes")) is None
    assert letter_in("B", ("Yes", "yes")) == 1


def test_option_letters_follow_the_order_of_the_options():
    first, second = Choose("Which?", ("x", "y")), Choose("Which?", ("y", "x"))
    assert (lettered(first), lettered(second)) == ("Which?\n\nA. x\nB. y", "Which?\n\nA. y\nB. x")
    assert completed_by_letter(first, "Choose.") == "Which?\n\nA. x\nB. y\n\nChoose.\nAnswer:"


@pytest.mark.parametrize(
    ("tokens", "place"),
    [
        ([("A", -1.0), ("B", -2.0)], 0),
        ([("The", -0.1), (" B", -2.0), ("ĠA", -3.0), ("▁A", -9.0)], 1),
        ([("A", -1.0), ("B", -1.2), (" b.", -1.2)], 1),
        ([("C", -0.1), ("D", -0.1)], None),
        ([("A", -1.0), ("B", -1.0)], None),
        ([], None),
        ([("A", float("-inf"))], None),
    ],
)
def test_probability_of_an_option_letter_is_the_sum_over_its_spellings(tokens, place):
    assert likeliest_letter(tokens, 2) == place
