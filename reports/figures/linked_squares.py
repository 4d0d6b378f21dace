"""Figure of cases as squares that link to pages: one for each case, with the case in words as its title."""

from collections.abc import Callable, Sequence

from reports.figures.canvas import Figure, clip, draw, label
from reports.markup import Markup, tag
from reports.sheets import evenly
from reports.view import Case, Squares, Table

STEP, NAME, ROW = 17, 16, 8
"""Distance of squares, height of the line with the name, and space below the squares of a name, in user units. Their
style sheet has the side of a square; pages for phones draw squares at least 1.6 times as large, to be pressed."""

LETTERS = 27
"""Maximum number of characters of a name that are drawn."""

ACROSS = 10
"""Maximum number of squares in a line."""

MAX_SQUARES = 400
"""Number of cases above which only some cases of each name are drawn."""


def linked_squares(chart: Squares, group: str, key: str, link: Callable[[Case], str]) -> Figure | None:
    """Draw the cases of `group` ("Said of women") as squares below their terms; `link` returns a square's address.

    Of more than `MAX_SQUARES` cases, some of each term are drawn, at even steps; counts are of all. ``None``: no cases.
    """
    rows = [(name, [case for case in cases if case.group == group]) for name, cases in chart.cases]
    rows = [(name, cases) for name, cases in rows if cases]
    if not rows:
        return None
    total = sum(len(cases) for _, cases in rows)
    # maximum number of squares for each name; whole lines, if not all cases are drawn
    maximum = total if total <= MAX_SQUARES else max(ACROSS, MAX_SQUARES // len(rows) // ACROSS * ACROSS)
    figure_width = ACROSS * STEP
    shapes: list[Markup] = []
    y = 0.0
    for name, cases in rows:
        shapes.append(label(0, y + 11, clip(name, LETTERS)))
        shapes.append(label(figure_width - 2, y + 11, str(_count_filled(cases)), "e b"))  # bold, ending at x
        drawn_cases = evenly(cases, maximum)
        shapes += [
            _draw_square(case, index % ACROSS * STEP, y + NAME + index // ACROSS * STEP, link(case))
            for index, case in enumerate(drawn_cases)
        ]
        y += NAME + ((len(drawn_cases) - 1) // ACROSS + 1) * STEP + ROW  # heights: name, squares, space
    if maximum < total:
        shapes.append(label(0, y + 11, f"At most {maximum} of a name are drawn."))
        y += NAME
    summary = f"{sum(_count_filled(cases) for _, cases in rows)} of {total}: {chart.filled}"
    table_rows = tuple((name, str(_count_filled(cases)), str(len(cases))) for name, cases in rows)
    table = Table(f"{group}: {summary}", ("Name", chart.filled.capitalize(), "Of"), table_rows)
    return draw(key, table, f"A filled square is {chart.filled}.", y, *shapes, width=figure_width, role="group")


def _count_filled(cases: Sequence[Case]) -> int:
    return sum(case.share > 0.5 for case in cases)


def _draw_square(case: Case, x: float, y: float, href: str) -> Markup:
    fill_class = "y" if case.share > 0.5 else "n" if case.share < 0.5 else "h"  # filled, empty or half filled
    title, square = tag("title", "\n".join(case.lines)), tag("rect", x=x, y=y, class_=fill_class)
    return tag("a", title, square, href=href, tabindex=-1, data_picture=case.image or None)
