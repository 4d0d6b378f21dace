"""The specifications that are shipped: what P1 and P2 print, WEAT 1 to 10, and P4's predefined ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from assay.catalog.choices import AssociationWords, ChoiceWords, Specification
from assay.catalog.labour import occupations
from assay.catalog.stereotypes import StereotypeWords
from assay.catalog.tables import read_table
from assay.catalog.visuals import VisualWords
from assay.errors import UnknownName

AnyWords = ChoiceWords | AssociationWords | StereotypeWords | VisualWords

_SHIPPED = (
    "gender-occupations",
    "love-hate",
    "p2-gender",
    "p2-race",
    "p2-religion",
    *(f"weat-{number}" for number in range(1, 11)),
    "p4-professions",
    "p4-math-arts",
    "p4-science-arts",
    "p4-career-family",
    *(f"p4-names-{number}" for number in range(1, 4)),
    *(f"p4-intersectional-{number}" for number in range(1, 5)),
    "p4-age-names",
    "p4-illness",
    "p4-flowers-insects",
    "p4-instruments-weapons",
    "p4-pictures-professions",
    "p4-pictures-career-family",
    "p4-pictures-flowers-insects",
    "p4-pictures-instruments-weapons",
)
"""In the order of the documentation; of those about one attribute the first is used where none is named."""

GROUP = "assay.specifications"
"""Entry-point group in which installed packages offer a `Specification`."""


@cache
def specifications() -> Mapping[str, Specification]:
    """Every specification that is shipped, by name; then those of installed packages under names still free.

    Raises
    ------
    TypeError
        If a package offers something that is no `Specification`.
    """
    known = {name: _read(name) for name in _SHIPPED}
    for entry in entry_points(group=GROUP):
        offered = entry.load()
        if not isinstance(offered, Specification):
            raise TypeError(
                f"{entry.value} in the entry-point group {GROUP} is {offered!r}; it must be a Specification"
            )
        known.setdefault(offered.name, offered)
    return known


def is_shipped(name: str | None) -> bool:
    """Whether a name is one of ours; no name at all is, because the attribute's usual words are."""
    return name is None or name in specifications()


def specification(name: str) -> Specification:
    """Find a shipped specification.

    Raises
    ------
    UnknownName
        Listing the known ones.
    """
    if name not in specifications():
        raise UnknownName("specification", name, tuple(specifications()), "specification")
    return specifications()[name]


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


def stereotype_words(name: str | None, attribute: str) -> StereotypeWords:
    """Find the words of a stereotype; see `choice_words`."""
    words = _words("stereotype", name, attribute)
    assert isinstance(words, StereotypeWords)  # noqa: S101  by its kind
    return words


def visual_words(name: str | None, attribute: str) -> VisualWords:
    """Find the words of a visual stereotype; see `choice_words`."""
    words = _words("visual", name, attribute)
    assert isinstance(words, VisualWords)  # noqa: S101  by its kind
    return words


def _words(kind: str, name: str | None, attribute: str) -> AnyWords:
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
    words = _READERS[kind](name, table["words"])
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


def _stereotype(name: str, written: Mapping[str, Any]) -> StereotypeWords:
    shared = read_table("words/stereotypes")
    return StereotypeWords(
        attribute=written["attribute"],
        first=written["first"],
        second=written["second"],
        pairs=tuple((one, other) for one, other in written["pairs"]),
        first_terms=tuple(written["first_terms"]),
        second_terms=tuple(written["second_terms"]),
        neutral=tuple(shared[written["neutral"]]),
        telling=tuple(written.get("telling", ())),
        frames=tuple(shared["frames"][written["frames"]]) if "frames" in written else (),
        name=name,
    )


def _visual(name: str, written: Mapping[str, Any]) -> VisualWords:
    """Read labels; terms are those of a stereotype's attributes, or its groups' own."""
    of = _stereotype(name, read_table(f"words/{written['terms_of']}")["words"])
    groups = written["terms"] == "groups"
    first_terms, second_terms = zip(*of.pairs, strict=True) if groups else (of.first_terms, of.second_terms)
    return VisualWords(
        attribute=written["attribute"],
        first=written["first"],
        second=written["second"],
        first_terms=tuple(first_terms),
        second_terms=tuple(second_terms),
        neutral=tuple(read_table("words/stereotypes")[written["neutral"]]),
        first_names=tuple(written.get("first_names", ())),
        second_names=tuple(written.get("second_names", ())),
        name=name,
    )


_READERS: Mapping[str, Callable[[str, Mapping[str, Any]], AnyWords]] = {
    "choices": _choices,
    "association": _association,
    "stereotype": _stereotype,
    "visual": _visual,
}
"""How the words of each kind are read."""


def _controls(written: str | list[str]) -> tuple[str, ...]:
    """Take control words as they are, or the shared list of that name."""
    return tuple(read_table("words/controls")[written] if isinstance(written, str) else written)
