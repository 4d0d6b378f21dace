"""Reports of several ratings: the matrix of a suite, and the chain of a composition, as HTML and Markdown.

`suite` and `composition` read the documents that the API returns into a `Page`; `render_page` writes it in a format.
"""

from collections.abc import Callable, Mapping
from typing import Literal

from assay.document import Json
from reports.pages.composition import composition_page
from reports.pages.page import Page, page_html, page_markdown
from reports.pages.suite import suite_page

__all__ = ["MEDIA_TYPES", "PageFormat", "render_page"]

PageFormat = Literal["html", "markdown"]

MEDIA_TYPES: Mapping[PageFormat, str] = {"html": "text/html; charset=utf-8", "markdown": "text/markdown; charset=utf-8"}

_READ: Mapping[str, Callable[[Json], Page]] = {"suite": suite_page, "composition": composition_page}
_WRITE: Mapping[PageFormat, Callable[[Page], str]] = {"html": page_html, "markdown": page_markdown}


def render_page(page_format: PageFormat, kind: Literal["suite", "composition"], document: Json) -> str:
    """Write the JSON document of a suite or composition as a page in a format; absent fields are left out."""
    return _WRITE[page_format](_READ[kind](document))
