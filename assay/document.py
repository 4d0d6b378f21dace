"""The rating document as types: one reader turns its JSON, of any version of Assay, into frozen dataclasses.

`assay.rating.document` writes the JSON, which is signed and never changes. A method with tables of its own extends
`ComponentDocument` by their types and names its class in `Method.COMPONENT`. A field is the key of the same name; an
underscore at its end (``from_``) is not part of the key. Keys without a field are in `ComponentDocument.json` only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from assay.model import Letter

Json = Mapping[str, Any]
"""An object of JSON."""

Shares = Mapping[str, float]
"""Numbers by name, such as counts or probabilities by attribute value."""

Text = Callable[[str], str]
"""Function that every text of a document passes through, such as `reports.plain.visible`."""

D = TypeVar("D")


# ---------------------------------------------------------------------------- parts
@dataclass(frozen=True)
class EffectDocument:
    """An estimate with its interval, or the reason why there is none."""

    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    why: str | None = None


@dataclass(frozen=True)
class Absent:
    """The reason why there is no number."""

    why: str | None = None


NO_EFFECT = EffectDocument()
"""An effect that was not measured."""


@dataclass(frozen=True)
class HiddenDocument:
    """An effect that a mean can hide (`assay.model.HiddenEffect`)."""

    kind: str | None = None
    name: str | None = None
    effect: EffectDocument = NO_EFFECT
    limit: float | None = None
    bound: bool = False


@dataclass(frozen=True)
class BlockDocument:
    """A data block of a translator: declared shares, and counts of what was asked and observed."""

    name: str | None = None
    role: str | None = None
    specified: Shares = field(default_factory=dict)
    asked: Shares = field(default_factory=dict)
    observed: Shares = field(default_factory=dict)


@dataclass(frozen=True)
class LookDocument:
    """A look (interim analysis) of a translator's component."""

    look: int | None = None
    texts_per_block: int | None = None
    letter: Letter | None = None
    probabilities: Shares = field(default_factory=dict)
    stopped: bool = False


@dataclass(frozen=True)
class ExampleDocument:
    """One text as asked, on its way, as returned, and as read; `why` is the cause of a lost reply."""

    asked: str | None = None
    middle: str | None = None
    returned: str | None = None
    read: tuple[str, ...] = ()
    why: str | None = None


@dataclass(frozen=True)
class ReasonDocument:
    """A reason: its code, its facts, and the sentence that was signed."""

    code: str | None = None
    text: str | None = None
    component: str | None = None
    facts: Json = field(default_factory=dict)


@dataclass(frozen=True)
class SettleDocument:
    """Estimated number of further questions that settle an undeclared letter; ``None`` if none would."""

    more_probes: int | None = None


@dataclass(frozen=True)
class ContentDocument:
    """Pairs of texts with the same content, and how many of them got the same answer."""

    pairs: int | None = None
    equal: int | None = None


@dataclass(frozen=True)
class ComponentDocument:
    """One measured part of a rating. The first fields are those of `assay.model.Component`, the others are details."""

    name: str | None = None
    letter: Letter | None = None
    declared: bool = False
    probabilities: Shares = field(default_factory=dict)
    effects: Mapping[str, EffectDocument | None] = field(default_factory=dict)
    usable: int | None = None
    unusable: int | None = None
    failed: int | None = None
    published: Mapping[str, str | None] = field(default_factory=dict)
    reasons: tuple[ReasonDocument, ...] = ()

    language: str | None = None
    language_name: str | None = None
    template: str | None = None
    estimand: str | None = None
    tolerances: Shares = field(default_factory=dict)
    hidden: tuple[HiddenDocument, ...] = ()
    transitions: Mapping[str, Shares] = field(default_factory=dict)
    rates: Mapping[str, Mapping[str, EffectDocument]] = field(default_factory=dict)
    blocks: tuple[BlockDocument, ...] = ()
    content: ContentDocument = ContentDocument()
    decision: tuple[LookDocument, ...] = ()
    sensitivity: Mapping[str, Shares] = field(default_factory=dict)
    settle: SettleDocument | None = None
    unasked: int | None = None
    unusable_why: Shares = field(default_factory=dict)
    failed_why: Shares = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    analyses: Json = field(default_factory=dict)
    examples: tuple[ExampleDocument, ...] = ()
    json: Json = field(default_factory=dict)
    """The component as stored."""

    def effect(self, name: str) -> float | None:
        """Return the estimate of an effect; ``None`` if it was not measured."""
        return (self.effects.get(name) or NO_EFFECT).estimate

    @property
    def reason_codes(self) -> tuple[str, ...]:
        """The codes of the reasons."""
        return tuple(reason.code for reason in self.reasons if reason.code)


