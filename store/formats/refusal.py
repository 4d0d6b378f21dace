"""Why a file is refused."""

from __future__ import annotations

from assay.errors import SpecificationError


class Unreadable(SpecificationError):
    """A file is not what it says, or holds what no job could use.

    Parameters
    ----------
    message : str
        What was seen and what would do.
    line : int, optional
        Where: the line of a text, the row of a table in another form; from 1.
    column : str, optional
        Name of the column.
    """

    code = "unreadable-upload"

    def __init__(self, message: str, *, line: int | None = None, column: str | None = None) -> None:
        where = [] if line is None else [f"line {line}"]
        where += [] if column is None else [f"column {shown(column)}"]
        super().__init__(f"{', '.join(where)}: {message}" if where else message)
        self.line, self.column = line, column


class NotInstalled(SpecificationError):
    """Reading a file needs a package that this service was installed without."""

    code = "not-installed"

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} needs the package {package}, which is in the extra {extra!r}: install assay[{extra}]")
        self.package, self.extra = package, extra


def shown(text: str, most: int = 60) -> str:
    """Quote what was seen, but not all of it."""
    return repr(text if len(text) <= most else text[:most] + "…")
