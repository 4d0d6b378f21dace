"""Matching of terms in texts: normalisation, and search for whole words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain
from unicodedata import category, normalize

GAP = r"[\s\-\u2010\u2011]+"
"""Separators between the words of a term: blanks and hyphens."""

_GAPS = re.compile(GAP)

_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u00a0": " "})

FEW = 50
"""Maximum number of terms that are compared one by one; more terms are grouped by their first characters."""

LOOKED_AT = 3
"""Number of first characters by which terms are grouped."""

MARKED = ((0x0300, 0x20000), (0xE0100, 0xE01F0))
"""Unicode ranges that contain all combining marks."""


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
    return " ".join(normalize("NFKC", text.translate(_QUOTES)).casefold().split())


def any_of(terms: Iterable[str], flags: int = 0) -> re.Pattern[str]:
    """Build a pattern that matches any term as a whole word; of overlapping terms, the longest matches."""
    pattern = _alternatives(sorted(terms, key=lambda term: (-len(term), term)))
    # the fast check (?<!\w) excludes most positions within words before the slow one for combining marks
    return re.compile(rf"(?<!\w)(?<![{marks()}])(?:{pattern})(?![\w{marks()}])", flags)


def _alternatives(longest_first: Sequence[str], position: int = 0) -> str:
    """Return terms as regular-expression alternatives, in groups that check the next character first.

    Without the groups each of 6,000 terms is compared at each word: 1,000 sentences took half a minute.
    """
    if len(longest_first) <= FEW or position == LOOKED_AT:
        return "|".join(GAP.join(map(re.escape, re.split(GAP, term))) for term in longest_first)
    groups: dict[str, list[str]] = {}
    for term in longest_first:
        groups.setdefault(_group(term, position), []).append(term)
    # a term that ends here is tried last, because all others are longer
    patterns = []
    for key in sorted(groups, key=lambda key: (key == "", key == GAP)):
        if key in {"", GAP}:
            patterns.append(_alternatives(groups[key], LOOKED_AT))
        else:
            characters = "".join(sorted({re.escape(term[position]) for term in groups[key]}))
            patterns.append(rf"(?=.{{{position}}}[{characters}])(?:{_alternatives(groups[key], position + 1)})")
    return "|".join(patterns)


def _group(term: str, position: int) -> str:
    """Return the group of a term by its character at `position`, ignoring case; `GAP` for a gap, "" after the end."""
    if position >= len(term):
        return ""
    if _GAPS.match(term, position):
        return GAP
    return term[position].replace("\u0131", "i").casefold()[:1]  # regular expressions take a dotless i for an i


@cache
def marks() -> str:
    r"""Return all combining marks for a character class: they belong to words, but ``\w`` does not match them."""
    points = chain.from_iterable(range(*ends) for ends in MARKED)
    return "".join(chr(point) for point in points if category(chr(point)).startswith("M"))
