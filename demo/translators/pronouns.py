"""Find and replace the pronouns of English sentences."""

from __future__ import annotations

import re
from collections.abc import Callable

FORMS = {
    "he": {"subject": "he", "object": "him", "possessive": "his", "absolute": "his", "reflexive": "himself"},
    "she": {"subject": "she", "object": "her", "possessive": "her", "absolute": "hers", "reflexive": "herself"},
    "it": {"subject": "it", "object": "it", "possessive": "its", "absolute": "its", "reflexive": "itself"},
}
"""The words of each person by their case; *absolute* stands without a noun: "it is hers"."""

AFTER_AN_OBJECT = frozenset({
    "a", "about", "after", "again", "all", "also", "always", "an", "and", "are", "as", "at", "be", "because",
    "before", "but", "by", "did", "do", "does", "for", "from", "had", "has", "have", "here", "how", "if", "in",
    "into", "is", "never", "next", "no", "nor", "not", "now", "of", "off", "often", "on", "once", "or", "out",
    "over", "so", "soon", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those",
    "though", "to", "today", "together", "tomorrow", "too", "under", "until", "up", "was", "we", "were", "what",
    "when", "where", "which", "while", "who", "why", "will", "with", "would", "yesterday", "you",
})  # fmt: skip
"""Words before which "her" is an object; before any other word it is a possessive."""

_PRONOUN = re.compile(r"\b(he|she|him|himself|herself|hers|his|her)\b", re.IGNORECASE)
_NEXT_WORD = re.compile(r"\s+([^\W\d_]+)")
_CASES = {"he": "subject", "she": "subject", "him": "object", "hers": "absolute", "himself": "reflexive",
          "herself": "reflexive"}  # fmt: skip
_OWNER_OR_OTHER = {"her": "object", "his": "absolute"}


def person(sentence: str) -> str | None:
    """Return the person of the first pronoun: ``"he"``, ``"she"``, or ``None`` without a pronoun."""
    match = _PRONOUN.search(sentence)
    return None if match is None else _person_of(match.group())


def rewrite(sentence: str, choose: Callable[[str], str]) -> str:
    """Replace each pronoun by that of another person, in the same case and with the same capitals.

    English writes "her" for both "him" and "his". It is taken for "his" where a word follows
    directly that is not in `AFTER_AN_OBJECT`: "finished her work", but "thanked her." and
    "saw her yesterday". "his" is read as "her" or as "hers" in the same way.

    Parameters
    ----------
    choose : callable
        Takes ``"he"`` or ``"she"``, and returns the person to write: ``"he"``, ``"she"`` or ``"it"``.
    """

    def replaced(match: re.Match[str]) -> str:
        word = match.group()
        original = _person_of(word)
        chosen = choose(original)
        if chosen == original:
            return word
        return _in_capitals_of(word, FORMS[chosen][_case_of(word, sentence[match.end() :])])

    return _PRONOUN.sub(replaced, sentence)


def without(sentence: str) -> str:
    """Replace the pronouns of a sentence by gender-neutral ones."""
    return rewrite(sentence, lambda _: "it")


def _person_of(word: str) -> str:
    return "she" if word.lower() in FORMS["she"].values() else "he"


def _case_of(word: str, following_text: str) -> str:
    """Find the case of a pronoun from the word itself or from what follows it."""
    case = _CASES.get(word.lower())
    if case is not None:
        return case
    following = _NEXT_WORD.match(following_text)
    owns = following is not None and following[1].lower() not in AFTER_AN_OBJECT
    return "possessive" if owns else _OWNER_OR_OTHER[word.lower()]


def _in_capitals_of(model: str, word: str) -> str:
    if model.isupper():
        return word.upper()
    return word.capitalize() if model[0].isupper() else word
