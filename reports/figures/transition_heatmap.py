"""Figure of the transition matrix as a heat map: values sent or groups (rows) by values returned (columns)."""

from assay.explain import share as percent
from reports import tables
from reports.figures.canvas import WIDTH, Figure, box, clip, draw, heat_class, label
from reports.markup import Markup, tag
from reports.reading import Component

# classes of texts: s small, b bold, m centred at x
LEFT, TOP, ROW = 112, 40, 46
"""Width of the row names, height of the column names, and height of a row, in user units."""


def transition_heatmap(component: Component, key: str) -> Figure | None:
    """Draw how often texts of each value or group (row) came back with each value (column); ``None`` if unknown."""
    table = tables.transitions(component)
    if not table.rows or table.heat is None:
        return None
    _, sent, returned = tables.OF_GROUPS if component.report.groups else tables.SENT
    values = [column.removeprefix(f"{returned} ") for column in table.columns[1:-1]]
    cell_width = (WIDTH - LEFT) / max(1, len(values))
    heads = [
        label(LEFT + (i + 0.5) * cell_width, TOP - 8, clip(value, int(cell_width / 7)), "m b")  # 7: a bold letter
        for i, value in enumerate(values)
    ]
    shapes: list[Markup] = [label(LEFT, 12, returned, "s"), label(0, TOP - 8, sent, "s"), *heads]
    for i, (row, heat) in enumerate(zip(table.rows, table.heat, strict=True)):
        y = TOP + i * ROW
        row_title, count_texts = row[0].removeprefix(f"{sent} ").removeprefix("occupations "), row[1:-1]
        shapes.append(label(0, y + ROW / 2 + 4, clip(row_title, 15), "b"))
        for j, (text, share) in enumerate(zip(count_texts, heat[1:-1], strict=True)):  # without name and total
            shapes.append(_draw_cell(LEFT + j * cell_width, y, cell_width, text, share))
    row_counts = [(row[0], zip(row[1:-1], table.columns[1:-1], strict=True)) for row in table.rows]
    description = " ".join(f"Sentences {title}: {', '.join(map(' '.join, counts))}." for title, counts in row_counts)
    return draw(f"{key}-transitions", table, description, TOP + ROW * len(table.rows), *shapes)


def _draw_cell(x: float, y: float, w: float, count_text: str, share: float | None) -> Markup:
    if share is None:
        return label(x + w / 2, y + ROW / 2 + 4, "–", "m s")
    middle = x + w / 2
    return tag(
        "g",
        box(x + 1, y + 1, w - 2, ROW - 2, rx=3),
        label(middle, y + 20, percent(share), "m b"),
        label(middle, y + 36, count_text, "m"),
        class_=heat_class(share),
    )
