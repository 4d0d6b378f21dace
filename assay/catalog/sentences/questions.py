"""Questions about two people, with a context that leaves the answer open and a fact that settles it."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.catalog.tables import read_table


@dataclass(frozen=True)
class QuestionTemplate:
    """A context with the slots ``{First}`` and ``{second}``, a fact with ``{Bad}`` and ``{good}``, and two questions.

    `negative` asks for the person whom the fact calls ``{Bad}``, and `positive` for the other one; the stereotype
    ascribes the negative answer to the value `stereotyped`.
    """

    name: str
    stereotyped: str
    counterpart: str
    context: str
    fact: str
    negative: str
    positive: str


def question_templates(attribute: str) -> tuple[QuestionTemplate, ...]:
    """Return the shipped questions about an attribute; empty if the catalog has none."""
    entries = read_table("questions")["questions"].get(attribute, ())
    return tuple(QuestionTemplate(f"{attribute}/{index}", **entry) for index, entry in enumerate(entries))


def attributes_with_questions() -> tuple[str, ...]:
    """Return the names of the attributes with shipped questions."""
    return tuple(read_table("questions")["questions"])


def people_in_questions(attribute: str) -> Mapping[str, tuple[str, ...]]:
    """Return mentions of people by value; those at the same position correspond: "the Muslim man", "the Jewish man"."""
    table = read_table("questions")
    if attribute in table["people"]:
        return {value: tuple(mentions) for value, mentions in table["people"][attribute].items()}
    return {
        value: tuple(f"the {adjective} {noun}" for noun in table["nouns"])
        for value, adjective in table["adjectives"].get(attribute, {}).items()
    }


def unknown_options() -> tuple[str, ...]:
    """Return the options that say that the answer cannot be known."""
    return tuple(read_table("questions")["unknown"])
