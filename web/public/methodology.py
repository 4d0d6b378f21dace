"""``/methodology``: the rules of each version, rendered from Markdown, and the changes between versions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from markupsafe import Markup, escape
from starlette.responses import Response

from web.frame import Pages, Visit, segment

pages = Pages(public=True)

CONTEXT = 2
"""Equal lines that are shown around a change."""


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
    older = versions[versions.index(document["version"]) + 1 :]
    return visit.page(
        "public/methodology.html",
        versions=listing["items"],
        shown=document,
        previous=older[0] if older else None,
        text=render_markdown(document["text"]),
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


_ITEM = re.compile(r"(-|\d+\.) +")
_CODE = re.compile(r"`([^`]+)`")
_STRONG = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*")
_EMPHASIS = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*]+?)(?<=\S)\*(?![\w*])")


def render_markdown(text: str) -> Markup:
    """Return a document as HTML; its title becomes a heading of the second level."""
    return Markup("\n").join(_block(lines) for lines in _blocks(text))


def _blocks(text: str) -> Iterator[list[str]]:
    """Split a document at blank lines and after headings; list items that follow each other are one block."""
    block: list[str] = []
    for line in [*text.splitlines(), ""]:
        starts = line.startswith("#") or (block and block[0].startswith("#"))
        begins_list = bool(_ITEM.match(line)) and bool(block) and not _ITEM.match(block[0])
        if block and (not line.strip() or starts or begins_list):
            yield block
            block = []
        if line.strip():
            block.append(line)


def _block(lines: list[str]) -> Markup:
    if lines[0].startswith("#"):
        marks, _, title = lines[0].partition(" ")
        return Markup("<h{0}>{1}</h{0}>").format(min(len(marks) + 1, 6), _inline(title))
    if not _ITEM.match(lines[0]):
        return Markup("<p>{}</p>").format(_inline(" ".join(lines)))
    items: list[str] = []
    for line in lines:
        if match := _ITEM.match(line):
            items.append(line[match.end() :])
        else:
            items[-1] += f" {line.strip()}"
    name = "ul" if lines[0].startswith("-") else "ol"
    return Markup("<{0}>{1}</{0}>").format(
        name, Markup("").join(Markup("<li>{}</li>").format(_inline(i)) for i in items)
    )


def _inline(text: str) -> Markup:
    parts = _CODE.split(text)  # every second part is code
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else _stressed(part) for number, part in enumerate(parts)
    )


def _stressed(text: str) -> Markup:
    escaped = _STRONG.sub(r"<strong>\1</strong>", str(escape(text)))
    return Markup(_EMPHASIS.sub(r"<em>\1</em>", escaped))  # noqa: S704  nothing but the two tags is added to escaped text
