"""Figure with a small square for each pair of sentences or picture, filled by the preferred answer."""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from reports.figures.canvas import WIDTH, Figure, clip, draw, label
from reports.markup import Markup, coordinate, tag
from reports.view import Squares

SIDE, STEP, BETWEEN = 8, 10.5, 5
"""Side of a square, distance of two squares, and space between the rows of two names, in user units."""

LETTER, WIDEST, LEGEND = 6.2, 130, 34
"""Width of a small character, of the widest column of names, and height of the legend, in user units."""


def squares(chart: Squares, key: str, figure_width: float = WIDTH) -> Figure:
    """Draw a block of squares beside each name, with a legend below; `key` is unique on the page."""
    longest_name = max(cell_len(name) for name, _ in chart.rows)
    name_width = min(WIDEST, longest_name * LETTER + 10)  # 10: space before the squares
    squares_per_row = int((figure_width - name_width) / STEP)
    shapes: list[Markup] = []
    y = 1.0
    for name, shares in chart.rows:
        shapes.append(label(0, y + SIDE, clip(name, int((name_width - 10) / LETTER)), "s"))  # small
        for start in range(0, len(shares), squares_per_row):
            shapes += _draw_line(name_width, y, shares[start : start + squares_per_row])
            y += STEP
        y += BETWEEN
    legend_entries = ((1.0, chart.filled), (0.0, chart.hollow), (0.5, "between the two"))
    has_part_filled = any(0 < share < 1 for _, shares in chart.rows for share in shares)
    for index, (share, meaning) in enumerate(legend_entries[: 3 if has_part_filled else 2]):
        x = index * WIDTH / 3
        shapes += [*_draw_line(x + 1, y + 10, (share,)), label(x + SIDE + 6, y + 10 + SIDE, clip(meaning, 17), "s")]
    words = f"{chart.title}. A filled square is {chart.filled}, an empty one {chart.hollow}."
    return draw(key, chart.table, words, y + LEGEND, *shapes, width=figure_width)


def _draw_line(x: float, y: float, shares: Sequence[float]) -> Iterator[Markup]:
    """Draw squares in a line, filled by `shares` (descending); a dashed stroke draws many of them with few bytes."""
    yield _draw_stroke("squares", x, y, len(shares))
    filled_count = sum(share >= 1 for share in shares)
    if filled_count < len(shares):
        yield _draw_stroke("squares empty", x + filled_count * STEP + 1, y, len(shares) - filled_count, SIDE - 2)
    part_filled_paths = (
        f"M{coordinate(x + index * STEP + 1)} {coordinate(y + SIDE - 1)}"
        f"h{SIDE - 2}v-{coordinate(share * (SIDE - 2))}h-{SIDE - 2}z"
        for index, share in enumerate(shares)
        if 0 < share < 1
    )
    if path := "".join(part_filled_paths):
        yield tag("path", d=path, class_="bar")


def _draw_stroke(class_: str, x: float, y: float, count: int, side: float = SIDE) -> Markup:
    return tag(
        "path", d=f"M{coordinate(x)} {coordinate(y + SIDE / 2)}h{coordinate((count - 1) * STEP + side)}", class_=class_
    )
