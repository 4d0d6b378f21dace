"""Reports: the stored rating document in every format.

A format is one module with a function `render` and one line in `FORMATS`; no other code names it. Other
packages add formats as a `Format` under the entry-point group ``assay.reports``.

An `Embed`, one line in `EMBEDS`, is a format for other sites, such as a badge or a field in a catalog. It
depends on the document, the current time and whether the rating was withdrawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

from assay.errors import UnknownName
from assay.experiment import Method
from assay.reports import html, json, markdown, terminal
from assay.reports.embeds import apisjson, azure, backstage, badge, huggingface, jsonld, linkset, overlay, shields
from assay.reports.embeds.notation import yaml_text
from assay.reports.embeds.public_view import Shown

__all__ = ["EMBEDS", "FORMATS", "GROUP", "Embed", "Format", "Shown", "format_named", "installed_formats", "render"]

GROUP = "assay.reports"
"""Entry-point group in which installed packages offer a `Format`."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format of the report."""

    name: str
    """Name in requests."""
    media_type: str
    """Value of the header ``Content-Type``."""
    suffix: str
    """Suffix of file names and addresses, with its dot."""
    render: Callable[[Mapping[str, Any], type[Method]], str]
    """Writes the rating document (a mapping) as text; must not fail on absent fields. Its second argument is the class
    of the rating's method, for formats that show tables and figures (`assay.reports.reading.read` takes both); others
    ignore it."""


FORMATS: tuple[Format, ...] = (
    Format("json", "application/json", ".json", json.render),
    Format("markdown", "text/markdown; charset=utf-8", ".md", markdown.render),
    Format("terminal", "text/plain; charset=utf-8", ".txt", terminal.render),
    Format("html", "text/html; charset=utf-8", ".html", html.render),
)
"""Formats that Assay ships."""


@dataclass(frozen=True, slots=True)
class Embed:
    """A format in which other sites show a rating."""

    file: str
    """Last part of its address."""
    media_type: str
    """Value of the header ``Content-Type``."""
    render: Callable[[Shown], str]
    """Writes a `Shown`, also one without a rating; must not fail on absent fields."""
    title: str
    """Its name for people."""
    summary: str
    """Its purpose in a sentence."""
    content: Callable[[Shown], dict[str, Any]] | None = None
    """Data that `render` writes as YAML; the API's documentation shows them as an example."""

    @classmethod
    def in_yaml(cls, file: str, content: Callable[[Shown], dict[str, Any]], title: str, summary: str) -> Embed:
        """Make an embed that is written in YAML."""
        return cls(file, "application/yaml", lambda view: yaml_text(content(view)), title, summary, content)


EMBEDS: tuple[Embed, ...] = (
    Embed("badge.svg", "image/svg+xml", badge.render, "Badge", "Letter, date and age, as an image for any page."),
    Embed("badge.json", "application/json", shields.render, "Badge data", "For the endpoint badge of shields.io."),
    Embed.in_yaml("overlay.yaml", overlay.content, "Overlay", "Adds `info.x-bias-rating` to OpenAPI files."),
    Embed("linkset.json", linkset.MEDIA_TYPE, linkset.render, "Links", "From service to rating to forms (RFC 9264)."),
    Embed.in_yaml("backstage.yaml", backstage.content, "Annotations", "And links, for a Backstage entity."),
    Embed("apis.json", "application/json", apisjson.render, "APIs.json entry", "For a provider's index of services."),
    Embed("azure-api-center.json", "application/json", azure.render, "Azure metadata", "For Azure API Center."),
    Embed.in_yaml("huggingface.yaml", huggingface.content, "Model index", "For a Hugging Face model card."),
    Embed("jsonld.json", "application/ld+json", jsonld.render, "Linked data", "A schema.org Review, for a web page."),
)
"""Formats for other sites."""


def installed_formats() -> tuple[Format, ...]:
    """Return all formats: those that Assay ships, then those of installed packages whose names are not taken.

    Raise `TypeError` if a package offers something that is no `Format`.
    """
    formats = {report_format.name: report_format for report_format in FORMATS}
    for entry in entry_points(group=GROUP):
        offered = entry.load()
        if not isinstance(offered, Format):
            raise TypeError(f"{entry.value} in the entry-point group {GROUP} is {offered!r}; it must be a Format")
        formats.setdefault(offered.name, offered)
    return tuple(formats.values())


def format_named(name: str) -> Format:
    """Return a format by its name; raise `UnknownName` if there is none.

    Installed packages are searched only for names that Assay does not ship.
    """
    ours = {report_format.name: report_format for report_format in FORMATS}
    if name in ours:
        return ours[name]
    installed = {report_format.name: report_format for report_format in installed_formats()}
    if name in installed:
        return installed[name]
    raise UnknownName("report format", name, installed)


def render(format_name: str, document: Mapping[str, Any], method: type[Method]) -> str:
    """Write a rating document in a format, with the tables, figures and words of its method.

    Raise `UnknownName` if no format in `installed_formats` has this name.
    """
    return format_named(format_name).render(document, method)
