"""The badge: an SVG of one line that any page can show as an image.

It shows the attribute, the letter, the date and the age of the rating. Nothing depends on colour: each
letter has an outline of its own shape (oval UCS, cropped DSBS, shield BS), dashed if the letter is not
declared, and every other state is written out. The badge has its own background, and an edge that is
visible on white and on black, so that one file serves light and dark pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.explain import LETTERS
from assay.model import Letter
from assay.reports.embeds.public_view import Shown, State
from assay.reports.embeds.text_width import length
from assay.reports.figures.canvas import clip, punch
from assay.reports.markup import Markup, tag
from assay.reports.outline import MONTHS

HEIGHT = 20
SIZE = 11
"""Font size in pixels; a rating's letter in its punch (outline) has the font size `SMALL`."""
SMALL = 9.5
PAD, GAP = 7, 6
BASELINE = 14

# Blue, ochre and wine differ in lightness too, so that colour-blind readers can tell them apart.
COLOURS: Mapping[Letter, str] = {Letter.UCS: "#1f6391", Letter.DSBS: "#8a6200", Letter.BS: "#741a3c"}
OPEN = "#5c564f"
"""Background colour if there is no valid declared letter."""
INK, CREAM, EDGE = "#2b2926", "#fffdf8", "#8b8375"

FALLEN = {
    State.EXPIRED: "The rating has expired. ",
    State.WITHDRAWN: "The rating was withdrawn. ",
    State.INCONCLUSIVE: "The evidence leans to a letter, but not surely enough to give it. ",
}
"""Sentence before the explanation of a letter that is not valid or not declared."""

REQUESTERS: Mapping[str | None, str] = {
    "owner": "the host's owner",
    "operator": "the agency",
    "other": "a third party",
}
"""Requesters in a few words."""

FONT = "Helvetica,Arial,'Liberation Sans',sans-serif"
PUNCH_WIDTH: Mapping[Letter, float] = {Letter.UCS: 38, Letter.DSBS: 40, Letter.BS: 30}
LONGEST = 24
"""Maximum width of an attribute's name in characters."""
LONGEST_MODEL = 60
"""Maximum width of a model's name in characters."""


@dataclass(frozen=True)
class Piece:
    """Part of the badge, `width` pixels wide: a run of words, or a letter in its punch (outline)."""

    text: str
    width: float
    letter: Letter | None = None
    bold: bool = False


def render(shown: Shown) -> str:
    """Draw the badge: an SVG file without scripts, styles or anything to be loaded."""
    label = _words(f"{clip(shown.attribute, LONGEST)} bias" if shown.attribute else shown.subject)
    pieces = _pieces(shown)
    left = round(label.width + 2 * PAD)
    width = round(left + 2 * PAD + sum(one.width for one in pieces) + GAP * (len(pieces) - 1))
    title, description = f"Bias rating: {shown.message}{by(shown)}", describe(shown)
    drawing = tag(
        "svg",
        tag("title", title),
        tag("desc", description),
        _ground(width, left, colour(shown)),
        _drawn(label, PAD, shown),
        _row(pieces, left + PAD, shown),
        xmlns="http://www.w3.org/2000/svg",
        width=width,
        height=HEIGHT,
        viewBox=f"0 0 {width} {HEIGHT}",
        role="img",
        aria_label=f"{title}. {description}",
        font_family=FONT,
        font_size=SIZE,
    )
    return drawing + "\n"


def colour(shown: Shown) -> str:
    """Return the background colour: that of the letter if it is declared and still valid, else grey."""
    if shown.state is State.RATED and shown.letter is not None:
        return COLOURS[shown.letter]
    return OPEN


def describe(shown: Shown) -> str:
    """Describe the rating in a sentence or two, for screen readers."""
    if shown.state is State.UNRATED:
        return "No rating of this service has been published."
    what = f"{shown.target} was rated"
    what += f" with the model {clip(shown.model, LONGEST_MODEL)}" if shown.model else ""
    what += f" for {shown.attribute} bias" if shown.attribute else ""
    what += f" by {shown.method}" if shown.method else ""
    what += f" on {day(shown)}, {age(shown)}" if shown.rated_on else ""
    meaning = f"{shown.letter}: {LETTERS[shown.letter].title}. " if shown.letter is not None else ""
    if shown.state is State.RATED:
        meaning += f"{shown.meaning} "
    ends = f", valid until {shown.expires_at:%Y-%m-%d}" if shown.expires_at else ""
    rules = f"Methodology {shown.methodology}{ends}. " if shown.methodology else ""
    return f"{what}. {FALLEN.get(shown.state, '')}{meaning}{rules}{shown.provenance}".strip()


