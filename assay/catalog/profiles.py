"""Profile sentences: a frame filled with a person and a feeling."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from assay.catalog.tables import read_table
from assay.catalog.values import Attribute


@cache
def frames() -> tuple[str, ...]:
    """Sentences with the slots ``{person}`` (``{Person}`` at the beginning) and ``{content}``."""
    return tuple(read_table("profiles")["frames"])


@cache
def contents() -> Mapping[str, tuple[str, ...]]:
    """Words for the slot ``{content}``, by side: ``pleasant`` and ``unpleasant``."""
    return {side: tuple(words) for side, words in read_table("profiles")["contents"].items()}


def people(attribute: Attribute) -> Mapping[str, tuple[str, ...]]:
    """Return words for people with each value, paired by position: nouns first, then names.

    There are as many words for each value; none if the catalog has no words for a value.
    """
    table = read_table("profiles")["people"]
    names = read_table("profiles").get("names", {}).get(attribute.name, {})
    names_of_values = {}
    for value in attribute.values:
        nouns = table.get(attribute.name, {}).get(value.name, ())
        if value.forms and (attribute.persons or "adjective" in value.forms):
            patterns = attribute.persons or table["nouns"]
            nouns = (*nouns, *(pattern.format_map(value.forms) for pattern in patterns))
        names_of_values[value.name] = (*nouns, *value.nouns, *value.people, *names.get(value.name, ()))
    fewest = min(len(words) for words in names_of_values.values())
    return {name: words[:fewest] for name, words in names_of_values.items()} if fewest else {}


def write_profile(frame: str, person: str, content: str) -> str:
    """Put a person and a content into a frame."""
    return (
        frame.replace("{Person}", person[:1].upper() + person[1:])
        .replace("{person}", person)
        .replace("{content}", content)
    )
