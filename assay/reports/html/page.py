"""The frame of the page: head, style, skip link."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from assay.reports.figures import stylesheet
from assay.reports.markup import Content, Markup, tag


@cache
def page_style() -> str:
    """Return the styles of figures and page, as one sheet."""
    page_css = files("assay.reports.html").joinpath("page.css").read_text(encoding="utf-8")
    return f"{stylesheet()}{page_css}"


def page(title: str, *content: Content, skip: str = "Skip to the rating") -> str:
    """Write a complete HTML document around its content; `skip` is the text of the link that skips to the content."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", Markup(page_style())),
    )
    body = tag("body", tag("a", skip, href="#main", class_="skip"), *content)
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"
