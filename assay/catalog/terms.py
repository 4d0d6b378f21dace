"""Matching of terms in texts of others: normal forms, and whole words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from itertools import chain
from unicodedata import category, normalize

GAP = r"[\s\-\u2010\u2011]+"
"""Separators between the words of a term: blanks and hyphens."""

_GAPS = re.compile(GAP)

_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u00a0": " "})

MARKED = ((0x0300, 0x20000), (0xE0100, 0xE01F0))
"""Unicode ranges with combining marks: all but the ideographs and private use."""


def spelt(text: str) -> str:
    """Normalise a text: composed letters (NFC), single blanks, none at its ends."""
    return " ".join(normalize("NFC", text).split())


def folded(term: str) -> str:
    """Return the lookup form of a term: composed, folded case, single blanks for hyphens."""
    key = _GAPS.sub(" ", term).strip()
    if key.isascii():
        return key.lower()
    # casefold() can decompose a letter, so the result is normalised again
    return normalize("NFC", normalize("NFC", key).casefold())


def normalised(text: str) -> str:
    """Return the comparison form of a sentence: folded case, one kind of quotes and blanks."""
    plain = normalize("NFKC", text.translate(_QUOTES))
    return " ".join(plain.casefold().split())


def any_of(terms: Iterable[str], flags: int = 0) -> re.Pattern[str]:
    """Build a pattern that matches any term as a whole word, the longest of overlapping ones."""
    longest_first = sorted(terms, key=lambda term: (-len(term), term))
    written = (GAP.join(map(re.escape, re.split(GAP, term))) for term in longest_first)
    # the fast check (?<!\w) excludes most positions within words before the slow one for combining marks
    return re.compile(rf"(?<!\w)(?<![{marks()}])(?:{'|'.join(written)})(?![\w{marks()}])", flags)


@cache
def marks() -> str:
    r"""Return all combining marks for a character class: they belong to words, but ``\w`` does not match them."""
    points = chain.from_iterable(range(*ends) for ends in MARKED)
    return "".join(chr(point) for point in points if category(chr(point)).startswith("M"))
