"""Forest plots, strip plots and scatter plots of a method's numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from assay.reports.cells import number
from assay.reports.figures.axis import Axis
from assay.reports.figures.canvas import UNITS, Figure, Width, box, clip, draw, label, stroke
from assay.reports.figures.curves import lines
from assay.reports.figures.squares import squares
from assay.reports.markup import Markup, coordinate, tag
from assay.reports.plain import width
from assay.reports.view import ARROW, Dots, Forest, Mark, Picture, Point, Scatter, Span, Squares, Strip

RIGHT, FOOT = 14, 38
"""Space at the right for half of the last tick's number, and below the picture for the axis."""

LETTER, GAP, WIDEST = 6.2, 10, 158
"""Width of a small character, of the space between names and numbers, and of the widest column of names."""

SINGLE, DOUBLE, LEGEND = 17, 24, 20
"""Height of a row with one kind of mark, of a row with two kinds, and of the legend."""


def picture(one: Picture, key: str, width: Width = "narrow") -> Figure:
    """Draw the numbers of a method; `key` is unique on the page."""
    across = UNITS[width]
    match one:
        case Forest():
            return _forest(one, key, across)
        case Strip():
            return _strip(one, key, across)
        case Scatter():
            return _scatter(one, key, across)
        case Squares():
            return squares(one, key, across)
        case _:
            return lines(one, key, across)
    assert_never(one)


# ---------------------------------------------------------------------------- forests
def _forest(one: Forest, key: str, across: float) -> Figure:
    left = _names_width((mark.label for mark in one.marks), across)
    at = Axis(_ends(one), left, across - RIGHT)
    row, top = (DOUBLE, LEGEND) if len(one.kinds) > 1 else (SINGLE, 2)
    bottom = top + row * len(one.marks) + 3
    drawn = [*_reference(one, at, top, bottom), *_legend(one.kinds, left, across)]
    for place, mark in enumerate(one.marks):
        middle = top + (place + 0.5) * row
        drawn.append(label(0, middle + 4, _short(mark.label, left), "s"))
        drawn += _spans(mark, middle, at)
    return draw(
        key, one.table, _forest_in_words(one), bottom + FOOT, *drawn, *at.across(bottom, one.axis), across=across
    )


def _ends(one: Forest) -> list[float]:
    spans = [span for mark in one.marks for span in mark.spans if span is not None]
    ends = [end for span in spans for end in (span.low, span.estimate, span.high) if end is not None]
    if one.reference is None:
        return ends
    around = one.tolerance or 0.0
    return [*ends, one.reference - around, one.reference + around]


def _reference(one: Forest, at: Axis, top: float, bottom: float) -> list[Markup]:
    if one.reference is None:
        return []
    start, end = (at(one.reference + side * (one.tolerance or 0.0)) for side in (-1, 1))
    zone = [box(start, top, end - start, bottom - top, "zone")] if one.tolerance else []
    return [*zone, stroke("limit", (at(one.reference), top), (at(one.reference), bottom))]


def _spans(mark: Mark, middle: float, at: Axis) -> list[Markup]:
    drawn: list[Markup] = []
    for place, span in enumerate(mark.spans):
        if span is None:
            continue
        y = middle + (place * 2 - len(mark.spans) + 1) * 4
        if span.low is not None and span.high is not None:
            drawn.append(stroke(f"span k{place}", (at(span.low), y), (at(span.high), y)))
        drawn.append(tag("circle", cx=at(span.estimate), cy=y, r=3, class_=f"spot k{place}"))
    return drawn


def _forest_in_words(one: Forest) -> str:
    first = [mark for mark in one.marks if mark.spans[0] is not None]
    if not first:
        return f"{one.axis}."
    ordered = sorted(first, key=lambda mark: _estimate(mark.spans[0]))
    ends = " to ".join(f"{number(_estimate(mark.spans[0]))} ({mark.label})" for mark in (ordered[0], ordered[-1]))
    of = f", {one.kinds[0]}" if one.kinds else ""
    alone = f"{ordered[0].label}: {number(_estimate(ordered[0].spans[0]))}"
    return f"{one.axis.capitalize()}{of}: {f'from {ends}' if len(ordered) > 1 else alone}."


def _estimate(span: Span | None) -> float:
    return 0.0 if span is None else span.estimate


# ---------------------------------------------------------------------------- strips
def _strip(one: Strip, key: str, across: float) -> Figure:
    left = _names_width((row.label for row in one.rows), across)
    at = Axis((value for row in one.rows for values in row.values for value in values), left, across - RIGHT)
    two = len(one.kinds) > 1
    row, top = (DOUBLE, LEGEND) if two else (SINGLE, 2)
    bottom = top + row * len(one.rows) + 3
    drawn = _legend(one.kinds, left, across, dots=False) if two else []
    for place, dots in enumerate(one.rows):
        middle = top + (place + 0.5) * row
        drawn += [
            label(0, middle + 4, _short(dots.label, left), "s"),
            stroke("rule", (left, middle), (across - RIGHT, middle)),
            *_numbers(dots, middle, at),
        ]
    each = f"Each mark is {one.kinds[0]}" if not two else f"Above each line {one.kinds[0]}, below it {one.kinds[1]}"
    values = [value for dots in one.rows for kind in dots.values for value in kind]
    ends = f"from {number(min(values))} to {number(max(values))}"
    words = f"{one.axis.capitalize()}: {len(one.rows)} rows, {ends}. {each}."
    return draw(key, one.table, words, bottom + FOOT, *drawn, *at.across(bottom, one.axis), across=across)


