"""Tests of reports on stimulus sampling of texts and of vectors, in every format."""

import re
from xml.etree import ElementTree as ET

import pytest

from reports import figures
from reports.formats import FORMATS
from tests.support.reports import document_of, read, render
from tests.support.simulated.sampling import sampling_service, vector_service

SEED = 3
SHOWN = {
    "texts": {"The attribute in the positive class", "Distance of each group", "Inputs on their two"},
    "vectors": {"The attribute in the positive class", "Distance of each group", "Inputs on their two"},
}


@pytest.fixture(scope="module")
def documents():
    services = {"texts": sampling_service(0.05, 0.3, SEED), "vectors": vector_service(0.05, 0.3, SEED)}
    return {name: document_of(service.rate(SEED)) for name, service in services.items()}


@pytest.fixture(params=SHOWN)
def name(request):
    return request.param


def test_every_report_format_shows_a_letter_of_stimulus_sampling_and_the_terminal_report_its_reason(documents, name):
    document = documents[name]
    for form in FORMATS:
        written = render(form.name, document)
        assert document["letter"] in written
        assert not re.search(r"\bNaN\b|\bnan\b|\bNone\b|\binf\b", written)
    assert document["components"][0]["reasons"][0]["text"] in render("terminal", document).replace("\n    ", " ")


def test_a_report_of_stimulus_sampling_has_the_expected_figures(documents, name):
    titles = [one.title for one in read(documents[name]).components[0].pictures]
    assert [one for one in SHOWN[name] if not any(title.startswith(one) for title in titles)] == []


def test_every_figure_of_stimulus_sampling_is_small_and_has_a_description_and_a_table(documents, name):
    for place, one in enumerate(read(documents[name]).components[0].pictures):
        figure = figures.picture(one, f"k{place}")
        root = ET.fromstring(figure.svg)
        assert len(root.find("{http://www.w3.org/2000/svg}desc").text) > 20
        assert figure.table.rows
        assert len(figure.svg) < 16_000
        assert not re.search(r"\b(nan|inf|None)\b", figure.svg)


def test_a_report_of_stimulus_sampling_tabulates_input_weights_and_the_most_probable_inputs(documents, name):
    titles = {table.title for table in read(documents[name]).components[0].sheets}
    assert "What the inputs are worth" in titles
    assert "Most probable inputs of the positive class" in titles
    own = "Nearest words to the positive class" if name == "texts" else "Numbers of the positive class"
    assert own in titles


def test_prior_and_posterior_dots_of_the_projection_differ_in_shape(documents, name):
    (scatter,) = (one for one in read(documents[name]).components[0].pictures if one.title.startswith("Inputs on"))
    assert {point.kind_index for point in scatter.points} == {0, 1}
    drawn = figures.picture(scatter, "k").svg
    assert "dots k0" in drawn
    assert "dots k1" in drawn
