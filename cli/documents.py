"""Parsers of untrusted JSON, YAML and TOML, with limits on size, nesting depth and expansion of aliases."""

import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import yaml

from assay.document import Json, JsonObject
from assay.errors import SpecificationError

MOST_BYTES = 4 << 20
"""Maximum size of a document in bytes."""

MOST_VALUES = 200_000
"""Maximum number of values of a YAML document after its aliases are replaced by what they name."""

MOST_CHARACTERS = 2 * MOST_BYTES
"""Maximum number of characters of the values of a YAML document after its aliases are replaced."""

MOST_DEPTH = 64
"""Maximum nesting of lists and objects."""

_LONG_KEY = re.compile(rf"""(?<![\w"'-])(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){{{MOST_DEPTH}}}""")
"""Pattern of a dotted TOML key that nests too deep; tomllib's time grows with the square of a key's length."""


def read_text(file: Path, limit: int = MOST_BYTES) -> str:
    """Read a file as UTF-8; raise `SpecificationError` if it cannot be read or has more than `limit` bytes."""
    try:
        with file.open("rb") as content:
            raw = content.read(limit + 1)  # a byte more shows that the file is too large
    except OSError as error:
        raise SpecificationError(f"{file} cannot be read: {error.strerror}") from None
    if len(raw) > limit:
        raise SpecificationError(f"{file} has more than {limit:,} bytes; leave out what is not needed")
    try:
        return raw.decode("utf-8-sig")  # without a byte order mark
    except UnicodeDecodeError as error:
        raise SpecificationError(f"{file} is not UTF-8 text (byte {error.start})") from None


def read_document(file: Path) -> Any:
    """Read a JSON file, or a YAML file if its name ends with ``.yaml`` or ``.yml``."""
    parse = parse_yaml if file.suffix.lower() in {".yaml", ".yml"} else parse_json
    return parse(read_text(file), str(file))


def parse_json(text: str, name: str) -> Any:
    """Parse JSON; `name` is the document's name in errors."""
    with _explained(name, "JSON"):
        return _plain_json(json.loads(text, parse_constant=_refuse_constant), name)


def parse_toml(text: str, name: str) -> JsonObject:
    """Parse TOML; `name` is the document's name in errors."""
    if _LONG_KEY.search(text):  # each dot of a key nests a table in another
        raise _too_deep(name)
    with _explained(name, "TOML"):
        return dict(_plain_json(tomllib.loads(text), name))


def parse_yaml(text: str, name: str) -> Any:
    """Parse YAML with the types of JSON; `name` is the document's name in errors.

    Aliases are counted in expanded form, so that nine lines cannot expand to a billion values.
    """
    with _explained(name, "YAML"):
        expanded_size = _ExpandedSize(name)
        for event in yaml.parse(text, Loader=_Loader):
            expanded_size.count_event(event)
        return _plain_json(yaml.load(text, Loader=_Loader), name)  # noqa: S506 - a safe loader with fewer types


