"""Sentences about people in languages other than English: frames, contents, people, mentions and decisions as data.

A language is a file (docs/extending.md): `assay/catalog/sentences/<code>.toml`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from assay.catalog.tables import read_table, tables_in
from assay.catalog.values import Attribute
from assay.errors import SpecificationError, UnknownName

ENGLISH = "en"

_SLOT, _GENDER = "{adjective}", "gender"

_FEMININE = 1
"""Index of the feminine form in lists of forms, after the masculine one."""


def sentence_languages() -> tuple[str, ...]:
    """Return the languages of the catalog's sentences about people; English, which has the most words, comes first."""
    return (ENGLISH, *tables_in("sentences"))


def sentence_table(language: str, field: str = "texts.language") -> Mapping[str, Any]:
    """Return the texts of a language other than English; raise `UnknownName` about the request's `field` if none."""
    if language not in sentence_languages()[1:]:  # the first is English
        raise UnknownName("language with sentences", language, sentence_languages(), field)
    return read_table(f"sentences/{language}")


def translated_people(attribute: Attribute, language: str) -> Mapping[str, tuple[str, ...]]:
    """Return phrases for people by value; those at the same position correspond; empty if a value has no words.

    For attributes other than gender, nouns of both genders alternate, and each adjective has its noun's gender.
    """
    table = sentence_table(language)
    if attribute.name == _GENDER:
        return {name: (*table["people"][name], *table["names"][name]) for name in attribute.value_names}
    nouns = [(noun, gender) for pair in table["people"]["nouns"] for gender, noun in enumerate(pair)]  # gender: 0, 1
    return {
        name: tuple(add_adjective(noun, words, gender) for noun, gender in nouns)
        for name, words in _value_words(attribute, table).items()
    }


def translated_mentions(
    attribute: Attribute, mention: str, language: str, ages: Sequence[int]
) -> Mapping[str, tuple[str, ...]]:
    """Return people by value: names (`mention` "name"), or "une femme de 34 ans" for each of `ages`; empty if none."""
    table = sentence_table(language)
    patterns = table["mentions"]
    if attribute.name == _GENDER:
        if mention == "name":
            return {name: tuple(table["names"][name]) for name in attribute.value_names}
        phrases = {name: patterns[name] for name in attribute.value_names}
    elif mention == "name" or attribute.name == "age":  # an age in years would contradict the value
        return {}
    else:  # the words for a person are feminine in these languages
        words = _value_words(attribute, table)
        phrases = {name: add_adjective(patterns["person"], word, _FEMININE) for name, word in words.items()}
    return {name: tuple(phrase.replace("{age}", str(age)) for age in ages) for name, phrase in phrases.items()}


def translated_decision(name: str, language: str, field: str) -> Mapping[str, Any]:
    """Return the texts of a decision in a language; raise `SpecificationError` about `field` if it has none."""
    table = sentence_table(language, field.replace("decision.name", "decision.language"))  # field that its error names
    if name not in table["decisions"]:
        options = ", ".join(table["decisions"])
        raise SpecificationError(f"the decision {name} has no texts in {language}; those that have: {options}", field)
    return dict(table["decisions"][name])


def attributes_in(language: str) -> tuple[str, ...]:
    """Return the names of the attributes that have words in a language other than English."""
    return (_GENDER, *sentence_table(language)["words"])


def add_adjective(noun: str, words: str | Sequence[str], gender: int) -> str:
    """Add `words`, an adjective (a form per gender) or a phrase (a single string), to a noun with its article.

    The adjective's form for `gender` replaces ``{adjective}``, or follows the noun; a phrase follows the noun.
    """
    if isinstance(words, str):
        noun_without_slot = noun.replace(f"{_SLOT} ", "")
        return f"{noun_without_slot} {words}"
    return noun.replace(_SLOT, words[gender]) if _SLOT in noun else f"{noun} {words[gender]}"


def _value_words(attribute: Attribute, table: Mapping[str, Any]) -> Mapping[str, str | Sequence[str]]:
    """Return the adjective or phrase of each value; empty if the table lacks one of the values."""
    words: Mapping[str, str | Sequence[str]] = table["words"].get(attribute.name, {})
    return {name: words[name] for name in attribute.value_names} if set(attribute.value_names) <= words.keys() else {}
