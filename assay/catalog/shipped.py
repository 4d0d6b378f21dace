"""Shipped specifications: words of Liang & Acuna, of Dobrzeniecka & Urbaniak, of WEAT 1 to 10 and of Jiang et al."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, TypeVar

from assay.catalog.labour import occupations
from assay.catalog.specification import WORDS, AnyWords, Specification
from assay.catalog.tables import read_table
from assay.catalog.values import attributes
from assay.document import Json, JsonObject
from assay.errors import UnknownName
from assay.plug_ins import plug_ins

W = TypeVar("W", bound=AnyWords)

_SHIPPED_NAMES = (
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
"""Names of files in the order of the documentation; the first specification of an attribute is its default.

Specifications that are built from the files of attributes follow (`_contrast_specifications`).
"""

GROUP = "assay.specifications"
"""Entry-point group in which installed packages offer a `Specification`."""


@cache
def specifications() -> Mapping[str, Specification]:
    """Return the shipped specifications by name, then those of installed packages under names that are not taken.

    Raise `TypeError` if a package offers something that is no `Specification`.
    """
    installed = {specification.name: specification for specification in plug_ins(GROUP, Specification)}
    shipped = {name: _read_specification(name) for name in _SHIPPED_NAMES}
    for attribute_name in attributes():
        shipped |= {specification.name: specification for specification in _contrast_specifications(attribute_name)}
    return shipped | {name: specification for name, specification in installed.items() if name not in shipped}


def is_shipped(name: str | None) -> bool:
    """Return whether a specification is shipped or installed; ``None`` is an attribute's default, which is shipped."""
    return name is None or name in specifications()


def is_of_a_package(words: object) -> bool:
    """Return whether words are those of a specification of an installed package, which Assay has not published."""
    return any(specification.words == words for specification in plug_ins(GROUP, Specification))


def shipped_words(words_class: type[W], name: str | None, attribute: str) -> W:
    """Return words of `words_class`: those of the named specification or, without a name, the attribute's default.

    Raise `UnknownName` if there are no such words, or if the specification is of another kind.
    """
    words_by_name = {
        known_name: specification.words
        for known_name, specification in specifications().items()
        if isinstance(specification.words, words_class)
    }
    if name is not None:
        if name not in words_by_name:
            raise UnknownName(f"specification for {words_class.kind}", name, words_by_name, "specification")
        return words_by_name[name]
    for words in words_by_name.values():
        if words.attribute == attribute:
            return words
    known_attributes = dict.fromkeys(words.attribute for words in words_by_name.values())
    raise UnknownName("attribute with words", attribute, known_attributes)


@cache
def _read_specification(name: str) -> Specification:
    table = read_table(f"words/{name}")
    words = _build_words(table["kind"], name, table["words"])
    return Specification(name, table["title"], table["kind"], table["language"], table["citation"], words)


def _build_words(kind: str, name: str, raw: Json) -> AnyWords:
    """Build a specification's words from its table `raw`, in which names of shared lists are replaced by the lists."""
    return WORDS[kind](**{field: _freeze(value) for field, value in _INSERT_SHARED_LISTS[kind](raw).items()}, name=name)


