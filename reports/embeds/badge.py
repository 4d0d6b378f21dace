"""The badge: an SVG file with one line of text that any page can show as an image.

It shows the attribute, the letter, the date and the age of the rating. Nothing depends on colour: each
letter has an outline of its own shape (oval UCS, cropped DSBS, shield BS), dashed if the letter is not
declared, and every other state is written out. The badge has its own background, and an edge that is
visible on white and on black, so that one file serves light and dark pages.
"""

import tomllib
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from assay.document import Json
from assay.explain import LETTERS
from assay.model import Letter
from reports.embeds.public_view import PublicView, State
from reports.figures.canvas import clip, punch
from reports.markup import Markup, join, tag

WIDTHS: Json = tomllib.loads(files(__package__).joinpath("helvetica.toml").read_text("utf-8"))
"""Advance widths in ``regular`` and ``bold`` type, in 1/1000 em, from the character `FIRST` on."""

FIRST = 32
BEYOND = {"·": 278, "–": 556, "—": 1000, "…": 1000}
"""Widths of the characters outside ASCII that badges use, in 1/1000 em; equal in regular and bold type."""

OTHER, WIDE = 600, 1000
"""Widths of characters of other scripts, and of full-width characters, in 1/1000 em."""


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Return the width of a line of text in Helvetica, in the unit of the font size `size`."""
    widths = WIDTHS["bold" if bold else "regular"]
    return size * sum(_advance_width(character, widths) for character in unicodedata.normalize("NFD", text)) / 1000


def _advance_width(character: str, widths: Sequence[int]) -> int:
    """Return the width of a character in 1/1000 em; `widths` are those of the ASCII characters from the space on."""
    index = ord(character) - FIRST
    if 0 <= index < len(widths):
        return widths[index]
    if character in BEYOND:  # other characters that badges use
        return BEYOND[character]
    if unicodedata.combining(character):
        return 0
    return WIDE if unicodedata.east_asian_width(character) in "WF" else OTHER


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

SHORT_DATE = "%-d %b %Y"

STATE_SENTENCES = {
    State.EXPIRED: "The rating has expired. ",
    State.WITHDRAWN: "The rating was withdrawn. ",
    State.INCONCLUSIVE: "The evidence leans to a letter, but not surely enough to give it. ",
}
"""Sentence by state of the rating, placed before the explanation of a letter that is not valid or not declared."""

REQUESTERS: Mapping[str | None, str] = {"owner": "the host's owner", "operator": "the agency", "other": "a third party"}
"""Phrase for the requester, by class in the rating document."""

FONT = "Helvetica,Arial,'Liberation Sans',sans-serif"
PUNCH_WIDTH: Mapping[Letter, float] = {Letter.UCS: 38, Letter.DSBS: 40, Letter.BS: 30}
MAX_NAME_WIDTH = 24
"""Maximum width of an attribute's name, in columns of a terminal."""
LONGEST_MODEL = 60
"""Maximum width of a model's name, in columns of a terminal."""


@dataclass(frozen=True)
class Piece:
    """Part of the badge, `width` pixels wide: a run of words, or a letter in its punch (outline)."""

    text: str
    width: float
    letter: Letter | None = None
    bold: bool = False


def render(view: PublicView) -> str:
    """Return the badge as an SVG file without scripts, styles or references to other files."""
    label = _piece(f"{clip(view.rating.attribute, MAX_NAME_WIDTH)} bias" if view.rating.attribute else view.subject)
    pieces = _badge_pieces(view)
    label_width = round(label.width + 2 * PAD)
    width = round(label_width + 2 * PAD + sum(piece.width for piece in pieces) + GAP * (len(pieces) - 1))
    title, description = f"Bias rating: {view.message}{circumstances_suffix(view)}", describe(view)
    if view.sentence is not None and view.state in {State.RATED, State.INCONCLUSIVE}:
        title = f"{title}. {view.sentence}"
    drawing = tag(
        "svg",
        tag("title", title),
        tag("desc", description),
        _draw_background(width, label_width, colour(view)),
        _draw_piece(label, PAD, view),
        *_draw_row(pieces, label_width + PAD, view),
        xmlns="http://www.w3.org/2000/svg",
        width=width,
        height=HEIGHT,
        viewBox=f"0 0 {width} {HEIGHT}",
        role="img",
        aria_label=f"{title.removesuffix('.')}. {description}",
        font_family=FONT,
        font_size=SIZE,
    )
    return drawing + "\n"


def colour(view: PublicView) -> str:
    """Return the background colour: the letter's if it is declared, valid and unchanged, otherwise grey (`OPEN`)."""
    if view.state is State.RATED and view.letter is not None and not view.changed_on:
        return COLOURS[view.letter]
    return OPEN


