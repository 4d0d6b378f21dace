"""Sentences about one of two groups, and their counterparts about the other (Jiang et al.).

A sentence is usable if it holds one group term and one attribute term, and nothing else that tells the groups
apart. Its counterpart is the same sentence with the other group's term. A sentence may be written about either
group, because both sentences are asked about.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Annotated

import numpy as np
from annotated_types import MaxLen, MinLen

from assay.bounds import Bounded
from assay.catalog.stereotypes import Role, StereotypeWords
from assay.catalog.tables import read_table
from assay.catalog.terms import any_of, folded, indefinite, marks, spelt
from assay.methods.shared.terms.items import SortedItems
from assay.references import CorpusItem

MAX_SENTENCE_CHARACTERS = 1000
"""Maximum number of characters in a sentence."""

DIFFERING = 1 / 3
"""Largest share of words in which a caller's own counterpart may differ; the group term counts as equal.

Pairs of Jiang et al. differ by less (his, her), except nine of 715: these are about something else, or a term is joined
to another word.
"""

PRONOUNS = frozenset({"he", "she", "they", "it", "we", "you", "i", "who"})
"""Group terms that take no article."""


@dataclass(frozen=True)
class Sentence(Bounded):
    """A sentence to ask about, as given or stored.

    Parameters
    ----------
    text : str
        The sentence.
    group_term, attribute_term : str
        Its group term and its attribute term, in the spelling of the specification. Empty: any terms.
    source : str
        Where it comes from: ``written``, ``uploaded``, ``template``, ``edited`` ...
    id : str
        Identifier of the sentence where it is stored.
    counterpart : str
        The same sentence about the other group. Empty: made from the text by replacing the group term.
    """

    text: Annotated[str, MinLen(1), MaxLen(MAX_SENTENCE_CHARACTERS)]
    group_term: Annotated[str, MaxLen(100)] = ""
    attribute_term: Annotated[str, MaxLen(100)] = ""
    source: Annotated[str, MaxLen(50)] = "uploaded"
    id: Annotated[str, MaxLen(300)] = ""
    counterpart: Annotated[str, MaxLen(MAX_SENTENCE_CHARACTERS)] = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence about the first group (`first`), and its counterpart about the second (`second`)."""

    first: str
    second: str
    term: str
    """The attribute term, as the specification writes it."""
    role: Role
    """Group to which the stereotype ties the attribute term: ``first``, ``second`` or ``neutral`` (no group)."""
    pair_index: int
    """Index of its pair of group terms (such as he, she) in the specification's `pairs`."""
    written_group: str
    """Group about which the sentence was written: ``first`` or ``second``."""
    source: str = ""
    id: str = ""
    frame: str = ""
    """The sentence without its terms: pairs with the same frame differ only in their terms."""


def sentence_of(item: CorpusItem) -> Sentence:
    """Convert an item of a corpus to a sentence without terms, which the method finds with its own word lists."""
    return Sentence(item.text or "", source=item.source, id=item.id)


def item_of(sentence: Sentence, words: StereotypeWords, prompt: str | None = None) -> CorpusItem | str:
    """Return a sentence with its terms and counterpart as an item of a corpus, or the reason why it is unusable."""
    pair = read(sentence, words)
    if isinstance(pair, str):
        return pair
    is_about_first = pair.written_group == "first"
    text, counterpart = (pair.first, pair.second) if is_about_first else (pair.second, pair.first)
    group_term = words.pairs[pair.pair_index][0 if is_about_first else 1]
    return CorpusItem(text, group_term, pair.term, counterpart, source=sentence.source, id=sentence.id, prompt=prompt)


def read(sentence: Sentence, words: StereotypeWords) -> Pair | str:
    """Return the pair of a sentence, or the reason why the sentence is unusable.

    The reasons are ``no-group-term``, ``several-group-terms``, ``other-group-word``, ``no-attribute-term``,
    ``several-attribute-terms``, ``wrong-term`` (not the term that `group_term` or `attribute_term` states) and
    ``counterpart-differs`` (the counterpart is not the same sentence about the other group: it lacks a term, or too
    many of its other words differ).
    """
    return _cached_reader(words).read(sentence)


def sort(sentences: Iterable[Sentence], words: StereotypeWords) -> SortedItems[Pair]:
    """Pair each usable sentence with its counterpart; count unusable sentences and repetitions by reason."""
    pairs: dict[tuple[str, str], Pair] = {}
    refusals: Counter[str] = Counter()
    for sentence in sentences:
        pair = read(sentence, words)
        if isinstance(pair, str):  # the reason why the sentence is unusable
            refusals[pair] += 1
        elif (pair.first, pair.second) in pairs:
            refusals["repeated"] += 1
        else:
            pairs[pair.first, pair.second] = pair
    return SortedItems(tuple(pairs.values()), dict(refusals))