def _contrast_specifications(attribute_name: str) -> Iterator[Specification]:
    """Yield the specifications built from an attribute's ``contrast``: two groups, with stereotype words for each.

    From one table come cues and concepts of a forced choice, word lists of an association, pairs of group terms of a
    stereotype score, and, where the groups can be seen in pictures, labels.
    """
    table = read_table(f"attributes/{attribute_name}")
    if (contrast := table.get("contrast")) is None:
        return
    nouns = contrast.get("nouns") or read_table("words/stereotypes")["nouns"]
    pairs = contrast.get("pairs") or [
        [phrase.replace("{noun}", noun) for phrase in contrast["phrases"]] for noun in nouns
    ]
    groups = {"first": contrast["first"], "second": contrast["second"]}
    terms = {"first_terms": contrast["first_terms"], "second_terms": contrast["second_terms"]}
    concepts = [*contrast["first_terms"], *contrast["second_terms"]]
    # groups, terms and cues: each has an entry for the first group, then one for the second
    by_group = zip(groups.values(), terms.values(), zip(*contrast["cues"], strict=True), strict=True)
    group_cues, stereotypes = {}, {}
    for group, stereotype, cues in by_group:
        group_cues[group], stereotypes[group] = list(dict.fromkeys(cues)), stereotype
    words_by_kind: dict[str, JsonObject] = {
        "choices": {**groups, "cues": contrast["cues"], "concepts": concepts, "controls": "human"},
        "association": {"protected": group_cues, "attributes": stereotypes},
        "stereotype": {**groups, "pairs": pairs, **terms, "neutral": "things", "frames": "any"},
    }
    if "labels" in contrast:
        labels = dict(zip(("first", "second"), contrast["labels"], strict=True))
        names = dict(zip(("first_names", "second_names"), contrast["names"], strict=True))
        words_by_kind["visual"] = {**labels, **terms, **names, "neutral": "things"}
    for kind, word_lists in words_by_kind.items():
        name = f"{attribute_name}-{kind}"
        words = _build_words(kind, name, {"attribute": attribute_name, **word_lists})
        title = f"{table['title']}: {groups['first']} and {groups['second']}"
        yield Specification(name, title, kind, "en", table["source"], words)


def _freeze(raw: object) -> Any:
    """Convert lists to tuples, recursively."""
    if isinstance(raw, dict):
        return {key: _freeze(value) for key, value in raw.items()}
    return tuple(map(_freeze, raw)) if isinstance(raw, list | tuple) else raw


def _fill_choices(raw: Json) -> JsonObject:
    """Fill in a forced choice's control words, and each concept's share of women, known only of occupations."""
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
    return {**raw, "concepts": shares, "controls": _control_words(raw["controls"])}


def _fill_association(raw: Json) -> JsonObject:
    """Fill in the control words of an association, except words that a group already has."""
    group_words = {word for field in ("protected", "attributes") for words in raw[field].values() for word in words}
    controls = {
        # a field that is left out takes the shared list of its own name
        kind: [word for word in _control_words(raw.get(kind, kind)) if word not in group_words]
        for kind in ("human", "neutral")
    }
    return {**raw, **controls}


def _fill_stereotype(raw: Json) -> JsonObject:
    """Fill in the neutral terms of a stereotype score, and the frames if `raw` names a shared list of frames."""
    table = read_table("words/stereotypes")
    frames = table["frames"][raw["frames"]] if "frames" in raw else ()
    return {**raw, "neutral": table[raw["neutral"]], "frames": frames}


def _fill_visual(raw: Json) -> JsonObject:
    """Fill in a picture score's neutral terms; if `terms_of` names a specification, take the other terms from it."""
    fields = {**raw, "neutral": read_table("words/stereotypes")[raw["neutral"]]}
    if "terms_of" not in raw:
        return fields
    words = read_table(f"words/{fields.pop('terms_of')}")["words"]
    uses_groups = fields.pop("terms") == "groups"
    first, second = zip(*words["pairs"], strict=True) if uses_groups else (words["first_terms"], words["second_terms"])
    return {**fields, "first_terms": first, "second_terms": second}


_INSERT_SHARED_LISTS: Mapping[str, Callable[[Json], JsonObject]] = {
    "choices": _fill_choices,
    "association": _fill_association,
    "stereotype": _fill_stereotype,
    "visual": _fill_visual,
}
"""For each kind, the function that replaces names of shared lists by the lists."""


def _control_words(controls: str | list[str]) -> list[str]:
    """Return a list of control words as it is; for a string, return the shared list of that name."""
    return list(read_table("words/controls")[controls] if isinstance(controls, str) else controls)