def describe(view: PublicView) -> str:
    """Describe the rating in a sentence or two, for screen readers."""
    if view.state is State.UNRATED:
        return "No rating of this service has been published."
    sentence = f"{view.target} was rated"
    sentence += f" with the model {clip(view.model, LONGEST_MODEL)}" if view.model else ""
    sentence += f" for {view.rating.attribute} bias" if view.rating.attribute else ""
    sentence += f" by {view.rating.method}" if view.rating.method else ""
    sentence += f" on {day(view)}, {age(view)}" if view.rated_on else ""
    meaning = f"{view.letter}: {LETTERS[view.letter].title}. " if view.letter is not None else ""
    if view.state is State.RATED:
        meaning += f"{view.meaning} "
    validity = f", valid until {view.expires_at:%Y-%m-%d}" if view.expires_at else ""
    rules = f"Methodology {view.rating.methodology.version}{validity}. " if view.rating.methodology.version else ""
    if view.changed_on:
        meaning += f"A watch noticed that its answers have changed since {view.changed_on:%Y-%m-%d}. "
    return f"{sentence}. {STATE_SENTENCES.get(view.state, '')}{meaning}{rules}{view.provenance}".strip()


def circumstances_suffix(view: PublicView) -> str:
    """Return a suffix with model, change, requester and objection: ``, model large, requested by the host's owner``."""
    model = f", model {clip(view.model, LONGEST_MODEL)}" if view.model else ""
    requester = f", requested by {REQUESTERS[view.requested_by]}" if view.requested_by in REQUESTERS else ""
    change = f", changed since {view.changed_on:%Y-%m-%d}" if view.changed_on else ""
    return model + change + requester + (", the owner objects" if view.objects else "")


def day(view: PublicView) -> str:
    """Return the day of the rating, such as ``20 Nov 2026``; empty if unknown."""
    return "" if view.rated_on is None else f"{view.rated_on:{SHORT_DATE}}"


def age(view: PublicView) -> str:
    """Return the age of the rating: ``today``, ``1 day ago``, ``40 days ago``."""
    days = view.age_days or 0
    return "today" if days == 0 else f"{days} day{'s' if days > 1 else ''} ago"


def _badge_pieces(view: PublicView) -> Sequence[Piece]:
    """Return what stands right of the label: the message, with the letter apart, and the date."""
    date_text = f"{day(view)} · {age(view)}"
    if view.changed_on:
        date_text = f"{day(view)} · changed since {view.changed_on:{SHORT_DATE}}"
    if view.state is State.WITHDRAWN:
        date_text = f"rated {date_text}"  # without "rated", the date would look like that of the withdrawal
    date_pieces = [_piece(date_text)] if view.rated_on else []
    if view.letter is None:
        return [_piece(view.message, bold=True), *date_pieces]
    prefix_text = view.message.removesuffix(view.letter.value).strip()  # such as "inconclusive, leaning"
    prefix_pieces = [_piece(prefix_text, bold=True)] if prefix_text else []
    return [*prefix_pieces, Piece(view.letter.value, PUNCH_WIDTH[view.letter], view.letter, bold=True), *date_pieces]


def _piece(text: str, *, bold: bool = False) -> Piece:
    return Piece(text, text_width(text, SIZE, bold=bold), bold=bold)


def _draw_background(width: int, boundary_x: int, right_fill: str) -> Markup:
    # the corners have the radius of the frame, whose line is half a pixel inside the edge
    right_half_path = f"M{boundary_x} .5H{width - 4}a3.5 3.5 0 0 1 3.5 3.5v12a3.5 3.5 0 0 1 -3.5 3.5H{boundary_x}z"
    frame = {"x": 0.5, "y": 0.5, "width": width - 1, "height": HEIGHT - 1, "rx": 3.5}
    return join(
        tag("rect", **frame, fill=INK),
        tag("path", d=right_half_path, fill=right_fill),
        tag("rect", **frame, fill="none", stroke=EDGE),
    )


def _draw_row(pieces: Sequence[Piece], x: float, view: PublicView) -> Iterator[Markup]:
    for piece in pieces:
        yield _draw_piece(piece, x, view)
        x += piece.width + GAP


def _draw_piece(piece: Piece, x: float, view: PublicView) -> Markup:
    """Draw words or, in its punch (outline), a letter: filled if it is valid, dashed if it is not declared."""
    if piece.letter is None:
        return _draw_text(piece.text, x, piece.width, SIZE, CREAM, bold=piece.bold)
    is_valid = view.state is State.RATED
    outline = punch(piece.letter, x, y=3, w=piece.width, h=14, class_="punch")
    letter_width = text_width(piece.text, SMALL, bold=True)
    dashes = "3 2" if not view.declared else None
    punch_shape = tag("g", outline, fill=CREAM if is_valid else "none", stroke=CREAM, stroke_dasharray=dashes)
    letter_x, letter_fill = x + (piece.width - letter_width) / 2, colour(view) if is_valid else CREAM
    return join(punch_shape, _draw_text(piece.text, letter_x, letter_width, SMALL, letter_fill, bold=True))


def _draw_text(text: str, x: float, width: float, size: float, fill: str, *, bold: bool) -> Markup:
    """Draw a line of text, stretched to its computed width, because the reader may have another font."""
    return tag(
        "text",
        text,
        x=x,
        y=BASELINE if size == SIZE else BASELINE - 0.6,  # smaller letters are centred
        textLength=width,
        lengthAdjust="spacingAndGlyphs",
        fill=fill,
        font_size=size if size != SIZE else None,
        font_weight="bold" if bold else None,
    )