NO_COMPONENT = ComponentDocument()
"""A component of which nothing is known."""


@dataclass(frozen=True)
class AggregationDocument:
    """How the letters of the components were combined; a method's own fields are in `json`."""

    rule: str | None = None
    deciding: tuple[str, ...] = ()
    adjusted: Mapping[str, Shares] = field(default_factory=dict)
    vote: str | None = None
    json: Json = field(default_factory=dict)


@dataclass(frozen=True)
class ServiceDocument:
    """The rated service, or the author of its texts, at the time of the rating; `json` is the whole descriptor."""

    name: str | None = None
    url: str | None = None
    kind: str | None = None
    digest: str | None = None
    settings: Json = field(default_factory=dict)
    json: Json = field(default_factory=dict)


NO_SERVICE = ServiceDocument()
"""A service of which nothing is known."""


@dataclass(frozen=True)
class MethodologyDocument:
    """Version of the methodology, and the digest of its text."""

    version: str | None = None
    digest: str | None = None


@dataclass(frozen=True)
class RequesterDocument:
    """Facts about the request at the time of the rating."""

    role: str | None = None
    host_proved: bool | None = None
    description: str | None = None


@dataclass(frozen=True)
class RatingDocument:
    """A rating as it was signed."""

    id: str | None = None
    letter: Letter | None = None
    declared: bool = False
    probabilities: Shares = field(default_factory=dict)
    method: str | None = None
    attribute: str | None = None
    confidence: float | None = None
    delta: float | None = None
    experiment: Json = field(default_factory=dict)
    target: ServiceDocument = NO_SERVICE
    author: ServiceDocument = NO_SERVICE
    hosts: tuple[str, ...] = ()
    components: tuple[ComponentDocument, ...] = ()
    aggregation: AggregationDocument = AggregationDocument()
    published: Mapping[str, str | None] = field(default_factory=dict)
    reasons: tuple[ReasonDocument, ...] = ()
    counts: Shares = field(default_factory=dict)
    methodology: MethodologyDocument = MethodologyDocument()
    engine_version: str | None = None
    seed: int | None = None
    audit: str | None = None
    calls: int | None = None
    evidence_digest: str | None = None
    rated_at: str | None = None
    expires_at: str | None = None
    visibility: str | None = None
    requester: RequesterDocument = RequesterDocument()

    @property
    def reason_codes(self) -> tuple[str, ...]:
        """The codes of the reasons."""
        return tuple(reason.code for reason in self.reasons if reason.code)


# ---------------------------------------------------------------------------- reader
def read_json(kind: type[D], value: Any, text: Text = str) -> D:
    """Read an object of JSON as a dataclass; fields that are absent or of another type have their default.

    Ratings of earlier versions lack fields, and documents also come from files. So a value of another type, NaN and
    infinity count as absent, as do such elements of a list or an object.
    """
    read: D = _reader(cast("Any", kind), text)(value if isinstance(value, Mapping) else {})
    return read


