"""Tests of the reports of suites and compositions: hostile text is escaped, undeclared letters are marked."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from reports.pages import render_page

HOSTILE = "<img src=x onerror=alert(1)>\"'| [x](javascript:alert(2)) `*_\u202e"


def cell(letter, *, declared=True, **more):
    sure = None if letter is None else {"BS": 0.0, "DSBS": 0.0, "UCS": 0.0, letter: 0.97}
    usual = {"column": "es", "status": "succeeded", "href": "/v1/ratings/rat_1", "reason": None}
    return {**usual, "letter": letter, "declared": declared, "probabilities": sure, **more}


def suite(*cells, **more):
    row = {"method": "round-trip", "attribute": "gender", "cells": list(cells)}
    return {
        "target": {"name": "T"},
        "worst": cell("BS"),
        "columns": [f"c{place}" for place in range(len(cells))],
        "rows": [row],
        "progress": {"cells": len(cells), "succeeded": len(cells), "queued": 0, "running": 0},
        **more,
    }


class Tags(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, name, attributes):
        self.found.append((name, dict(attributes)))


@pytest.mark.parametrize("of", ["suite", "composition"])
def test_hostile_text_in_a_suite_or_composition_is_escaped(of):
    target = {"name": HOSTILE, "url": HOSTILE}
    link = {"place": 1, "target": target, "rating": {**cell("UCS"), "href": HOSTILE, "method": HOSTILE}}
    document = {
        **suite(cell("BS", href=HOSTILE), cell(None, status="failed", reason=HOSTILE)),
        "target": target,
        "columns": [HOSTILE, HOSTILE],
        "chain": [link, link],
        "explanation": [HOSTILE],
        "notes": [{"text": HOSTILE}],
        "attribute": HOSTILE,
    }
    page = render_page("html", of, document)
    names = {name for name, _ in Tags(page).found}
    assert not names & {"img", "script"}
    assert not [one for _, one in Tags(page).found for key in one if key.startswith("on")]
    assert not [one["href"] for name, one in Tags(page).found if name == "a" and "javascript" in one["href"]]
    text = render_page("markdown", of, document)
    assert not re.search(r"(?<!\\)\]\(javascript", text)
    assert "\u202e" not in page + text


def test_a_cell_of_a_suite_shows_its_letter_its_probability_and_its_state():
    document = suite(cell("DSBS"), cell("BS", declared=False), cell("UCS", expired=True), None)
    text = render_page("markdown", "suite", document)
    assert "[DSBS, 97 %](/v1/ratings/rat_1/report.md)" in text
    assert "[leaning BS, 97 %]" in text
    assert "[UCS, 97 %, expired]" in text
    assert "| not asked |" in text
    page = render_page("html", "suite", document)
    assert page.count("DSBS struck") == 1
    assert page.count("BS open") == 1


def test_a_cell_of_a_suite_without_a_letter_states_the_reason():
    document = suite(
        cell(None, status="failed", reason="the service was down", href="/v1/jobs/job_1"),
        cell(None, status="omitted", reason="no word lists", href=None),
    )
    text = render_page("markdown", "suite", document)
    assert "[failed](/v1/jobs/job_1)" in text
    assert "| round-trip | gender | es | the service was down |" in text
    assert "not possible" in text


@pytest.mark.parametrize("form", ["html", "markdown"])
@pytest.mark.parametrize("of", ["suite", "composition"])
def test_an_empty_document_is_rendered_as_a_page(of, form):
    assert "None" not in render_page(form, of, {})


def test_a_chain_without_a_letter_says_that_it_must_be_measured():
    assert "Must be measured" in render_page("markdown", "composition", {"letter": None, "chain": []})
