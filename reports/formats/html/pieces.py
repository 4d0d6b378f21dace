"""HTML document around a page's content, and its recurring elements: tables, figures, reasons, verdicts."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files

from reports.figures import Figure, stylesheet
from reports.figures.canvas import hallmark, heat_class
from reports.markup import Content, Markup, join, tag
from reports.view import NOT_MEASURED, ReasonView, Table, Verdict

_PERCENT = re.compile(r"(?<=\d) %")
_INTERVAL = re.compile(r"[\d.,e+-]* ?\([\d.,e+-]+ to [\d.,e+-]+\)")

TALL = 20
"""Number of rows above which a table scrolls while its head stays visible."""

HEAD = 70
"""Height of a figure's title and of the line that unfolds its table, in the figure's user units."""


@cache
def page_style() -> str:
    """Return the style sheet of a report, with the styles of figures."""
    return stylesheet(files("reports.formats.html").joinpath("page.css").read_text(encoding="utf-8"))


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


def isolate(text: str) -> Markup:
    """Escape a text that Assay did not write, and isolate its writing direction."""
    return tag("bdi", text)


def table(listing: Table, *, caption: bool = True, links: Iterable[str] = ()) -> Markup:
    """Write a table; the first cell of a row is its head, and links to the row's address in `links` (if not empty)."""
    classes = ["n" if is_numeric else None for is_numeric in listing.numeric]  # n: numbers, aligned right
    addresses = [*links] or [""] * len(listing.rows)
    heat = listing.heat or ((None,) * len(listing.columns),) * len(listing.rows)  # None: not shaded
    head = tag(
        "tr", *(tag("th", name, scope="col", class_=css) for name, css in zip(listing.columns, classes, strict=True))
    )
    body = [
        tag(
            "tr",
            tag("th", tag("a", row[0], href=address) if address else row[0], scope="row"),
            *map(_draw_cell, row[1:], classes[1:], shares[1:]),
        )
        for row, address, shares in zip(listing.rows, addresses, heat, strict=True)
    ]
    return tag(
        "div",
        tag("table", tag("caption", listing.title) if caption else None, tag("thead", head), tag("tbody", *body)),
        class_="scroll tall" if len(listing.rows) > TALL else "scroll",
        tabindex=0,
        role="group",
        aria_label=listing.title,
    )


def _draw_cell(text: str, number_class: str | None, share: float | None) -> Markup:
    if text == NOT_MEASURED:
        return tag("td", text, class_="none")
    number_class = "i" if _INTERVAL.fullmatch(text) else number_class  # i: interval, n: number
    classes = " ".join(filter(None, (number_class, None if share is None else heat_class(share))))
    return tag("td", text, class_=classes or None)


def figures(by_title: Mapping[str, Figure | None]) -> Markup:
    """Write figures in two columns of about the same height, and a line that names the figures that are ``None``."""
    drawings = [drawing for drawing in by_title.values() if drawing is not None]
    missing = ", ".join(name for name, drawing in by_title.items() if drawing is None)
    column_tags = (tag("div", *map(figure, column)) for column in columns(drawings))
    return join(
        tag("div", *column_tags, class_="figures") if drawings else None,
        tag("p", f"{NOT_MEASURED.capitalize()}: {missing}.", class_="none") if missing else None,
    )


def columns(drawings: Iterable[Figure]) -> list[list[Figure]]:
    """Split figures into two columns: each figure goes into the column that is shorter so far; omit an empty column."""
    left_and_right: tuple[list[Figure], list[Figure]] = ([], [])
    for drawing in drawings:
        shorter_column = min(left_and_right, key=lambda column: sum(above.height + HEAD for above in column))
        shorter_column.append(drawing)
    return [column for column in left_and_right if column]


def figure(drawing: Figure, *, links: Iterable[str] = ()) -> Markup:
    """Write a figure with a table of its numbers, whose rows link to the addresses in `links`, if there are any."""
    numbers = table(drawing.table, caption=False, links=links)
    folded_numbers = tag("details", tag("summary", "The same numbers as a table"), numbers)
    return tag("figure", tag("figcaption", drawing.title), drawing.svg, folded_numbers)


def folding_table(listing: Table) -> Markup:
    """Write a table that unfolds below its title."""
    return tag("details", tag("summary", listing.title), table(listing, caption=False), class_="folded")


def reasons(entries: Iterable[ReasonView]) -> Markup | None:
    """Write reasons as a list; ``None`` if there are none."""
    items = [tag("li", isolate(with_unbroken_percents(reason.text))) for reason in entries]
    return tag("ul", *items, class_="reasons") if items else None


def badge(verdict: Verdict) -> Markup:
    """Draw a letter in its punch (outline), as a decoration that screen readers skip."""
    punch = hallmark(verdict.letter, 1, 1, 62, 26, struck=verdict.declared, size=13)
    return tag("svg", punch, class_="fig punch", viewBox="0 0 64 28", aria_hidden="true")


def paragraphs(*texts: str | None) -> Markup:
    """Write the texts that are not empty as paragraphs."""
    return join(*(tag("p", with_unbroken_percents(text)) for text in texts if text))


def with_unbroken_percents(sentence: str) -> str:
    """Replace blanks before percent signs by no-break spaces, so that a number and its sign stay on one line."""
    return _PERCENT.sub("\u00a0%", sentence)