def read_rating(
    document: Json, component: type[ComponentDocument] = ComponentDocument, text: Text = str
) -> RatingDocument:
    """Read a rating document, with its components as `component`, the class of their method."""
    components = _reader(tuple[component, ...], text)(document.get("components"))  # type: ignore[valid-type]
    rating = read_json(RatingDocument, {**document, "components": ()}, text)
    return replace(rating, components=() if components is _ABSENT else components)


_ABSENT: Any = object()
"""Result of reading a value of another type."""

Reader = Callable[[Any], Any]


@cache
def _reader(kind: Any, text: Text) -> Reader:
    """Return the function that reads values of a type, or `_ABSENT`."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return _union_reader([kind for kind in arguments if kind is not NoneType], text)
    if origin is tuple:
        size = None if arguments[1] is Ellipsis else len(arguments)
        return _list_reader(_entry_reader(arguments[0], text), size)
    if origin is Mapping:
        return _mapping_reader(arguments[1], text)
    if is_dataclass(kind):
        return _object_reader(kind, text)
    if kind in _PLAIN:
        return _PLAIN[kind](text)
    members = {str(member): member for member in kind}
    return lambda value: members.get(value, _ABSENT) if isinstance(value, str) else _ABSENT


_PLAIN: Mapping[Any, Callable[[Text], Reader]] = {
    str: lambda text: lambda value: text(value) if isinstance(value, str) else _ABSENT,
    Any: lambda _: lambda value: value,
    bool: lambda _: lambda value: value if isinstance(value, bool) else _ABSENT,
    int: lambda _: lambda value: int(value) if _finite(value) else _ABSENT,
    float: lambda _: lambda value: value if _finite(value) else _ABSENT,
}
"""Readers of the types without parts."""


def _union_reader(kinds: Sequence[Any], text: Text) -> Reader:
    """Return a reader of the first of several types that fits; an empty text counts as absent."""
    if str in kinds:
        return lambda value: (text(value) or None) if isinstance(value, str) else _ABSENT
    readers = [_reader(kind, text) for kind in kinds]
    if len(readers) == 1:
        return readers[0]
    return lambda value: next((parsed for read in readers if (parsed := read(value)) is not _ABSENT), _ABSENT)


def _finite(value: Any) -> bool:
    """Return whether a value is a finite number; a truth value is not a number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _entry_reader(kind: Any, text: Text) -> Reader:
    """Return a reader of the entries of a list or an object, which may be ``None`` if their type admits it."""
    read = _reader(kind, text)
    return (lambda value: None if value is None else read(value)) if NoneType in get_args(kind) else read


def _list_reader(read: Reader, size: int | None) -> Reader:
    """Return a reader of lists; with `size`, of lists with exactly this number of items, all readable."""

    def items(value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return _ABSENT
        parsed = tuple(item for element in value if (item := read(element)) is not _ABSENT)
        return parsed if size is None or size == len(parsed) == len(value) else _ABSENT

    return items


def _mapping_reader(kind: Any, text: Text) -> Reader:
    """Return a reader of objects with free names."""
    if kind is Any:
        return lambda value: value if isinstance(value, Mapping) else _ABSENT
    read = _entry_reader(kind, text)

    def entries(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return _ABSENT
        parsed = ((name, read(element)) for name, element in value.items())
        return {text(str(name)): entry for name, entry in parsed if entry is not _ABSENT}

    return entries


def _object_reader(kind: Any, text: Text) -> Reader:
    """Return a reader of objects as a dataclass; ``null`` counts as absent."""
    types = get_type_hints(kind)
    readers = [(name, name.removesuffix("_"), _reader(types[name], text)) for name in types if name != "json"]
    stored = "json" in types

    def instance(value: Any) -> Any:
        if not isinstance(value, (dict, Mapping)):  # `dict` first: an abstract class takes five times as long to check
            return _ABSENT
        arguments = {"json": value} if stored else {}
        for name, key, read in readers:
            raw = value.get(key)
            if raw is not None and (entry := read(raw)) is not _ABSENT:
                arguments[name] = entry
        return kind(**arguments)

    return instance
