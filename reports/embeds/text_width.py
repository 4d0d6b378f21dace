"""Width of a text in Helvetica and the fonts of the same metrics (Arial, Liberation Sans).

A badge is laid out before the reader's font is known. The widths are those of the Adobe Core 14 AFM
files; SVG's ``textLength`` fits any other font into the same space.
"""

from __future__ import annotations

import unicodedata

# Advance widths in 1/1000 em, from the space (32) to the tilde (126)
REGULAR = (
    # widths of the characters from " " to "/"
    *(278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278),
    # widths of the characters from "0" to "?"
    *(556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556),
    # widths of the characters from "@" to "O"
    *(1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778),
    # widths of the characters from "P" to "_"
    *(667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556),
    # widths of the characters from "`" to "o"
    *(333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556),
    # widths of the characters from "p" to "~"
    *(556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584),
)
BOLD = (
    *(278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 333, 278, 278),
    *(556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 333, 333, 584, 584, 584, 611),
    *(975, 722, 722, 722, 722, 667, 611, 778, 722, 278, 556, 722, 611, 833, 722, 778),
    *(667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 333, 278, 333, 584, 556),
    *(333, 556, 611, 556, 611, 556, 333, 611, 611, 278, 278, 556, 278, 889, 611, 611),
    *(611, 611, 389, 556, 333, 611, 556, 778, 556, 556, 500, 389, 280, 389, 584),
)
FIRST = 32
BEYOND = {"·": 278, "–": 556, "—": 1000, "…": 1000}
"""Widths of the characters outside ASCII that badges use, the same in regular and in bold type."""

OTHER, WIDE = 600, 1000
"""Widths of characters of other scripts, and of full-width characters."""


def length(text: str, size: float, *, bold: bool = False) -> float:
    """Return the width of a line of text, in the unit of `size` (the height of the letters, one em)."""
    widths = BOLD if bold else REGULAR
    return size * sum(_advance(character, widths) for character in unicodedata.normalize("NFD", text)) / 1000


def _advance(character: str, widths: tuple[int, ...]) -> int:
    index = ord(character) - FIRST
    if 0 <= index < len(widths):
        return widths[index]
    if character in BEYOND:
        return BEYOND[character]
    if unicodedata.combining(character):
        return 0
    return WIDE if unicodedata.east_asian_width(character) in "WF" else OTHER
