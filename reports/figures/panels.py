"""Panels of curves, one above the other over one axis, each curve marked with a number that a legend names."""

from __future__ import annotations

from reports.figures.axis import Axis
from reports.figures.canvas import WIDTH, Figure, draw, label, stroke
from reports.figures.curves import LEFT, RIGHT, legend, seated, seats
from reports.markup import Markup, coordinate, tag
from reports.view import Curve, Panel, Panels, Series

HEAD, HEIGHT, GAP, FOOT = 26, 116, 12, 40
"""Height of a panel's title, of its curves, of the space below its legend, and of the axis at the end."""

ROW = 19
"""Height of the line that names the marked number."""


def panels(chart: Panels, key: str, wide: float = WIDTH) -> Figure:
    """Draw panels; `key` is unique on the page."""
    numbers = [x for panel in chart.panels for curve in panel.curves for x in curve.x]
    across = Axis([*numbers, *([] if chart.marked is None else [chart.marked])], LEFT, wide - RIGHT)
    y, shapes = 0.0, list[Markup]()
    for panel in chart.panels:
        panel_shapes, y = _panel(panel, across, y, chart.marked, wide)
        shapes += panel_shapes
    if chart.marked is not None:
        text = f"thin vertical line: the chosen threshold, {chart.marked:g}"
        shapes.append(label(LEFT, y + FOOT + 12, text, "s"))
    height = y + FOOT + (0 if chart.marked is None else ROW)
    return draw(key, chart.table, chart.words, height, *shapes, *across.across(y, chart.axis), across=wide)


def _panel(panel: Panel, across: Axis, top: float, marked: float | None, wide: float) -> tuple[list[Markup], float]:
    """Draw a panel below `top`, and return it with its lower end."""
    bottom = top + HEAD + HEIGHT
    up = Axis([0.0, 1.0], bottom, top + HEAD)
    shapes = [*up.upright(LEFT, wide - RIGHT, "")]
    shapes += [_band(curve, across, up) for curve in panel.curves if curve.low]
    if panel.level is not None:
        shapes.append(stroke("limit", (LEFT, up(panel.level)), (wide - RIGHT, up(panel.level))))
    if marked is not None:
        shapes.append(stroke("line", (across(marked), top + HEAD), (across(marked), bottom)))
    paths = [[(across(x), up(y)) for x, y in zip(curve.x, curve.y, strict=True)] for curve in panel.curves]
    series = [Series(curve.label, curve.y, kind=index % 2) for index, curve in enumerate(panel.curves)]
    shapes += [stroke(f"curve k{row.kind}", *path) for row, path in zip(series, paths, strict=True)]
    shapes.append(label(0, top + 12, panel.title, "b"))
    if len(series) < 2:
        return shapes, bottom + GAP
    for number, seat in enumerate(seats(paths, top + HEAD, bottom), 1):
        shapes += seated(number, seat, series[number - 1])
    names, end = legend(series, bottom + GAP + 4, wide)
    return [*shapes, *names], end


def _band(curve: Curve, across: Axis, up: Axis) -> Markup:
    """Draw the interval of a curve as an area."""
    upper = [(across(x), up(y)) for x, y in zip(curve.x, curve.high, strict=True)]
    lower = [(across(x), up(y)) for x, y in zip(curve.x, curve.low, strict=True)]
    path = "L".join(f"{coordinate(x)} {coordinate(y)}" for x, y in [*upper, *lower[::-1]])
    return tag("path", d=f"M{path}Z", class_="zone")
