"""Regression tests of the appearance of reports: each test reads the rendered page."""

from __future__ import annotations

import html as html_module
import re
from collections import Counter
from xml.etree import ElementTree as ET

import pytest

from assay.catalog.shipped import specifications
from assay.explain import chance
from assay.methods import METHODS
from reports import charts, figures
from reports.formats import html
from reports.formats.html.pieces import HEAD, columns
from reports.view import Span, Squares, Table
from tests.support.reports import document_of, read, render
from tests.support.simulated.language_models import stereotype_service

SHORTHAND = re.compile(r"\bP[1-5]\b|\bp[24]-[a-z]+")
"""The project's short names for papers (P1) and for word lists taken from papers (p2-gender)."""


def drawings(page):
    return [ET.fromstring(drawing) for drawing in re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)]


def classes(root):
    return [(each.get("class") or "").split() for each in root.iter()]


@pytest.fixture(scope="module")
def pairs():
    """Return a rating of a language model with more sentence pairs than a table shows."""
    return document_of(stereotype_service(0, 0.2, 3, rung="echo").rate(3))


def text_of(page):
    return " ".join(re.sub(r"<[^>]+>", " ", re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)).split())


def test_tables_of_a_component_are_collapsed(any_page):
    for part in re.findall(r'<details class="part".*?</section>', any_page, flags=re.DOTALL):
        depth = 0
        for each in re.finditer(r"<(/?)(details|table)\b[^>]*>", part):
            if each[2] == "details":
                depth += -1 if each[1] else 1
            elif not each[1]:
                assert depth >= 2, "a table stands open in a part"
    assert not re.search(r'class="folded"[^>]* open', any_page)


def test_figures_fill_two_columns_of_about_the_same_height(pairs):
    component = read(pairs).components[0]
    drawn = [figures.picture(one, f"k{place}") for place, one in enumerate(component.pictures)]
    first, second = (sum(one.height + HEAD for one in column) for column in columns(drawn))
    assert abs(first - second) <= max(one.height + HEAD for one in drawn)
    assert sorted(one.title for column in columns(drawn) for one in column) == sorted(one.title for one in drawn)


def test_a_reason_of_several_components_is_written_once_with_the_names_of_all(sample):
    document = sample("40 components")
    deciding = document["aggregation"]["deciding"]
    assert len(deciding) == 5
    above = text_of(re.search(r'<section id="meaning">.*?</section>', render("html", document), flags=re.DOTALL)[0])
    assert above.count("the service introduces bias") == 1
    after = above.partition("the service introduces bias")[2]
    sentence = re.search(r"The same reason applies to ([^.]+), with other numbers", after)[1]
    for template in ("possessive", "object", "coordination", "named"):
        assert f"Turkish · {template}" in sentence


def test_two_different_reasons_of_one_component_are_both_shown_in_full(sample):
    document = sample("DSBS with two components")
    first = document["components"][0]
    twice = [{"code": "hidden", "text": f"It is {size} within nurses.", "component": first["name"]} for size in (1, 2)]
    document["reasons"] = twice
    page = text_of(render("html", document))
    assert "It is 1 within nurses." in page
    assert "It is 2 within nurses." in page


def test_a_table_that_shows_some_of_many_rows_states_how_many_and_which(pairs):
    many = len(pairs["components"][0]["sentences"])
    assert many > 20
    for form in ("html", "markdown"):
        assert f"20 of {many:,} shown, at even steps; the JSON and the CSV export have all" in (
            render(form, pairs).replace("\\", "")
        )


def test_a_figure_that_shows_only_the_first_rows_states_how_many_there_are():
    figure = charts.forest("Scores", "share", [(f"row {place}", Span(place / 50)) for place in range(40)])
    assert figure.title == "Scores (28 of 40 shown)"
    assert len(figure.marks) == 28


@pytest.mark.parametrize(("name", "dashed"), [("BS eraser", set()), ("UCS balancer", set()), ("undeclared", {"DSBS"})])
def test_only_the_letter_of_an_inconclusive_rating_is_outlined_with_dashes(name, dashed, sample):
    seen = {
        letter
        for root in drawings(render("html", sample(name)))
        for each in classes(root)
        for letter in ("BS", "DSBS", "UCS", "none")
        if {letter, "open"} <= set(each)
    }
    assert seen == dashed


def test_letters_that_were_not_reached_are_drawn_as_faint_outlines(sample):
    tree = next(
        root
        for root in drawings(render("html", sample("BS eraser")))
        if root[0].text == "How the two steps lead to the letter"
    )
    assert {tuple(each) for each in classes(tree) if "quiet" in each} == {("UCS", "quiet"), ("DSBS", "quiet")}


def test_the_head_of_a_report_names_certainty_methodology_id_and_address(sample):
    document = sample("BS eraser") | {"address": "https://assay.test/r/rat_1"}
    head = text_of(re.search(r"<header>.*?</header>", render("html", document), flags=re.DOTALL)[0])
    certainty = chance(document["probabilities"]["BS"])
    for fact in (
        f"chance that the letter is right {certainty}",
        "methodology 1.0.0",
        f"rating {document['id']}",
        document["address"],
    ):
        assert fact in html_module.unescape(head)


def test_the_report_counts_questions_and_does_not_mention_calls(sample):
    page = text_of(render("html", sample("BS eraser")))
    assert "Questions asked 240" in page
    assert "Calls made" not in page


def test_table_cells_may_wrap_over_several_lines(sample):
    page = render("html", sample("40 components"))
    rules = [rule.partition("{") for rule in page.partition("<style>")[2].partition("</style>")[0].split("}")]
    assert len(rules) > 20
    assert not [place for place, _, rule in rules if re.search(r"\b(?:th|td)\b", place) and "nowrap" in rule]
    assert re.search(r'<figure>.*The letter of every part.*?href="#part-40"', page, flags=re.DOTALL)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__name__)
