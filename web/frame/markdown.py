"""Markdown documents, such as the methodology, as HTML."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

SECTION = "h3"
"""Tag of the headings of sections, below the title."""

_ALIGNED = re.compile(r' style="text-align:(\w+)"')
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")


def render_markdown(
    text: str, edit_inline: Callable[[Sequence[Token]], None] | None = None
) -> tuple[Markup, list[tuple[str, str]]]:
    """Return a document as HTML, and the anchors and titles of its sections.

    The title becomes a heading of the second level. HTML in the text is shown as text. `edit_inline` changes the tokens
    of a paragraph, such as its links.
    """
    tokens = _MARKDOWN.parse(text)
    sections: list[tuple[str, str]] = []
    for token, following in pairwise([*tokens, *tokens[-1:]]):  # the last token is paired with itself
        if edit_inline is not None and token.children:
            edit_inline(token.children)
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{int(token.tag[1:]) + 1}"
        if token.type == "heading_open" and token.tag == SECTION:  # its text is the following token
            anchor = f"s-{len(sections)}"
            token.attrSet("id", anchor)
            sections.append((anchor, following.content.replace("`", "")))
    html = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, env={})
    html = _ALIGNED.sub(lambda match: ' class="num"' if match[1] == "right" else "", html)  # pages have no inline style
    # with a tab index, text that is too wide can be scrolled by keys
    html = html.replace("<pre>", '<pre tabindex="0">')
    html = html.replace("<table>", '<div class="scroll" tabindex="0"><table>').replace("</table>", "</table></div>")
    return Markup(html), sections  # noqa: S704  the parser escapes HTML
