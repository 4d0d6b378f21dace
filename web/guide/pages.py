"""``/guide``: documents of the documentation, such as the glossary, rendered as pages."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath

from markdown_it.token import Token
from markupsafe import Markup
from starlette.responses import Response

from service.http.problems import Problem
from web.frame import Pages, Visit
from web.frame.markdown import render_markdown

pages = Pages(public=True)

GUIDES = {
    "how-to-read-a-rating": "How to read a rating",
    "glossary": "Glossary",
    "calibration": "Calibration",
    "agent-card": "A rating in an agent card",
}
"""Titles of the documents, by their names in addresses."""


@pages.get("/guide/{name}")
async def guide(visit: Visit) -> Response:
    """Show the document of the documentation that the path names."""
    name = visit.path("name")
    if name not in GUIDES:
        raise Problem("not-found", f"there is no guide {name[:100]}")
    html, sections = _render_guide(name)
    return visit.page("guide/guide.html", name=name, guides=GUIDES, text=html, sections=sections)


@cache
def _render_guide(name: str) -> tuple[Markup, list[tuple[str, str]]]:
    return render_markdown(files("web.guide").joinpath(f"{name}.md").read_text(encoding="utf-8"), _rewrite_links)


def _rewrite_links(tokens: Sequence[Token]) -> None:
    """Point links to other documents at their pages; a document without a page becomes plain text."""
    href = None  # address of the open link; if it is empty, the end of the link also becomes plain text
    for token in tokens:
        if token.type == "link_open":
            href = str(token.attrGet("href"))
            if not href.startswith("https:"):
                path = PurePosixPath(href.partition("#")[0])
                other_page = "/methodology" if "methodology" in href else ""
                href = f"/guide/{path.stem}" if path.stem in GUIDES else other_page
            token.attrs = {"href": href} if href else {}
        if token.type in {"link_open", "link_close"} and not href:
            token.tag = "span"
