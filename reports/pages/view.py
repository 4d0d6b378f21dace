"""Dataclasses of a page about several ratings. Text holds no invisible characters, but is not escaped."""

from __future__ import annotations

import re
from dataclasses import dataclass

from reports.plain import visible
from reports.view import Verdict

_OWN = re.compile(r"/v1/(ratings|jobs)/[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Cell:
    """Cell of a table: its text, with its letter and the address of its rating or job, if it has them."""

    text: str
    verdict: Verdict | None = None
    href: str | None = None

    def link(self, suffix: str) -> str | None:
        """Return the address of the rating's report, or of the job; ``None`` for any other address."""
        if self.href is None or not _OWN.fullmatch(self.href):
            return None
        return f"{self.href}/report{suffix}" if "/ratings/" in self.href else self.href


@dataclass(frozen=True)
class Grid:
    """Cells under column heads; the first cell of a row is its head."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Section:
    """A part of a page: paragraphs, and then a table."""

    title: str
    paragraphs: tuple[str, ...] = ()
    grid: Grid | None = None


@dataclass(frozen=True)
class Page:
    """A page: its title, the letter of the whole, a line about what was rated, and its sections."""

    title: str
    verdict: Verdict | None
    headline: str
    subject: str
    sections: tuple[Section, ...]


def plain_cells(*texts: str) -> tuple[Cell, ...]:
    """Return cells that hold only texts."""
    return tuple(Cell(visible(text)) for text in texts)
