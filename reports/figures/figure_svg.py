"""Drawing of the figures of `reports.view` as SVG, and captions that explain how to read them."""

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import assert_never

from rich.cells import cell_len

from reports.cells import number
from reports.figures.axis import Axis
from reports.figures.canvas import UNITS, Figure, Width, box, clip, draw, label, stroke
from reports.figures.curves import lines, panels
from reports.figures.squares import squares
from reports.markup import Markup, coordinate, tag
from reports.view import ARROW, Dots, Forest, Lines, Mark, Panels, Picture, Point, Scatter, Squares, Strip

# classes of texts: s small, e ending at x
RIGHT, FOOT = 14, 38
"""Space in user units at the right, for half of the last tick's number, and below the picture, for the axis."""

LETTER, GAP, WIDEST = 6.2, 10, 158
"""Widths in user units of a small character, of the space between names and numbers, of the widest column of names."""

SINGLE, DOUBLE, LEGEND = 17, 24, 20
"""Heights in user units of a row with one kind of mark, of a row with two kinds, and of the legend."""


def picture(chart: Picture, key: str, width: Width = "narrow") -> Figure:
    """Draw a figure of any type; `key` is unique on the page."""
    figure_width = UNITS[width]
    match chart:
        case Forest():
            return _draw_forest(chart, key, figure_width)
        case Strip():
            return _draw_strip(chart, key, figure_width)
        case Scatter():
            return _draw_scatter(chart, key, figure_width)
        case Squares():
            return squares(chart, key, figure_width)
        case Panels():
            return panels(chart, key, figure_width)
        case Lines():
            return lines(chart, key, figure_width)
    assert_never(chart)


def _draw_forest(forest: Forest, key: str, figure_width: float) -> Figure:
    margin = _names_width((mark.label for mark in forest.marks), figure_width)
    scale = Axis(_axis_values(forest), margin, figure_width - RIGHT)
    row_height, top = (DOUBLE, LEGEND) if len(forest.kinds) > 1 else (SINGLE, 2)  # only two kinds need a legend
    bottom = top + row_height * len(forest.marks) + 3
    shapes = [*_draw_reference(forest, scale, top, bottom), *_draw_legend(forest.kinds, margin, figure_width)]
    for index, mark in enumerate(forest.marks):
        middle = top + (index + 0.5) * row_height
        shapes.append(label(0, middle + 4, _shorten_name(mark.label, margin), "s"))
        shapes += _draw_spans(mark, middle, scale)
    shapes += scale.draw_across(bottom, forest.axis)
    return draw(key, forest.table, _forest_in_words(forest), bottom + FOOT, *shapes, width=figure_width)


def _axis_values(forest: Forest) -> list[float]:
    spans = [span for mark in forest.marks for span in mark.spans if span is not None]
    bounds = [bound for span in spans for bound in (span.low, span.estimate, span.high) if bound is not None]
    if forest.reference is None:
        return bounds
    tolerance = forest.tolerance or 0.0
    return [*bounds, forest.reference - tolerance, forest.reference + tolerance]


def _draw_reference(forest: Forest, scale: Axis, top: float, bottom: float) -> list[Markup]:
    if forest.reference is None:
        return []
    start, end = (scale(forest.reference + sign * (forest.tolerance or 0.0)) for sign in (-1, 1))
    zone = [box(start, top, end - start, bottom - top, "zone")] if forest.tolerance else []
    return [*zone, stroke("limit", (scale(forest.reference), top), (scale(forest.reference), bottom))]


def _draw_spans(mark: Mark, middle: float, scale: Axis) -> list[Markup]:
    shapes: list[Markup] = []
    for index, span in enumerate(mark.spans):
        if span is None:
            continue
        y = middle + (index * 2 - len(mark.spans) + 1) * 4  # 8 units apart, around the middle
        if span.low is not None and span.high is not None:
            shapes.append(stroke(f"span k{index}", (scale(span.low), y), (scale(span.high), y)))
        shapes.append(tag("circle", cx=scale(span.estimate), cy=y, r=3, class_=f"spot k{index}"))
    return shapes


def _forest_in_words(forest: Forest) -> str:
    estimates = [(mark.spans[0].estimate, mark.label) for mark in forest.marks if mark.spans[0] is not None]
    estimates.sort(key=itemgetter(0))
    if not estimates:
        return f"{forest.axis}."
    kind_clause = f", {forest.kinds[0]}" if forest.kinds else ""  # `estimates` are of each row's first span
    (lowest, lowest_label), (highest, highest_label) = estimates[0], estimates[-1]
    effects = f"from {number(lowest)} ({lowest_label}) to {number(highest)} ({highest_label})"
    if len(estimates) == 1:
        effects = f"{lowest_label}: {number(lowest)}"
    return f"{forest.axis.capitalize()}{kind_clause}: {effects}."


