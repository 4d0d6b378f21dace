"""A page about several ratings as HTML: one file without scripts, with links to the reports of the ratings."""

from __future__ import annotations

from assay.reports.html.page import page
from assay.reports.html.pieces import badge, foreign, unbroken
from assay.reports.markup import Markup, tag
from assay.reports.pages.view import Cell, Grid, Page, Section


def page_html(contents: Page) -> str:
    """Write a page as HTML, with every text escaped."""
    kind = contents.verdict.letter.value if contents.verdict and contents.verdict.letter else "none"
    heading = tag(
        "header",
        tag("p", "Assay", tag("span", "independent bias rating"), class_="house"),
        tag(
            "div",
            tag("h1", foreign(contents.title)),
            tag("p", contents.headline, class_=f"headline {kind}"),
            tag("p", foreign(contents.subject), class_="subject"),
            class_="said",
        ),
    )
    return page(
        f"{contents.title}: {contents.headline}", heading, tag("main", *map(_section, contents.sections), id="main")
    )


def _section(section: Section) -> Markup:
    paragraphs = [tag("p", foreign(unbroken(paragraph))) for paragraph in section.paragraphs]
    return tag(
        "section",
        tag("h2", section.title),
        *paragraphs,
        None if section.grid is None else _grid(section.title, section.grid),
    )


def _grid(title: str, grid: Grid) -> Markup:
    head = tag("tr", *(tag("th", foreign(name), scope="col") for name in grid.columns))
    body = [
        tag("tr", tag("th", _cell(first), scope="row"), *(tag("td", _cell(cell)) for cell in cells))
        for first, *cells in grid.rows
    ]
    table = tag("table", tag("thead", head), tag("tbody", *body))
    return tag("div", table, class_="scroll", tabindex=0, role="group", aria_label=title)


def _cell(cell: Cell) -> Markup:
    ornament = badge(cell.verdict) if cell.verdict is not None and cell.verdict.letter is not None else None
    link = cell.link(".html")
    text = foreign(cell.text)
    return tag("span", ornament, text if link is None else tag("a", text, href=link), class_="cell")
