"""Captions that explain the marks, lines and zones of a figure; a caption mentions only what its figure has."""

from __future__ import annotations

from typing import assert_never

from reports.view import Forest, Lines, Panels, Picture, Scatter, Squares, Strip


def caption(chart: Picture) -> str:
    """Return the sentences on how to read a figure."""
    match chart:
        case Forest():
            return _of_forest(chart)
        case Strip():
            kinds = chart.kinds
            return f"Above each line {kinds[0]}, below it {kinds[1]}." if len(kinds) > 1 else f"A mark is {kinds[0]}."
        case Lines():
            dots = (
                " Dots are the answers that a curve was fitted to." if any(row.points for row in chart.series) else ""
            )
            dashed = (
                " Compare the dashed curves with the solid ones." if any(row.dashed for row in chart.series) else ""
            )
            return f"The legend names the number on each curve.{dots}{dashed}"
        case Panels():
            curves = [curve for panel in chart.panels for curve in panel.curves]
            zone = " A shaded zone is the interval of a curve." if any(curve.low for curve in curves) else ""
            dashed = " Compare them with the dashed line." if any(panel.level for panel in chart.panels) else ""
            return f"Each panel has its own vertical axis, from 0 to 1.{zone}{dashed}"
        case Scatter():
            fitted = "" if chart.slope is None else " The solid line is fitted to the dots."
            level = "" if chart.level is None else f" The dashed line, at {chart.level:g}, is no preference."
            return f"Each dot is {'an input' if chart.kinds else 'a word'}.{fitted}{level}"
        case Squares():
            return f"A filled square is {chart.filled}, an empty one {chart.hollow}."
    assert_never(chart)


def _of_forest(forest: Forest) -> str:
    spans = [span for mark in forest.marks for span in mark.spans if span is not None]
    interval = "the line its interval" if any(span.low is not None for span in spans) else "drawn without an interval"
    text = f"A dot is an estimate, {interval}."
    if forest.reference is not None:
        text += f" The dashed line is at {forest.reference:g}"
        text += "; the shaded zone around it counts as no effect." if forest.tolerance else "."
    return text
