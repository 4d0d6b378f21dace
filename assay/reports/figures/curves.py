"""Curves over one axis, each marked with a number that the legend below names."""

from __future__ import annotations

from collections.abc import Sequence

from assay.reports.figures.axis import Axis
from assay.reports.figures.canvas import WIDTH, Figure, clip, draw, label, stroke
from assay.reports.markup import Markup, coordinate, tag
from assay.reports.view import Lines, Series

LEFT, RIGHT, TOP, BOTTOM = 32, 14, 8, 190
FOOT, ROW = 50, 19
"""Height of the axis below the curves, and of a row of the legend."""

SHORT = 21
"""Maximum number of characters of each name for a legend with two names in a row."""

SEAT = 7
"""Radius of the circle around a number on its curve."""

Place = tuple[float, float]


def lines(one: Lines, key: str, wide: float = WIDTH) -> Figure:
    """Draw curves, each with a number that the legend names; `key` is unique on the page."""
    across = Axis(one.x, LEFT, wide - RIGHT)
    top = one.top or max((value for series in one.series for value in series.y), default=1.0)
    up = Axis([0.0, top or 1.0], BOTTOM, TOP)
    paths = [[(across(x), up(y)) for x, y in zip(one.x, series.y, strict=True)] for series in one.series]
    drawn = up.upright(LEFT, wide - RIGHT, "")
    for series, path in zip(one.series, paths, strict=True):
        drawn.append(stroke(_class(series), *_thinned(path)))
        if series.points:
            dots = "".join(f"M{coordinate(across(x))} {coordinate(up(y))}h0" for x, y in series.points)
            drawn.append(tag("path", d=dots, class_=f"dots fine k{series.kind}"))
    for place, seat in enumerate(_seats(paths), 1):
        drawn += _seated(place, seat, one.series[place - 1])
    legend, height = _legend(one.series, BOTTOM + FOOT, wide)
    words = f"{one.axis.capitalize()}, from {across.named(one.x[0])} to {across.named(one.x[-1])}: " + "; ".join(
        series.label for series in one.series
    )
    return draw(key, one.table, f"{words}.", height, *drawn, *across.across(BOTTOM, one.axis), *legend, across=wide)


def _class(series: Series) -> str:
    return f"curve k{series.kind}{' dashed' if series.dashed else ''}"


def _thinned(path: Sequence[Place]) -> list[Place]:
    """Remove points that are as high as both neighbours, because a line does not need them."""
    kept = [
        place
        for before, place, after in zip(path, path[1:], path[2:], strict=False)
        if not before[1] == place[1] == after[1]
    ]
    return [path[0], *kept, path[-1]]


def _seats(paths: Sequence[Sequence[Place]]) -> list[Place]:
    """Find a position for the number on each curve, far from the other numbers and curves."""
    seats: list[Place] = []
    for own, path in enumerate(paths):
        others = [other for place, other in enumerate(paths) if place != own]
        inner = list(enumerate(path))[1:-1] or list(enumerate(path))
        rising = [spot for spot in inner if TOP + SEAT < spot[1][1] < BOTTOM - SEAT] or inner
        seats.append(max(rising, key=lambda spot: _room(spot[0], spot[1], seats, others))[1])
    return seats


def _room(at: int, spot: Place, seats: Sequence[Place], others: Sequence[Sequence[Place]]) -> float:
    """Return a score for the free space around a position; overlap with another number counts most."""
    nearest = min((((spot[0] - x) ** 2 + (spot[1] - y) ** 2) ** 0.5 for x, y in seats), default=60.0)
    clear = min((abs(spot[1] - other[at][1]) for other in others), default=20.0)
    return min(nearest, 2.6 * SEAT) * 4 + min(clear, 20.0) + min(nearest, 60.0) / 10


def _seated(number: int, seat: Place, series: Series) -> list[Markup]:
    x, y = seat
    return [tag("circle", cx=x, cy=y, r=SEAT, class_=f"seat k{series.kind}"), label(x, y + 3.5, str(number), "m n10")]


def _legend(series: Sequence[Series], top: float, wide: float) -> tuple[list[Markup], float]:
    """Draw the legend below the picture, two short names in a row; return it with the height of the figure."""
    columns = 2 if all(len(one.label) <= SHORT for one in series) else 1
    rows = -(-len(series) // columns)
    drawn: list[Markup] = []
    for place, one in enumerate(series):
        x, y = place // rows * wide / 2, top + place % rows * ROW
        drawn += [
            stroke(_class(one), (x, y), (x + 34, y)),
            *_seated(place + 1, (x + 17, y), one),
            label(x + 42, y + 4, clip(one.label, SHORT if columns == 2 else 48), "s"),
        ]
    return drawn, top + rows * ROW
