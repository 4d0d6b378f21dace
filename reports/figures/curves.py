"""Figures of curves over one axis, in one picture or in stacked panels; a legend names the number on each curve."""

from collections.abc import Sequence
from dataclasses import replace

from reports.figures.axis import Axis
from reports.figures.canvas import WIDTH, Figure, clip, draw, label, stroke
from reports.markup import Markup, coordinate, tag
from reports.view import Curve, Lines, Panel, Panels

# classes of texts: s small, b bold, m centred at x
LEFT, RIGHT, TOP, BOTTOM = 32, 14, 22, 204  # widths beside the curves; y of their upper and lower ends
FOOT, ROW = 50, 19
"""Height of the axis below the curves, and of a row of the legend."""

PANEL_HEAD, PANEL_HEIGHT, PANEL_GAP, PANEL_FOOT = 26, 116, 12, 40
"""Height of a panel's title, of its curves, of the space below its legend, and of the axis at the end."""

SHORT = 21
"""Maximum number of characters of each name for a legend with two names in a row."""

RADIUS = 7
"""Radius of the circle around a number on its curve."""

Place = tuple[float, float]
"""Position (x, y) in user units."""


def lines(chart: Lines, key: str, width: float = WIDTH) -> Figure:
    """Draw curves, each with a number in a circle that the legend explains; `key` is unique on the page."""
    x = chart.curves[0].x
    x_axis = Axis(x, LEFT, width - RIGHT)
    largest_y = chart.top or max(value for curve in chart.curves for value in curve.y)
    y_axis = Axis([0.0, largest_y or 1.0], BOTTOM, TOP)  # 1 if all values are 0
    paths = [_path(curve, x_axis, y_axis) for curve in chart.curves]
    shapes = y_axis.draw_upright(LEFT, width - RIGHT, chart.up)
    for curve, path in zip(chart.curves, paths, strict=True):
        shapes.append(stroke(_curve_class(curve), *_thin_out(path)))
        if curve.points:
            # lines without length, whose round ends are dots
            dots = "".join(f"M{coordinate(x_axis(x))} {coordinate(y_axis(y))}h0" for x, y in curve.points)
            shapes.append(tag("path", d=dots, class_=f"dots fine k{curve.kind_index}"))
    for number, position in enumerate(_number_positions(paths), 1):
        shapes += _draw_number(number, position, chart.curves[number - 1])
    legend, height = _draw_legend(chart.curves, BOTTOM + FOOT, width)
    shapes += [*x_axis.draw_across(BOTTOM, chart.axis), *legend]
    span = f"from {x_axis.tick_text(x[0])} to {x_axis.tick_text(x[-1])}"
    labels = "; ".join(curve.label for curve in chart.curves)
    return draw(key, chart.table, f"{chart.axis.capitalize()}, {span}: {labels}.", height, *shapes, width=width)


def _path(curve: Curve, x_axis: Axis, y_axis: Axis) -> list[Place]:
    return [(x_axis(x), y_axis(y)) for x, y in zip(curve.x, curve.y, strict=True)]


def _curve_class(curve: Curve) -> str:
    return f"curve k{curve.kind_index}{' dashed' if curve.dashed else ''}"


def _thin_out(path: Sequence[Place]) -> list[Place]:
    """Remove points that have the same height as both neighbours, which do not change the line."""
    triples = zip(path, path[1:], path[2:], strict=False)
    inner_points = [(x, y) for (_, y_before), (x, y), (_, y_after) in triples if not y_before == y == y_after]
    return [path[0], *inner_points, path[-1]]


def _number_positions(paths: Sequence[Sequence[Place]], top: float = TOP, bottom: float = BOTTOM) -> list[Place]:
    """Find a position for the number on each curve, far from the other numbers and curves."""
    positions: list[Place] = []
    for index, path in enumerate(paths):
        other_paths = [other_path for other_index, other_path in enumerate(paths) if other_index != index]
        inner_indices = range(len(path))[1:-1] or range(len(path))  # not at an end, if there are other points
        clear_indices = [i for i in inner_indices if top + RADIUS < path[i][1] < bottom - RADIUS] or inner_indices
        positions.append(path[max(clear_indices, key=lambda i: _free_space(i, path[i], positions, other_paths))])
    return positions


def _free_space(index: int, point: Place, numbers: Sequence[Place], other_paths: Sequence[Sequence[Place]]) -> float:
    """Score how far a curve's `point` (number `index` on it) is from other curves and from `numbers` drawn so far."""
    x, y = point
    number_distance = min((((x - x2) ** 2 + (y - y2) ** 2) ** 0.5 for x2, y2 in numbers), default=60.0)
    curve_distance = min((abs(y - path[index][1]) for path in other_paths), default=20.0)
    circle_score = min(number_distance, 2.6 * RADIUS) * 4  # counts most; 2.6 radii keep the circles apart
    curve_score = min(curve_distance, 20.0)  # beyond 20 units, and 60 between numbers, more space is no better
    return circle_score + curve_score + min(number_distance, 60.0) / 10


