"""Figure of the transition matrix as a heat map: values sent (rows) by values returned (columns)."""

from __future__ import annotations

from assay.document import Shares
from assay.explain import share as percent
from reports import tables
from reports.figures.canvas import WIDTH, Figure, box, clip, draw, heat_class, label
from reports.markup import Markup, tag
from reports.reading import Component
from reports.tables import count

LEFT, TOP, ROW = 92, 40, 46
"""Width of the row names, height of the column names, and height of a row, in user units."""


def transition_heatmap(component: Component, key: str) -> Figure | None:
    """Draw the matrix with counts in the cells, shaded by their share of the row; ``None`` if there are no counts."""
    table = tables.transitions(component)
    if not table.rows or table.heat is None:
        return None
    values = [column.removeprefix("back as ") for column in table.columns[1:-1]]
    cell = (WIDTH - LEFT) / max(1, len(values))
    heads = [
        label(LEFT + (i + 0.5) * cell, TOP - 8, clip(value, int(cell / 7)), "m b") for i, value in enumerate(values)
    ]
    shapes: list[Markup] = [label(LEFT, 12, "came back as", "s"), label(0, TOP - 8, "sent", "s"), *heads]
    for i, (row, heat) in enumerate(zip(table.rows, table.heat, strict=True)):
        y = TOP + i * ROW
        shapes.append(label(0, y + ROW / 2 + 4, clip(row[0].removeprefix("sent "), 12), "b"))
        for j, (text, share) in enumerate(zip(row[1:-1], heat[1:-1], strict=True)):
            shapes.append(_draw_cell(LEFT + j * cell, y, cell, text, share))
    description = " ".join(_row_in_words(name, row) for name, row in component.transitions.items())
    return draw(f"{key}-transitions", table, description, TOP + ROW * len(table.rows), *shapes)


def _draw_cell(x: float, y: float, w: float, text: str, share: float | None) -> Markup:
    if share is None:
        return label(x + w / 2, y + ROW / 2 + 4, "–", "m s")
    middle = x + w / 2
    return tag(
        "g",
        box(x + 1, y + 1, w - 2, ROW - 2, rx=3),
        label(middle, y + 20, percent(share), "m b"),
        label(middle, y + 36, text, "m"),
        class_=heat_class(share),
    )


def _row_in_words(name: str, row: Shares) -> str:
    total = tables.column_total(row)
    back = ", ".join(f"{count(number)} as {value}" for value, number in row.items())
    return f"Of {count(total)} sentences sent with {name}, {back} came back."
