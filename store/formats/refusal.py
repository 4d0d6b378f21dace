"""Errors of the file parsers."""

from assay.errors import SpecificationError


class Unreadable(SpecificationError):
    """A file is invalid, or no job could use its content.

    `line` is the line of a text file or the row of another table, from 1.
    """

    code = "unreadable-upload"

    def __init__(self, message: str, *, line: int | None = None, column: str | None = None) -> None:
        position = [] if line is None else [f"line {line}"]
        position += [] if column is None else [f"column {shown(column)}"]
        super().__init__(f"{', '.join(position)}: {message}" if position else message)
        self.line, self.column = line, column


class NotInstalled(SpecificationError):
    """A package for reading or writing a file is not installed."""

    code = "not-installed"

    def __init__(self, subject: str, package: str, extra: str) -> None:
        problem = f"{subject} needs the package {package}, which is in the extra {extra!r}"
        super().__init__(f"{problem}: install assay[{extra}]")
        self.what, self.package, self.extra = subject, package, extra


def shown(text: str, limit: int = 60) -> str:
    """Return a quoted text, shortened to `limit` characters."""
    return repr(text if len(text) <= limit else text[:limit] + "…")
