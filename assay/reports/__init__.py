"""Reports: the stored rating document in every form people ask for.

A format is one module with a `render` and one line in `FORMATS`; nothing else names it. Packages
of others add theirs as a `Format` under the entry-point group ``assay.reports``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

from assay.errors import UnknownName
from assay.reports import html, json, markdown, terminal

__all__ = ["FORMATS", "GROUP", "Format", "format_named", "installed_formats", "render"]

GROUP = "assay.reports"
"""Entry-point group in which installed packages offer a `Format`."""


@dataclass(frozen=True, slots=True)
class Format:
    """A form in which a rating can be had.

    Attributes
    ----------
    name : str
        What it is asked for by.
    media_type : str
        For the HTTP header.
    suffix : str
        Of file names and addresses, with its dot.
    render : callable
        Writes the rating document (a mapping) as text; must not fail on what is absent.
    """

    name: str
    media_type: str
    suffix: str
    render: Callable[[Mapping[str, Any]], str]


FORMATS: tuple[Format, ...] = (
    Format("json", "application/json", ".json", json.render),
    Format("markdown", "text/markdown; charset=utf-8", ".md", markdown.render),
    Format("terminal", "text/plain; charset=utf-8", ".txt", terminal.render),
    Format("html", "text/html; charset=utf-8", ".html", html.render),
)
"""Every format of our own."""


def installed_formats() -> tuple[Format, ...]:
    """Every format: ours, then those of installed packages under names that are still free.

    Raises
    ------
    TypeError
        If a package offers something that is no `Format`.
    """
    formats = {one.name: one for one in FORMATS}
    for entry in entry_points(group=GROUP):
        offered = entry.load()
        if not isinstance(offered, Format):
            raise TypeError(f"{entry.value} in the entry-point group {GROUP} is {offered!r}; it must be a Format")
        formats.setdefault(offered.name, offered)
    return tuple(formats.values())


def format_named(name: str) -> Format:
    """Find a format; installed packages are only looked at for a name that is not ours.

    Raises
    ------
    UnknownName
        If there is none of this name.
    """
    ours = {one.name: one for one in FORMATS}
    if name in ours:
        return ours[name]
    every = {one.name: one for one in installed_formats()}
    if name in every:
        return every[name]
    raise UnknownName("report format", name, every)


def render(format_name: str, document: Mapping[str, Any]) -> str:
    """Write a rating document in a format.

    Parameters
    ----------
    format_name : str
        Name of one of `installed_formats`.
    document : mapping
        The stored rating document.

    Raises
    ------
    UnknownName
        If no format has this name.
    """
    return format_named(format_name).render(document)
