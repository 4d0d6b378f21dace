"""SVG canvas and basic shapes of all figures. Narrow figures are 360 units wide, to fit a phone at full size."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from rich.cells import cell_len

from assay.model import Letter
from reports.markup import Content, Markup, coordinate, tag
from reports.view import Table

WIDTH = 360
"""Width of a narrow figure in user units of SVG (CSS pixels at natural size)."""

Width = Literal["narrow", "wide"]
"""Width of a figure: reports and phones show ``narrow`` figures, pages with more room ``wide`` figures."""

UNITS: Mapping[Width, int] = {"narrow": WIDTH, "wide": 540}
"""Width of a figure in user units, by its name."""

LARGE = 40
"""Minimum font size at which a letter's punch (its outline) has an inner line."""


@dataclass(frozen=True)
class Figure:
    """A drawing as SVG, with the same content in words and as a table. Its page must include `stylesheet` once.

    `title` names the content and `description` says what it shows; both are also inside the drawing.
    `height` is in user units.
    """

    svg: Markup
    title: str
    description: str
    table: Table
    height: float


@cache
def stylesheet(page_css: str = "") -> str:
    """Return the style sheet of a page: styles of figures, styles for reports and site, `page_css`, print styles."""
    figure_css, look_css, print_css = (
        files("reports.figures").joinpath(f"{name}.css").read_text(encoding="utf-8")
        for name in ("figure", "look", "print")
    )
    return f"{figure_css}{look_css}{page_css}{print_css}"


def draw(
    key: str,
    table: Table,
    description: str,
    height: float,
    *content: Content,
    title: str | None = None,
    width: float = WIDTH,
    role: Literal["img", "group"] = "img",
) -> Figure:
    """Return a figure from its shapes (`content`), with a title and a description for screen readers.

    `key` is unique on the page, because ids are made from it. Without a `title` the figure has the title of the
    table. `description` says what the figure shows, in a sentence or two. `width` is in user units; `role`
    is ``group`` if parts of the figure are links.
    """
    title = title or table.title
    svg = tag(
        "svg",
        tag("title", title, id=f"{key}-t"),
        tag("desc", description, id=f"{key}-d"),
        *content,
        xmlns="http://www.w3.org/2000/svg",
        class_="fig",
        viewBox=f"0 0 {coordinate(width)} {coordinate(height)}",
        role=role,
        aria_labelledby=f"{key}-t {key}-d",
    )
    return Figure(svg, title, description, table, height)


def label(x: float, y: float, content: str, class_: str | None = None) -> Markup:
    """Return a line of text whose baseline is at `y`; classes: s small, b bold, m centred at `x`, e ending at `x`."""
    return tag("text", content, x=x, y=y, class_=class_)


def box(x: float, y: float, w: float, h: float, class_: str | None = None, rx: float | None = None) -> Markup:
    """Return a rectangle; `rx` is the radius of its corners."""
    return tag("rect", x=x, y=y, width=max(w, 0), height=h, class_=class_, rx=rx)


def stroke(class_: str, *points: tuple[float, float]) -> Markup:
    """Return a line through points."""
    path = "L".join(f"{coordinate(x)} {coordinate(y)}" for x, y in points)
    return tag("path", d=f"M{path}", class_=class_)


def clip(name: str, columns: int) -> str:
    """Shorten a name to `columns` columns of a terminal, the last with an ellipsis; a short name stays unchanged."""
    if cell_len(name) <= columns:
        return name
    prefix = ""
    for char in name:
        if cell_len(prefix + char) > columns - 1:  # the last column is for the ellipsis
            break
        prefix += char
    return f"{prefix}…"


def heat_class(share: float) -> str:
    """Return the style class that shades a cell by a share in [0, 1], in ten steps."""
    return f"h{min(9, max(0, int(share * 10)))}"


def hallmark(
    letter: Letter | None, x: float, y: float, w: float, h: float, *, struck: bool, size: int = 11, quiet: bool = False
) -> Markup:
    """Return a letter with its outline, the punch: oval for UCS, cropped corners for DSBS, pointed shield for BS.

    The shape of the punch distinguishes the letters without colour, as on metals. A letter that is
    not declared (not `struck`) has a dashed outline; a letter that is not the rating's (`quiet`) has a thin solid
    outline. A large punch has an inner line. The style sheet defines the sizes 9, 11, 13, 15 and 40.
    """
    inner_punch = punch(letter, x + 5, y + 5, w - 10, h - 10, "inner") if size >= LARGE else Markup()
    baseline = y + h / 2 + size * (0.26 if letter is Letter.BS else 0.36)  # half a capital; higher in a shield
    name = tag("text", letter.value if letter else "?", x=x + w / 2, y=baseline, class_=f"name n{size}")
    classes = f"{letter or 'none'} {'quiet' if quiet else 'struck' if struck else 'open'}"
    return tag("g", punch(letter, x, y, w, h, "mark"), inner_punch, name, class_=classes)


def punch(letter: Letter | None, x: float, y: float, w: float, h: float, class_: str) -> Markup:
    """Return the outline (punch) of a letter; without a letter, a plain rectangle."""
    match letter:
        case Letter.UCS:
            return tag("ellipse", cx=x + w / 2, cy=y + h / 2, rx=w / 2, ry=h / 2, class_=class_)
        case Letter.DSBS:
            return tag("path", d=_octagon(x, y, w, h), class_=class_)
        case Letter.BS:
            return tag("path", d=_shield(x, y, w, h), class_=class_)
        case _:
            return box(x, y, w, h, class_)


def _octagon(x: float, y: float, w: float, h: float) -> str:
    cut = h * 0.28  # across and down, at each corner
    top_and_right = f"h{w - 2 * cut:.1f}l{cut:.1f} {cut:.1f}v{h - 2 * cut:.1f}l{-cut:.1f} {cut:.1f}"
    bottom_and_left = f"h{2 * cut - w:.1f}l{-cut:.1f} {-cut:.1f}v{2 * cut - h:.1f}z"
    return f"M{x + cut:.1f} {y:.1f}{top_and_right}{bottom_and_left}"


def _shield(x: float, y: float, w: float, h: float) -> str:
    side = h * 0.68  # height of the upright sides, above the point
    return f"M{x:.1f} {y:.1f}h{w:.1f}v{side:.1f}l{-w / 2:.1f} {h - side:.1f}l{-w / 2:.1f} {side - h:.1f}z"
