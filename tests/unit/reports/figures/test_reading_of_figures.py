"""Texts of figures: a caption mentions only what is drawn, axes have names, and blocks are named in words."""

from __future__ import annotations

import re

import pytest

from reports import figures
from reports.tables import block_title
from reports.view import Forest, Lines, Mark, Scatter, Span
from tests.support.reports import document_of, read
from tests.support.simulated.language_models import stereotype_service


def pictures_of(document):
    return [picture for component in read(document).components for picture in component.pictures]


def test_the_caption_of_a_figure_mentions_lines_zones_and_intervals_only_if_they_are_drawn(any_sample):
    for chart in pictures_of(any_sample):
        words, svg = figures.caption(chart), figures.picture(chart, "k").svg
        assert words
        if isinstance(chart, Forest):
            assert ("the line its interval" in words) == ('class="span' in svg)
        assert ("zone" in words) <= ('class="zone"' in svg)
        assert ("dashed" in words) <= ("dashed" in svg or 'class="limit"' in svg)


@pytest.mark.parametrize(
    ("reference", "tolerance", "interval", "caption"),
    [
        (None, None, True, "A dot is an estimate, the line its interval."),
        (None, None, False, "A dot is an estimate, drawn without an interval."),
        (0.5, None, True, "A dot is an estimate, the line its interval. The dashed line is at 0.5."),
    ],
)
def test_the_caption_of_a_forest_plot_describes_its_interval_and_dashed_line(reference, tolerance, interval, caption):
    span = Span(0.4, 0.3, 0.5) if interval else Span(0.4)
    marks = (Mark("a", (span,)),)
    assert figures.caption(Forest("T", "share", marks, None, (), reference, tolerance)) == caption


def test_both_axes_of_curves_and_scatter_plots_have_a_name(any_sample):
    for chart in pictures_of(any_sample):
        if isinstance(chart, Lines | Scatter):
            svg = figures.picture(chart, "k").svg
            across = chart.axis if isinstance(chart, Lines) else chart.across
            assert f">{across}</text>" in svg
            assert f">{chart.up}</text>" in svg


def test_axes_of_effects_and_tolerances_have_a_unit_and_ticks(sample):
    component = read(sample("BS eraser")).components[0]
    effects = figures.effects_forest(component, "k").svg
    assert "effect, as a share; 0 is none" in effects
    assert ">0.0</text>" in effects
    bars = figures.tolerances_bars(component, 0.1, "k").svg
    assert re.search(r">0\.0</text>.*>1\.0</text>.*>probability</text>", bars)


def test_blocks_are_named_in_words_in_figures_and_tables(sample):
    names = {
        "U": "unbiased block",
        "B1": "first biased block",
        "B10": "tenth biased block",
        "own": "own",
        None: "block",
    }
    assert {name: block_title(name) for name in names} == names
    component = read(sample("BS eraser")).components[0]
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", figures.blocks_bars(component, "k").svg)
    assert {"Unbiased block", "First biased block", "Second biased block"} <= set(texts)
    assert not {"U", "B1", "B2"} & set(texts)


def test_a_solid_mark_means_the_stereotype_in_every_figure_of_a_language_model():
    charts = pictures_of(document_of(stereotype_service(0, 0.2, 3, rung="echo").rate(3)))
    pairs = next(chart for chart in charts if isinstance(chart, Forest) and chart.kinds)
    squares = next(chart for chart in charts if not isinstance(chart, Forest) and "stereotype" in chart.filled)
    assert pairs.kinds[0] == "stereotype"
    assert "stereotype" in squares.filled
