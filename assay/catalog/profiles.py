"""Profile sentences (frames to be filled with a person and a feeling), and prompts for free texts about people."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from assay.catalog.sentences.translated import ENGLISH, sentence_table, translated_people
from assay.catalog.tables import read_table
from assay.catalog.values import Attribute, Value


@cache
def frames(language: str = ENGLISH) -> tuple[str, ...]:
    """Return sentences with the slots ``{person}`` (``{Person}`` at the beginning) and ``{content}``."""
    return tuple(_read_table(language)["frames"])


@cache
def contents(language: str = ENGLISH) -> Mapping[str, tuple[str, ...]]:
    """Return words for the slot ``{content}``, by side of the content: ``pleasant`` and ``unpleasant``."""
    return {side: tuple(words) for side, words in _read_table(language)["contents"].items()}


def _read_table(language: str) -> Mapping[str, Any]:
    return read_table("profiles") if language == ENGLISH else sentence_table(language)


def people(attribute: Attribute, language: str = ENGLISH) -> Mapping[str, tuple[str, ...]]:
    """Return words for people with each value, nouns before names; words at the same position correspond.

    All values have the same number of words; the result is empty if the catalog has no words for a value.
    """
    if language != ENGLISH:
        return translated_people(attribute, language)
    table = read_table("profiles")["people"]
    words_by_value = {}
    for value in attribute.values:
        nouns = table.get(attribute.name, {}).get(value.name, ())
        if value.forms and (attribute.persons or "adjective" in value.forms):
            patterns = attribute.persons or table["nouns"]
            nouns = (*nouns, *(pattern.format_map(value.forms) for pattern in patterns))
        words_by_value[value.name] = (*nouns, *value.nouns, *_names_of_value(attribute, value))
    return _trim_to_fewest(words_by_value)


def names(attribute: Attribute) -> Mapping[str, tuple[str, ...]]:
    """Return first names of people by value; those at the same position correspond; empty if names show no value."""
    return _trim_to_fewest({value.name: _names_of_value(attribute, value) for value in attribute.values})


def _names_of_value(attribute: Attribute, value: Value) -> tuple[str, ...]:
    more_names = read_table("profiles").get("names", {}).get(attribute.name, {})
    return (*value.people, *more_names.get(value.name, ()))


def _trim_to_fewest(words_by_value: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
    """Cut the words of each value to the number of words of the value with the fewest."""
    fewest = min(len(words) for words in words_by_value.values())
    return {name: words[:fewest] for name, words in words_by_value.items()} if fewest else {}


def write_profile(frame: str, person: str, content: str) -> str:
    """Return the sentence of a frame, whose slots are filled with a person and a content, such as a feeling."""
    return (
        frame.replace("{Person}", person[:1].upper() + person[1:])
        .replace("{person}", person)
        .replace("{content}", content)
    )


@cache
def kinds_of_prompts() -> Mapping[str, str]:
    """Return the kind of text (``story``, ``reference`` …) that each prompt asks for, by the prompt.

    Prompts have the slots ``{person}`` (``{Person}`` at the beginning) and ``{content}``.
    """
    return {prompt: kind for kind, prompts in read_table("free_text")["prompts"].items() for prompt in prompts}


@cache
def occupations_by_side() -> Mapping[str, tuple[str, ...]]:
    """Return occupations for the slot ``{content}``, by side of the content: ``technical`` and ``caring``."""
    return {side: tuple(words) for side, words in read_table("free_text")["contents"].items()}


def no_possessive_before(word: str) -> bool:
    """Return whether "her" before a word is no possessive: "told her that", "hired her immediately"."""
    table = read_table("free_text")
    return word in table["not_nouns"] or (word.endswith("ly") and word not in table["nouns_in_ly"])


def exchanged_words(attribute: Attribute) -> Mapping[str, tuple[tuple[str, str], ...]]:
    """Return the words to exchange when a text is rewritten for another value, as ``(slot, word)`` pairs by value.

    Pairs at the same position correspond: "he", "she". The slot is a grammatical form, or the position in a list.
    """
    if attribute.parts:  # the attribute is an intersection
        by_part = [exchanged_words(part) for part in attribute.parts]  # a value's name lists the values of the parts
        return {
            value.name: tuple(
                pair
                for part_pairs, part_value in zip(by_part, value.name.split(", "), strict=True)
                for pair in part_pairs[part_value]
            )
            for value in attribute.values
        }
    slots = [slot for slot in attribute.values[0].forms if all(slot in value.forms for value in attribute.values)]
    words_by_value = read_table("free_text")["exchange"].get(attribute.name, {})
    return {
        value.name: (
            *((slot, value.forms[slot]) for slot in slots),
            *((str(index), word) for index, word in enumerate(words_by_value.get(value.name, ()))),
        )
        for value in attribute.values
    }
