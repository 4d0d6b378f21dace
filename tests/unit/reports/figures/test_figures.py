"""Tests of the figures: size, contrast in both colour schemes, and a table with the same numbers."""

from __future__ import annotations

import re
from importlib.resources import files
from xml.etree import ElementTree as ET

import pytest

from assay.document import EffectDocument
from assay.model import Letter
from reports import figures
from reports.embeds import badge
from reports.figures.canvas import clip, heat_class, punch
from reports.figures.timeline import Moment, timeline
from tests.support.reports import read

SVG = "{http://www.w3.org/2000/svg}"


def _drawn(document):
    rating = read(document)
    yield figures.stamp(rating, "k")
    yield figures.overview_matrix(rating, "k")
    yield figures.probabilities_bar(rating.verdict, rating.document.confidence, "k")
    for one in rating.components[:3]:
        yield figures.transition_heatmap(one, "k")
        yield figures.blocks_bars(one, "k")
        for width in ("narrow", "wide"):
            yield figures.two_steps(rating.verdict, one, "k", width)
            yield figures.effects_forest(one, "k", width)
            yield figures.hidden_forest(one, "k", width)
            yield figures.tolerances_bars(one, rating.document.delta, "k", width)


def test_a_timeline_shows_effects_with_intervals_letters_and_changes_of_the_rules():
    moments = [
        Moment("2026-01-03T10:00:00Z", "BS", True, "1.2.0", EffectDocument(3.0, 2.5, 30.0)),
        Moment("2026-02-03T10:00:00Z", "BS", True, "1.2.0", EffectDocument(2.0, 1.5, 2.5)),
        Moment("2026-03-03T10:00:00Z", None, False, "1.2.0"),
        Moment("2026-04-03T10:00:00Z", "UCS", False, "1.3.0", EffectDocument(0.5, 0.0, 0.9)),
        Moment("2026-05-03T10:00:00Z", "UCS", True, "1.3.0", EffectDocument(0.4, 0.0, 0.8)),
    ]
    assert timeline(moments[:1], "effect of its limit", "k", 1.0) is None
    figure = timeline(moments[::-1], "effect of its limit", "k", 1.0)
    root = ET.fromstring(figure.svg)
    assert len(root.findall(f"{SVG}circle")) == 4
    assert len(root.findall(f"{SVG}path[@class='path']")) == 4
    # two ratings by the same rules are connected; a rating that measured nothing and new rules interrupt the line
    assert len(root.findall(f"{SVG}path[@class='curve k1']")) == 2
    assert [text for text in root.itertext() if text in {"1.2.0", "1.3.0"}] == ["1.3.0"]
    assert [row[:3] for row in figure.table.rows][1:4] == [
        ("3 Feb 2026", "BS", "2.0 (1.5 to 2.5)"),
        ("3 Mar 2026", "no letter, inconclusive", "–"),
        ("3 Apr 2026", "UCS, inconclusive", "0.5 (0.0 to 0.9)"),
    ]
    assert "3 Apr 2026 UCS, inconclusive" in figure.description


def _schemes() -> dict[str, dict[str, str]]:
    light, dark = re.findall(r":root \{(.*?)\}", figures.stylesheet(), flags=re.DOTALL)
    read_colours = [dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block)) for block in (light, dark)]
    return dict(zip(("light", "dark"), read_colours, strict=True))


def _luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours (WCAG 2.2)."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_every_figure_is_well_formed_small_and_has_a_description(sample, any_sample):
    for figure in filter(None, _drawn(any_sample)):
        root = ET.fromstring(figure.svg)
        assert root.find(f"{SVG}title").text == figure.title
        assert root.find(f"{SVG}desc").text == figure.description
        assert figure.table.rows
    for figure in filter(None, _drawn(sample("40 components"))):
        assert len(figure.svg) < 8_200


def test_no_number_in_a_figure_is_missing_or_infinite(any_sample):
    for figure in filter(None, _drawn(any_sample)):
        assert not re.search(r"\b(nan|inf|None)\b", figure.svg)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("step", range(10))
def test_text_on_every_shade_of_the_heat_map_has_enough_contrast(scheme, step):
    colours = _schemes()[scheme]
    assert _contrast(colours[f"h{step}"], colours[f"t{step}"]) >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("ink", "paper"),
    [
        *(("ink", paper) for paper in ("paper", "card", "zone")),
        *(("muted", paper) for paper in ("paper", "card")),
        *((letter, paper) for letter in ("UCS", "DSBS", "BS", "open") for paper in ("paper", "card")),
        *(("on", letter) for letter in ("UCS", "DSBS", "BS")),
    ],
)
def test_every_text_colour_has_enough_contrast_on_its_background(scheme, ink, paper):
    colours = _schemes()[scheme]
    assert _contrast(colours[ink], colours[paper]) >= 4.5


