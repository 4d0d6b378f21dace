"""Bounds and checks of word lists that all kinds of specification share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from annotated_types import MaxLen, MinLen

from assay.catalog.terms import folded
from assay.errors import OutOfBounds, SpecificationError

MOST_WORDS, LONGEST = 2_000, 100
"""Maximum number of words in a list, and of characters in a word."""

Word = Annotated[str, MinLen(1), MaxLen(LONGEST)]
Words = Annotated[tuple[Word, ...], MaxLen(MOST_WORDS)]
WordPair = tuple[Word, Word]


def check_words(where: str, words: Sequence[str], *, least: int = 0, unique: bool = True) -> None:
    """Raise `SpecificationError` if a list or a word is too short or long, or if a word is repeated."""
    if len(words) < least:
        raise SpecificationError(f"{where} has no words", where)
    if len(words) > MOST_WORDS or any(not 0 < len(word.strip()) <= LONGEST for word in words):
        raise OutOfBounds(f"at most {MOST_WORDS} words, none empty or of more than {LONGEST} characters", where)
    if unique and (twice := repeated(words)):
        raise SpecificationError(f"{where} names {twice[0]!r} twice", where)


def repeated(words: Iterable[str]) -> list[str]:
    """Return the words that occur more than once, sorted. The time is linear in the number of words."""
    return sorted(word for word, times in Counter(words).items() if times > 1)


def refuse_overlap(where: str, words: Sequence[str], other_name: str, others: Mapping[str, object]) -> None:
    """Raise `SpecificationError` if two lists share a word."""
    if shared := [word for word in words if word in others]:
        raise SpecificationError(
            f"{shared[0]!r} is in both the {where} and the {other_name}; remove it from one of them", where
        )


def refuse_shared(lists: Mapping[str, Sequence[str]]) -> None:
    """Raise `SpecificationError` if a word occurs twice, in one list or in two, ignoring case and hyphens."""
    owner: dict[str, str] = {}
    for where, words in lists.items():
        keys = tuple(map(folded, words))
        check_words(where, keys)
        for key, word in zip(keys, words, strict=True):
            if key in owner:
                raise SpecificationError(
                    f"{word!r} is among the {owner[key]} and the {where}; remove it from one of them", where
                )
        owner |= dict.fromkeys(keys, where)
