"""Shipped specifications: the words printed in P1 and P2, WEAT 1 to 10, and the predefined words of P4."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

from assay.catalog.labour import occupations
from assay.catalog.specification import WORDS, AnyWords, Specification
from assay.catalog.tables import read_table
from assay.errors import UnknownName
from assay.plug_ins import plug_ins

W = TypeVar("W", bound=AnyWords)

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
"""Names in the order of the documentation; the first specification of an attribute is the attribute's default."""

GROUP = "assay.specifications"
"""Entry-point group in which installed packages offer a `Specification`."""


@cache
def specifications() -> Mapping[str, Specification]:
    """Return the shipped specifications by name, then those of installed packages under names that are not taken.

    Raise `TypeError` if a package offers something that is no `Specification`.
    """
    installed = {specification.name: specification for specification in plug_ins(GROUP, Specification)}
    shipped = {name: _read(name) for name in _SHIPPED}
    return shipped | {name: specification for name, specification in installed.items() if name not in shipped}


def is_shipped(name: str | None) -> bool:
    """Return whether a specification is shipped or installed; ``None`` is an attribute's default, which is shipped."""
    return name is None or name in specifications()


def shipped_words(kind: type[W], name: str | None, attribute: str) -> W:
    """Return words of a kind: those of the named specification or, without a name, the attribute's default.

    Raise `UnknownName` if there are no such words, or if the specification is of another kind.
    """
    of_kind = {
        name: specification.words
        for name, specification in specifications().items()
        if isinstance(specification.words, kind)
    }
    if name is not None:
        if name not in of_kind:
            raise UnknownName(f"specification for {kind.kind}", name, of_kind, "specification")
        return of_kind[name]
    for words in of_kind.values():
        if words.attribute == attribute:
            return words
    raise UnknownName("attribute with words", attribute, dict.fromkeys(words.attribute for words in of_kind.values()))


@cache
def _read(name: str) -> Specification:
    table = read_table(f"words/{name}")
    kind = table["kind"]
    fields = {field: _frozen(value) for field, value in _FILL_IN[kind](table["words"]).items()}
    words = WORDS[kind](**fields, name=name)
    return Specification(name, table["title"], kind, table["language"], table["citation"], words)


def _frozen(raw: Any) -> Any:
    """Convert lists to tuples, recursively."""
    if isinstance(raw, dict):
        return {key: _frozen(value) for key, value in raw.items()}
    return tuple(map(_frozen, raw)) if isinstance(raw, list | tuple) else raw


def _choices(raw: Mapping[str, Any]) -> dict[str, Any]:
    concepts = raw["concepts"]
    shares: dict[str, float | None]
    if concepts == "occupations":  # stands for all occupations of the catalog whose share of women is known
        shares = {
            occupation.name: occupation.share_women
            for occupation in occupations()
            if occupation.share_women is not None
        }
    else:
        shares = dict.fromkeys(concepts)
    return {**raw, "concepts": shares, "controls": _controls(raw["controls"])}


def _association(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Fill in the control words, except words that a group already has."""
    group_words = {word for field in ("protected", "attributes") for words in raw[field].values() for word in words}
    controls = {
        kind: [word for word in _controls(raw.get(kind, kind)) if word not in group_words]
        for kind in ("human", "neutral")
    }
    return {**raw, **controls}


def _stereotype(raw: Mapping[str, Any]) -> dict[str, Any]:
    shared = read_table("words/stereotypes")
    frames = shared["frames"][raw["frames"]] if "frames" in raw else ()
    return {**raw, "neutral": shared[raw["neutral"]], "frames": frames}


def _visual(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Fill in the terms of both sides: attribute words or group words of the specification that `terms_of` names."""
    words = read_table(f"words/{raw['terms_of']}")["words"]
    groups = raw["terms"] == "groups"
    first, second = zip(*words["pairs"], strict=True) if groups else (words["first_terms"], words["second_terms"])
    filled = {
        **raw,
        "first_terms": first,
        "second_terms": second,
        "neutral": read_table("words/stereotypes")[raw["neutral"]],
    }
    return {field: value for field, value in filled.items() if field not in {"terms_of", "terms"}}


_FILL_IN: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "choices": _choices,
    "association": _association,
    "stereotype": _stereotype,
    "visual": _visual,
}
"""For each kind, the function that replaces names of shared lists by the lists."""


def _controls(raw: str | list[str]) -> list[str]:
    """Return control words as they are, or the shared list of that name."""
    controls: list[str] = read_table("words/controls")[raw] if isinstance(raw, str) else raw
    return controls