def test_a_letter_has_the_same_colour_in_a_figure_as_on_a_badge():
    light = _schemes()["light"]
    assert {letter: light[letter] for letter in badge.COLOURS} == badge.COLOURS


def test_figures_reports_and_web_pages_have_the_same_colours_and_type():
    shared = set(re.findall(r"(--[\w-]+): ", figures.stylesheet()))
    assert {"--UCS", "--DSBS", "--BS", "--paper", "--ink", "--serif", "--t-l"} <= shared
    for package, path in (("web", "static/style.css"), ("reports.formats.html", "page.css")):
        own = set(re.findall(r"(--[\w-]+) ?:", files(package).joinpath(path).read_text(encoding="utf-8")))
        assert not own & shared, path


@pytest.mark.parametrize(("name", "said"), [("BS eraser", 1), ("UCS balancer", 0), ("undeclared", 0)])
def test_only_the_figure_of_a_declared_bs_says_that_step_1_decided(name, said, sample):
    rating = read(sample(name))
    drawn = figures.two_steps(rating.verdict, rating.components[0], "k")
    assert drawn.svg.count("step 1 decided") == said
    assert drawn.svg.count("not declared") == (name == "undeclared")


def test_light_and_dark_colour_schemes_define_the_same_colours():
    schemes = _schemes()
    assert schemes["light"].keys() == schemes["dark"].keys()


def test_a_cell_of_a_heat_map_is_darker_the_larger_its_share():
    assert [heat_class(share) for share in (0, 0.05, 0.1, 0.55, 0.95, 1)] == ["h0", "h0", "h1", "h5", "h9", "h9"]


def test_every_letter_has_its_own_shape():
    shapes = {str(punch(letter, 0, 0, 60, 24, "mark")) for letter in (*Letter, None)}
    assert len(shapes) == 4


def test_only_a_declared_letter_is_drawn_as_a_solid_stamp(sample):
    for name, kind in (("BS eraser", "BS struck"), ("undeclared", "DSBS open"), ("unmeasured", "none open")):
        assert f'class="{kind}"' in figures.stamp(read(sample(name)), "k").svg


def test_branch_probabilities_in_the_figure_of_the_two_steps_multiply_to_the_letter_probabilities(sample):
    rating = read(sample("undeclared"))
    verdict = rating.verdict
    rows = figures.two_steps(verdict, rating.decider, "k").table.rows
    bs, not_bs, follows, not_follows = (float(row[4].strip("<>")) for row in rows)
    shares = [bs, not_bs * follows, not_bs * not_follows]
    assert shares == pytest.approx(list(verdict.probabilities.values()), abs=2e-3)


def test_ratings_of_several_languages_and_constructions_are_drawn_as_a_grid_of_letters(sample):
    drawn = figures.overview_matrix(read(sample("40 components")), "k")
    labels = [text.text for text in ET.fromstring(drawn.svg).iter(f"{SVG}text")]
    assert labels.count("Turkish") == 1
    assert labels.count("object") == 1
    assert sum(each in {"BS", "DSBS", "UCS"} for each in labels) == 40


def test_an_unmeasured_component_has_no_figures(sample):
    component = read(sample("unmeasured")).components[0]
    assert figures.transition_heatmap(component, "k") is None
    assert figures.blocks_bars(component, "k") is None
    assert figures.effects_forest(component, "k") is None
    assert figures.two_steps(component.verdict, component, "k") is None
    assert figures.probabilities_bar(component.verdict, 0.95, "k") is None


def test_an_effect_below_zero_stays_on_the_canvas(sample):
    document = sample("BS eraser")
    document["components"][0]["effects"]["step_1"] = {"estimate": -0.4, "low": -0.9, "high": 0.1, "level": 0.95}
    drawn = figures.effects_forest(read(document).components[0], "k")
    places = [float(x) for x in re.findall(r"[ML](-?[\d.]+) ", drawn.svg)]
    assert min(places) >= 0
    assert max(places) <= 360


def test_a_long_name_is_shortened_with_an_ellipsis():
    assert clip("coordination", 20) == "coordination"
    assert clip("coordination", 6) == "coord…"
