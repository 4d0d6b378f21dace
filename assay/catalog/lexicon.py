"""Recognition of words and phrases in running text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

_APOSTROPHES = dict.fromkeys(map(ord, "\u2019\u2018\u02bc\uff07`\u00b4"), "'")
_GAP = r"[\s\-\u2010\u2011]+"
"""Separators between the words of a phrase: blanks and hyphens."""


def plain(text: str) -> str:
    """Normalise text: folded case, NFC, one kind of apostrophe."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold().translate(_APOSTROPHES))


class Lexicon:
    """Words and phrases, each mapped to one name.

    A word is found between word boundaries, whatever its case and apostrophes, so that ``he`` is in
    "He’s" and not in "the". Where phrases overlap the longest is taken: "South African" is not
    also "African". A word that ends in an apostrophe (``l'``) may be followed by anything.

    Parameters
    ----------
    words : mapping of str to sequence of str
        The words of each name. No word may belong to two names.
    """

    def __init__(self, words: Mapping[str, Sequence[str]]) -> None:
        self._name_of = {_key(word): name for name, its in words.items() for word in its}
        if len(self._name_of) != sum(map(len, words.values())):
            raise ValueError(f"a word stands twice in the lexicon of {', '.join(words)}")

    def mentions(self, text: str) -> Iterator[str]:
        """Return the name of every mention in `text`, in order."""
        for match in self._pattern.finditer(plain(text)):
            yield self._name_of[_key(match.group())]

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest_first = sorted(self._name_of, key=lambda word: (-len(word), word))
        return re.compile(rf"(?<!\w)(?:{'|'.join(map(_ended, longest_first))})")


def _key(word: str) -> str:
    """Return the key of a phrase: its words with single blanks."""
    return re.sub(_GAP, " ", plain(word))


def _ended(word: str) -> str:
    """Build a pattern that matches a phrase as whole words."""
    inner = _GAP.join(map(re.escape, word.split(" ")))
    return inner + r"(?!\w)" if word[-1].isalnum() else inner
