"""Tests of the owner's reply in a report: escaped text, separate from the rating."""

import pytest

from tests.support.reports import read, render

REPLY = {
    "text": "We <script>alert(1)</script> mended it.\n\n[click](http://x) \u202egnp.exe",
    "link": "https://owner.example/<b>",
    "host": "owner.example",
    "created_at": "2026-03-04T05:06:07.000Z",
}
RATING = {"letter": "DSBS", "declared": True, "target": {"name": "T"}}


@pytest.mark.parametrize("form", ["html", "markdown", "terminal"])
def test_an_owners_reply_is_shown_with_its_date_and_the_note_that_it_alters_nothing(form):
    shown = " ".join(render(form, RATING | {"reply": REPLY}).split())
    assert "Reply of the owner" in shown
    assert "4 March 2026" in shown
    assert "alters nothing" in shown


@pytest.mark.parametrize("form", ["html", "markdown", "terminal"])
@pytest.mark.parametrize("reply", [None, {}, {"text": " \n "}, {"text": 7}, "text", []])
def test_a_report_without_an_owners_reply_has_no_section_for_it(form, reply):
    assert render(form, RATING | {"reply": reply}) == render(form, RATING)


def test_an_owners_reply_is_escaped_and_has_no_hidden_characters():
    html = render("html", RATING | {"reply": REPLY})
    assert "<script>alert" not in html
    assert "owner.example/<b>" not in html
    assert r"\[click\](http\:" in render("markdown", RATING | {"reply": REPLY})
    for form in ("html", "markdown", "terminal"):
        assert "\u202e" not in render(form, RATING | {"reply": REPLY})


def test_an_owners_reply_is_split_into_paragraphs():
    reply = read(RATING | {"reply": REPLY}).reply
    assert len(reply.paragraphs) == 2
    assert (reply.host, reply.link) == ("owner.example", "https://owner.example/<b>")
