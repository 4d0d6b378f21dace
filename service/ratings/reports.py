"""Reports of a rating, in the formats that `assay.reports` lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from starlette.responses import Response

from assay import reports
from assay.methods import method_of
from assay.reports import html
from assay.reports.pages import MEDIA_TYPES, PageFormat, render_page

PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
"""``Content-Security-Policy`` of a report: it is one file, which loads and runs nothing."""


def summary(document: Mapping[str, Any], headers: Mapping[str, str]) -> Response:
    """Render the one-page HTML summary of a rating, as a response with `headers`."""
    return _response(html.render_summary(document, method_of(document)), MEDIA_TYPES["html"], headers)


def report(name: str, document: Mapping[str, Any], headers: Mapping[str, str]) -> Response:
    """Render a rating document in a format of `assay.reports.FORMATS`, as a response with `headers`."""
    form = reports.format_named(name)
    return _response(form.render(document, method_of(document)), form.media_type, headers)


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
    return [report_format.name for report_format in reports.installed_formats()]