def _draw_number(number: int, position: Place, curve: Curve) -> list[Markup]:
    x, y = position
    circle = tag("circle", cx=x, cy=y, r=RADIUS, class_=f"seat k{curve.kind_index}")
    return [circle, label(x, y + 3.5, str(number), "m n10")]


def _draw_legend(curves: Sequence[Curve], top: float, width: float) -> tuple[list[Markup], float]:
    """Draw the legend below `top`, two short names in a row; return it with the height of the whole figure."""
    columns = 2 if all(len(curve.label) <= SHORT for curve in curves) else 1
    rows = -(-len(curves) // columns)  # rounded up
    shapes: list[Markup] = []
    for index, curve in enumerate(curves):
        x, y = index // rows * width / 2, top + index % rows * ROW
        shapes += [  # a line of 34 units with the number in its middle, then the name
            stroke(_curve_class(curve), (x, y), (x + 34, y)),
            *_draw_number(index + 1, (x + 17, y), curve),
            label(x + 42, y + 4, clip(curve.label, SHORT if columns == 2 else 48), "s"),
        ]
    return shapes, top + rows * ROW


def panels(chart: Panels, key: str, width: float = WIDTH) -> Figure:
    """Draw panels of curves one above the other; `key` is unique on the page."""
    numbers = [x for panel in chart.panels for curve in panel.curves for x in curve.x]
    x_axis = Axis([*numbers, *([] if chart.marked is None else [chart.marked])], LEFT, width - RIGHT)
    y, shapes = 0.0, list[Markup]()
    for panel in chart.panels:
        panel_shapes, y = _draw_panel(panel, x_axis, y, chart.marked, width)
        shapes += panel_shapes
    if chart.marked is not None:
        text = f"thin vertical line: the chosen threshold, {chart.marked:g}"
        shapes.append(label(LEFT, y + PANEL_FOOT + 12, text, "s"))
    height = y + PANEL_FOOT + (0 if chart.marked is None else ROW)
    return draw(key, chart.table, chart.words, height, *shapes, *x_axis.draw_across(y, chart.axis), width=width)


def _draw_panel(
    panel: Panel, x_axis: Axis, top: float, marked_x: float | None, width: float
) -> tuple[list[Markup], float]:
    """Draw a panel below `top`; return its shapes and the position of its lower end."""
    bottom = top + PANEL_HEAD + PANEL_HEIGHT
    y_axis = Axis([0.0, 1.0], bottom, top + PANEL_HEAD)
    shapes = [*y_axis.draw_upright(LEFT, width - RIGHT, "")]
    shapes += [_draw_interval(curve, x_axis, y_axis) for curve in panel.curves if curve.low]
    if panel.level is not None:
        shapes.append(stroke("limit", (LEFT, y_axis(panel.level)), (width - RIGHT, y_axis(panel.level))))
    if marked_x is not None:
        shapes.append(stroke("line", (x_axis(marked_x), top + PANEL_HEAD), (x_axis(marked_x), bottom)))
    curves = [replace(curve, kind_index=index % 2) for index, curve in enumerate(panel.curves)]  # two styles in turn
    paths = [_path(curve, x_axis, y_axis) for curve in curves]
    shapes += [stroke(_curve_class(curve), *path) for curve, path in zip(curves, paths, strict=True)]
    shapes.append(label(0, top + 12, panel.title, "b"))
    if len(curves) < 2:
        return shapes, bottom + PANEL_GAP
    for number, position in enumerate(_number_positions(paths, top + PANEL_HEAD, bottom), 1):
        shapes += _draw_number(number, position, curves[number - 1])
    legend, legend_bottom = _draw_legend(curves, bottom + PANEL_GAP + 4, width)
    return [*shapes, *legend], legend_bottom


def _draw_interval(curve: Curve, x_axis: Axis, y_axis: Axis) -> Markup:
    upper = [(x_axis(x), y_axis(y)) for x, y in zip(curve.x, curve.high, strict=True)]
    lower = [(x_axis(x), y_axis(y)) for x, y in zip(curve.x, curve.low, strict=True)]
    path = "L".join(f"{coordinate(x)} {coordinate(y)}" for x, y in [*upper, *lower[::-1]])
    return tag("path", d=f"M{path}Z", class_="zone")
