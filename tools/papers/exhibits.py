"""Exhibits: a table or figure of a paper, its printed numbers beside the computed ones."""

from __future__ import annotations

from dataclasses import dataclass

from reports.cells import ABSENT
from reports.view import Picture, Table

Value = float | str | None


@dataclass(frozen=True)
class Line:
    """A published number or statement, the computed one, and the reason why they differ.

    `digits` is the number of decimals that both are written with.
    """

    what: str
    printed: Value
    ours: Value
    why: str = ""
    digits: int = 3

    def cells(self) -> tuple[str, ...]:
        """Write the line as a row of a table: printed, ours, difference and reason."""
        return (self.what, self._cell(self.printed), self._cell(self.ours), self.difference, self.why or ABSENT)

    @property
    def difference(self) -> str:
        """Return our number minus the printed one, or whether two texts are equal; a dash if one of them is absent."""
        if isinstance(self.printed, str) and isinstance(self.ours, str):
            return "none" if self.printed == self.ours else "differs"
        if isinstance(self.printed, int | float) and isinstance(self.ours, int | float):
            return f"{round(self.ours - self.printed, self.digits) + 0.0:+.{self.digits}f}"
        return ABSENT

    def _cell(self, value: Value) -> str:
        if value is None:
            return ABSENT
        return value if isinstance(value, str) else f"{value:.{self.digits}f}"


@dataclass(frozen=True)
class Exhibit:
    """One table or figure of a paper: what it shows, its lines, further tables, and figures."""

    title: str
    about: str
    lines: tuple[Line, ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()

    def comparison(self) -> Table | None:
        """Return the lines as one table; ``None`` without lines."""
        if not self.lines:
            return None
        head = ("", "Printed", "Ours", "Difference", "Reason")
        return Table(f"{self.title}: printed and ours", head, tuple(line.cells() for line in self.lines))


@dataclass(frozen=True)
class Absent:
    """A table or figure that is not computed, and the reason."""

    what: str
    why: str


@dataclass(frozen=True)
class Paper:
    """Computed exhibits of a paper, and the missing ones. `key` is its anchor on the page."""

    key: str
    citation: str
    exhibits: tuple[Exhibit, ...]
    absent: tuple[Absent, ...]
