"""Dataclasses of the rating document, and the only functions that write them to JSON and read them from it.

The JSON is signed and never changes. A method that reports tables has fields for them in a subclass of
`ComponentDocument` (`Method.COMPONENT`). Every field has a default, because ratings of earlier versions lack some. A
field is the key of the same name; an underscore at its end (``from_``) is not part of the key. Keys without a field are
in `ComponentDocument.json` only.

A field that has its default is not written; if it is declared with `always`, it is written as ``null``. The default of
a list is `NO_ITEMS` and not an empty list, so that an empty list is written, and an absent one is not.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import cache
from types import NoneType, UnionType
from typing import Any, Self, TypeVar, cast, get_args, get_origin, get_type_hints

from assay.model import Detail, Interval, Letter

Json = Mapping[str, Any]
"""An object of JSON, to be read."""

JsonObject = dict[str, Any]
"""An object of JSON, to be written."""

Shares = Mapping[str, float]
"""Numbers by name, such as counts or probabilities by attribute value."""

Text = Callable[[str], str]
"""Function that every text of a document passes through, such as `reports.plain.visible`."""

D = TypeVar("D")
Reader = Callable[[Any], Any]

JSON_FIELD = "json"
"""Name of the field that holds an object as it was read; it is not written."""


class _NoItems(tuple[Any, ...]):
    """Type of `NO_ITEMS`, the value of a list field that is absent from a document."""

    __slots__ = ()


class _NoEntries(dict[str, Any]):
    """Type of `NO_ENTRIES`, the value of an object field that is absent from a document."""

    __hash__ = object.__hash__  # type: ignore[assignment]


NO_ITEMS: tuple[Any, ...] = _NoItems()
NO_ENTRIES: Json = _NoEntries()

_ABSENT: Any = object()
"""Result of a `Reader` for a value that does not have the expected type."""


def always(default: D) -> D:
    """Declare a field that is written to JSON even if it has its default: as false or true, or else as ``null``."""
    return field(default=default, metadata={"always": True})


# ---------------------------------------------------------------------------- parts of a rating
@dataclass(frozen=True)
class EffectDocument:
    """An estimate with its interval, or the reason why there is none."""

    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    why: str | None = None
    error: str | None = None

    @classmethod
    def of(cls, interval: Interval) -> Self:
        """Build the document of an interval."""
        return cls(interval.estimate, interval.low, interval.high, interval.level)


@dataclass(frozen=True)
class Absent:
    """The reason why there is no number; `error` is the code of the error that an analysis raised."""

    why: str | None = None
    error: str | None = None


NO_EFFECT = EffectDocument()
"""An effect that was not measured."""


@dataclass(frozen=True)
class HiddenDocument:
    """An effect that a mean can hide (`assay.model.HiddenEffect`)."""

    kind: str | None = None
    name: str | None = None
    effect: EffectDocument = NO_EFFECT
    limit: float | None = always(None)
    bound: bool = always(False)


@dataclass(frozen=True)
class BlockDocument:
    """A data block of a translator: declared shares, and counts of what was asked and observed."""

    name: str | None = None
    role: str | None = None
    specified: Shares = NO_ENTRIES
    asked: Shares = NO_ENTRIES
    observed: Shares = NO_ENTRIES


@dataclass(frozen=True)
class LookDocument:
    """An interim analysis of one component (language) of a translator's rating."""

    look: int | None = None
    texts_per_block: int | None = None
    probabilities: Shares = always(NO_ENTRIES)
    letter: Letter | None = always(None)
    stopped: bool = always(False)


@dataclass(frozen=True)
class ExampleDocument:
    """A text as sent, translated and returned, with the values read from it; `why` is the reason for a lost reply."""

    asked: str | None = None
    middle: str | None = always(None)
    returned: str | None = always(None)
    read: tuple[str, ...] = always(NO_ITEMS)
    why: str | None = always(None)


@dataclass(frozen=True)
class ReasonDocument:
    """A reason: its code, its facts, and the sentence that was signed."""

    code: str | None = None
    text: str | None = None
    facts: Json = always(NO_ENTRIES)
    component: str | None = always(None)


@dataclass(frozen=True)
class SettleDocument:
    """Estimated number of further questions that settle an undeclared letter; ``None`` if none would."""

    more_probes: int | None = always(None)


@dataclass(frozen=True)
class ContentDocument:
    """Pairs of texts with the same content, and how many of them got the same answer."""

    pairs: int | None = None
    equal: int | None = None