def _draw_strip(strip: Strip, key: str, figure_width: float) -> Figure:
    margin = _names_width((row.label for row in strip.rows), figure_width)
    values = [value for row in strip.rows for values_of_kind in row.values for value in values_of_kind]
    scale = Axis(values, margin, figure_width - RIGHT)
    two_kinds = len(strip.kinds) > 1
    row_height, top = (DOUBLE, LEGEND) if two_kinds else (SINGLE, 2)
    bottom = top + row_height * len(strip.rows) + 3
    shapes = _draw_legend(strip.kinds, margin, figure_width, dots=False) if two_kinds else []
    for index, row in enumerate(strip.rows):
        middle = top + (index + 0.5) * row_height
        shapes += [
            label(0, middle + 4, _shorten_name(row.label, margin), "s"),
            stroke("rule", (margin, middle), (figure_width - RIGHT, middle)),
            *_draw_numbers(row, middle, scale),
        ]
    mark_meaning = f"Each mark is {strip.kinds[0]}"
    if two_kinds:
        mark_meaning = f"Above each line {strip.kinds[0]}, below it {strip.kinds[1]}"
    value_range = f"from {number(min(values))} to {number(max(values))}"
    description = f"{strip.axis.capitalize()}: {len(strip.rows)} rows, {value_range}. {mark_meaning}."
    shapes += scale.draw_across(bottom, strip.axis)
    return draw(key, strip.table, description, bottom + FOOT, *shapes, width=figure_width)


def _draw_numbers(dots: Dots, middle: float, scale: Axis) -> list[Markup]:
    """Draw the numbers of a row as dots or, if they are of two kinds, as ticks above and below the row's line."""
    if len(dots.values) == 1:
        return [_draw_marks(dots.values[0], middle, scale, "h0", "dots k0")]  # round ends of lines without length
    marks_by_kind = ((-1, "v-7", "ticks k0"), (1, "v7", "ticks k1"))
    return [
        _draw_marks(values, middle + offset, scale, command, class_)
        for values, (offset, command, class_) in zip(dots.values, marks_by_kind, strict=True)
        if values
    ]


def _draw_marks(values: Iterable[float], y: float, scale: Axis, command: str, class_: str) -> Markup:
    """Draw many marks as one path, which has a tenth of the bytes of single elements."""
    return tag(
        "path", d="".join(f"M{coordinate(scale(value))} {coordinate(y)}{command}" for value in values), class_=class_
    )


def _draw_scatter(scatter: Scatter, key: str, figure_width: float) -> Figure:
    margin, top, bottom = 36, 20, 214
    x_axis = Axis([point.x for point in scatter.points], margin, figure_width - RIGHT)
    level_values = [] if scatter.level is None else [scatter.level]
    y_axis = Axis([*(point.y for point in scatter.points), *level_values], bottom, top)
    shapes = y_axis.draw_upright(margin, figure_width - RIGHT, scatter.up)
    if scatter.level is not None:
        shapes.append(stroke("limit", (margin, y_axis(scatter.level)), (figure_width - RIGHT, y_axis(scatter.level))))
    if scatter.slope is not None and scatter.intercept is not None:
        ends_x = (min(point.x for point in scatter.points), max(point.x for point in scatter.points))
        shapes.append(stroke("curve k1", *((x_axis(x), y_axis(scatter.intercept + scatter.slope * x)) for x in ends_x)))
    for kind_index in range(max(1, len(scatter.kinds))):  # without kinds, all dots have the index 0
        points = [point for point in scatter.points if point.kind_index == kind_index]
        dots = "".join(f"M{x_axis(p.x):.1f} {y_axis(p.y):.1f}h0" for p in points)
        shapes.append(tag("path", d=dots, class_=f"dots k{kind_index}"))
    # dots of one kind have no legend; instead, two of them have their names
    shapes += _draw_legend(scatter.kinds, margin, figure_width) or [
        _draw_name(point, x_axis, y_axis, figure_width) for point in _extreme_points(scatter.points)
    ]
    slope_sentence = "" if scatter.slope is None else f" The line rises by {number(scatter.slope)} over one unit."
    points_phrase = f"dots, of {' and of '.join(scatter.kinds)}" if scatter.kinds else "words"
    description = f"{len(scatter.points)} {points_phrase}, {scatter.up} against {scatter.across}.{slope_sentence}"
    shapes += x_axis.draw_across(bottom, scatter.across)
    return draw(key, scatter.table, description, bottom + FOOT, *shapes, width=figure_width)