@contextmanager
def _explained(name: str, language: str) -> Iterator[None]:
    """Turn a parser's errors within the block into a `SpecificationError` that names the document and its language."""
    try:
        yield
    except SpecificationError:  # a `ValueError` too, but with its own message
        raise
    except json.JSONDecodeError as error:
        raise SpecificationError(f"{name} is not {language}: {error.msg} in line {error.lineno}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise SpecificationError(f"{name} is not {language}{f' (line {mark.line + 1})' if mark else ''}") from None
    except RecursionError:
        raise _too_deep(name) from None
    except ValueError as error:  # also a number of more than 4,300 digits, NaN
        raise SpecificationError(f"{name} is not {language}: {error}") from None


def member(value: object, where: str) -> Json:
    """Return `value` if it is an object, ``{}`` for ``None``; otherwise raise `SpecificationError` about `where`."""
    if value is not None and not isinstance(value, Mapping):
        raise SpecificationError(f"{where} must be an object, not {_kind_in_words(value)}")
    return value or {}


def members(value: object, where: str) -> list[Json]:
    """Return a list of objects, ``[]`` for ``None``; for other values raise `SpecificationError` about `where`."""
    if value is not None and not isinstance(value, list):
        raise SpecificationError(f"{where} must be a list, not {_kind_in_words(value)}")
    return [member(entry, f"{where}, entry {number}") for number, entry in enumerate(value or (), start=1)]


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # the type of the result
    """Loader of YAML 1.2's JSON types: dates, sets and binary data do not exist, and "no" is a text."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}


for _tag, _pattern, _first_characters in (
    ("null", r"~|null|Null|NULL|", ("~", "n", "N", "")),
    ("bool", r"true|True|TRUE|false|False|FALSE", tuple("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9]{0,17})", tuple("-+0123456789")),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?", tuple("-+.0123456789")),
    ("merge", r"<<", ("<",)),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern})\\Z"), _first_characters)


@dataclass
class _ExpandedSize:
    """Size of a YAML document after its aliases are replaced, counted by its events before anything is built."""

    name: str
    values: int = 0
    characters: int = 0
    anchor_sizes: dict[str, tuple[int, int] | None] = field(default_factory=dict)
    """Values and characters by anchor; None while the anchor's value has not ended, so that an alias is a cycle."""
    open_collections: list[tuple[str | None, int, int]] = field(default_factory=list)
    """Anchor of each collection that has not ended, and the counts of values and characters before it."""

    def count_event(self, event: Any) -> None:
        """Count a parser event; refuse tags, deep nesting, a value that contains itself by an alias, and large size."""
        if getattr(event, "tag", None) not in {None, "!", "tag:yaml.org,2002:str"}:  # these tags change no type
            raise SpecificationError(f"{self.name} contains the tag {event.tag[:50]}; remove all tags")
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, values_before, characters_before = self.open_collections.pop()
            self._store_anchor(anchor, self.values - values_before, self.characters - characters_before)
        elif isinstance(event, yaml.NodeEvent):
            self._count_node(event)
        if self.values > MOST_VALUES or self.characters > MOST_CHARACTERS:
            limits = f"{MOST_VALUES:,} values or {MOST_CHARACTERS:,} characters"
            raise SpecificationError(f"{self.name} has more than {limits} when its aliases are replaced")

    def _count_node(self, event: Any) -> None:
        """Count a value, or all values of an alias; note where a collection begins."""
        values, characters = 1, len(getattr(event, "value", ""))
        if isinstance(event, yaml.AliasEvent):
            size = self.anchor_sizes.get(str(event.anchor), (0, 0))  # an unknown anchor is refused when it is loaded
            if size is None:  # the alias is within its own anchor's collection
                raise SpecificationError(f"{self.name} refers to itself by *{str(event.anchor)[:50]}")
            values, characters = size
        elif isinstance(event, yaml.CollectionStartEvent):
            self.open_collections.append((event.anchor, self.values, self.characters))
            if event.anchor:
                self.anchor_sizes[event.anchor] = None  # until the collection ends
            if len(self.open_collections) > MOST_DEPTH:
                raise _too_deep(self.name)
        else:
            self._store_anchor(event.anchor, values, characters)
        self.values += values
        self.characters += characters

    def _store_anchor(self, anchor: str | None, values: int, characters: int) -> None:
        if anchor:
            self.anchor_sizes[anchor] = (values, characters)


def _plain_json(value: object, name: str, depth: int = 0) -> Any:
    """Return a value with text keys, as in JSON; refuse deep nesting, dates, and numbers that JSON cannot express."""
    if depth > MOST_DEPTH:
        raise _too_deep(name)
    if isinstance(value, dict):
        return {str(key): _plain_json(member_value, name, depth + 1) for key, member_value in value.items()}
    if isinstance(value, list):
        return [_plain_json(member_value, name, depth + 1) for member_value in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise SpecificationError(f"{name} contains an infinite number or NaN")
    if not isinstance(value, str | int | float | None):
        raise SpecificationError(f"{name} contains a date or time; write it as a text, in quotes")
    return value


def _too_deep(name: str) -> SpecificationError:
    return SpecificationError(f"{name} is nested deeper than {MOST_DEPTH} levels")


def _kind_in_words(value: object) -> str:
    return {str: "a text", list: "a list", dict: "an object", bool: "true or false"}.get(type(value), "a number")


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number")
