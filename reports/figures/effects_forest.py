"""Figure of effects as a forest plot: each interval over the zone of its tolerance."""

from collections.abc import Sequence

from reports import tables
from reports.figures.axis import Axis
from reports.figures.canvas import UNITS, Figure, Width, box, clip, draw, label, stroke
from reports.markup import Markup, tag
from reports.reading import Component
from reports.units import of_hundred
from reports.view import Effect, Table

# class of texts: e s small, ending at x
LEFT, RIGHT, ROW, FOOT = 6, 12, 54, 38
"""Space at the left and at the right; heights of an effect and of the axis below, in user units."""

CHARACTER_WIDTH, REMARK_WIDTH = 6.4, 104
"""Width of a character, and of the remark at the right, such as "within tolerance", in user units."""


def effects_forest(component: Component, key: str, width: Width = "narrow") -> Figure | None:
    """Draw every measured effect as a diamond with its interval, over the zone of no bias; ``None`` without effects."""
    return _draw_forest(component, component.effects, tables.effects(component), f"{key}-effects", UNITS[width])


def hidden_forest(component: Component, key: str, width: Width = "narrow") -> Figure | None:
    """Draw every effect that an average can hide, as a diamond over the zone within its limit; ``None`` without any."""
    return _draw_forest(component, component.hidden, tables.hidden(component), f"{key}-hidden", UNITS[width])


def _draw_forest(
    component: Component, effects: Sequence[Effect], table: Table, key: str, width: float
) -> Figure | None:
    measurements = [effect for effect in effects if effect.estimate is not None]
    if not measurements:
        return None
    sizes = ((effect.low, effect.estimate, effect.high, effect.tolerance) for effect in measurements)
    scale = Axis([0.0, *(size for row in sizes for size in row if size is not None)], LEFT, width - RIGHT)
    shapes: list[Markup] = []
    for index, effect in enumerate(measurements):
        shapes += _draw_effect(effect, index * ROW, scale, width)
    height = ROW * len(measurements)
    unit = "effect, as a share" if component.report.unit is of_hundred else "effect"  # `of_hundred`: effects are shares
    shapes += scale.draw_across(height, f"{unit}; 0 is none")
    remark = tables.tolerance_remark
    sentences = (f"{effect.title}: {tables.interval(effect)}, {remark(effect)}." for effect in measurements)
    return draw(key, table, " ".join(sentences), height + FOOT, *shapes, width=width)


def _draw_effect(effect: Effect, y: float, scale: Axis, width: float) -> list[Markup]:
    middle = y + 32
    shapes = [  # classes of texts: e ending at x, s small
        label(0, y + 13, clip(effect.title, int((width - REMARK_WIDTH) / CHARACTER_WIDTH))),
        label(width, y + 13, tables.tolerance_remark(effect), "e s"),
    ]
    if effect.tolerance is not None:
        # the tolerance zone begins at the axis's lower end, because effects below zero are no bias
        start = scale.start_position
        shapes += [
            box(start, y + 20, scale(effect.tolerance) - start, 24, "zone"),
            stroke("limit", (scale(effect.tolerance), y + 20), (scale(effect.tolerance), y + 44)),
        ]
    if effect.low is not None and effect.high is not None:
        shapes.append(stroke("path", (scale(effect.low), middle), (scale(effect.high), middle)))
    x = scale(effect.estimate or 0.0)
    shapes.append(tag("path", d=f"M{x:.1f} {middle - 6}l5 6l-5 6l-5 -6z", class_="bar"))  # a diamond
    return shapes
