"""Figure of the letters' probabilities under other tolerances, with a divided bar for each tolerance."""

from assay.explain import chance
from assay.model import Letter
from reports import tables
from reports.figures.axis import Axis
from reports.figures.canvas import UNITS, Figure, Width, box, draw, label
from reports.markup import Markup, tag
from reports.reading import Component

LEFT, ROW, BAR, RIGHT = 104, 32, 20, 14
"""Width of the names, heights of a row and of its bar, and space at the right for half of the last tick's number."""

NAMED = 74
"""Minimum width of a part of a bar, in user units, that fits its letter and probability."""

ORDER = (Letter.UCS, Letter.DSBS, Letter.BS)


def tolerances_bars(component: Component, declared: float | None, key: str, width: Width = "narrow") -> Figure | None:
    """Draw a bar of the letters' probabilities for each tolerance (`declared` in bold); ``None`` without tolerances."""
    table = tables.sensitivity(component)
    if not table.rows:
        return None
    figure_width = UNITS[width]
    shapes: list[Markup] = []
    tolerances = [tolerance for tolerance, *_ in table.rows]
    shares_by_tolerance = {text: component.sensitivity[text].probabilities or {} for text in tolerances}
    for index, (tolerance, shares) in enumerate(shares_by_tolerance.items()):
        is_declared = declared is not None and abs(tables.tolerance_of(tolerance) - declared) < 1e-9
        shapes.append(label(0, index * ROW + 18, f"tolerance {tolerance}", "b" if is_declared else None))
        x, y = float(LEFT), index * ROW + 4
        for letter in ORDER:
            bar_width = (figure_width - LEFT - RIGHT) * shares.get(letter, 0.0)
            if bar_width >= 1:  # the box leaves a gap of 1
                text = f"{letter} {chance(shares[letter])}"
                text_label = label(x + 8, y + 14, text, "on") if bar_width > NAMED else None  # room for it
                shapes.append(tag("g", box(x, y, bar_width - 1, BAR, "flow"), text_label, class_=letter))
            x += bar_width
    axis = Axis([0.0, 1.0], LEFT, figure_width - RIGHT)
    height = len(table.rows) * ROW
    shapes += axis.draw_across(height, "probability")
    words = ". ".join(
        f"Tolerance {tolerance}: {', '.join(f'{letter} {chance(share)}' for letter, share in shares.items())}"
        for tolerance, shares in shares_by_tolerance.items()
    )
    return draw(f"{key}-tolerances", table, f"{words}.", height + 38, *shapes, width=figure_width)
