"""Tests of reports in every format, on findings about predictors, embedders and models of known bias."""

from __future__ import annotations

import re
from itertools import combinations
from xml.etree import ElementTree as ET

import pytest
from rich.cells import cell_len as width

from assay.experiment import run
from assay.methods import Alternation, Association, ForcedChoice, StereotypeScore
from assay.methods.shared.terms.sentence_generation import Writing
from assay.model import Failure, Reply, Write
from reports import figures
from reports.figures.canvas import WIDTH
from reports.formats import FORMATS
from reports.view import BALANCED
from tests.support.reports import document_of, read, render
from tests.support.simulated.choosers import choice_service, observer_service
from tests.support.simulated.embedders import association_service
from tests.support.simulated.image_classifiers import picture_service
from tests.support.simulated.language_models import stereotype_service
from tests.support.simulated.predictors import record_service, text_service

SVG = "{http://www.w3.org/2000/svg}"
SEED = 3

LETTERS_WIDE = 5.6
"""Mean width of a character, in pixels, at 11 px in the fonts that pages name; digits and blanks are narrower."""

SHOWN = {
    "numbers of texts": {"Mean output under", "What changing", "Gaussian KL of each"},
    "scores of records": {"Mean output under", "What changing", "Gaussian KL of each"},
    "words": {"Psychometric curves", "Points of subjective equality", "Just noticeable"},
    "choices": {"Psychometric curves", "Points of subjective equality", "Just noticeable"},
    "distances": {"Mean distance by", "Mean distances of each", "Densities", "Single distances"},
    "sentences": {"Scores by list", "Neutral attribute terms", "Attribute terms of the stereotype"},
    "pictures": {"Scores by list of terms", "Neutral generation terms", "Generation terms of the stereotype"},
}
"""The figures that each finding must have, by the beginnings of their titles."""


def _services():
    return {
        "numbers of texts": text_service(0.3, 0.3, SEED, kind="numbers"),
        "scores of records": record_service(0, 0.4, SEED, kind="scores", rows=400),
        "words": choice_service(0, 0.2, SEED),
        "choices": observer_service(0, 0.2, SEED),
        "distances": association_service(0, 0.2, SEED),
        "sentences": stereotype_service(0, 0.2, SEED, rung="echo"),
        "pictures": picture_service(0, 0.2, SEED, kind="probabilities"),
    }


@pytest.fixture(scope="module")
def documents():
    return {name: document_of(service.rate(SEED)) for name, service in _services().items()}


@pytest.fixture(params=SHOWN)
def document(request, documents):
    return documents[request.param]


def _drawn(document):
    component = read(document).components[0]
    return {one.title: figures.picture(one, f"k{place}") for place, one in enumerate(component.pictures)}


@pytest.mark.slow
def test_every_report_format_shows_the_letter_of_a_predictor_and_the_terminal_report_its_reason(document):
    for form in FORMATS:
        written = render(form.name, document)
        assert document["letter"] in written
        assert not re.search(r"\bNaN\b|\bnan\b|\bNone\b|\binf\b", written)
    assert document["components"][0]["reasons"][0]["text"] in render("terminal", document).replace("\n    ", " ")


@pytest.mark.parametrize(("name", "beginnings"), SHOWN.items())
def test_the_report_of_each_kind_of_predictor_has_the_expected_figures(name, beginnings, documents):
    titles = list(_drawn(documents[name]))
    assert [one for one in beginnings if not any(title.startswith(one) for title in titles)] == []


def test_every_figure_of_a_predictor_is_small_and_has_a_description_and_a_table(document):
    for title, figure in _drawn(document).items():
        root = ET.fromstring(figure.svg)
        assert root.find(f"{SVG}title").text == title
        assert len(root.find(f"{SVG}desc").text) > 20
        assert figure.table.rows
        assert len(figure.table.rows) <= 60
        assert len(figure.svg) < 16_000
        assert not re.search(r"\b(nan|inf|None)\b", figure.svg)


def _extent(text):
    """Return the extent of a label: left, right, top, bottom."""
    x, y, kind = float(text.get("x")), float(text.get("y")), (text.get("class") or "").split()
    wide = width(text.text) * (LETTERS_WIDE - 1 if "n10" in kind else LETTERS_WIDE)
    left = x - wide if "e" in kind else x - wide / 2 if "m" in kind else x
    return left, left + wide, y - 9, y


def test_labels_of_a_figure_do_not_overlap_and_stay_on_the_canvas(document):
    for title, figure in _drawn(document).items():
        root = ET.fromstring(figure.svg)
        extents = {(text.text, _extent(text)) for text in root.iter(f"{SVG}text") if text.text}
        for text, (left, right, _, _) in extents:
            assert left >= -6, (title, text)
            assert right <= WIDTH + 8, (title, text)
        for (one, a), (other, b) in combinations(sorted(extents), 2):
            apart = a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] or b[3] <= a[2]
            assert apart, (title, one, other)


def test_numbered_marks_on_the_curves_of_a_figure_do_not_overlap(documents):
    for name in ("words", "choices", "distances"):
        for title, figure in _drawn(documents[name]).items():
            seats = [one for one in ET.fromstring(figure.svg).iter(f"{SVG}circle") if "seat" in one.get("class")]
            places = [(float(one.get("cx")), float(one.get("cy"))) for one in seats]
            for (x1, y1), (x2, y2) in combinations(places, 2):
                assert (x1 - x2) ** 2 + (y1 - y2) ** 2 >= 14**2, title


