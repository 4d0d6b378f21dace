"""A page about several ratings as GitHub-flavoured Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from assay.reports.markdown import escape
from assay.reports.pages.view import Cell, Grid, Page


def page_markdown(contents: Page) -> str:
    """Write a page as Markdown, with every text escaped."""
    return "\n\n".join(part for part in _parts(contents) if part) + "\n"


def _parts(contents: Page) -> Iterator[str]:
    yield f"# {escape(contents.title)}"
    yield f"**{escape(contents.headline)}**"
    yield escape(contents.subject)
    for section in contents.sections:
        yield f"## {escape(section.title)}"
        yield from map(escape, section.paragraphs)
        if section.grid is not None:
            yield _grid(section.grid)


def _grid(grid: Grid) -> str:
    lines = [
        list(map(escape, grid.columns)),
        ["---"] * len(grid.columns),
        *([_cell(cell) for cell in row] for row in grid.rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(cell: Cell) -> str:
    link = cell.link(".md")
    return escape(cell.text) if link is None else f"[{escape(cell.text)}]({link})"
