"""A page about several ratings as GitHub-flavoured Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from assay.reports.markdown import escape
from assay.reports.pages.view import Cell, Grid, Page


def page_markdown(one: Page) -> str:
    """Write a page as Markdown, with every text escaped."""
    return "\n\n".join(part for part in _parts(one) if part) + "\n"


def _parts(one: Page) -> Iterator[str]:
    yield f"# {escape(one.title)}"
    yield f"**{escape(one.headline)}**"
    yield escape(one.subject)
    for section in one.sections:
        yield f"## {escape(section.title)}"
        yield from map(escape, section.paragraphs)
        if section.grid is not None:
            yield _grid(section.grid)


def _grid(one: Grid) -> str:
    lines = [
        list(map(escape, one.columns)),
        ["---"] * len(one.columns),
        *([_cell(each) for each in row] for row in one.rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(one: Cell) -> str:
    link = one.link(".md")
    return escape(one.text) if link is None else f"[{escape(one.text)}]({link})"