@dataclass(frozen=True, slots=True)
class _SentenceTerms:
    """A sentence's group term (its pair, its match, and the group: `side` 0 or 1), and attribute term with its list."""

    pair_index: int
    side: int
    group_match: re.Match[str]
    term: str
    role: Role


class _Reader:
    """Finds terms as whole words of sentences, in upper or lower case; only the longest of overlapping terms counts."""

    def __init__(self, words: StereotypeWords) -> None:
        self.words = words
        self.groups = {  # (index of pair, side) of each group term
            folded(term): (index, side) for index, pair in enumerate(words.pairs) for side, term in enumerate(pair)
        }
        self.roles = {folded(term): (term, role) for term, role in words.roles.items()}  # the term as it is listed
        self.group_terms = _term_pattern(term for pair in words.pairs for term in pair)
        self.attribute_terms = _term_pattern(words.roles)
        self.telling_words = _term_pattern(words.telling) if words.telling else None  # other words that show the group

    def read(self, sentence: Sentence) -> Pair | str:
        """Return the sentence with its counterpart about the other group, or the reason why it is unusable."""
        terms = self.find(sentence)
        if isinstance(terms, str):
            return terms
        text, counterpart = spelt(sentence.text), spelt(sentence.counterpart)
        group_terms = self.words.pairs[terms.pair_index]
        if not counterpart:
            counterpart = _swap_term(text, terms.group_match, group_terms[terms.side], group_terms[1 - terms.side])
        first, second = (text, counterpart) if terms.side == 0 else (counterpart, text)  # side 0: the first group
        return Pair(
            first,
            second,
            term=terms.term,
            role=terms.role,
            pair_index=terms.pair_index,
            written_group="first" if terms.side == 0 else "second",
            source=sentence.source,
            id=sentence.id,
            frame=_write_frame(terms),
        )

    def find(self, sentence: Sentence) -> _SentenceTerms | str:
        """Find the group term and the attribute term of a sentence, or return the reason why it is unusable."""
        terms = self._find_terms(spelt(sentence.text))
        if isinstance(terms, str):
            return terms
        group_term = self.words.pairs[terms.pair_index][terms.side]
        for declared_term, actual_term in ((sentence.group_term, group_term), (sentence.attribute_term, terms.term)):
            if declared_term and folded(declared_term) != folded(actual_term):
                return "wrong-term"
        if sentence.counterpart and self._is_different(spelt(sentence.counterpart), terms):
            return "counterpart-differs"
        return terms

    def _find_terms(self, text: str) -> _SentenceTerms | str:
        """Return the only group term and attribute term of a text, or the reason why either is not unique."""
        # IGNORECASE matches "sİster" with "sister", but its folded form is a different word and must not count
        all_groups = [match for match in self.group_terms.finditer(text) if folded(match.group()) in self.groups]
        all_attributes = [match for match in self.attribute_terms.finditer(text) if folded(match.group()) in self.roles]
        # a match within a longer one is dropped: the "man" in "family man" names no group
        groups = _drop_overlapping(all_groups, all_attributes)
        attributes = _drop_overlapping(all_attributes, all_groups)
        if not groups:
            return "no-group-term"
        if len(groups) > 1:
            return "several-group-terms"
        if self.telling_words is not None and self.telling_words.search(text):
            return "other-group-word"
        if not attributes:
            return "no-attribute-term"
        if len(attributes) > 1:
            return "several-attribute-terms"
        (group_match,), (attribute_match,) = groups, attributes
        pair_index, side = self.groups[folded(group_match.group())]
        term, role = self.roles[folded(attribute_match.group())]
        return _SentenceTerms(pair_index, side, group_match, term, role)

    def _is_different(self, counterpart: str, terms: _SentenceTerms) -> bool:
        """Return whether a counterpart is not the sentence with these `terms` about the other group."""
        other_terms = self._find_terms(counterpart)
        expected = (terms.pair_index, 1 - terms.side, terms.term)
        if isinstance(other_terms, str) or (other_terms.pair_index, other_terms.side, other_terms.term) != expected:
            return True
        return _differing_share(_other_words(terms.group_match), _other_words(other_terms.group_match)) > DIFFERING


_cached_reader = lru_cache(maxsize=64)(_Reader)


