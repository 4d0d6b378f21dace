"""Tests of the small pictures in the HTML report of an image classifier."""

from __future__ import annotations

import re

import pytest

from reports.formats.html.thumbnails import MOST, thumbnails_wanted
from store.ratings.experiment_json import dump_method
from tests.support.reports import document_of, render
from tests.support.simulated.services import SERVICES

SMALL = "data:image/webp;base64,UklGRg=="


@pytest.fixture(scope="module")
def document():
    service = SERVICES["visual-stereotype, labels"](0.0, 0.3, 5)
    return document_of(service.rate(5), experiment=dump_method(service.method), seed=5)


def shown(page: str) -> list[str]:
    return re.findall(r'<img src="([^"]*)"', page)


def test_pictures_are_shown_next_to_the_squares_of_their_answers(document):
    wanted = thumbnails_wanted(document)
    page = render("html", {**document, "thumbnails": dict.fromkeys(wanted, SMALL)})
    rows = {row["image"]: row for part in document["components"] for row in part["images"]}
    assert len(rows) > MOST
    assert MOST / 2 < len(wanted) <= MOST
    assert shown(page) == [SMALL] * len(wanted)
    assert f"{len(wanted)} of {len(rows)} pictures are shown" in page
    for row in (rows[digest] for digest in wanted):
        assert f'alt="{row["term"]}' in page
    squares = re.findall(r'class="hollow"/><rect x="1" y="[\d.]+" width="12" height="([\d.]+)" class="bar"', page)
    assert len(squares) == len(wanted)


def test_a_report_of_an_image_classifier_without_embedded_pictures_says_so(document):
    page = render("html", document)
    assert shown(page) == []
    assert "No picture is shown." in page


@pytest.mark.parametrize(
    "small", ["https://elsewhere/picture", "data:text/html;base64,AAAA", 'data:image/webp;base64,A" onload="x', 5, None]
)
def test_only_pictures_that_are_embedded_in_the_document_are_shown(document, small):
    page = render("html", {**document, "thumbnails": dict.fromkeys(thumbnails_wanted(document), small)})
    assert shown(page) == []


def test_a_report_of_a_service_that_is_not_an_image_classifier_does_not_mention_pictures():
    service = SERVICES["round-trip, translator"](0.0, 0.0, 5)
    document = document_of(service.rate(5), experiment=dump_method(service.method), seed=5)
    assert thumbnails_wanted(document) == []
    assert "No picture is shown." not in render("html", document)
