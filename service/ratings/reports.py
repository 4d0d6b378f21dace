"""Reports of a rating, in the formats that `reports.formats` lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from starlette.responses import Response

from reports.formats import format_named, html, installed_formats
from reports.pages import MEDIA_TYPES, PageFormat, render_page

PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
"""``Content-Security-Policy`` of a report: it is one file, which loads and runs nothing."""


def summary(document: Mapping[str, Any], headers: Mapping[str, str]) -> Response:
    """Render the one-page HTML summary of a rating, as a response with `headers`."""
    return _response(html.render_summary(document), MEDIA_TYPES["html"], headers)


def report(name: str, document: Mapping[str, Any], headers: Mapping[str, str]) -> Response:
    """Render a rating document in a format of `reports.formats.FORMATS`, as a response with `headers`."""
    form = format_named(name)
    return _response(form.render(document), form.media_type, headers)


def page_report(
    form: PageFormat, of: Literal["suite", "composition"], document: Mapping[str, Any], headers: Mapping[str, str]
) -> Response:
    """Render the document of a suite or composition, as a response with `headers`."""
    return _response(render_page(form, of, document), MEDIA_TYPES[form], headers)


def _response(text: str, media_type: str, headers: Mapping[str, str]) -> Response:
    # replies of targets can contain lone surrogates, which UTF-8 cannot encode
    content = text.encode("utf-8", "backslashreplace")
    return Response(content, headers={**headers, "Content-Security-Policy": PAGE_POLICY}, media_type=media_type)


def report_formats() -> list[str]:
    """Return the names of the formats."""
    return list(installed_formats())
