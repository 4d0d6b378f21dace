"""``/methodology``: the rules of each version, rendered from Markdown, and the changes between versions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup
from starlette.responses import Response

from web.frame import Pages, Visit, segment

pages = Pages(public=True)

CONTEXT = 2
"""Equal lines that are shown around a change."""

SECTION = "h3"
"""Tag of the headings of sections, below the title."""

_ALIGNED = re.compile(r' style="text-align:(\w+)"')
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")


@pages.get("/methodology")
async def current(visit: Visit) -> Response:
    """Show the current version."""
    return await _version(visit, "current")


@pages.get("/methodology/changes")
async def changes(visit: Visit) -> Response:
    """Show which lines of the text changed from one version to another; by default, from the previous one."""
    listing = await visit.api.get("/v1/methodology")
    versions = [version["version"] for version in listing["items"]]
    to = visit.query("to") or listing["current"]
    at = versions.index(to) + 1 if to in versions else 0
    since = visit.query("from") or versions[min(at, len(versions) - 1)]
    old, new = [await visit.api.get(f"/v1/methodology/{segment(version)}") for version in (since, to)]
    lines = list(changed_lines(old["text"].splitlines(), new["text"].splitlines()))
    return visit.page(
        "public/changes.html",
        versions=versions,
        old=old,
        new=new,
        lines=lines,
        added=sum(line.sign == "+" for line in lines),
        removed=sum(line.sign == "-" for line in lines),
    )


@pages.get("/methodology/{version}")
async def version(visit: Visit) -> Response:
    """Show one version."""
    return await _version(visit, visit.path("version"))


async def _version(visit: Visit, name: str) -> Response:
    listing = await visit.api.get("/v1/methodology")
    document = await visit.api.get(f"/v1/methodology/{name}")
    versions = [version["version"] for version in listing["items"]]
    text, sections = render_markdown(document["text"])
    older = versions[versions.index(document["version"]) + 1 :]
    return visit.page(
        "public/methodology.html",
        versions=listing["items"],
        shown=document,
        previous=older[0] if older else None,
        text=text,
        sections=sections,
    )


@dataclass(frozen=True)
class Line:
    """A line of a difference; `sign` is ``+`` (added), ``-`` (removed), a space (equal) or ``…`` (lines left out)."""

    sign: str
    text: str


def changed_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[Line]:
    """Return the lines that differ, each group with `CONTEXT` equal lines around it."""
    for number, group in enumerate(SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(CONTEXT)):
        if number:
            yield Line("…", "")
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                yield from (Line(" ", text) for text in old[old_from:old_to])
            else:
                yield from (Line("-", text) for text in old[old_from:old_to])
                yield from (Line("+", text) for text in new[new_from:new_to])


def render_markdown(
    text: str, edit_inline: Callable[[Sequence[Token]], None] | None = None
) -> tuple[Markup, list[tuple[str, str]]]:
    """Return a document as HTML, and the anchors and titles of its sections.

    The title becomes a heading of the second level. HTML in the text is shown as text. `edit_inline` changes the tokens
    of a paragraph, such as its links.
    """
    tokens = _MARKDOWN.parse(text)
    sections: list[tuple[str, str]] = []
    for token, following in pairwise([*tokens, *tokens[-1:]]):
        if edit_inline is not None and token.children:
            edit_inline(token.children)
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{int(token.tag[1:]) + 1}"
        if token.type == "heading_open" and token.tag == SECTION:
            anchor = f"s-{len(sections)}"
            token.attrSet("id", anchor)
            sections.append((anchor, following.content.replace("`", "")))
    html = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}).replace("<pre>", '<pre tabindex="0">')
    html = _ALIGNED.sub(lambda style: ' class="num"' if style[1] == "right" else "", html)  # pages have no inline style
    html = html.replace("<table>", '<div class="scroll" tabindex="0"><table>').replace("</table>", "</table></div>")
    return Markup(html), sections  # noqa: S704  the parser escapes HTML
