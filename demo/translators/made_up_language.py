"""A made-up language for every language code: unlike English, pronounceable and reversible.

Assay refuses a middle language that equals English (an echo), and the translation must lose nothing except by the
planted behaviour. So each letter becomes another letter of its sound class; longer words get the language's ending;
pronouns have their own words. Order, capitals, punctuation, digits, names with other letters and tokens such as
``K7Q2`` stay. "She works as a nurse." is "Zema jalghon uh u milhoon." in the language for ``es``.

No state is stored: a text can be translated back by itself, because the three kinds of word differ in
length (short words have 1-3 letters, pronouns 4, others at least 6).
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

SOUNDS = ("aeiou", "bdgkpt", "cfhsvz", "lmnr", "jqwxy")
"""Letters that may stand for one another, so that words stay pronounceable."""

ENDINGS = ("an", "ar", "ek", "el", "en", "es", "im", "is", "on", "or", "ul", "um")
"""Endings of words with four letters or more; each language has one."""

PRONOUNS = {
    "he": "reno", "him": "renu", "his": "rena", "himself": "reni",
    "she": "vino", "her": "vinu", "hers": "vina", "herself": "vini",
    "it": "sulo", "its": "sula", "itself": "suli",
}  # fmt: skip
"""Words for the pronouns, before a language replaces their letters; always four letters."""

LONG = 4
"""Letters from which a word gets an ending."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Tongue:
    """The made-up language of a language code, which may be any text; equal codes make equal languages."""

    code: str

    def from_english(self, text: str) -> str:
        """Translate English into the language, word by word."""
        return _WORD.sub(lambda word: self._encode_word(word.group()), text)

    def to_english(self, text: str) -> str:
        """Translate back: ``to_english(from_english(text)) == text``. A word that the language lacks stays the same."""
        return _WORD.sub(lambda word: self._decode_word(word.group()), text)

    def _encode_word(self, word: str) -> str:
        """Translate an English word: a pronoun as a whole, any other word letter by letter, with an ending if long."""
        if not (word.isascii() and word.isalpha()):
            return word  # numbers, tokens and words with other letters are the same in both languages
        change_case = _case_of(word)
        if change_case is not None and (pronoun := self._pronouns.get(word.lower())):
            return change_case(pronoun)
        stem = word.translate(self._letter_map)
        if len(word) < LONG:  # only longer words get an ending
            return stem
        return stem + (self._ending.upper() if word.isupper() else self._ending)

    def _decode_word(self, word: str) -> str:
        """Translate a word back to English, the inverse of `_encode_word`."""
        if not (word.isascii() and word.isalpha()):
            return word
        change_case = _case_of(word)
        if change_case is not None and (pronoun := self._english_pronouns.get(word.lower())):
            return change_case(pronoun)
        stem = word if len(word) < LONG else word[: -len(self._ending)]
        english = stem.translate(self._english_letter_map)
        return english if self._encode_word(english) == word else word  # the language lacks it

    @cached_property
    def _letter_map(self) -> dict[int, int]:
        """Map each letter to another of its group in `SOUNDS` (such as the vowels), by the language's own order."""
        successors: dict[int, int] = {}
        for sounds in SOUNDS:
            ring = sorted(sounds, key=lambda letter: _digest(f"{self.code}/{letter}"))
            for letter, successor in zip(ring, ring[1:] + ring[:1], strict=True):
                successors[ord(letter)] = ord(successor)
                successors[ord(letter.upper())] = ord(successor.upper())
        return successors

    @cached_property
    def _english_letter_map(self) -> dict[int, int]:
        return {code: letter for letter, code in self._letter_map.items()}

    @cached_property
    def _ending(self) -> str:
        return ENDINGS[_digest(self.code) % len(ENDINGS)]

    @cached_property
    def _pronouns(self) -> dict[str, str]:
        return {english: word.translate(self._letter_map) for english, word in PRONOUNS.items()}

    @cached_property
    def _english_pronouns(self) -> dict[str, str]:
        return {word: english for english, word in self._pronouns.items()}


@cache
def tongue(code: str) -> Tongue:
    """Return the made-up language of a language code."""
    return Tongue(code)


def _case_of(word: str) -> Callable[[str], str] | None:
    """Return the function that gives other words the case of a word; ``None`` for mixed case."""
    return next((change_case for change_case in (str.lower, str.title, str.upper) if change_case(word) == word), None)


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