@dataclass(frozen=True)
class ComponentDocument(Detail):
    """One measured part of a rating. The first fields are those of `assay.model.Component`, the others are details.

    A method gives the details (`assay.model.Component.detail`); `assay.rating.document` fills in the first fields.
    """

    name: str | None = always(None)
    letter: Letter | None = always(None)
    declared: bool = always(False)
    probabilities: Shares = always(NO_ENTRIES)
    effects: Mapping[str, EffectDocument | None] = always(NO_ENTRIES)
    usable: int | None = always(None)
    unusable: int | None = always(None)
    failed: int | None = always(None)
    published: Mapping[str, str | None] = always(NO_ENTRIES)
    reasons: tuple[ReasonDocument, ...] = always(NO_ITEMS)

    estimand: str | None = None
    unasked: int | None = None
    unusable_why: Shares = NO_ENTRIES
    failed_why: Shares = NO_ENTRIES
    missing: Mapping[str, str] = NO_ENTRIES
    examples: tuple[ExampleDocument, ...] = NO_ITEMS
    analyses: Json = NO_ENTRIES
    hidden: tuple[HiddenDocument, ...] = NO_ITEMS
    by_group: Mapping[str, Shares] = NO_ENTRIES
    tolerances: Mapping[str, float | None] = NO_ENTRIES
    sensitivity: Mapping[str, Shares] = NO_ENTRIES
    settle: SettleDocument | None = None

    language: str | None = None
    language_name: str | None = None
    template: str | None = None
    transitions: Mapping[str, Shares] = NO_ENTRIES
    rates: Mapping[str, Mapping[str, EffectDocument | None]] = NO_ENTRIES
    blocks: tuple[BlockDocument, ...] = NO_ITEMS
    content: ContentDocument = ContentDocument()
    decision: tuple[LookDocument, ...] = NO_ITEMS
    json: Json = NO_ENTRIES
    """The component as stored."""

    def effect(self, name: str) -> float | None:
        """Return the estimate of an effect; ``None`` if it was not measured."""
        return (self.effects.get(name) or NO_EFFECT).estimate

    @property
    def reason_codes(self) -> tuple[str, ...]:
        """The codes of the reasons, in their order."""
        return tuple(reason.code for reason in self.reasons if reason.code)


NO_COMPONENT = ComponentDocument()
"""A component without any fields."""


@dataclass(frozen=True)
class AggregationDocument(Detail):
    """The rule that combined letters; `adjusted`: adjusted p-values of step 1 by component; `json`: all as stored."""

    rule: str | None = None
    deciding: tuple[str, ...] = always(NO_ITEMS)
    adjusted: Mapping[str, Shares] = NO_ENTRIES
    vote: str | None = None
    json: Json = NO_ENTRIES


@dataclass(frozen=True)
class ServiceDocument:
    """The rated service, or the author or judge of texts, at the time of the rating; `json` is the whole descriptor."""

    name: str | None = None
    kind: str | None = None
    protocol: str | None = None
    url: str | None = always(None)
    settings: Json = NO_ENTRIES
    digest: str | None = None
    json: Json = NO_ENTRIES


NO_SERVICE = ServiceDocument()
"""A service without any fields."""


@dataclass(frozen=True)
class CommitmentDocument:
    """Digest by which a job committed to its experiment and seed before the first call, and the nonce to check it."""

    digest: str | None = None
    nonce: str | None = None


@dataclass(frozen=True)
class MethodologyDocument:
    """Version of the methodology, and the digest of its text."""

    version: str | None = None
    digest: str | None = None


@dataclass(frozen=True)
class NextMethodologyDocument:
    """The letter that the next version of the methodology would give; a stored rating has none."""

    version: str | None = always(None)
    letter: str | None = always(None)


@dataclass(frozen=True)
class RequesterDocument:
    """Facts about the request at the time of the rating."""

    role: str | None = None
    host_proved: bool | None = always(None)
    description: str | None = None


@dataclass(frozen=True)
class SourceDocument:
    """The rating of which a re-rating was made, and its methodology."""

    rating: str | None = always(None)
    methodology: MethodologyDocument = MethodologyDocument()


NO_COMMITMENT, NO_REQUESTER, NO_AGGREGATION = CommitmentDocument(), RequesterDocument(), AggregationDocument()
"""Defaults of a rating's fields `commitment`, `requester` and `aggregation`."""


