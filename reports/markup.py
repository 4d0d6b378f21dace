"""HTML and SVG writer that escapes every text."""

import re

from markupsafe import Markup, escape

__all__ = ["EMPTY", "Attribute", "Content", "Markup", "coordinate", "join", "tag"]

Attribute = str | int | float | bool | None

EMPTY = frozenset({"circle", "ellipse", "hr", "img", "link", "line", "meta", "path", "polygon", "rect", "use"})
"""Elements without content; ``<x/>`` is right for them in HTML and in SVG."""

# characters that XML 1.0, section 2.2, does not allow
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

Content = str | None | tuple["Content", ...] | list["Content"]
"""Content of an element: text (escaped), `Markup` (not escaped), ``None``, or a sequence of these."""


def tag(name: str, /, *content: Content, **attributes: Attribute) -> Markup:
    """Write one element; text in its content is escaped, `Markup` is not.

    In names of attributes, underscores become hyphens and a trailing one is removed (``class_``, ``stroke_width``).
    ``None`` and ``False`` leave an attribute out; ``True`` sets its value to its name.
    """
    attribute_text = "".join(_write_attribute(key, value) for key, value in attributes.items())
    if name in EMPTY:
        return Markup(f"<{name}{attribute_text}/>")  # noqa: S704  all is escaped
    return Markup(f"<{name}{attribute_text}>{join(*content)}</{name}>")  # noqa: S704  all is escaped


def join(*content: Content) -> Markup:
    """Write contents one after the other; text is escaped, `Markup` is not."""
    return Markup("".join(_escape(part) for part in content))  # noqa: S704  all is escaped


def coordinate(value: float) -> str:
    """Write a length or a position with one decimal at most."""
    return f"{value:.1f}".removesuffix(".0")


def _escape(content: Content) -> Markup:
    if content is None or isinstance(content, Markup):
        return content or Markup()
    # characters that XML forbids become the replacement character
    return escape(_FORBIDDEN.sub("\ufffd", content)) if isinstance(content, str) else join(*content)


def _write_attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.removesuffix("_").replace("_", "-")
    # True before numbers, because a bool is an int
    value_text = name if value is True else coordinate(value) if isinstance(value, int | float) else _escape(str(value))
    return f' {name}="{value_text}"'
