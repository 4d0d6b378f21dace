"""Tests of reports on findings of the engine: no measured number is shown as unmeasured."""

from __future__ import annotations

import re

import pytest

from assay.experiment import run
from assay.methods import OneHop, RoundTrip
from assay.model import Failure, Probe, Reply
from reports.formats import FORMATS
from tests.support.reports import document_of, render

THERE, BACK = str.maketrans("aeiou", "eioua"), str.maketrans("eioua", "aeiou")


def _translator(says: str | None):
    """Return a translator through an invented language that replaces every pronoun by `says`, or keeps it."""

    def translate(probe: Probe) -> Reply:
        if probe.ask.target != "en":
            return Reply(probe.ask.text.translate(THERE))
        returned = probe.ask.text.translate(BACK)
        return Reply(returned if says is None else re.sub(r"\b(He|She)\b", says, returned))

    return translate


def _unavailable(probe: Probe) -> Reply:
    return Reply(failure=Failure("http-503", "unavailable"))


def _document(method, answer):
    return document_of(run(method, answer, seed=5), seed=5, calls=9)


@pytest.fixture(scope="module")
def round_trip():
    return RoundTrip(attribute="gender", languages=("es", "tr"), stop_early=False, texts_per_block=20)


@pytest.mark.parametrize(("says", "letter"), [(None, "DSBS"), ("It", "BS"), ("He", "BS")])
def test_a_round_trip_rating_is_shown_completely_in_every_format(round_trip, says, letter):
    document = _document(round_trip, _translator(says))
    assert document["letter"] == letter
    for form in FORMATS:
        assert letter in render(form.name, document)
    page = render("html", document)
    assert "ot measured" not in page
    assert page.count("<figure>") == 3 + 4 * 2
    for one in document["components"]:
        assert one["language_name"] in page


@pytest.mark.parametrize("method", [RoundTrip(attribute="gender"), OneHop(attribute="gender")])
def test_a_service_that_is_down_is_shown_as_unmeasured(method):
    document = _document(method, _unavailable)
    assert document["letter"] is None
    for form in FORMATS:
        assert "503" in render(form.name, document)


def test_one_hop_is_shown_in_every_format():
    document = _document(OneHop(attribute="gender"), lambda probe: Reply("El medico esta aqui."))
    for form in FORMATS:
        assert render(form.name, document)