def _extreme_points(points: Sequence[Point]) -> list[Point]:
    """Return the lowest and the highest dot, whose names are shown; a single dot if it is both."""
    return list(dict.fromkeys((min(points, key=lambda point: point.y), max(points, key=lambda point: point.y))))


def _draw_name(point: Point, x_axis: Axis, y_axis: Axis, figure_width: float) -> Markup:
    """Draw a dot's name on the side that faces the middle of the picture."""
    x, y = x_axis(point.x), y_axis(point.y)
    if x < figure_width / 2:
        return label(x + 6, y + 4, clip(point.label, 20), "s")
    return label(x - 6, y + 4, point.label, "e s")


def caption(chart: Picture) -> str:
    """Return sentences that explain how to read a figure, about the marks, lines and zones that it has."""
    match chart:
        case Forest():
            return _forest_caption(chart)
        case Strip():
            kinds = chart.kinds
            return f"Above each line {kinds[0]}, below it {kinds[1]}." if len(kinds) > 1 else f"A mark is {kinds[0]}."
        case Lines():
            text = "The legend names the number on each curve."
            if any(curve.points for curve in chart.curves):
                text += " Dots are the answers that a curve was fitted to."
            if any(curve.dashed for curve in chart.curves):
                text += " Compare the dashed curves with the solid ones."
            return text
        case Panels():
            curves = [curve for panel in chart.panels for curve in panel.curves]
            zone_note = " A shaded zone is the interval of a curve." if any(curve.low for curve in curves) else ""
            level_note = " Compare them with the dashed line." if any(panel.level for panel in chart.panels) else ""
            return f"Each panel has its own vertical axis, from 0 to 1.{zone_note}{level_note}"
        case Scatter():
            line_note = "" if chart.slope is None else " The solid line is fitted to the dots."
            level_note = "" if chart.level is None else f" The dashed line, at {chart.level:g}, is no preference."
            return f"Each dot is {'an input' if chart.kinds else 'a word'}.{line_note}{level_note}"
        case Squares():
            return f"A filled square is {chart.filled}, an empty one {chart.hollow}."
    assert_never(chart)


def _forest_caption(forest: Forest) -> str:
    spans = [span for mark in forest.marks for span in mark.spans if span is not None]
    interval = "the line its interval" if any(span.low is not None for span in spans) else "drawn without an interval"
    text = f"A dot is an estimate, {interval}."
    if forest.reference is not None:
        text += f" The dashed line is at {forest.reference:g}"
        text += "; the shaded zone around it counts as no effect." if forest.tolerance else "."
    return text


def _names_width(names: Iterable[str], figure_width: float) -> float:
    widest = WIDEST * figure_width / UNITS["narrow"]  # in proportion to the figure
    return min(widest, max(cell_len(name) for name in names) * LETTER + GAP)


def _shorten_name(name: str, margin: float) -> str:
    """Shorten a name to the width of its column; a name with an arrow keeps both ends."""
    room = int((margin - GAP) / LETTER)
    ends = name.split(ARROW)
    if cell_len(name) <= room or len(ends) != 2:
        return clip(name, room)
    half = (room - cell_len(ARROW)) // 2
    spare = max(0, half - min(map(cell_len, ends)))  # columns that the shorter end does not need: for the longer end
    return ARROW.join(clip(end, half + spare) for end in ends)


def _draw_legend(kinds: Sequence[str], margin: float, figure_width: float, *, dots: bool = True) -> list[Markup]:
    """Draw the legend of two kinds of marks above the picture; empty for one kind."""
    if len(kinds) < 2:
        return []
    shapes: list[Markup] = []
    for index, (kind, x) in enumerate(zip(kinds, (min(margin, 60), figure_width / 2 + 20), strict=False)):
        dot = tag("circle", cx=x + 4, cy=8, r=3, class_=f"spot k{index}")
        tick = tag("path", d=f"M{coordinate(x + 4)} {4 + 4 * index}v7", class_=f"ticks k{index}")
        shapes += [dot if dots else tick, label(x + 12, 12, clip(kind, 24), "s")]
    return shapes