def _term_pattern(terms: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern of the terms in upper or lower case, as listed or folded: "Straße" also matches STRASSE."""
    return any_of({spelling for term in terms for spelling in (term, folded(term))}, re.IGNORECASE)


def _drop_overlapping(matches: Sequence[re.Match[str]], others: Sequence[re.Match[str]]) -> list[re.Match[str]]:
    """Return `matches` without those that overlap with an equally long or longer match of `others`."""
    return [
        match
        for match in matches
        if not any(
            other_match.start() < match.end()
            and match.start() < other_match.end()
            and len(other_match.group()) >= len(match.group())
            for other_match in others
        )
    ]


def _other_words(group_match: re.Match[str]) -> list[str]:
    """List the words of a sentence without the group term and its article."""
    text = group_match.string
    before, after = _ARTICLE.sub("", text[: group_match.start()]), text[group_match.end() :]
    return re.findall(rf"[\w{marks()}]+", folded(f"{before} {after}"))


def _write_frame(terms: _SentenceTerms) -> str:
    """Return a sentence with "…" in place of its terms and their articles."""
    group_match = terms.group_match
    text = group_match.string
    before, after = _ANY_ARTICLE.sub("", text[: group_match.start()]), text[group_match.end() :]
    attribute_pattern = rf"(?<!\w)(?:an? )?{re.escape(folded(terms.term))}(?!\w)"
    return re.sub(attribute_pattern, "…", folded(f"{before}…{after}"))


def _differing_share(words: Sequence[str], other_words: Sequence[str]) -> float:
    """Return the share of words that differ between sentences; group terms, not among them, count as an equal word."""
    changes = SequenceMatcher(None, words, other_words, autojunk=False).get_opcodes()
    distance = sum(
        max(end - start, other_end - other_start)
        for tag, start, end, other_start, other_end in changes
        if tag != "equal"
    )
    return distance / (max(len(words), len(other_words)) + 1)  # 1 for the group term


# articles at the end of the text before a term; "a" and "an" depend on the term
_ARTICLE = re.compile(r"(?<!\w)(an?)(\s+)$", re.IGNORECASE)
_ANY_ARTICLE = re.compile(r"(?<!\w)(an?|the)\s+$", re.IGNORECASE)


def _swap_term(text: str, group_match: re.Match[str], term: str, replacement: str) -> str:
    """Replace the group term by `replacement`, in the same case, and correct the article (a, an) before it."""
    before, after = text[: group_match.start()], text[group_match.end() :]
    if article := _ARTICLE.search(before):
        old_article, blanks = article.groups()
        new_article, _, _ = indefinite(replacement).partition(" ")
        new_article = new_article.capitalize() if old_article[0].isupper() else new_article
        before = before[: article.start()] + new_article + blanks
    at_start = not any(map(str.isalnum, before))
    return before + _match_case(group_match.group(), term, replacement, at_start=at_start) + after


def _match_case(written_term: str, listed_term: str, replacement: str, *, at_start: bool) -> str:
    """Return `replacement` in the case in which the replaced term was written; `at_start`: it begins the sentence."""
    if written_term == listed_term:
        # a term in its listed spelling may be a name with its own capital: capitalise only at the beginning
        return _capitalise(replacement) if at_start and written_term[:1].isupper() else replacement
    if len(written_term) > 1 and written_term.isupper():
        return replacement.upper()
    return _capitalise(replacement) if written_term[:1].isupper() else replacement


def _capitalise(term: str) -> str:
    return term[:1].upper() + term[1:]


def template_sentences(words: StereotypeWords, per_term: int, rng: np.random.Generator) -> tuple[Sentence, ...]:
    """Write sentences from the specification's frames, or from shipped frames that fit any word.

    Each attribute term gets `per_term` sentences, at most one for each pair of group terms in each frame. The numbers
    of sentences of a term with each pair of group terms differ by one at most.
    """
    frames = words.frames or tuple(read_table("words/stereotypes")["frames"]["any"])
    pair_order, frame_order = rng.permutation(len(words.pairs)), rng.permutation(len(frames))
    sentences = []
    for term_index, term in enumerate(words.roles):
        for number in range(min(per_term, len(pair_order) * len(frames))):
            cycle, offset = divmod(number, len(pair_order))
            # in each cycle every pair occurs once, each in another frame than in the cycle before
            pair = words.pairs[pair_order[(term_index + offset) % len(pair_order)]]
            frame = frames[frame_order[(term_index + offset + cycle) % len(frames)]]
            group = pair[(term_index + number) % 2]
            text, name = fill(frame, group, term), f"template/{term}/{number}"
            sentences.append(Sentence(text, group_term=group, attribute_term=term, source="template", id=name))
    return tuple(sentences)


def fill(frame: str, group: str, attribute: str) -> str:
    """Fill the slots of a frame with both terms; in the slot {the_group}, a common noun gets the article "the"."""
    the_group = group if group[:1].isupper() or group.casefold() in PRONOUNS else f"the {group}"
    slots = {"group": group, "the_group": the_group, "attribute": attribute}
    slots.update({name.capitalize(): _capitalise(slots[name]) for name in ("group", "the_group")})
    if "{an_attribute}" in frame:
        slots["an_attribute"] = indefinite(attribute)
    return frame.format_map(slots)
