"""A page about several ratings as HTML: one file without scripts, with links to the reports of the ratings."""

from __future__ import annotations

from assay.reports.html.page import page
from assay.reports.html.pieces import badge, foreign, unbroken
from assay.reports.markup import Markup, tag
from assay.reports.pages.view import Cell, Grid, Page, Section


def page_html(one: Page) -> str:
    """Write a page as HTML, with every text escaped."""
    kind = one.verdict.letter.value if one.verdict and one.verdict.letter else "none"
    heading = tag(
        "header",
        tag("p", "Assay", tag("span", "independent bias rating"), class_="house"),
        tag(
            "div",
            tag("h1", foreign(one.title)),
            tag("p", one.headline, class_=f"headline {kind}"),
            tag("p", foreign(one.subject), class_="subject"),
            class_="said",
        ),
    )
    return page(f"{one.title}: {one.headline}", heading, tag("main", *map(_section, one.sections), id="main"))


def _section(one: Section) -> Markup:
    said = [tag("p", foreign(unbroken(each))) for each in one.paragraphs]
    return tag("section", tag("h2", one.title), *said, None if one.grid is None else _grid(one.title, one.grid))


def _grid(title: str, one: Grid) -> Markup:
    head = tag("tr", *(tag("th", foreign(name), scope="col") for name in one.columns))
    body = [
        tag("tr", tag("th", _cell(first), scope="row"), *(tag("td", _cell(each)) for each in rest))
        for first, *rest in one.rows
    ]
    table = tag("table", tag("thead", head), tag("tbody", *body))
    return tag("div", table, class_="scroll", tabindex=0, role="group", aria_label=title)


def _cell(one: Cell) -> Markup:
    drawn = badge(one.verdict) if one.verdict is not None and one.verdict.letter is not None else None
    link = one.link(".html")
    said = foreign(one.text)
    return tag("span", drawn, said if link is None else tag("a", said, href=link), class_="cell")
