"""The specifications that are shipped: what P1 and P2 print, and WEAT 1 to 10."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from assay.catalog.choices import AssociationWords, ChoiceWords, Specification
from assay.catalog.labour import occupations
from assay.catalog.tables import read_table
from assay.errors import UnknownName

_SHIPPED = (
    "gender-occupations",
    "love-hate",
    "p2-gender",
    "p2-race",
    "p2-religion",
    *(f"weat-{number}" for number in range(1, 11)),
)
"""In the order of the documentation; of those about one attribute the first is used where none is named."""


@cache
def specifications() -> Mapping[str, Specification]:
    """Every specification that is shipped, by name."""
    return {name: _read(name) for name in _SHIPPED}


def is_shipped(name: str | None) -> bool:
    """Whether a name is one of ours; no name at all is, because the attribute's usual words are."""
    return name is None or name in _SHIPPED


def specification(name: str) -> Specification:
    """Find a shipped specification.

    Raises
    ------
    UnknownName
        Listing the known ones.
    """
    if name not in _SHIPPED:
        raise UnknownName("specification", name, _SHIPPED, "specification")
    return _read(name)


def choice_words(name: str | None, attribute: str) -> ChoiceWords:
    """Find the words of a forced choice, by the specification's name or else by the attribute.

    Raises
    ------
    UnknownName
        If there is none, or if it is for another method or about another attribute.
    """
    words = _words("choices", name, attribute)
    assert isinstance(words, ChoiceWords)  # noqa: S101  by its kind
    return words


def association_words(name: str | None, attribute: str) -> AssociationWords:
    """Find the words of an association; see `choice_words`."""
    words = _words("association", name, attribute)
    assert isinstance(words, AssociationWords)  # noqa: S101  by its kind
    return words


def _words(kind: str, name: str | None, attribute: str) -> ChoiceWords | AssociationWords:
    of_kind = {known: one for known, one in specifications().items() if one.kind == kind}
    if name is not None:
        if name not in of_kind:
            raise UnknownName(f"specification for {kind}", name, of_kind, "specification")
        return of_kind[name].words
    for one in of_kind.values():
        if one.words.attribute == attribute:
            return one.words
    raise UnknownName("attribute with words", attribute, dict.fromkeys(one.words.attribute for one in of_kind.values()))


@cache
def _read(name: str) -> Specification:
    table = read_table(f"words/{name}")
    kind = table["kind"]
    words = _choices(name, table["words"]) if kind == "choices" else _association(name, table["words"])
    return Specification(name, table["title"], kind, table["language"], table["citation"], words)


def _choices(name: str, written: Mapping[str, Any]) -> ChoiceWords:
    concepts = written["concepts"]
    shares: Mapping[str, float | None]
    if concepts == "occupations":  # those whose share is known
        shares = {one.name: one.share_women for one in occupations() if one.share_women is not None}
    else:
        shares = dict.fromkeys(concepts)
    return ChoiceWords(
        attribute=written["attribute"],
        first=written["first"],
        second=written["second"],
        cues=tuple((one, other) for one, other in written["cues"]),
        concepts=shares,
        controls=_controls(written["controls"]),
        name=name,
    )


def _association(name: str, written: Mapping[str, Any]) -> AssociationWords:
    of_groups = {
        field: {group: tuple(words) for group, words in written[field].items()} for field in ("protected", "attributes")
    }
    stereotypes = {word for lists in of_groups.values() for words in lists.values() for word in words}
    human, neutral = (
        tuple(word for word in _controls(written.get(kind, kind)) if word not in stereotypes)
        for kind in ("human", "neutral")
    )
    return AssociationWords(written["attribute"], **of_groups, human=human, neutral=neutral, name=name)


def _controls(written: str | list[str]) -> tuple[str, ...]:
    """Take control words as they are, or the shared list of that name."""
    return tuple(read_table("words/controls")[written] if isinstance(written, str) else written)
