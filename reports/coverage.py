"""Coverage of the catalog: what each method can ask about each attribute, in which languages, with how many words."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import dataclass, field, fields
from functools import cache

from assay.catalog import attribute, construction, constructions, occupations
from assay.catalog.profiles import contents, frames, people
from assay.catalog.shipped import specifications
from assay.catalog.specification import WORDS
from assay.catalog.values import Attribute
from assay.errors import SpecificationError
from assay.methods import AnyMethod, every_method, method_name


@dataclass(frozen=True)
class Coverage:
    """What a method can ask about an attribute without words of the caller."""

    method: str
    """Name of the method."""
    languages: tuple[str, ...] = ()
    """Languages of the words: of the sentences that are sent or, without any, of the translations that are read."""
    words: Mapping[str, int] = field(default_factory=dict)
    """Number of words of each kind: people of a value, frames, pairs of cues …"""
    reason: str | None = None
    """The reason why the method cannot test the attribute; ``None`` if it can."""


@cache
def coverage(attribute_name: str) -> tuple[Coverage, ...]:
    """Return the coverage of an attribute by every method, in the order of the documentation."""
    return tuple(_coverage(attribute(attribute_name), kind) for kind in every_method())


def _coverage(tested: Attribute, kind: type[AnyMethod]) -> Coverage:
    name = method_name(kind)
    try:
        kind(attribute=tested.name)
    except SpecificationError as refused:
        return Coverage(name, reason=tested.without.get(name, str(refused)))
    except TypeError:  # a method of a plug-in that needs more fields
        return Coverage(name, reason="its requests need more than an attribute")
    names = {entry.name for entry in fields(kind)}
    if kind.specification_kind in WORDS:
        return Coverage(name, ("en",), _of_lists(tested, WORDS[str(kind.specification_kind)]))
    if "texts" in names:
        counts = {
            "people of a value": len(next(iter(people(tested).values()))),
            "frames": len(frames()),
            "contents": sum(map(len, contents().values())),
        }
        return Coverage(name, ("en",), counts)
    if "languages" not in names:  # the caller's file has the groups
        return Coverage(name)
    if name == "one-hop":
        counts = {"frames": len(construction("neutral").frames), "occupations": len(occupations())}
        return Coverage(name, tested.one_hop_languages, counts)
    sentence_frames = sum(len(construction(template).frames_for(tested)) for template in constructions())
    return Coverage(name, tuple(tested.lexicons), {"frames": sentence_frames, "occupations": len(occupations())})


def _of_lists(tested: Attribute, kind: type) -> dict[str, int]:
    """Count the words of the attribute's default specification of a kind, by list."""
    words = next(
        each.words
        for each in specifications().values()
        if isinstance(each.words, kind) and each.words.attribute == tested.name
    )
    lists = {entry.name: getattr(words, entry.name) for entry in fields(words)}
    counts = {}
    for name, listed in lists.items():
        if isinstance(listed, Mapping) and all(isinstance(entry, tuple) for entry in listed.values()):
            counts[name] = sum(map(len, listed.values()))
        elif isinstance(listed, Sized) and not isinstance(listed, str) and len(listed):
            counts[name] = len(listed)
    return {name.replace("_", " "): count for name, count in counts.items()}