@dataclass(frozen=True)
class RatingDocument:
    """A rating as it was signed; `json` is the document as stored."""

    letter: Letter | None = always(None)
    declared: bool = always(False)
    probabilities: Shares = always(NO_ENTRIES)
    method: str | None = None
    attribute: str | None = None
    confidence: float | None = None
    delta: float | None = None
    experiment: Json = NO_ENTRIES
    target: ServiceDocument = NO_SERVICE
    author: ServiceDocument = always(NO_SERVICE)
    judge: ServiceDocument = NO_SERVICE
    hosts: tuple[str, ...] = NO_ITEMS
    components: tuple[ComponentDocument, ...] = NO_ITEMS
    aggregation: AggregationDocument = NO_AGGREGATION
    published: Mapping[str, str | None] = NO_ENTRIES
    reasons: tuple[ReasonDocument, ...] = NO_ITEMS
    counts: Shares = NO_ENTRIES
    methodology: MethodologyDocument = MethodologyDocument()
    engine_version: str | None = None
    seed: int | None = None
    audit: str | None = None
    commitment: CommitmentDocument | None = NO_COMMITMENT
    calls: int | None = None
    evidence_digest: str | None = None
    visibility: str | None = None
    next_methodology: NextMethodologyDocument | None = None
    id: str | None = None
    rated_at: str | None = None
    expires_at: str | None = None
    requester: RequesterDocument = NO_REQUESTER
    rerated_from: SourceDocument | None = None
    masked: Json | None = None
    """For a public rating with masked small counts: the least count that it shows, and the unmasked rating's digest."""
    salt: str | None = None
    """Random text in the unmasked rating, so that nobody can confirm a guess of a masked count by the digest."""
    json: Json = NO_ENTRIES

    @property
    def reason_codes(self) -> tuple[str, ...]:
        """The codes of the reasons, in their order."""
        return tuple(reason.code for reason in self.reasons if reason.code)


