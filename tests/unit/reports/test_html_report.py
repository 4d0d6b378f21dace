"""Tests of the HTML report: well-formed, self-contained, accessible, complete, and with hostile text escaped."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from reports.figures import two_steps
from reports.formats.html import render as html_page
from reports.formats.html import render_summary
from reports.tables import block_title
from tests.support.reports import read, render

VOID = {"meta", "br", "hr", "link", "img", "input"}
ALLOWED_EMPTY = {"circle", "ellipse", "line", "path", "polygon", "rect", "use"}


class Page(HTMLParser):
    """Strict HTML parser: it fails if a tag is not closed in order, or an attribute occurs twice."""

    def __init__(self, written: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.tables: list[list[list[str]]] = []
        self._cell: list[str] | None = None
        self.feed(written)
        self.close()
        assert self.open == [], f"left open: {self.open}"

    def handle_starttag(self, name, attributes):
        assert len({key for key, _ in attributes}) == len(attributes), f"attribute twice in <{name}>"
        self.tags.append((name, dict(attributes)))
        if name not in VOID:
            self.open.append(name)
        if name == "table":
            self.tables.append([])
        if name == "tr":
            self.tables[-1].append([])
        if name in {"td", "th"}:
            self._cell = []

    def handle_startendtag(self, name, attributes):
        assert name in VOID | ALLOWED_EMPTY, f"<{name}/> is not an empty element"
        self.tags.append((name, dict(attributes)))

    def handle_endtag(self, name):
        assert self.open, f"</{name}> closes nothing"
        assert self.open.pop() == name, f"</{name}> out of order"
        if name in {"td", "th"}:
            self.tables[-1][-1].append("".join(self._cell))
            self._cell = None

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)
            if self._cell is not None:
                self._cell.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).replace("\u00a0", " ").split())


@pytest.fixture(scope="module")
def page(any_page) -> Page:
    return Page(any_page)


def test_an_html_report_closes_every_element_and_its_drawings_are_well_formed_xml(page, any_page):
    assert page.open == []
    for drawing in re.findall(r"<svg.*?</svg>", any_page, flags=re.DOTALL):
        ET.fromstring(drawing)


def test_an_html_report_loads_no_resource_and_runs_no_script(page):
    for name, attributes in page.tags:
        assert name not in {
            "script",
            "img",
            "link",
            "iframe",
            "object",
            "embed",
            "base",
            "form",
            "image",
            "foreignobject",
        }
        for key, value in attributes.items():
            assert not key.startswith("on")
            assert key not in {"src", "srcset", "style", "action", "data", "poster", "xlink:href"}
            if key == "href":
                assert value.startswith("#")
            elif key != "xmlns":
                assert "://" not in (value or "")
    style = re.search(r"<style>(.*?)</style>", render("html", {}), flags=re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style


@pytest.mark.slow
def test_every_id_is_unique_and_every_reference_resolves(page):
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in page.tags:
        named = (attributes.get("aria-labelledby") or "").split()
        linked = [attributes["href"][1:]] if "href" in attributes else []
        assert set(named + linked) <= set(ids)


def test_every_drawing_has_a_description_or_is_hidden_from_screen_readers(any_page):
    for drawing in re.findall(r"<svg.*?</svg>", any_page, flags=re.DOTALL):
        root = ET.fromstring(drawing)
        if root.get("aria-hidden") == "true":
            continue
        assert root.get("role") == "img"
        title, description = root[0], root[1]
        assert (title.tag.split("}")[-1], description.tag.split("}")[-1]) == ("title", "desc")
        assert title.text
        assert description.text
        assert root.get("aria-labelledby").split() == [title.get("id"), description.get("id")]


def test_headings_of_an_html_report_skip_no_level(page):
    levels = [int(name[1]) for name, _ in page.tags if re.fullmatch(r"h[1-6]", name)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_an_html_report_contains_every_component_and_every_reason(page, any_sample):
    text = page.text
    for one in any_sample.get("components", []):
        assert one.get("language_name", one["name"]) in text
        for reason in one["reasons"]:
            assert reason["text"].partition(" About ")[0] in text
    for reason in any_sample.get("reasons", []):
        assert reason["text"].partition(" About ")[0] in text
    parts = [attributes for name, attributes in page.tags if name == "details" and attributes.get("class") == "part"]
    assert len(parts) == len(any_sample.get("components", []))
    assert sum("open" in each for each in parts) <= 2


def test_only_the_components_that_decide_the_letter_are_expanded(sample):
    document = sample("40 components")
    page = Page(render("html", document))
    parts = [attributes for name, attributes in page.tags if attributes.get("class") == "part"]
    opened = [document["components"][place]["name"] for place, each in enumerate(parts) if "open" in each]
    assert opened == document["aggregation"]["deciding"][:2]


def test_every_figure_has_a_table_with_the_numbers_of_the_document(sample):
    document = sample("BS eraser")
    tables = Page(render("html", document)).tables
    component = document["components"][0]
    counts = next(table for table in tables if "back as he" in table[0])
    for row, (sent, back) in zip(counts[1:], component["transitions"].items(), strict=True):
        assert row == [f"sent {sent}", *(str(number) for number in back.values()), str(sum(back.values()))]
    blocks = next(table for table in tables if "Declared share" in table[0])
    observed = {(row[0], row[1]): row[4] for row in blocks[1:]}
    for block in component["blocks"]:
        for value, number in block["observed"].items():
            assert observed[block_title(block["name"]), value] == str(number)
    effects = next(table for table in tables if "Tolerance" in table[0] and "Estimate" in table[0])
    for row, effect in zip(effects[1:], component["effects"].values(), strict=True):
        shown = [float(number.strip("<>")) for number in row[1:4]]
        assert shown == pytest.approx([effect[key] for key in ("estimate", "low", "high")], abs=1e-3)


def test_text_from_a_target_is_escaped(poisoned):
    written = render("html", poisoned("DSBS with two components"))
    page = Page(written)
    names = {name for name, _ in page.tags}
    assert "script" not in names
    assert "img" not in names
    assert not any(key.startswith("on") for _, attributes in page.tags for key in attributes)
    for hidden in "\x00\x1b\x07\u202e\u2066\ud800":
        assert hidden not in written
    assert "⟨U+202E⟩" in written
    for drawing in re.findall(r"<svg.*?</svg>", written, flags=re.DOTALL):
        ET.fromstring(drawing)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("BS eraser", "BS — biased"),
        ("UCS balancer", "UCS — unbiased, compensating"),
        ("undeclared", "inconclusive (leaning DSBS)"),
    ],
)
def test_the_letter_is_written_in_words_as_well_as_in_colour(name, shown, sample):
    page = Page(render("html", sample(name)))
    assert shown in page.text.split("What it means", 1)[0]


def test_reports_of_two_services_with_equal_results_differ_only_in_the_service_name(sample):
    first, second = sample("BS eraser"), sample("BS eraser")
    second["target"]["name"] = "Another service"
    assert render("html", second) == render("html", first).replace(first["target"]["name"], "Another service")


def test_report_with_a_hundred_components_has_at_most_two_megabytes(sample):
    assert len(render("html", sample("100 components"))) < 2_000_000


@pytest.mark.parametrize("form", ["html", "summary"])
@pytest.mark.parametrize("name", ["BS eraser", "UCS balancer", "undeclared", "unmeasured", "40 components"])
def test_report_header_gives_advice_and_reasons_are_shown_without_codes(form, name, sample):
    document = sample(name)
    page = (render_summary if form == "summary" else html_page)(document)
    rating = read(document)
    head = Page(re.search(r"<header.*?</header>", page, flags=re.DOTALL)[0]).text
    assert f"What to do: {rating.in_words[-1]}" in head
    assert "<code>" not in page.partition('class="reasons"')[2].partition("</ul>")[0]


@pytest.mark.parametrize(("form", "width"), [("html", "narrow"), ("summary", "wide")])
@pytest.mark.parametrize("name", ["BS eraser", "undeclared", "40 components"])
def test_a_report_draws_the_two_steps_of_the_component_that_decided_the_letter(form, width, name, sample):
    document = sample(name)
    rating = read(document)
    assert rating.decider in rating.foremost
    alone = len(rating.components) == 1
    verdict = rating.verdict if alone else rating.decider.verdict
    page = (render_summary if form == "summary" else html_page)(document)
    assert str(two_steps(verdict, rating.decider, "rating", width).svg) in page
    assert (f"The two steps are those of “{rating.decider.title}”." in page) == (not alone)
