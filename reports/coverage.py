"""Coverage of the catalog: for each attribute and method, the languages and numbers of words that Assay ships."""

from collections.abc import Mapping, Sized
from dataclasses import dataclass, field, fields
from functools import cache

from assay.catalog import attribute as attribute_named
from assay.catalog import construction, constructions, occupations
from assay.catalog.decisions import decisions, mentioned
from assay.catalog.profiles import contents, frames, kinds_of_prompts, occupations_by_side, people
from assay.catalog.sentences.questions import people_in_questions, question_templates
from assay.catalog.sentences.translated import sentence_languages
from assay.catalog.shipped import specifications
from assay.catalog.source_languages import source_language, source_languages
from assay.catalog.specification import WORDS
from assay.catalog.values import Attribute
from assay.errors import SpecificationError
from assay.methods import AnyMethod, every_method, method_name

Counts = Mapping[str, int]


@dataclass(frozen=True)
class Coverage:
    """How many words Assay ships with which a method can test an attribute, or the reason why the method cannot."""

    method: str
    """Name of the method."""
    words: Mapping[str, Counts] = field(default_factory=dict)
    """By language, the number of words of each kind (such as frames); empty if the words are those of a request."""
    reason: str | None = None
    """The reason why the method cannot test the attribute; ``None`` if it can."""


@cache
def coverage(attribute_name: str) -> tuple[Coverage, ...]:
    """Return, for each method, the numbers of words with which it can test an attribute, or why it cannot."""
    return tuple(_coverage(attribute_named(attribute_name), method) for method in every_method())


def counts_in_words(counts: Counts) -> str:
    """Write counts in one line: ``frames 48, occupations 361``."""
    return ", ".join(f"{kind} {count:,}" for kind, count in counts.items())


def _coverage(attribute: Attribute, method: type[AnyMethod]) -> Coverage:
    """Count, by language, the words that Assay ships for a method to test an attribute, or say why it cannot."""
    name = method_name(method)
    try:
        method(attribute=attribute.name)
    except SpecificationError as error:
        reason = "It cannot test two attributes at once; test each of them." if attribute.parts else str(error)
        return Coverage(name, reason=attribute.without.get(name, reason))  # `without`: reasons by method
    except TypeError:  # a method of a plug-in that needs more fields
        return Coverage(name, reason="Its requests need more than an attribute.")
    field_names = {method_field.name for method_field in fields(method)}  # these distinguish the methods
    if method.specification_kind in WORDS:  # methods that need lists of words
        return Coverage(name, {"en": _list_sizes(attribute, WORDS[str(method.specification_kind)])})
    if "turns" in field_names:  # questions about two people
        sizes = {
            "people of a value": min(map(len, people_in_questions(attribute.name).values())),
            "templates": len(question_templates(attribute.name)),
        }
        return Coverage(name, {"en": sizes})
    if "judge" in field_names:  # prompts for texts that a judge scores
        return Coverage(name, {"en": _prompt_counts(attribute)})
    if "texts" in field_names:  # sentences about people
        return Coverage(name, _profile_counts(attribute, with_decisions="strata" in field_names))
    if "languages" not in field_names:  # the groups are those of the caller's file
        return Coverage(name)
    return Coverage(name, _round_trip_counts(attribute) if "templates" in field_names else _one_hop_counts(attribute))


def _profile_counts(attribute: Attribute, *, with_decisions: bool) -> Mapping[str, Counts]:
    """Count, by language, the people, sentence patterns (frames) and contents of sentences, and requested decisions."""
    return {
        language: {
            "people of a value": len(next(iter(people(attribute, language).values()))),  # equal for each value
            "frames": len(frames(language)),
            "contents": sum(map(len, contents(language).values())),
        }
        | ({"decisions": len(decisions(language))} if with_decisions else {})
        for language in sentence_languages()
        if people(attribute, language)
    }


def _prompt_counts(attribute: Attribute) -> Counts:
    """Count the people, prompts and occupations (in English) of the texts that a model is asked to write."""
    return {
        "people of a value": len(next(iter(mentioned(attribute, "explicit").values()))),  # equal for each value
        "prompts": len(kinds_of_prompts()),
        "occupations": sum(map(len, occupations_by_side().values())),
    }


def _one_hop_counts(attribute: Attribute) -> Mapping[str, Counts]:
    """Count sentences to be translated from English, and the words that are read in translations, by language."""
    sentences = {"frames": len(construction("neutral").frames), "occupations": len(occupations())}
    words_read = {
        language: {
            "articles and pronouns read": len(attribute.one_hop[language]) if language in attribute.one_hop else 0,
            "occupations read": len(attribute.grammar[language].people) if language in attribute.grammar else 0,
        }
        for language in attribute.one_hop_languages
    }
    nonzero = {code: {kind: count for kind, count in counts.items() if count} for code, counts in words_read.items()}
    return {"en": sentences, **nonzero}


def _round_trip_counts(attribute: Attribute) -> Mapping[str, Counts]:
    """Count sentence patterns (frames) and occupations in each language from which texts are translated and back."""
    english_frames = sum(len(construction(template).frames_for(attribute)) for template in constructions())
    counts = {"en": {"frames": english_frames, "occupations": len(occupations())}}
    if attribute.name == "gender":
        for code in source_languages():
            source = source_language(code, attribute.name)
            counts[code] = {"frames": len(source.base.frames), "occupations": len(source.occupations)}
    return counts


def _list_sizes(attribute: Attribute, words_type: type) -> Counts:
    """Return the number of entries of each list in the attribute's default words of the type `words_type`."""
    words = next(
        specification.words
        for specification in specifications().values()
        if isinstance(specification.words, words_type) and specification.words.attribute == attribute.name
    )
    lists = {words_field.name.replace("_", " "): getattr(words, words_field.name) for words_field in fields(words)}
    sizes = {}
    for name, entries in lists.items():  # a list has words, or words by group; other fields are left out
        if isinstance(entries, Mapping) and all(isinstance(group, tuple) for group in entries.values()):
            sizes[name] = sum(map(len, entries.values()))
        elif isinstance(entries, Sized) and not isinstance(entries, str) and len(entries):
            sizes[name] = len(entries)
    return sizes
