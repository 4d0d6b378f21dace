"""Data classes of a page about several ratings, and writers as HTML (one file, no scripts) and GitHub Markdown."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from reports.formats.html.pieces import badge, isolate, page, with_unbroken_percents
from reports.formats.markdown import escape
from reports.markup import Markup, tag
from reports.plain import visible
from reports.view import Verdict

_RATING_OR_JOB = re.compile(r"/v1/(ratings|jobs)/[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Cell:
    """Cell of a table: a text, with the letter and the address of a rating or job, if it has them."""

    text: str
    verdict: Verdict | None = None
    href: str | None = None

    def link(self, suffix: str) -> str | None:
        """Return a link: to the rating's report (plus `suffix`), or to the job; ``None`` for any other `href`."""
        if self.href is None or not _RATING_OR_JOB.fullmatch(self.href):
            return None
        return f"{self.href}/report{suffix}" if "/ratings/" in self.href else self.href


@dataclass(frozen=True)
class Grid:
    """Table of cells with column heads; the first cell of a row is its head."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Section:
    """Section of a page: a title, paragraphs, and then a table if there is one."""

    title: str
    paragraphs: tuple[str, ...] = ()
    grid: Grid | None = None


@dataclass(frozen=True)
class Page:
    """A page: its title, the overall letter, a line on what was rated, and its sections."""

    title: str
    verdict: Verdict | None
    headline: str
    subject: str
    sections: tuple[Section, ...]


def plain_cells(*texts: str) -> tuple[Cell, ...]:
    """Return cells with these texts and no letter or address."""
    return tuple(Cell(visible(text)) for text in texts)


def page_html(contents: Page) -> str:
    """Write a page as HTML, with every text escaped."""
    letter_class = contents.verdict.letter.value if contents.verdict and contents.verdict.letter else "none"
    heading = tag(
        "header",
        tag("p", "Assay", tag("span", "independent bias rating"), class_="house"),
        tag(
            "div",
            tag("h1", isolate(contents.title)),
            tag("p", contents.headline, class_=f"headline {letter_class}"),
            tag("p", isolate(contents.subject), class_="subject"),
            class_="said",
        ),
    )
    main = tag("main", *map(_section_tag, contents.sections), id="main")
    return page(f"{contents.title}: {contents.headline}", heading, main)


def _section_tag(section: Section) -> Markup:
    return tag(
        "section",
        tag("h2", section.title),
        *[tag("p", isolate(with_unbroken_percents(paragraph))) for paragraph in section.paragraphs],
        None if section.grid is None else _grid_tag(section.title, section.grid),
    )


def _grid_tag(title: str, grid: Grid) -> Markup:
    head = tag("tr", *(tag("th", isolate(name), scope="col") for name in grid.columns))
    body = [
        tag("tr", tag("th", _cell_tag(row_head), scope="row"), *(tag("td", _cell_tag(cell)) for cell in cells))
        for row_head, *cells in grid.rows
    ]
    table = tag("table", tag("thead", head), tag("tbody", *body))
    return tag("div", table, class_="scroll", tabindex=0, role="group", aria_label=title)


def _cell_tag(cell: Cell) -> Markup:
    ornament = badge(cell.verdict) if cell.verdict is not None and cell.verdict.letter is not None else None
    link = cell.link(".html")
    text = isolate(cell.text)
    return tag("span", ornament, text if link is None else tag("a", text, href=link), class_="cell")


def page_markdown(contents: Page) -> str:
    """Write a page as Markdown, with every text escaped."""
    return "\n\n".join(part for part in _markdown_parts(contents) if part) + "\n"


def _markdown_parts(contents: Page) -> Iterator[str]:
    yield f"# {escape(contents.title)}"
    yield f"**{escape(contents.headline)}**"
    yield escape(contents.subject)
    for section in contents.sections:
        yield f"## {escape(section.title)}"
        yield from map(escape, section.paragraphs)
        if section.grid is not None:
            yield _markdown_grid(section.grid)


def _markdown_grid(grid: Grid) -> str:
    lines = [
        list(map(escape, grid.columns)),
        ["---"] * len(grid.columns),
        *([_markdown_cell(cell) for cell in row] for row in grid.rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _markdown_cell(cell: Cell) -> str:
    link = cell.link(".md")
    return escape(cell.text) if link is None else f"[{escape(cell.text)}]({link})"
