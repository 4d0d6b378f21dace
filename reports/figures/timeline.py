"""Figure of a service's ratings over time: letter and number with interval of each, and changes of the methodology."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from assay.document import NO_EFFECT, EffectDocument
from assay.model import Letter
from reports.cells import intervals
from reports.figures.axis import Axis
from reports.figures.canvas import UNITS, Figure, box, draw, hallmark, label, stroke
from reports.markup import Markup, tag
from reports.view import Table

MOST_MOMENTS = 12
"""Maximum number of ratings that a figure has room for."""

# class of texts: m s small, centred at x
LEFT, TOP, BOTTOM, FOOT = 34, 38, 190, 60
"""Left end, top and bottom of the picture, and height of the letters and dates below it, in user units."""

LARGEST_DRAWN = 20.0
"""Largest number that is drawn at its own height; larger ones are drawn at the edge."""


@dataclass(frozen=True)
class Moment:
    """A rating in a timeline: its time (ISO 8601), its letter, its methodology, and a number with an interval."""

    rated_at: str
    letter: str | None
    declared: bool
    rules: str
    size: EffectDocument = NO_EFFECT

    @property
    def date(self) -> date:
        """Day of the rating."""
        return date.fromisoformat(self.rated_at[:10])


def timeline(newest_first: Sequence[Moment], axis: str, key: str, limit: float | None = None) -> Figure | None:
    """Draw the newest ratings from left to right, at even steps; numbers up to `limit` are in a shaded zone.

    The line breaks where the rules (methodology) change: their numbers are not comparable. ``None`` below two ratings.
    """
    moments = newest_first[:MOST_MOMENTS][::-1]
    if len(moments) < 2:
        return None
    # the first moment is compared with itself: nothing changed before it
    rule_changes = [before.rules != moment.rules for before, moment in pairwise([moments[0], *moments])]
    figure_width = float(UNITS["wide"])
    step = (figure_width - LEFT) / len(moments)
    values = [value for moment in moments for value in (moment.size.estimate, moment.size.high) if value is not None]
    # the zone up to the limit ends below the top of the picture
    y_axis = Axis([0.0, 1.2 * (limit or 0.0), *(min(value, LARGEST_DRAWN) for value in values)], BOTTOM, TOP)
    shapes = [] if limit is None else [box(LEFT, y_axis(limit), figure_width - LEFT, BOTTOM - y_axis(limit), "zone")]
    shapes += y_axis.draw_upright(LEFT, figure_width, axis)
    shapes += [] if limit is None else [stroke("limit", (LEFT, y_axis(limit)), (figure_width, y_axis(limit)))]
    marks: list[Markup] = []
    previous_point: tuple[float, float] | None = None
    for index, moment in enumerate(moments):
        x, estimate = LEFT + (index + 0.5) * step, moment.size.estimate
        point = None if estimate is None else (x, y_axis(estimate))
        if rule_changes[index]:
            gap_x = x - step / 2
            marks += [stroke("line", (gap_x, TOP - 14), (gap_x, BOTTOM)), label(gap_x + 3, TOP - 4, moment.rules, "s")]
        elif previous_point and point:
            shapes.append(stroke("curve k1", previous_point, point))
        marks += _draw_moment(moment, x, y_axis)
        previous_point = point
    sizes = intervals([moment.size for moment in moments])
    rows = tuple(_table_row(moment, size) for moment, size in zip(moments, sizes, strict=True))
    words = "; ".join(" ".join(row) for row in rows)
    table = Table(axis, ("Rated", "Letter", axis, "Rules"), rows)
    return draw(f"{key}-timeline", table, f"Oldest first: {words}.", BOTTOM + FOOT, *shapes, *marks, width=figure_width)


def _draw_moment(moment: Moment, x: float, y_axis: Axis) -> Iterator[Markup]:
    size, letter = moment.size, Letter(moment.letter) if moment.letter else None
    if size.low is not None and size.high is not None:
        yield stroke("path", (x, y_axis(size.low)), (x, y_axis(size.high)))
    if size.estimate is not None:
        yield tag("circle", cx=x, cy=y_axis(size.estimate), r=4, class_="spot")
    yield hallmark(letter, x - 17, BOTTOM + 8, 34, 17, struck=moment.declared, size=9)
    yield label(x, BOTTOM + 41, f"{moment.date:%-d %b}", "m s")
    yield label(x, BOTTOM + 54, f"{moment.date.year}", "m s")


def _table_row(moment: Moment, size: str) -> tuple[str, ...]:
    letter = f"{moment.letter or 'no letter'}{'' if moment.declared else ', inconclusive'}"
    return f"{moment.date:%-d %b %Y}", letter, size, moment.rules
