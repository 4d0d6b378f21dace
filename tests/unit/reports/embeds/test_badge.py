"""Tests of the content, accessibility and text width of the badge."""

import itertools
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from assay.model import Letter
from reports.embeds import PublicView
from reports.embeds.badge import COLOURS, CREAM, EDGE, INK, OPEN, colour, render, text_width
from reports.embeds.catalogs import shields

SVG = "{http://www.w3.org/2000/svg}"
NOW = datetime(2026, 2, 11, 12, tzinfo=UTC)

# matrices on linear RGB that simulate colour blindness: Machado, Oliveira & Fernandes (2009), Table 1, severity 1.0
VISIONS = {
    "common": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


def shown(document, **changes):
    return PublicView(**{"document": document, "now": NOW, "base_url": "https://assay.example", **changes})


def words(svg):
    return [one.text for one in ET.fromstring(svg).iter(f"{SVG}text")]


def linear(colour):
    share = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """Return the contrast ratio of two colours (WCAG 2.2)."""
    light, dark = sorted((float(linear(each) @ [0.2126, 0.7152, 0.0722]) for each in (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def lab(rgb):
    """Return the CIE L*a*b* coordinates of a linear sRGB colour; the reference white is that of sRGB."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(np.maximum((to_xyz @ np.clip(rgb, 0, 1)) / to_xyz.sum(axis=1), 0.008856))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_a_badge_shows_the_letter_the_date_and_the_age_of_a_rating(sample):
    assert words(render(shown(sample("BS eraser")))) == ["gender bias", "BS", "2 Jan 2026 · 40 days ago"]
    assert words(render(shown(sample("undeclared")))) == [
        *("gender bias", "inconclusive, leaning", "DSBS", "2 Jan 2026 · 40 days ago"),
    ]
    late = NOW + timedelta(days=400)
    assert words(render(shown(sample("UCS balancer"), now=late)))[:3] == ["gender bias", "expired, was", "UCS"]
    withdrawn = words(render(shown(sample("BS eraser"), withdrawn=True)))
    assert withdrawn == ["gender bias", "withdrawn", "rated 2 Jan 2026 · 40 days ago"]
    assert words(render(shown(None))) == ["bias rating", "unrated"]


def test_a_badge_of_a_service_that_changed_keeps_the_letter_and_says_since_when(sample):
    changed = shown(sample("BS eraser"), changed_since="2026-02-01T10:00:00Z")
    svg = render(changed)
    assert words(svg) == ["gender bias", "BS", "2 Jan 2026 · changed since 1 Feb 2026"]
    assert "A watch noticed that its answers have changed since 2026-02-01." in svg
    assert "2026-01-02, changed since 2026-02-01" in shields(changed)
    assert colour(changed) == OPEN != colour(shown(sample("BS eraser")))
    late = shown(sample("BS eraser"), changed_since="2026-02-01T10:00:00Z", now=NOW + timedelta(days=400))
    assert "changed" not in render(late), "an expired rating says that alone"


def test_the_age_of_a_rating_is_written_as_today_or_days_ago(sample):
    rated = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    said = [words(render(shown(sample("BS eraser"), now=rated + timedelta(days=days))))[-1] for days in (0, 1, 2)]
    assert [one.partition(" · ")[2] for one in said] == ["today", "1 day ago", "2 days ago"]


def test_a_badge_has_a_description_for_screen_readers(sample):
    root = ET.fromstring(render(shown(sample("BS eraser"))))
    assert root.get("role") == "img"
    title = root.findtext(f"{SVG}title")
    assert title.startswith("Bias rating: BS. BS because of the effect on balanced input: ")
    description = root.findtext(f"{SVG}desc")
    assert root.get("aria-label") == f"{title} {description}"
    for said in (
        "Apertium eng-spa",
        "for gender bias",
        "by round-trip",
        "2 Jan 2026",
        "40 days ago",
        "Methodology 1.0.0",
    ):
        assert said in description


def test_each_letter_has_its_own_shape_and_an_undeclared_letter_a_dashed_outline(sample):
    shapes = {}
    for name, letter in (("BS eraser", "BS"), ("UCS balancer", "UCS"), ("DSBS with two components", "DSBS")):
        outline = ET.fromstring(render(shown(sample(name)))).find(f"{SVG}g")
        assert outline.get("stroke-dasharray") is None
        shapes[letter] = (outline[0].tag, "".join(filter(str.isalpha, outline[0].get("d", ""))))
    assert len(set(shapes.values())) == 3
    open_ = ET.fromstring(render(shown(sample("undeclared")))).find(f"{SVG}g")
    assert open_.get("stroke-dasharray") == "3 2"
    assert open_.get("fill") == "none"


@pytest.mark.parametrize("ground", [*COLOURS.values(), OPEN, INK])
def test_text_has_enough_contrast_on_every_badge_background(ground):
    assert contrast(CREAM, ground) >= 4.5


@pytest.mark.parametrize("page", ["#ffffff", "#0d1117", "#000000"])
def test_badge_border_has_enough_contrast_on_light_and_dark_pages(page):
    assert contrast(EDGE, page) >= 3


@pytest.mark.parametrize("vision", VISIONS)
def test_letter_colours_are_distinguishable_with_each_kind_of_colour_blindness(vision):
    seen = {letter: lab(np.array(VISIONS[vision]) @ linear(COLOURS[letter])) for letter in Letter}
    for one, other in itertools.combinations(seen.values(), 2):
        assert np.linalg.norm(one - other) > 20  # a difference of 2.3 in CIELAB is just noticeable


def test_the_parts_of_a_badge_are_inside_it_and_do_not_overlap(any_sample):
    for one in (shown(any_sample), shown(any_sample | {"attribute": "ê性" * 30}), shown(None)):
        root = ET.fromstring(render(one))
        runs = [
            (float(text.get("x")), float(text.get("x")) + float(text.get("textLength")))
            for text in root.iter(f"{SVG}text")
        ]
        assert runs[0][0] >= 5
        assert runs[-1][1] <= float(root.get("width")) - 5
        assert all(after[0] - before[1] >= 5 for before, after in itertools.pairwise(runs))


@pytest.mark.parametrize(
    ("text", "regular", "bold"),
    # widths measured in a browser with Liberation Sans at 100 pixels
    [
        ("The quick brown fox jumps over the lazy dog", 1978.8, 2139.2),
        ("ABCDEFGHIJKLMNOPQRSTUVWXYZ", 1761.3, 1788.9),
        ("abcdefghijklmnopqrstuvwxyz", 1272.8, 1400.3),
        ("0123456789 · … — –", 950.7, 950.7),
        ("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", 1388.0, 1463.7),
        ("éàüñ", 222.5, 233.4),
    ],
)
def test_computed_text_widths_equal_those_measured_in_a_browser(text, regular, bold):
    assert text_width(text, 100) == pytest.approx(regular, abs=0.3)
    assert text_width(text, 100, bold=True) == pytest.approx(bold, abs=0.3)


def test_a_badge_contains_no_script_and_loads_no_resource(any_sample):
    svg = render(shown(any_sample))
    assert len(svg) < 4000
    for forbidden in ("<script", "href", "url(", "<style", "<image", "http://127"):
        assert forbidden not in svg
