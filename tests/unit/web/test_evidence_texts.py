"""Marks in the texts of a case on the evidence page: words that differ, and words that were searched for."""

import pytest

from web.ratings.evidence import LONGEST_COMPARED, pieces


def marked(text, looked_for="", counterpart=""):
    parts = list(pieces(text, looked_for, counterpart))
    assert "".join(part.text for part in parts) == text
    return [part.text for part in parts if part.differs or part.matches]


@pytest.mark.parametrize(
    ("text", "counterpart", "differing"),
    [
        ("He is a nurse.", "She is a nurse.", ["He"]),
        ("The doctor, she said.", "The doctor, he said.", ["she"]),
        ("Una doctora  alta", "Un doctor  alto", ["Una doctora  alta"]),
        ("He came, and he left.", "She came, and she left.", ["He", "he"]),
        ("He is a nurse.", "He is a nurse.", []),
        ("He is a nurse.", "", []),
        ("", "She is a nurse.", []),
    ],
)
def test_words_that_differ_from_the_sentence_about_the_other_group_are_marked(text, counterpart, differing):
    assert marked(text, counterpart=counterpart) == differing


def test_in_search_results_matches_are_marked_in_upper_and_lower_case_instead_of_differences():
    assert marked("He is a nurse, a Nurse.", "nurse", "She is a nurse.") == ["nurse", "Nurse"]


def test_no_differences_are_marked_between_texts_of_too_many_words():
    words = ["word"] * (LONGEST_COMPARED + 1)
    assert marked(" ".join(["he", *words]), counterpart=" ".join(["she", *words])) == []
