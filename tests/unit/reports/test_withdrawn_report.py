"""Tests that every report of a withdrawn or expired rating begins with a warning."""

import pytest

from tests.support.reports import read, render, render_terminal

RATING = {"letter": "BS", "declared": True, "target": {"name": "A service"}}
WITHDRAWN = {"at": "2026-03-04T05:06:07.000Z", "reason": "The <b>target</b> was *another* \u202eecivres."}
FORMS = ["html", "markdown", "terminal"]


@pytest.mark.parametrize("form", FORMS)
def test_the_withdrawal_is_shown_before_the_letter(form):
    shown = render(form, RATING | {"withdrawn": WITHDRAWN})
    body = " ".join(shown.partition("</style>")[2].split() if form == "html" else shown.split())
    assert "This rating was withdrawn on 4 March 2026. Do not rely on it." in body
    assert body.index("withdrawn on") < body.index("BS")


@pytest.mark.parametrize("form", FORMS)
def test_the_reason_of_a_withdrawal_is_escaped(form):
    shown = render(form, RATING | {"withdrawn": WITHDRAWN})
    assert "\u202e" not in shown
    assert {
        "html": "The &lt;b&gt;target&lt;/b&gt; was *another*",
        "markdown": r"The \<b\>target\</b\> was \*another\*",
        "terminal": "The <b>target</b> was *another*",
    }[form] in " ".join(shown.split())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("withdrawn", [True, "yesterday", {"at": None, "reason": 7}, {"at": "some day"}])
def test_a_malformed_withdrawal_is_still_shown(form, withdrawn):
    assert "This rating was withdrawn" in render(form, RATING | {"withdrawn": withdrawn})


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("withdrawn", [None, {}, False])
def test_a_rating_that_was_not_withdrawn_has_no_warning(form, withdrawn):
    assert render(form, RATING | {"withdrawn": withdrawn}) == render(form, RATING)


@pytest.mark.parametrize("form", FORMS)
def test_an_expired_rating_has_a_warning(form):
    kept = RATING | {"expires_at": "2026-06-07T08:09:10Z"}
    assert "expired on" not in render(form, kept)
    assert render(form, kept | {"expired": False}) == render(form, kept)
    shown = " ".join(render(form, kept | {"expired": True}).split())
    assert "This rating expired on 7 June 2026. It says how the service was then." in shown
    assert "This rating expired. It" in " ".join(render(form, RATING | {"expired": True}).split())


def test_a_withdrawn_rating_that_also_expired_has_one_warning_only():
    shown = render("terminal", RATING | {"withdrawn": WITHDRAWN, "expired": True})
    assert "withdrawn" in shown
    assert "expired" not in shown


def test_the_short_terminal_report_has_the_warning():
    assert render_terminal(RATING | {"withdrawn": WITHDRAWN}, brief=True).startswith("This rating was withdrawn")


def test_the_time_and_the_reason_of_a_withdrawal_are_read_from_the_rating_document():
    withdrawal = read(RATING | {"withdrawn": WITHDRAWN}).withdrawal
    assert withdrawal.at == "2026-03-04T05:06:07.000Z"
    assert withdrawal.reason == "The <b>target</b> was *another* \u27e8U+202E\u27e9ecivres."