def test_texts_for_readers_contain_no_internal_abbreviation_of_a_paper(method):
    for text in (*method.PHRASES.values(), *method.REASONS.values()):
        assert not SHORTHAND.search(str(text))


def test_titles_of_built_in_word_lists_contain_no_internal_abbreviation():
    for one in specifications().values():
        assert not SHORTHAND.search(one.title)


def test_a_component_named_by_the_id_of_a_built_in_word_list_is_shown_with_the_title_of_the_list(pairs):
    pairs = {**pairs, "components": [{**pairs["components"][0], "name": "p4-professions"}]}
    page = text_of(render("html", pairs))
    assert "of the list “Professions of men and of women (BiasTestGPT)”" in page
    assert not SHORTHAND.search(page.partition("Provenance Record")[0])


def squares_of(document, neutral):
    name = "neutral" if neutral else "prefers the stereotype"
    return next(one for one in read(document).components[0].pictures if isinstance(one, Squares) and name in one.title)


@pytest.mark.parametrize("neutral", [False, True])
def test_each_sentence_pair_is_a_square_that_is_filled_if_the_model_showed_the_counted_preference(pairs, neutral):
    rows = [one for one in pairs["components"][0]["sentences"] if (one["list"] == "neutral") is neutral]
    root = ET.fromstring(figures.picture(squares_of(pairs, neutral), "k").svg)
    drawn = Counter()
    for path in root.iter("{http://www.w3.org/2000/svg}path"):
        drawn[path.get("class")] += round((float(path.get("d").partition("h")[2]) - 8) / 10.5 + 1)
    filled = sum(one["towards"] > 0 for one in rows)
    # the legend has one filled square and one empty square
    assert drawn == {"squares": len(rows) + 2, "squares empty": len(rows) - filled + 1}
    assert squares_of(pairs, neutral).title.startswith(f"In {filled} of {len(rows)} ")


def test_a_square_of_a_figure_is_filled_to_the_height_of_its_share(pairs):
    one = Squares("T", (("nurse", (0.25,)),), "her", "him", Table("T", ("a", "b", "c"), (("nurse", "1", "1"),)))
    svg = figures.picture(one, "k").svg
    assert "h6v-1.5h-6z" in svg
    assert "between the two" in svg


def test_squares_of_more_terms_than_fit_as_rows_form_one_row_per_word_list_with_every_pair(pairs):
    part = pairs["components"][0]
    many = [{**part["sentences"][0], "term": f"term {place}", "list": "neutral"} for place in range(300)]
    wide = squares_of({**pairs, "components": [{**part, "sentences": many}]}, True)
    assert [(name, len(shares)) for name, shares in wide.rows] == [("neutral", 300)]


def test_at_most_100_squares_per_term_are_drawn_and_the_table_counts_all_pairs(pairs):
    part = pairs["components"][0]
    first = next(one for one in part["sentences"] if one["list"] == "neutral")
    terms = [f"term {place}" for place in range(4)]
    many = [
        {**first, "term": term, "towards": float(place % 10 < 3)}
        for term, count in zip(terms, (1000, 200, 200, 50), strict=True)
        for place in range(count)
    ]
    squares = squares_of({**pairs, "components": [{**part, "sentences": many}]}, True)
    drawn = figures.linked_squares(squares, "Neutral", "k", lambda case: f"#{case.lines[0]}")
    links = list(ET.fromstring(drawn.svg).iter("{http://www.w3.org/2000/svg}a"))
    assert Counter(one.get("href") for one in links) == dict(
        zip((f"#{term}" for term in terms), (100, 100, 100, 50), strict=False)
    )
    filled = Counter(one.get("href") for one in links if one[1].get("class") == "y")
    assert filled == {"#term 0": 30, "#term 1": 30, "#term 2": 30, "#term 3": 15}
    assert "At most 100 of a name are drawn" in drawn.svg
    assert [row[1:] for row in drawn.table.rows] == [("300", "1000"), ("60", "200"), ("60", "200"), ("15", "50")]


def test_the_summary_of_a_report_is_short_and_states_the_letter(any_sample):
    page = html.render_summary(any_sample)
    assert "<table" not in page
    assert "<details" not in page
    assert len(text_of(page)) < 4500
    letter = any_sample.get("letter")
    assert letter is None or letter in text_of(page)


def test_the_summary_names_the_service_its_protocol_the_limits_and_the_commands_that_verify_it(sample):
    document = sample("BS eraser") | {"address": "https://assay.test/r/rat_1", "id": "rat_1"}
    document["target"] = document["target"] | {"url": "https://translator.test/a", "protocol": "libretranslate"}
    summary = text_of(html.render_summary(document))
    assert "Service address https://translator.test/a" in summary
    assert "Protocol libretranslate" in summary
    assert f"Tolerance {document['delta']:.3f}" in summary
    assert f"Limit {document['components'][0]['tolerances']['step_1']:.3f} Step 1: balanced input" in summary
    assert "curl -O https://assay.test/v1/ratings/rat_1/export.jsonl" in summary
    assert "assay verify export.jsonl --keys jwks.json --replay" in summary
    assert "curl" not in html.render_summary(document | {"address": None})


def test_the_summary_counts_the_components_that_it_omits(sample):
    document = sample("40 components")
    text = text_of(html.render_summary(document))
    assert "32 more parts are in the full report." in text


def test_text_from_a_target_is_escaped_in_the_summary(poisoned):
    document = poisoned("DSBS with two components")
    page = html.render_summary(document)
    assert "<script" not in page
    assert "<img" not in page
