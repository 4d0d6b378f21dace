"""Effects as a forest plot: each interval against its tolerance."""

from __future__ import annotations

from collections.abc import Sequence

from assay.reports import tables
from assay.reports.figures.canvas import UNITS, Figure, Width, box, clip, draw, label, stroke
from assay.reports.markup import Markup, tag
from assay.reports.view import Component, Effect, Table

LEFT, RIGHT, ROW = 6, 12, 54
LETTER, STANDING = 6.4, 104
"""Width of a character, and of the text that says whether an effect is within its tolerance."""

TICKS = (0.05, 0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


def effects_forest(component: Component, key: str, width: Width = "narrow") -> Figure | None:
    """Draw every measured effect: a diamond with its interval, over the zone that still counts as unbiased.

    Returns ``None`` where no effect was measured.
    """
    return _forest(component.effects, tables.effects(component), f"{key}-effects", UNITS[width])


def hidden_forest(component: Component, key: str, width: Width = "narrow") -> Figure | None:
    """Draw every effect that a mean can hide, over the zone within its own limit; ``None`` if none was measured."""
    return _forest(component.hidden, tables.hidden(component), f"{key}-hidden", UNITS[width])


def _forest(effects: Sequence[Effect], table: Table, key: str, across: float) -> Figure | None:
    measured = [each for each in effects if each.estimate is not None]
    if not measured:
        return None
    scale = _Scale(measured, across)
    drawn: list[Markup] = []
    for place, effect in enumerate(measured):
        drawn += _effect(effect, place * ROW, scale)
    height = ROW * len(measured)
    drawn += _axis(scale, height)
    words = " ".join(f"{each.title}: {tables.interval(each)}, {tables.standing(each)}." for each in measured)
    return draw(key, table, words, height + 20, *drawn, across=across)


class _Scale:
    """Map effect sizes to positions; the axis begins and ends at a tick and includes zero."""

    def __init__(self, effects: Sequence[Effect], across: float) -> None:
        self.across = across
        ends = [
            end for each in effects for end in (each.low, each.estimate, each.high, each.tolerance) if end is not None
        ]
        low, high = min(0.0, *ends), max(0.0, *ends)
        self.tick = next((tick for tick in TICKS if (high - low) / tick <= 6), max(high - low, 1e-9))
        self.first, self.last = -int(-low / self.tick + 0.999), max(1, int(high / self.tick + 0.999))

    def __call__(self, value: float) -> float:
        span = (self.last - self.first) * self.tick
        return LEFT + (value - self.first * self.tick) / span * (self.across - LEFT - RIGHT)


def _effect(effect: Effect, y: float, at: _Scale) -> list[Markup]:
    estimate = effect.estimate or 0.0
    middle = y + 32
    drawn = [
        label(0, y + 13, clip(effect.title, int((at.across - STANDING) / LETTER))),
        label(at.across, y + 13, tables.standing(effect), "e s"),
    ]
    if effect.tolerance is not None:
        # the tolerance zone begins at the axis's lower end, because effects below zero are no bias
        start = at(at.first * at.tick)
        drawn += [
            box(start, y + 20, at(effect.tolerance) - start, 24, "zone"),
            stroke("limit", (at(effect.tolerance), y + 20), (at(effect.tolerance), y + 44)),
        ]
    if effect.low is not None and effect.high is not None:
        drawn.append(stroke("path", (at(effect.low), middle), (at(effect.high), middle)))
    x = at(estimate)
    drawn.append(tag("path", d=f"M{x:.1f} {middle - 6}l5 6l-5 6l-5 -6z", class_="bar"))
    return drawn


def _axis(at: _Scale, y: float) -> list[Markup]:
    drawn = [stroke("line", (LEFT, y), (at.across - RIGHT, y))]
    for place in range(at.first, at.last + 1):
        value = place * at.tick
        drawn += [stroke("line", (at(value), y), (at(value), y + 4)), label(at(value), y + 17, f"{value:.3g}", "m s")]
    return drawn
