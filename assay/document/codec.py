"""Reading and writing of dataclasses as JSON; the rating document is the only user.

A field is the key of the same name; an underscore at its end (``from_``) is not part of the key. A field that has its
default is not written; if it is declared with `always`, it is written as ``null``. An empty list is no default, but
`NO_ITEMS` is one, so that a document tells whether it was empty or absent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

Json = Mapping[str, Any]
"""An object of JSON."""

Shares = Mapping[str, float]
"""Numbers by name, such as counts or probabilities by attribute value."""

Text = Callable[[str], str]
"""Function that every text of a document passes through, such as `reports.plain.visible`."""

D = TypeVar("D")
Reader = Callable[[Any], Any]

NOT_STORED = "json"
"""Name of the field that holds an object as it was read; it is not written."""


class _NoItems(tuple[Any, ...]):
    """A list that a document lacks."""

    __slots__ = ()


class _NoEntries(dict[str, Any]):
    """An object that a document lacks."""

    __hash__ = object.__hash__  # type: ignore[assignment]


NO_ITEMS: tuple[Any, ...] = _NoItems()
NO_ENTRIES: Json = _NoEntries()

_ABSENT: Any = object()
"""Result of reading a value of another type."""


def always(default: D) -> D:
    """Declare a field that is written even if it has its default: as ``null``, or as a truth value."""
    declared: D = field(default=default, metadata={"always": True})
    return declared


# ---------------------------------------------------------------------------- writer
def as_json(value: Any) -> Any:
    """Return a value as JSON: dataclasses as objects, tuples as lists."""
    if isinstance(value, str | int | float | NoneType):
        return value
    if isinstance(value, Mapping):
        return {name: as_json(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    written: dict[str, Any] = {}
    for name, key, default, in_any_case in _written(cast("Any", type(value))):
        entry = getattr(value, name)
        if entry is not default:
            written[key] = as_json(entry)
        elif in_any_case:
            written[key] = default if isinstance(default, bool) else None
    return written


@cache
def _written(kind: Any) -> Sequence[tuple[str, str, Any, bool]]:
    """List the name, the key and the default of each field that is written, and whether it is always written."""
    return [
        (entry.name, entry.name.removesuffix("_"), entry.default, bool(entry.metadata.get("always")))
        for entry in fields(kind)
        if entry.name != NOT_STORED
    ]


# ---------------------------------------------------------------------------- reader
def read_json(kind: type[D], value: Any, text: Text = str) -> D:
    """Read JSON as a dataclass or a list of them; fields that are absent or of another type have their default.

    Ratings of earlier versions lack fields, and documents also come from files. So a value of another type, NaN and
    infinity count as absent, as do such elements of a list or an object.
    """
    parsed = _reader(cast("Any", kind), text)(value)
    return cast("D", (NO_ITEMS if get_origin(kind) is tuple else kind()) if parsed is _ABSENT else parsed)


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
    readers = [(name, name.removesuffix("_"), _reader(types[name], text)) for name in types if name != NOT_STORED]
    stored = NOT_STORED in types

    def instance(value: Any) -> Any:
        if not isinstance(value, (dict, Mapping)):  # `dict` first: an abstract class takes five times as long to check
            return _ABSENT
        arguments = {NOT_STORED: value} if stored else {}
        for name, key, read in readers:
            raw = value.get(key)
            if raw is not None and (entry := read(raw)) is not _ABSENT:
                arguments[name] = entry
        return kind(**arguments)

    return instance
