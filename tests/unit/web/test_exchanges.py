"""Texts of questions, as the web pages show them."""

from __future__ import annotations

import pytest

from assay.explain import Vocabulary
from reports.cases.reading import answer_text, question_text
from web.ratings.evidence import LONGEST_ANSWER, row_of


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        ({"asks": "fill", "before": "The ", "word": "father", "after": " is a taper."}, "The [father] is a taper."),
        ({"asks": "score", "text": "She is a taper."}, "She is a taper."),
        ({"asks": "regress", "given": [["sex", "male"], ["experience", 25]]}, "sex male, experience 25"),
        (
            {"asks": "choose", "text": "Which?", "options": ["He is a taper.", "She is a taper."]},
            "Which? (He is a taper. / She is a taper.)",
        ),
        ({"asks": "choose", "text": "", "options": ["He.", "She."]}, "(He. / She.)"),
    ],
)
def test_a_recorded_question_of_any_kind_is_shown_with_its_whole_text(ask, text):
    assert question_text(ask) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"choice": 1}, "She."),
        ({"choice": 2}, "choice 2"),
        ({"choice": 1.0}, "choice 1"),
        ({"choice": -1}, "choice -1"),
        ("I cannot choose.", "I cannot choose."),
        (None, None),
    ],
)
def test_a_recorded_choice_is_shown_as_the_text_of_the_chosen_option(value, text):
    assert answer_text({"ask": {"asks": "choose", "text": "Who?", "options": ["He.", "She."]}, "value": value}) == text


def test_a_recorded_exchange_is_numbered_and_a_long_answer_has_a_short_beginning():
    long_answer = "She made everybody glad. " * 20
    exchange = {
        "seq": 107,
        "unit": "0/53/statistician/echo/0",
        "ask": {"asks": "write", "prompt": "Write."},
        "value": long_answer,
        "failure": None,
    }
    text = {"name": "she", "text": "Write.", "lang": "en", "answer": long_answer, "answer_lang": None, "failure": None}
    row = row_of({"texts": [text], "thumbnail": None, "exchanges": [exchange]}, "", Vocabulary({}))
    (recorded,), (line,) = row.exchanges, row.lines
    assert (recorded.name, recorded.unit) == ("no. 107", "0/53/statistician/echo/0")
    for shown in (recorded, line):
        assert shown.beginning == ""
        assert long_answer.startswith(shown.answer_beginning.removesuffix("…"))
        assert len(shown.answer_beginning) < LONGEST_ANSWER
        assert "".join(piece.text for piece in shown.answer) == long_answer
