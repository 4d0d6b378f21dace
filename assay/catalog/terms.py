"""Terms of specifications in texts that others wrote: when two are the same, and where one stands as a whole word."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from itertools import chain
from unicodedata import category, normalize

GAP = r"[\s\-\u2010\u2011]+"
"""What may stand between the words of a term: blanks, hyphens."""

_GAPS = re.compile(GAP)

_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u00a0": " "})

MARKED = ((0x0300, 0x20000), (0xE0100, 0xE01F0))
"""Where Unicode keeps its combining marks: everywhere but among the ideographs and in private use."""


def spelt(text: str) -> str:
    """Write a text with composed letters (NFC) and single blanks, none at its ends."""
    return " ".join(normalize("NFC", text).split())


def folded(term: str) -> str:
    """Write a term as it is looked up: composed, in one case, with single blanks for hyphens."""
    key = _GAPS.sub(" ", term).strip()
    if key.isascii():
        return key.lower()
    # folding the case can take a composed letter apart
    return normalize("NFC", normalize("NFC", key).casefold())


def normalised(text: str) -> str:
    """Write a sentence as it is compared with others: one kind of letters, quotes and blanks, and no capitals."""
    plain = normalize("NFKC", text.translate(_QUOTES))
    return " ".join(plain.casefold().split())


def any_of(terms: Iterable[str], flags: int = 0) -> re.Pattern[str]:
    """Match any term as a whole word; of overlapping ones the longest."""
    longest_first = sorted(terms, key=lambda term: (-len(term), term))
    written = (GAP.join(map(re.escape, re.split(GAP, term))) for term in longest_first)
    # most places within a word are passed over by the cheap half of what must not stand before
    return re.compile(rf"(?<!\w)(?<![{marks()}])(?:{'|'.join(written)})(?![\w{marks()}])", flags)


@cache
def marks() -> str:
    r"""Give all combining marks, to stand in a class of a pattern: they belong to words, and ``\w`` knows none."""
    points = chain.from_iterable(range(*ends) for ends in MARKED)
    return "".join(chr(point) for point in points if category(chr(point)).startswith("M"))
