"""Squares as links: one for each case, with the case in words as its title."""

from __future__ import annotations

from collections.abc import Callable

from assay.reports.figures.canvas import Figure, clip, draw, label
from assay.reports.markup import Markup, coordinate, text
from assay.reports.plain import width
from assay.reports.view import CaseWords, Squares, Table

SIDE, STEP, ROW = 14, 16, 19
LETTER, WIDEST, COUNT = 6.2, 176, 26
"""Width of a character, of the widest column of names, and of the numbers at the end of a row."""

LEAST = 330
"""Minimum width of a drawing; a page would enlarge a narrower drawing, which has few or short names."""

ACROSS = 10
"""Maximum number of squares in a line."""

MOST = 400
"""Number of cases above which only some cases of each name are drawn."""


def linked_squares(one: Squares, group: str, key: str, link: Callable[[CaseWords], str]) -> Figure | None:
    """Draw the cases of a group as squares, by name; `link` returns the address that a square links to.

    If there are more than `MOST` cases, each name shows at most the same number, at even steps; counts include all.
    Return ``None`` if the group has no cases.
    """
    rows = [(name, [case for case in cases if case.group == group]) for name, cases in one.cases]
    rows = [(name, cases) for name, cases in rows if cases]
    if not rows:
        return None
    every = sum(len(cases) for _, cases in rows)
    most = every if every <= MOST else max(ACROSS, MOST // len(rows) // ACROSS * ACROSS)
    left = min(WIDEST, max(width(name) for name, _ in rows) * LETTER + 8)
    across = max(LEAST, left + ACROSS * STEP + COUNT)
    end = left + min(ACROSS, max(len(cases) for _, cases in rows)) * STEP + COUNT
    drawn: list[Markup] = []
    y = 0.0
    for name, cases in rows:
        drawn.append(label(left - 8, y + 11, clip(name, int((left - 8) / LETTER)), "e"))
        drawn.append(label(end - 2, y + 11, f"{sum(case.share > 0.5 for case in cases)}", "e b"))
        shown = cases if len(cases) <= most else [cases[at * len(cases) // most] for at in range(most)]
        drawn += [
            _square(case.share, words, left + place % ACROSS * STEP, y + place // ACROSS * STEP, link(words))
            for place, case in enumerate(shown)
            for words in [case.write()]
        ]
        y += (len(shown) - 1) // ACROSS * STEP + ROW
    if most < every:
        drawn.append(label(0, y + 11, f"At most {most} of a name are drawn, spread evenly."))
        y += ROW
    said = f"{sum(case.share > 0.5 for _, cases in rows for case in cases)} of {every}: {one.filled}"
    written = tuple((name, str(sum(case.share > 0.5 for case in cases)), str(len(cases))) for name, cases in rows)
    table = Table(f"{group}: {said}", ("Name", one.filled.capitalize(), "Of"), written)
    return draw(key, table, f"A filled square is {one.filled}.", y, *drawn, across=across, role="group")


def _square(share: float, case: CaseWords, x: float, y: float, href: str) -> Markup:
    """Draw a square. Its markup is written directly, without `tag`, because a page has hundreds of squares."""
    kind = "y" if share > 0.5 else "n" if share < 0.5 else "h"
    picture = f' data-picture="{text(case.image)}"' if case.image else ""
    return Markup(
        f'<a href="{text(href)}" tabindex="-1"{picture}><title>{text(chr(10).join(case.lines))}</title>'
        f'<rect x="{coordinate(x)}" y="{coordinate(y)}" width="{SIDE}" height="{SIDE}" rx="2" class="{kind}"/></a>'
    )
