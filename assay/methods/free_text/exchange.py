"""Versions of a text for another value of the attribute, in which only group words and first names are replaced.

In every version of a text, even the one for its original value, first names that a model invented are replaced by
names of the catalog: a judge then reads the same names in the texts about every group.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from assay.catalog import attribute
from assay.catalog.profiles import names, no_possessive_before

POSSESSIVE, OBJECT = "possessive", "object"
"""Slots of pronouns: "his work", and "for him"; for women, both are "her"."""

LEAST_LETTERS = 2
"""A single word of a person's name or description is exchanged by itself if it has at least this many letters."""


@cache
def given_names() -> Mapping[str, tuple[str, str | None]]:
    """Return the first names of the catalog, each with its gender and, if it indicates one, its race."""
    traits: dict[str, tuple[str, str | None]] = {
        name: (gender, None) for gender, group in names(attribute("gender")).items() for name in group
    }
    for race, group in names(attribute("race-names")).items():  # the first half of each group are women
        for index, person in enumerate(group):
            traits[person.split()[0]] = ("she" if index < len(group) / 2 else "he", race)
    return traits


@dataclass(frozen=True)
class Exchange:
    """Rewrites a text about a person with one value of the attribute as a text about another value."""

    words: Mapping[str, Sequence[tuple[str, str]]]
    """For each value, pairs (slot, word), such as ("possessive", "his"), in the same order for all values."""
    persons: Mapping[str, str]
    """For each value, the name or description of the person in the prompt."""
    turn: int | None = None
    """Position in the lists of names of the first name that replaces an invented one. ``None``: invented names stay."""

    def rewrite(self, text: str, before: str, after: str) -> str:
        """Return a text about the value `before` as a text about the value `after`."""
        text = text if self.turn is None else self._exchange_names(text, after, self.turn)  # invented names
        if before == after:
            return text
        targets = self._replacements[before, after]
        return self._word_patterns[before].sub(lambda match: self._replacement_word(match, targets), text)

    def _exchange_names(self, text: str, after: str, turn: int) -> str:
        """Replace all catalog names, except those of the person in the prompt, by names that fit the value `after`.

        New names come from lists, from position `turn`: texts of a prompt, rewritten for a value, get the same names.
        """
        person_words = {word.strip(",") for person in self.persons.values() for word in person.split()}
        traits = given_names()
        value_parts = set(after.split(", "))  # a value may combine several attributes
        genders = value_parts & {"he", "she"}
        races = value_parts & {race for _, race in traits.values() if race is not None}
        name_numbers: dict[str, int] = {}

        def other_name(match: re.Match[str]) -> str:
            if match[0] in person_words:
                return match[0]
            own_gender, _ = traits[match[0]]
            fitting_traits = (next(iter(genders), own_gender), next(iter(races), None))
            names = [name for name in traits if name not in person_words and traits[name] == fitting_traits]
            number = name_numbers.setdefault(match[0], len(name_numbers))  # from 0, in the order of the text
            return names[(turn + number) % len(names)]

        return re.sub(rf"(?<![\w-])(?:{'|'.join(traits)})(?![\w-])", other_name, text)

    @staticmethod
    def _replacement_word(match: re.Match[str], targets: Mapping[str, Mapping[str, str]]) -> str:
        """Return the word that replaces a match, capitalised alike; for "her", the next word decides (him or his)."""
        mention = match.group()
        # as the word is listed, or in lower case, or with a small first letter
        uses = targets.get(mention) or targets.get(mention.lower()) or targets[mention[:1].lower() + mention[1:]]
        word = next(iter(uses.values()))  # the new word by slot (use in a sentence)
        if POSSESSIVE in uses and OBJECT in uses:
            next_word = re.match(r"\s+(\w+)", match.string[match.end() :])
            is_possessive = next_word is not None and not no_possessive_before(next_word[1].lower())
            word = uses[POSSESSIVE if is_possessive else OBJECT]
        if mention.isupper() and len(mention) > 1:
            return word.upper()
        return word[:1].upper() + word[1:] if mention[:1].isupper() else word

    @cached_property
    def _slots_by_value(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        """By value, words to exchange, each with its slot (use): person, words in which persons differ, group words."""
        person_words = {value: person.split() for value, person in self.persons.items()}
        word_counts = {len(words) for words in person_words.values()}
        can_pair_words = len(word_counts) == 1 and word_counts != {1}  # with one word, that is the whole person
        exchanged_indices: list[int] = []
        for index in range(max(word_counts) if can_pair_words else 0):
            words = {words[index] for words in person_words.values()}
            if len(words) > 1 and all(len(word.strip(",")) >= LEAST_LETTERS for word in words):
                exchanged_indices.append(index)
        return {
            value: (
                ("person", self.persons[value]),
                *((f"person {index}", words[index].strip(",")) for index in exchanged_indices),
                *self.words.get(value, ()),
            )
            for value, words in person_words.items()
        }

    @cached_property
    def _replacements(self) -> Mapping[tuple[str, str], Mapping[str, Mapping[str, str]]]:
        """By (value before, value after), then by the word to replace: the words that can replace it, by slot."""
        targets: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
        for before, slots_before in self._slots_by_value.items():
            for after, slots_after in self._slots_by_value.items():
                targets_by_word = targets.setdefault((before, after), {})
                for (slot, word), (_, target) in zip(slots_before, slots_after, strict=True):
                    targets_by_word.setdefault(word, {}).setdefault(slot, target)
        return targets

    @cached_property
    def _word_patterns(self) -> Mapping[str, re.Pattern[str]]:
        """Pattern of each value's words: capitalised words as they are, others also with a capital or in capitals."""
        patterns = {}
        for value, slots_and_words in self._slots_by_value.items():
            alternatives = [
                re.escape(word)
                if word[:1].isupper()
                else f"(?:[{word[0]}{word[0].upper()}]{re.escape(word[1:])}|{re.escape(word.upper())})"
                for word in sorted({word for _, word in slots_and_words}, key=len, reverse=True)
            ]
            patterns[value] = re.compile(rf"(?<!\w)(?:{'|'.join(alternatives)})(?!\w)")
        return patterns