def by(shown: Shown) -> str:
    """Write the model, who requested the rating, and an objection: ``, model large, requested by the host's owner``."""
    model = f", model {clip(shown.model, LONGEST_MODEL)}" if shown.model else ""
    requester = f", requested by {REQUESTERS[shown.requested_by]}" if shown.requested_by in REQUESTERS else ""
    return model + requester + (", the owner objects" if shown.objects else "")


def day(shown: Shown) -> str:
    """Write the day of the rating: ``20 Nov 2026``."""
    on = shown.rated_on
    return "" if on is None else f"{on.day} {MONTHS[on.month - 1][:3]} {on.year}"


def age(shown: Shown) -> str:
    """Write the age of the rating: ``today``, ``1 day ago``, ``40 days ago``."""
    days = shown.age_days or 0
    return "today" if days == 0 else f"{days} day{'s' if days > 1 else ''} ago"


# ---------------------------------------------------------------------------- contents
def _pieces(shown: Shown) -> Sequence[Piece]:
    dated = f"{day(shown)} · {age(shown)}"
    if shown.state is State.WITHDRAWN:
        dated = f"rated {dated}"  # without "rated", the date would look like that of the withdrawal
    when = [_words(dated)] if shown.rated_on else []
    if shown.letter is None:
        return [_words(shown.message, bold=True), *when]
    before = shown.message.removesuffix(shown.letter.value).strip()
    said = [_words(before, bold=True)] if before else []
    return [*said, Piece(shown.letter.value, PUNCH_WIDTH[shown.letter], shown.letter, bold=True), *when]


def _words(text: str, *, bold: bool = False) -> Piece:
    return Piece(text, length(text, SIZE, bold=bold), bold=bold)


# ---------------------------------------------------------------------------- drawing
def _ground(width: int, left: int, right: str) -> Markup:
    half = f"M{left} .5H{width - 4}a3.5 3.5 0 0 1 3.5 3.5v12a3.5 3.5 0 0 1 -3.5 3.5H{left}z"
    edges = {"x": 0.5, "y": 0.5, "width": width - 1, "height": HEIGHT - 1, "rx": 3.5}
    return Markup(
        tag("rect", **edges, fill=INK)
        + tag("path", d=half, fill=right)
        + tag("rect", **edges, fill="none", stroke=EDGE)
    )


def _row(pieces: Sequence[Piece], x: float, shown: Shown) -> Markup:
    drawn = []
    for one in pieces:
        drawn.append(_drawn(one, x, shown))
        x += one.width + GAP
    return Markup("".join(drawn))


def _drawn(piece: Piece, x: float, shown: Shown) -> Markup:
    if piece.letter is None:
        return _text(piece.text, x, piece.width, SIZE, CREAM, bold=piece.bold)
    stands = shown.state is State.RATED
    outline = punch(piece.letter, x, 3, piece.width, 14, "punch")
    wide = length(piece.text, SMALL, bold=True)
    dashes = "3 2" if not shown.declared else None
    marked = tag("g", outline, fill=CREAM if stands else "none", stroke=CREAM, stroke_dasharray=dashes)
    named = _text(piece.text, x + (piece.width - wide) / 2, wide, SMALL, colour(shown) if stands else CREAM, bold=True)
    return Markup(marked + named)


def _text(text: str, x: float, width: float, size: float, fill: str, *, bold: bool) -> Markup:
    """Draw a line of text, stretched to its computed width, because the reader may have another font."""
    return tag(
        "text",
        text,
        x=x,
        y=BASELINE if size == SIZE else BASELINE - 0.6,
        textLength=width,
        lengthAdjust="spacingAndGlyphs",
        fill=fill,
        font_size=size if size != SIZE else None,
        font_weight="bold" if bold else None,
    )