def test_tables_of_a_report_have_sixty_rows_at_most(document):
    component = read(document).components[0]
    assert component.sheets
    for table in component.sheets:
        assert len(table.rows) <= 60
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_the_difference_between_two_groups_is_reported_with_its_sign_in_the_unit_of_the_service(documents):
    document = documents["numbers of texts"]
    pair = document["components"][0]["pairs"][0]
    assert f"from “{pair['from']}” to “{pair['to']}” by {pair['shift']:+.3g}" in render("html", document)


def test_a_report_names_the_two_steps_after_the_inputs_that_the_method_uses(documents):
    page = render("html", documents["words"])
    assert "Step 1: neutral control words" in page
    assert "balanced input" not in page
    assert read({"method": "round-trip", "letter": "BS", "declared": True}).verdict.steps == BALANCED


def test_disparate_impact_is_shown_with_its_interval(documents):
    part = documents["scores of records"]["components"][0]
    table = next(one for one in read(documents["scores of records"]).components[0].sheets if "impact" in one.title)
    ratio = part["disparate_impact"]["ratios"][0]["ratio"]
    assert table.rows[0][2].startswith(f"{ratio['estimate']:.3f} (")


def test_the_drawn_psychometric_curve_equals_the_stored_fit(documents):
    part = documents["choices"]["components"][0]
    lines = read(documents["choices"]).components[0].pictures[0]
    rows = {row["word"]: row for row in part["words"]}
    # a PSE outside the range of the mixtures that were asked about is not drawn
    one = next(each for each in lines.curves if 0 < rows[each.label]["pse"]["estimate"] < 1)
    row = rows[one.label]
    crossing = next(x for x, y in zip(one.x, one.y, strict=True) if y >= 0.5)
    assert crossing == pytest.approx(row["pse"]["estimate"], abs=0.03)
    assert one.points == tuple((level, chose / trials) for level, chose, trials in row["trials"])


@pytest.mark.slow
def test_a_report_of_a_language_model_names_the_kind_of_score_and_the_sentences_not_used():
    method = StereotypeScore(specification=("p4-math-arts", "p4-science-arts"), per_term=2, writing=Writing(per_term=2))

    def answer(probe):
        if isinstance(probe.ask, Write):
            words = probe.ask.prompt.split('"')
            wrong = probe.ask.number == 0 and words[3].startswith("p")
            return Reply(f"{words[1]} and him" if wrong else f"The {words[1]} saw {words[3]} {probe.ask.number} times.")
        return Reply({"log_probability": -float(sum(map(ord, probe.ask.text)) % 97), "tokens": 8})

    document = document_of(run(method, answer, SEED))
    for page in (render(name, document) for name in ("terminal", "html", "markdown")):
        told = " ".join(page.split())
        assert "log-probabilities of whole sentences" in told
        assert "not used" in told
        assert "Stereotype scores" in told


# ---------------------------------------------------------------------------- what could not be rated
def _absent(_probe):
    return Reply(failure=Failure("http-404", "no such word"))


@pytest.mark.parametrize("method", [ForcedChoice("gender"), Association("gender")])
def test_a_report_counts_and_names_words_without_a_vector_and_has_no_figures_if_all_are_missing(method):
    document = document_of(run(method, _absent, seed=SEED))
    assert document["letter"] is None
    page = render("html", document)
    assert "Words that could be used" in page
    assert "404" in page
    assert read(document).components[0].pictures == ()
    assert re.search(r"and \d+ more", page)


def test_a_service_that_always_returns_the_same_output_is_reported_with_that_value():
    document = document_of(run(Alternation("gender", answers="numbers"), lambda _: Reply(1.0), seed=SEED))
    assert document["letter"] is None
    for name in ("html", "markdown", "terminal"):
        written = " ".join(render(name, document).split())
        assert "all 1600 outputs are 1" in written
        assert "answered in full" in written
    assert "blocks" not in render("html", document)


def test_an_effect_measured_on_too_few_words_is_reported_without_a_letter(documents):
    service = association_service(0, 0.2, SEED)

    def forgetful(probe):
        lost = probe.ask.text.startswith("neutral") and not probe.ask.text.endswith("7")
        return _absent(probe) if lost else service.answer(probe.ask)

    document = document_of(run(service.method, forgetful, seed=SEED))
    component = read(document).components[0]
    assert component.verdict.letter is None
    assert component.reasons[0].code == "coverage-low"
    assert {one.tolerance for one in component.effects} == {0.05}
    assert {one.title for one in component.pictures} == set(_drawn(documents["distances"]))


def test_a_report_with_twenty_labels_and_ten_groups_has_less_than_two_megabytes(documents):
    part = documents["numbers of texts"]["components"][0]
    values = [f"value {place}" for place in range(10)]
    ordered = [(a, b) for a in values for b in values if a != b]
    big = part | {
        "means": dict.fromkeys(values, 0.5),
        "pairs": [part["pairs"][0] | {"from": a, "to": b} for a, b in combinations(values, 2)],
        "divergence": [part["divergence"][0] | {"from": a, "to": b} for a, b in ordered],
    }
    components = [big | {"name": f"label {place}"} for place in range(20)]
    assert len(render("html", documents["numbers of texts"] | {"components": components})) < 2_000_000
