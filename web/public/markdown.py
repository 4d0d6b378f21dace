"""Renderer for the Markdown of the methodology: headings, paragraphs, lists of one level, bold, italics, code.

All text is escaped. Other Markdown (links, images, HTML, tables) stays plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from markupsafe import Markup, escape

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
