"""Figure of the transition matrix as a heat map: values sent or groups (rows) by values returned (columns)."""

from __future__ import annotations

from assay.document import Shares
from assay.explain import share as percent
from reports import tables
from reports.figures.canvas import WIDTH, Figure, box, clip, draw, heat_class, label
from reports.markup import Markup, tag
from reports.method_report import TransitionWords
from reports.reading import Component
from reports.tables import count

# classes of texts: s small, b bold, m centred at x
LEFT, TOP, ROW = 112, 40, 46
"""Width of the row names, height of the column names, and height of a row, in user units."""


def transition_heatmap(component: Component, key: str) -> Figure | None:
    """Draw counts by value sent or group (row) and value returned (column), shaded by their share of the row.

    Return ``None`` without counts.
    """
    table, words = tables.transitions(component), component.report.transitions
    if not table.rows or table.heat is None:
        return None
    values = [column.removeprefix(f"{words.column} ") for column in table.columns[1:-1]]
    cell_width = (WIDTH - LEFT) / max(1, len(values))
    heads = [
        label(LEFT + (i + 0.5) * cell_width, TOP - 8, clip(value, int(cell_width / 7)), "m b")  # 7: a bold letter
        for i, value in enumerate(values)
    ]
    columns_head = "got" if words.groups else "came back as"
    shapes: list[Markup] = [label(LEFT, 12, columns_head, "s"), label(0, TOP - 8, words.row, "s"), *heads]
    for i, (row, heat) in enumerate(zip(table.rows, table.heat, strict=True)):
        y = TOP + i * ROW
        row_name, *count_texts, _ = row
        shapes.append(label(0, y + ROW / 2 + 4, clip(row_name.removeprefix(f"{words.row} "), 15), "b"))
        for j, (text, share) in enumerate(zip(count_texts, heat[1:-1], strict=True)):  # without name and total
            shapes.append(_draw_cell(LEFT + j * cell_width, y, cell_width, text, share))
    description = " ".join(_row_in_words(words, row, counts) for row, counts in component.transitions.items())
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


def _row_in_words(words: TransitionWords, row: str, counts: Shares) -> str:
    total = count(sum(counts.values()))
    if words.groups:
        got = ", ".join(f"{count(number)} got {value}" for value, number in counts.items())
        return f"Of {total} sentences about {words.groups.get(row, row)}, {got}."
    returned = ", ".join(f"{count(number)} as {value}" for value, number in counts.items())
    return f"Of {total} sentences sent with {row}, {returned} came back."
