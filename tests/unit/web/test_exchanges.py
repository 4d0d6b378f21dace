"""Texts of questions, as the web pages show them."""

from __future__ import annotations

import pytest

from reports.cases.reading import question_text


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        ({"asks": "fill", "before": "The ", "word": "father", "after": " is a taper."}, "The [father] is a taper."),
        ({"asks": "score", "text": "She is a taper."}, "She is a taper."),
        ({"asks": "regress", "given": [["sex", "male"], ["experience", 25]]}, "sex male, experience 25"),
        (
            {"asks": "choose", "text": "Which?", "options": ["He is a taper.", "She is a taper."]},
            "He is a taper. / She is a taper.",
        ),
    ],
)
def test_a_question_is_shown_with_its_whole_text(ask, text):
    assert question_text(ask) == text