def _numbers(dots: Dots, middle: float, at: Axis) -> list[Markup]:
    """Draw the numbers of a row: as dots, or as ticks above and below its line."""
    if len(dots.values) == 1:
        return [_run(dots.values[0], middle, at, "h0", "dots k0")]
    ways = ((-1, "v-7", "ticks k0"), (1, "v7", "ticks k1"))
    return [
        _run(values, middle + way, at, step, class_)
        for values, (way, step, class_) in zip(dots.values, ways, strict=True)
        if values
    ]


def _run(values: Iterable[float], y: float, at: Axis, step: str, class_: str) -> Markup:
    """Draw many marks as one path, which takes a tenth of the space of single elements."""
    return tag("path", d="".join(f"M{coordinate(at(value))} {coordinate(y)}{step}" for value in values), class_=class_)


# ---------------------------------------------------------------------------- scatters
def _scatter(one: Scatter, key: str, wide: float) -> Figure:
    left, top, bottom = 36, 20, 214
    across = Axis([point.x for point in one.points], left, wide - RIGHT)
    level = [] if one.level is None else [one.level]
    up = Axis([*(point.y for point in one.points), *level], bottom, top)
    drawn = up.upright(left, wide - RIGHT, one.up)
    if one.level is not None:
        drawn.append(stroke("limit", (left, up(one.level)), (wide - RIGHT, up(one.level))))
    if one.slope is not None and one.intercept is not None:
        ends = (min(point.x for point in one.points), max(point.x for point in one.points))
        drawn.append(stroke("curve k1", *((across(x), up(one.intercept + one.slope * x)) for x in ends)))
    for kind in range(max(1, len(one.kinds))):
        dots = "".join(f"M{across(p.x):.1f} {up(p.y):.1f}h0" for p in one.points if p.kind == kind)
        drawn.append(tag("path", d=dots, class_=f"dots k{kind}"))
    drawn += _legend(one.kinds, left, wide) or [_named(point, across, up, wide) for point in _extremes(one.points)]
    line = "" if one.slope is None else f" The line rises by {number(one.slope)} over one unit."
    marks = f"dots, of {' and of '.join(one.kinds)}" if one.kinds else "words"
    words = f"{len(one.points)} {marks}, {one.up} against {one.across}.{line}"
    return draw(key, one.table, words, bottom + FOOT, *drawn, *across.across(bottom, one.across), across=wide)


def _extremes(points: Sequence[Point]) -> list[Point]:
    """Return the lowest and the highest dot; only one if they are the same."""
    return list(dict.fromkeys((min(points, key=lambda one: one.y), max(points, key=lambda one: one.y))))


def _named(point: Point, across: Axis, up: Axis, wide: float) -> Markup:
    """Draw a dot's name on the side that faces the middle of the picture."""
    x, y = across(point.x), up(point.y)
    return label(x + 6, y + 4, clip(point.label, 20), "s") if x < wide / 2 else label(x - 6, y + 4, point.label, "e s")


# ---------------------------------------------------------------------------- shared helpers
def _names_width(names: Iterable[str], wide: float) -> float:
    return min(WIDEST * wide / UNITS["narrow"], max(width(name) for name in names) * LETTER + GAP)


def _short(name: str, left: float) -> str:
    """Shorten a name to the width of its column; a name with an arrow keeps both ends."""
    room = int((left - GAP) / LETTER)
    ends = name.split(ARROW)
    if width(name) <= room or len(ends) != 2:
        return clip(name, room)
    half = (room - width(ARROW)) // 2
    spare = max(0, half - min(map(width, ends)))  # columns that the shorter end does not need
    return ARROW.join(clip(end, half + spare) for end in ends)


def _legend(kinds: Sequence[str], left: float, wide: float, *, dots: bool = True) -> list[Markup]:
    """Draw the legend of the two kinds of marks above the picture."""
    if len(kinds) < 2:
        return []
    drawn: list[Markup] = []
    for place, (kind, x) in enumerate(zip(kinds, (min(left, 60), wide / 2 + 20), strict=False)):
        dot = tag("circle", cx=x + 4, cy=8, r=3, class_=f"spot k{place}")
        tick = tag("path", d=f"M{coordinate(x + 4)} {4 + 4 * place}v7", class_=f"ticks k{place}")
        drawn += [dot if dots else tick, label(x + 12, 12, clip(kind, 24), "s")]
    return drawn
