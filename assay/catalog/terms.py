"""Terms: normalisation, search for whole words in texts, indefinite articles, and bounds of lists of terms."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Annotated
from unicodedata import category, normalize

from annotated_types import MaxLen, MinLen

from assay.errors import OutOfBounds, SpecificationError

GAP = r"[\s\-\u2010\u2011]+"
"""Separators between the words of a term: blanks and hyphens."""

_GAPS = re.compile(GAP)

_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u00a0": " "})

MAX_UNGROUPED_TERMS = 50
"""Maximum number of terms that are compared one by one; more terms are grouped by their first characters."""

PREFIX_LENGTH = 3
"""Number of first characters by which terms are grouped."""

MARKED = ((0x0300, 0x20000), (0xE0100, 0xE01F0))
"""Unicode ranges that contain all combining marks."""


def spelt(text: str) -> str:
    """Normalise a text: composed letters (NFC), single blanks, none at its ends."""
    return " ".join(normalize("NFC", text).split())


def folded(term: str) -> str:
    """Return the lookup form of a term: composed letters (NFC), folded case, single blanks instead of hyphens."""
    key = _GAPS.sub(" ", term).strip()
    if key.isascii():
        return key.lower()
    # casefold() can decompose a letter, so the result is normalised again
    return normalize("NFC", normalize("NFC", key).casefold())


def normalised(text: str) -> str:
    """Return the comparison form of a sentence: folded case, one kind of quotes and blanks."""
    return " ".join(normalize("NFKC", text.translate(_QUOTES)).casefold().split())


def any_of(terms: Iterable[str], flags: int = 0) -> re.Pattern[str]:
    """Build a pattern that matches any term as a whole word; of overlapping terms, the longest. `flags`: of `re`."""
    pattern = _write_alternatives(sorted(terms, key=lambda term: (-len(term), term)))
    # the fast check (?<!\w) excludes most positions within words before the slow one for combining marks
    return re.compile(rf"(?<!\w)(?<![{marks()}])(?:{pattern})(?![\w{marks()}])", flags)


def _write_alternatives(longest_first: Sequence[str], position: int = 0) -> str:
    """Return terms as regular-expression alternatives, in groups that check the next character first.

    Without the groups each of 6,000 terms is compared at each word: 1,000 sentences took half a minute.
    """
    if len(longest_first) <= MAX_UNGROUPED_TERMS or position == PREFIX_LENGTH:
        return "|".join(GAP.join(map(re.escape, re.split(GAP, term))) for term in longest_first)
    groups: dict[str, list[str]] = {}
    for term in longest_first:
        groups.setdefault(_first_character(term, position), []).append(term)
    # a term that ends here is tried last, because all others are longer
    patterns = []
    for key in sorted(groups, key=lambda key: (key == "", key == GAP)):
        if key in {"", GAP}:
            patterns.append(_write_alternatives(groups[key], PREFIX_LENGTH))  # at this position, no more groups
        else:
            characters = "".join(sorted({re.escape(term[position]) for term in groups[key]}))
            patterns.append(rf"(?=.{{{position}}}[{characters}])(?:{_write_alternatives(groups[key], position + 1)})")
    return "|".join(patterns)


def _first_character(term: str, position: int) -> str:
    """Return the character at `position`, ignoring case, by which terms are grouped; `GAP` for a gap, "" at the end."""
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


MOST_WORDS, LONGEST = 2_000, 100
"""Maximum number of words in a list, and of characters in a word."""

Word = Annotated[str, MinLen(1), MaxLen(LONGEST)]
Words = Annotated[tuple[Word, ...], MaxLen(MOST_WORDS)]
WordPair = tuple[Word, Word]


def check_words(field: str, words: Sequence[str], *, least: int = 0, unique: bool = True) -> None:
    """Raise an error about `field` if its words are too few or many, too short or long or, if `unique`, repeated."""
    if len(words) < least:
        raise SpecificationError(f"{field} has no words", field)
    if len(words) > MOST_WORDS or any(not 0 < len(word.strip()) <= LONGEST for word in words):
        raise OutOfBounds(f"at most {MOST_WORDS} words, none empty or of more than {LONGEST} characters", field)
    if unique and (repeated_words := repeated(words)):
        raise SpecificationError(f"{field} names {repeated_words[0]!r} twice", field)


def repeated(words: Iterable[str]) -> list[str]:
    """Return the words that occur more than once, sorted. The time is linear in the number of words."""
    return sorted(word for word, times in Counter(words).items() if times > 1)


def refuse_overlap(field: str, words: Sequence[str], other_name: str, others: Mapping[str, object]) -> None:
    """Raise `SpecificationError` about `field` if one of its `words` is in `others`, the words of `other_name`."""
    if shared_words := [word for word in words if word in others]:
        raise SpecificationError(
            f"{shared_words[0]!r} is in both the {field} and the {other_name}; remove it from one of them", field
        )


def refuse_shared(lists: Mapping[str, Sequence[str]]) -> None:
    """Raise `SpecificationError` if a word occurs twice, in one list or in two, ignoring case and hyphens."""
    field_by_key: dict[str, str] = {}
    for field, words in lists.items():
        keys = tuple(map(folded, words))
        check_words(field, keys)
        for key, word in zip(keys, words, strict=True):
            if key in field_by_key:
                raise SpecificationError(
                    f"{word!r} is in both the {field} and the {field_by_key[key]}; remove it from one of them", field
                )
        field_by_key |= dict.fromkeys(keys, field)


_SILENT_H = re.compile(r"heir|honest|honou?r|hour(?!i)", re.IGNORECASE)
_VOWEL_WRITTEN_NOT_SPOKEN = re.compile(
    r"eu|ewe|one\b|once\b|uni(?!n|m[^o])|u[bcfjkqrstv][aeiou]", re.IGNORECASE
)  # "a European", "a one-way ticket", "a unicorn", "a user", but "an uninvited guest"
_LETTERS = re.compile(r"[A-Z](?:[B-DF-HJ-NP-TV-XZ][A-Z]{0,2})?(?![A-Za-z])|x-")
_SPOKEN_WITH_VOWEL = frozenset("AEFHILMNORSX")
"""Letters whose name begins with a vowel: "an MBA", "an X-ray"."""


def indefinite(name: str) -> str:
    """Return a noun with its indefinite article, which depends on the pronunciation.

    These rules replace the package inflect (import: 2 s): only 7 of 10,075 words, all in capitals, get another article.
    """
    if _LETTERS.match(name):
        has_vowel_sound = name[0].upper() in _SPOKEN_WITH_VOWEL
    elif _SILENT_H.match(name):
        has_vowel_sound = True
    else:
        has_vowel_sound = name[:1].lower() in {*"aeiou"} and not _VOWEL_WRITTEN_NOT_SPOKEN.match(name)
    return f"{'an' if has_vowel_sound else 'a'} {name}"
