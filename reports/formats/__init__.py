"""Formats of a report, and functions that write a stored rating document in one of them.

A format is one module with a function `render` and one line in `FORMATS`; no other code names it. Other
packages add formats as a `Format` under the entry-point group ``assay.reports``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from assay.document import Json
from assay.errors import UnknownName
from assay.plug_ins import plug_ins
from reports.formats import html, json, markdown, terminal

__all__ = ["FORMATS", "GROUP", "Format", "format_named", "installed_formats", "render"]

GROUP = "assay.reports"
"""Entry-point group in which installed packages offer a `Format`."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format of the report, with the function that writes it."""

    name: str
    """Name of the format in requests."""
    media_type: str
    """Value of the header ``Content-Type``."""
    suffix: str
    """Suffix of file names and addresses, with its dot."""
    render: Callable[[Json], str]
    """Writes the rating document (a mapping) as text; must not fail on absent fields. `reports.reading.read` returns
    all that a report shows of a document."""


FORMATS: tuple[Format, ...] = (
    Format("json", "application/json", ".json", json.render),
    Format("markdown", "text/markdown; charset=utf-8", ".md", markdown.render),
    Format("terminal", "text/plain; charset=utf-8", ".txt", terminal.render),
    Format("html", "text/html; charset=utf-8", ".html", html.render),
)
"""Formats that Assay ships."""


@cache
def installed_formats() -> Mapping[str, Format]:
    """Return formats by name: Assay's, then others of installed packages; raise `TypeError` if one is no `Format`."""
    formats = {report_format.name: report_format for report_format in FORMATS}
    for report_format in plug_ins(GROUP, Format):
        formats.setdefault(report_format.name, report_format)
    return formats


def format_named(name: str) -> Format:
    """Return a format by its name; raise `UnknownName` if there is none."""
    if name not in installed_formats():
        raise UnknownName("report format", name, installed_formats())
    return installed_formats()[name]


def render(format_name: str, document: Json) -> str:
    """Write a rating document in a format; raise `UnknownName` if there is no such format."""
    return format_named(format_name).render(document)
