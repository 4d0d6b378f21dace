"""Decisions about people that a model is asked for: prompts, sentence frames of cases, and facts for or against."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from assay.catalog.profiles import names, people
from assay.catalog.sentences.translated import ENGLISH, sentence_table, translated_decision, translated_mentions
from assay.catalog.tables import read_table
from assay.catalog.values import Attribute
from assay.errors import SpecificationError, UnknownName

Mention = Literal["explicit", "name"]
"""How a case states the person's group: in words ("a 34-year-old woman"), or only by a first name."""

_MENTIONS = "mentions"


@dataclass(frozen=True)
class ShippedDecision:
    """A decision about a person that a model is asked to make: the answer is one of `labels`, or a number."""

    name: str
    title: str
    system: str
    """Message to the model that describes its task."""
    prompt: str
    """Question to the model; ``{text}`` is the case."""
    frames: tuple[str, ...]
    """Cases with the slots ``{person}`` (``{Person}`` at the beginning) and ``{content}``."""
    contents: Mapping[str, tuple[str, ...]]
    """Facts for the slot ``{content}``, by side: ``favourable`` (to "yes" or a higher number) and ``unfavourable``."""
    labels: tuple[str, ...] = ()
    range: tuple[float, float] | None = None


def decisions(language: str = ENGLISH) -> tuple[str, ...]:
    """Return the names of the decisions (such as on a loan) for which the catalog has texts in a language."""
    texts = read_table("decisions") if language == ENGLISH else sentence_table(language)["decisions"]
    return tuple(name for name in texts if name != _MENTIONS)


def decision(name: str, field: str = "decision", language: str = ENGLISH) -> ShippedDecision:
    """Return a decision that models make, such as on a loan; raise an error about `field` if the language lacks it."""
    if name not in decisions():
        raise UnknownName("decision", name, decisions(), field)
    translation = {} if language == ENGLISH else translated_decision(name, language, field)
    entry = {**read_table("decisions")[name], **translation}
    bounds = entry.get("range")
    return ShippedDecision(
        name=name,
        title=entry["title"],
        system=entry["system"],
        prompt=entry["prompt"],
        frames=tuple(entry["frames"]),
        contents={side: tuple(entry[side]) for side in ("favourable", "unfavourable")},
        labels=tuple(entry.get("labels", ())),
        range=None if bounds is None else (float(bounds[0]), float(bounds[1])),
    )


def mentioned(attribute: Attribute, mention: Mention, language: str = ENGLISH) -> Mapping[str, tuple[str, ...]]:
    """Return phrases for people by value: with the value in words (`mention` "explicit"), or first names ("name").

    Phrases at the same position correspond. Words for people replace missing explicit phrases. Without any words,
    raise `SpecificationError` about ``texts.mention``.
    """
    if language != ENGLISH:
        mentions = translated_mentions(attribute, mention, language, _mentioned_ages())
    else:
        mentions = names(attribute) if mention == "name" else _explicit_mentions(attribute)
    if mention == "explicit" and not mentions:
        mentions = people(attribute, language)
    if not mentions:
        alternative = "explicit" if mention == "name" else "name"
        suffix = "" if language == ENGLISH else f" in {language}"
        message = f"the catalog has no words that mention {attribute.name} by {mention}{suffix}"
        message += f"; try {alternative}, or name people"
        raise SpecificationError(message, "texts.mention")
    return mentions


def _explicit_mentions(attribute: Attribute) -> Mapping[str, tuple[str, ...]]:
    """Return phrases such as "a 34-year-old Muslim person"; empty if a value has neither a noun nor an adjective."""
    table = read_table("decisions")[_MENTIONS]
    nouns: Mapping[str, str] = table["nouns"].get(attribute.name, {})
    phrases = {
        value.name: nouns.get(value.name) or f"{adjective} person"
        for value in attribute.values
        if (adjective := value.forms.get("adjective")) or value.name in nouns
    }
    if len(phrases) < len(attribute.values):
        return {}
    if attribute.name == "age":  # an age in years would contradict the value
        adjectives = {value.name: value.forms["adjective"] for value in attribute.values}
        residents = [f"{noun} {town}" for noun in ("a person from", "a resident of") for town in table["towns"]]
        return {name: tuple(f"{resident}, {word}," for resident in residents) for name, word in adjectives.items()}
    return {name: tuple(f"a {age}-year-old {phrase}" for age in _mentioned_ages()) for name, phrase in phrases.items()}


def _mentioned_ages() -> range:
    ages = read_table("decisions")[_MENTIONS]["ages"]
    return range(ages["first"], ages["last"] + 1)
