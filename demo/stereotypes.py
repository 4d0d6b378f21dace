"""Groups and stereotypes for the demo services: the words of the shipped specifications.

This module shares no code with the text reader of ratings, so that each can be tested against the other.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain
from typing import Literal

from assay.catalog.shipped import specifications
from assay.catalog.stereotypes import StereotypeWords

FIRST, NEITHER, SECOND = 1, 0, -1
"""The two groups, and no group."""

ARTICLES = frozenset({"a", "an", "the"})

_WORD = re.compile(r"[^\W_]+")

Role = Literal["group", "attribute"]


@dataclass(frozen=True, slots=True)
class Term:
    """A term (one word or several) of a specification."""

    specification: str
    """Name of the specification."""
    role: Role
    """``group`` or ``attribute``."""
    side: int
    """`FIRST` or `SECOND`: the group that the term names or is associated with; `NEITHER` for neutral terms."""


@dataclass(frozen=True, slots=True)
class Mentions:
    """Groups and attributes that a text mentions."""

    group: int
    """Side of the text's first group term; `NEITHER` without such a term."""
    attribute: int
    """Side of the text's first attribute term; `NEITHER` without such a term."""
    other_words: tuple[str, ...]
    """Words other than group terms and articles, in lower case: the same for both sentences of a pair."""

    @property
    def fits(self) -> bool:
        """Whether the text says of a group what the stereotype about this group says."""
        return self.group != NEITHER and self.group == self.attribute


@lru_cache(20_000)
def mentions_in(text: str) -> Mentions:
    """Return the groups and attributes that a text mentions, by the first specification with terms for both in it."""
    words = words_of(text)
    matches = list(_find_terms(words))  # ((start, end), terms) pairs
    roles_found = {(term.specification, term.role) for _, terms in matches for term in terms}
    for name in stereotypes():
        if {(name, "group"), (name, "attribute")} <= roles_found:
            own_terms = [(span, term) for span, terms in matches for term in terms if term.specification == name]
            group_spans = [range(start, end) for (start, end), term in own_terms if term.role == "group"]
            group_side = next(term.side for _, term in own_terms if term.role == "group")
            attribute_side = next(term.side for _, term in own_terms if term.role == "attribute")
            return Mentions(group_side, attribute_side, _other_words(words, set(chain.from_iterable(group_spans))))
    return Mentions(NEITHER, NEITHER, _other_words(words, set()))


def side_of(text: str) -> int:
    """Return the group that the first term of a text names or is associated with; `NEITHER` without a term."""
    return next((lexicon()[term][0].side for term in terms_in(text)), NEITHER)


def terms_in(text: str) -> tuple[tuple[str, ...], ...]:
    """Find the terms of a text, each split into words, from left to right."""
    words = words_of(text)
    return tuple(words[start:end] for (start, end), _ in _find_terms(words))


def words_of(text: str) -> tuple[str, ...]:
    """Split a text into words, in lower case; hyphens and apostrophes split."""
    return tuple(word.lower() for word in _WORD.findall(text))


@cache
def stereotypes() -> Mapping[str, StereotypeWords]:
    """Return every shipped word list about stereotypes, by name."""
    words_by_name = {name: specification.words for name, specification in specifications().items()}
    return {name: words for name, words in words_by_name.items() if isinstance(words, StereotypeWords)}


@cache
def lexicon() -> Mapping[tuple[str, ...], tuple[Term, ...]]:
    """Return every term and group name, split into words, with the specifications that list it."""
    entries: dict[tuple[str, ...], dict[Term, None]] = {}  # the inner dictionaries are ordered sets
    for name, words in stereotypes().items():
        for term, entry in _entries_of(name, words):
            entries.setdefault(words_of(term), {})[entry] = None
    return {key: tuple(terms) for key, terms in entries.items()}


def _entries_of(name: str, words: StereotypeWords) -> Iterator[tuple[str, Term]]:
    """Yield each term and group name of the specification `name`, with the entry that describes it."""
    for first, second in words.pairs:
        yield first, Term(name, "group", FIRST)
        yield second, Term(name, "group", SECOND)
    for terms, side in ((words.first_terms, FIRST), (words.second_terms, SECOND), (words.neutral, NEITHER)):
        for term in terms:
            yield term, Term(name, "attribute", side)
    yield words.first, Term(name, "group", FIRST)
    yield words.second, Term(name, "group", SECOND)


@cache
def _longest_term() -> int:
    return max(map(len, lexicon()))


def _find_terms(words: tuple[str, ...]) -> Iterator[tuple[tuple[int, int], tuple[Term, ...]]]:
    """Yield ((start, end), terms) for each term of a text; of overlapping terms, only the first and longest."""
    start = 0
    while start < len(words):
        for end in range(min(len(words), start + _longest_term()), start, -1):
            if terms := lexicon().get(words[start:end]):
                yield (start, end), terms
                start = end
                break
        else:
            start += 1


def _other_words(words: tuple[str, ...], group_indices: set[int]) -> tuple[str, ...]:
    return tuple(word for i, word in enumerate(words) if i not in group_indices and word not in ARTICLES)