# ---------------------------------------------------------------------------- writer
def as_json(value: object) -> Any:
    """Return a value as JSON: dataclasses as objects, tuples as lists."""
    if isinstance(value, str | int | float | NoneType):
        return value
    if isinstance(value, Mapping):
        return {name: as_json(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    json_object: dict[str, Any] = {}
    for name, key, default, is_always_written in _written_fields(cast("Any", type(value))):
        entry = getattr(value, name)
        if entry is not default:
            json_object[key] = as_json(entry)
        elif is_always_written:
            json_object[key] = default if isinstance(default, bool) else None  # null stands for any empty default
    return json_object


@cache
def _written_fields(document_type: Any) -> Sequence[tuple[str, str, Any, bool]]:
    """List the name, the key and the default of each field that is written, and whether it is always written."""
    return [
        (entry.name, entry.name.removesuffix("_"), entry.default, bool(entry.metadata.get("always")))
        for entry in fields(document_type)
        if entry.name != JSON_FIELD
    ]


# ---------------------------------------------------------------------------- reader
def read_rating(
    document: Json,
    component: type[ComponentDocument] = ComponentDocument,
    text: Text = str,
    aggregation: type[AggregationDocument] = AggregationDocument,
) -> RatingDocument:
    """Read a rating document with `text` applied to its strings; components and aggregation get the given classes."""
    rating = read_json(RatingDocument, {**document, "components": (), "aggregation": {}}, text)
    return replace(
        rating,
        components=read_json(tuple[component, ...], document.get("components"), text),  # type: ignore[valid-type]
        aggregation=read_json(aggregation, document.get("aggregation"), text),
        # `read_json` takes null for absent, but an absent commitment is `NO_COMMITMENT`, and null is ``None``
        commitment=None if document.get("commitment", "") is None else rating.commitment,
        json=document,
    )


def read_json(kind: type[D], value: object, text: Text = str) -> D:
    """Read JSON as a `kind`, a dataclass or a tuple of them; fields absent or of another type have their default.

    Ratings of earlier versions lack fields, and documents also come from files. So a value of another type, NaN and
    infinity count as absent, as do such elements of a list or an object. All strings are passed through `text`.
    """
    result = _make_reader(cast("Any", kind), text)(value)
    if result is _ABSENT:
        result = NO_ITEMS if get_origin(kind) is tuple else kind()
    return cast("D", result)


@cache
def _make_reader(value_type: Any, text: Text) -> Reader:
    """Return a function that reads values of a type, converts texts with `text`, and returns `_ABSENT` for others."""
    origin, arguments = get_origin(value_type), get_args(value_type)
    if origin is UnionType:
        return _union_reader([member for member in arguments if member is not NoneType], text)
    if origin is tuple:
        return _list_reader(_entry_reader(arguments[0], text), None if arguments[1] is Ellipsis else len(arguments))
    if origin is Mapping:
        return _mapping_reader(arguments[1], text)
    if is_dataclass(value_type):
        return _object_reader(value_type, text)
    if value_type in _SCALAR_READERS:
        return _SCALAR_READERS[value_type](text)
    members = {str(member): member for member in value_type}  # the other types are enumerations
    return lambda value: members.get(value, _ABSENT) if isinstance(value, str) else _ABSENT


_SCALAR_READERS: Mapping[Any, Callable[[Text], Reader]] = {
    str: lambda text: lambda value: text(value) if isinstance(value, str) else _ABSENT,
    Any: lambda _: lambda value: value,
    bool: lambda _: lambda value: value if isinstance(value, bool) else _ABSENT,
    int: lambda _: lambda value: int(value) if _is_finite(value) else _ABSENT,
    float: lambda _: lambda value: value if _is_finite(value) else _ABSENT,
}
"""For each scalar type, a function that makes its reader from a `Text` function."""


def _union_reader(member_types: Sequence[Any], text: Text) -> Reader:
    """Return a reader of the types; if `str` is one, of texts only ("" as ``None``, unless `text` is `str`)."""
    if str in member_types:
        empty_value = "" if text is str else None
        return lambda value: (text(value) or empty_value) if isinstance(value, str) else _ABSENT
    readers = [_make_reader(member_type, text) for member_type in member_types]
    if len(readers) == 1:
        return readers[0]
    # the result of the first reader that accepts the value
    return lambda value: next((result for read in readers if (result := read(value)) is not _ABSENT), _ABSENT)


def _is_finite(value: object) -> bool:
    """Return whether a value is a finite number; a truth value is not a number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _entry_reader(entry_type: object, text: Text) -> Reader:
    """Return a reader of the entries of a list or an object; ``None`` stays ``None`` if `entry_type` includes it."""
    read = _make_reader(entry_type, text)
    return (lambda value: None if value is None else read(value)) if NoneType in get_args(entry_type) else read


def _list_reader(read: Reader, size: int | None) -> Reader:
    """Return a reader of lists that skips unreadable items; with `size`, of lists of this length without such items."""

    def read_list(value: object) -> Any:
        if not isinstance(value, list | tuple):
            return _ABSENT
        items = tuple(item for element in value if (item := read(element)) is not _ABSENT)
        return items if size is None or size == len(items) == len(value) else _ABSENT

    return read_list


def _mapping_reader(value_type: object, text: Text) -> Reader:
    """Return a reader of objects with arbitrary keys and values of the type `value_type`."""
    if value_type is Any:
        return lambda value: value if isinstance(value, Mapping) else _ABSENT
    read = _entry_reader(value_type, text)

    def read_mapping(value: object) -> Any:
        if not isinstance(value, Mapping):
            return _ABSENT
        entries = ((name, read(element)) for name, element in value.items())
        return {text(str(name)): entry for name, entry in entries if entry is not _ABSENT}

    return read_mapping


def _object_reader(cls: Any, text: Text) -> Reader:
    """Return a reader of objects as a dataclass; ``null`` counts as absent, and no required field may be absent."""
    hints = get_type_hints(cls)
    readers = [(name, name.removesuffix("_"), _make_reader(hints[name], text)) for name in hints if name != JSON_FIELD]
    required = [item.name for item in fields(cls) if item.default is MISSING and item.default_factory is MISSING]
    keeps_json = JSON_FIELD in hints

    def read_object(value: Any) -> Any:
        if not isinstance(value, (dict, Mapping)):  # `dict` first: an abstract class takes five times as long to check
            return _ABSENT
        arguments: dict[str, Any] = {JSON_FIELD: value} if keeps_json else {}
        for name, key, read in readers:
            json_value = value.get(key)
            if json_value is not None and (parsed := read(json_value)) is not _ABSENT:
                arguments[name] = parsed
        for name in required:
            if name not in arguments and NoneType not in get_args(hints[name]):
                return _ABSENT
            arguments.setdefault(name, None)  # a required field that may be `None` is `None` if absent
        return cls(**arguments)

    return read_object
