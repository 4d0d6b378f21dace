"""Form fields from JSON Schema: settings of a protocol, and the specification of a method.

Each field is written as text (a Boolean as ``true`` or ``false``), and read again as JSON. A value that
fits no form field, such as a list of objects, is left out: it comes from a specification, a corpus or an upload.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from service.http.json import read_json
from service.http.problems import Problem
from web.frame.form import lines_of

Schema = Mapping[str, Any]
NOTHING = object()
"""No value: the field is left out of the request."""


@dataclass(frozen=True)
class Field:
    """A field of a form; `default` is its value if nothing is written."""

    name: str
    """Name of the input: its path in the document, joined by dots."""
    form: str
    """``text``, ``long``, ``texts`` (one or several long texts), ``number``, ``integer``, ``boolean``, ``choice``,
    ``lines`` (a list), ``pairs`` (texts by name), ``lists`` (lists by name), ``shares`` (a list of numbers by name),
    ``json``, ``part`` (an object that can be left out) or ``variant`` (a word or one of several objects).
    """
    title: str
    description: str = ""
    default: Any = None
    required: bool = False
    nullable: bool = False
    group: str = ""
    options: tuple[tuple[str, str], ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    parts: tuple[Self, ...] = ()
    """Fields of a part, or of all variants."""

    @property
    def key(self) -> str:
        """Name of the field in its document."""
        return self.name.rpartition(".")[2]

    @property
    def multiline(self) -> bool:
        """Whether the input has several lines."""
        return self.form in {"long", "texts", "lines", "pairs", "lists", "shares", "json"}


def fields_of(schema: Schema, prefix: str, *, as_json: bool = False) -> list[Field]:
    """Return the form fields of an object's schema; their names begin with `prefix`, such as ``settings``.

    Fields that fit no other kind of input are left out or, with `as_json`, written as JSON.
    """
    required_keys = schema.get("required", ())
    defs = schema.get("$defs", {})
    all_fields = (
        _field(f"{prefix}.{name}", property_schema, defs, required=name in required_keys, as_json=as_json)
        for name, property_schema in schema.get("properties", {}).items()
        if name != "held_back"  # filled in by the agency
    )
    return [field for field in all_fields if field is not None]


def settings_fields(schema: Schema, kind: str) -> list[Field]:
    """Return the form fields of a protocol's settings; `decision` is left out for kinds that decide nothing."""
    fields = fields_of(schema, "settings", as_json=True)
    return [field for field in fields if field.key != "decision" or kind in DECIDING]


DECIDING = frozenset({"classifier", "regressor"})
"""Kinds of services as which a language model with a decision prompt can be rated."""


_NULL = re.compile(r"\bNull\b(?=:| leaves)")
"""Word for no value at a description's beginning, such as "Null: …"; forms replace it by "Empty"."""


def _field(name: str, schema: Schema, defs: Schema, *, required: bool, as_json: bool) -> Field | None:
    """Return the form field for a property's schema; ``None`` if no kind of input fits the property."""
    alternatives = [_resolve(alternative, defs) for alternative in schema.get("anyOf", [schema])]
    nullable = any(alternative.get("type") == "null" for alternative in alternatives)
    alternatives = [alternative for alternative in alternatives if alternative.get("type") != "null"]
    if not alternatives:
        return None
    resolved = _resolve(schema, defs)
    description = str(resolved.get("description", "")).partition("Parameters\n")[0]  # of a docstring, only the text
    properties = {
        "title": _title(resolved, name),
        "description": _NULL.sub("Empty", " ".join(description.replace("`", "").split())),
        "default": resolved.get("default"),
        "required": required and "default" not in resolved,
        "nullable": nullable,
        "group": resolved.get("x-group", ""),
    }
    value_schema = alternatives[0] if len(alternatives) == 1 else {}
    form, details = _form_of_value(name, value_schema, defs, as_json=as_json)  # `form`: kind of input
    # a text or a list of texts
    if len(alternatives) > 1 and {alternative.get("type") for alternative in alternatives} == {"string", "array"}:
        form = "texts" if any(alternative.get("maxLength", 0) >= LONG for alternative in alternatives) else "lines"
    if not form and as_json:
        form = "json"
    if form == "part" and not nullable:  # an object that cannot be left out is no part
        form = "json" if as_json else ""
    return Field(name, form, **{**properties, **details}) if form else None


def _form_of_value(name: str, value_schema: Schema, defs: Schema, *, as_json: bool) -> tuple[str, dict[str, Any]]:
    """Return `Field.form` for a value's schema (empty if no form fits), and other arguments of `Field` by name."""
    if "oneOf" in value_schema:
        return "variant", _variant_parts(name, value_schema["oneOf"], defs)
    if "enum" in value_schema:
        words = map(str, value_schema["enum"])
        return "choice", {"options": tuple((word, word.replace("-", " ")) for word in words)}
    match value_schema.get("type"):
        case "string":
            return "long" if value_schema.get("maxLength", 0) >= LONG else "text", {}
        case "integer" | "number" as kind:
            bounds = {"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}
            return kind, {end: value_schema.get(end, value_schema.get(exclusive)) for end, exclusive in bounds.items()}
        case "boolean":
            return "boolean", {}
        case "array":
            return _list_form(_resolve(value_schema.get("items", {}), defs), value_schema), {}
        case "object" if "properties" in value_schema:
            parts = fields_of({**value_schema, "$defs": defs}, name, as_json=as_json)
            return "part", {"parts": tuple(parts)} if parts else {}
        case "object":
            return _mapping_form(value_schema.get("additionalProperties")), {}
    return "", {}


def _list_form(items: Schema, value_schema: Schema) -> str:
    """Return ``lines`` for a list of scalars, ``shares`` for a list of objects of numbers, otherwise an empty text."""
    if "prefixItems" in value_schema:  # each item has a meaning of its own
        return ""
    scalars = {"string", "integer", "number", "boolean", "null"}
    if items.get("type") in scalars or {item_schema.get("type") for item_schema in items.get("anyOf", ())} == scalars:
        return "lines"
    member_schema = items.get("additionalProperties")
    return "shares" if isinstance(member_schema, Mapping) and member_schema.get("type") == "number" else ""


def _mapping_form(values: Any) -> str:
    kind = values.get("type") if isinstance(values, Mapping) else None
    return {"string": "pairs", "array": "lists"}.get(str(kind), "")


def _variant_parts(name: str, one_of: Sequence[Schema], defs: Schema) -> dict[str, Any]:
    """Return `options` (words) and `parts` (a sub-form for each object) of a field that takes a word or an object."""
    options: list[tuple[str, str]] = []
    parts: list[Field] = []
    schemas = [schema for member in one_of for schema in member.get("anyOf", [member])]  # an anyOf has several
    for alternative in (_resolve(schema, defs) for schema in schemas):
        if (words := alternative.get("enum")) is None:  # an object, which its `type` selects
            tag = alternative["properties"]["type"]
            words = tag.get("enum") or [tag["const"]]
            properties = {key: value for key, value in alternative["properties"].items() if key != "type"}
            part_name = f"{name}.{words[0]}"
            fields = tuple(fields_of({**alternative, "properties": properties, "$defs": defs}, part_name))
            title = str(alternative.get("description", "")).replace("`", "")
            parts.append(Field(part_name, "part", title, options=tuple((word, word) for word in words), parts=fields))
        options += [(word, word.replace("-", " ")) for word in words]
    return {"options": tuple(dict(options).items()), "parts": tuple(parts)}  # each word once


def _selected_part(field: Field, word: str) -> Field | None:
    """Return the part of a variant that a word selects; ``None`` if the word is the whole value."""
    return next((part for part in field.parts if word in dict(part.options)), None)


def _resolve(schema: Schema, defs: Schema) -> Schema:
    reference = schema.get("$ref")
    return {**defs[reference.rpartition("/")[2]], **schema} if reference else schema


def _title(schema: Schema, name: str) -> str:
    """Return the title from the API's catalog; without a title there, make it from the last part of the name."""
    if "x-group" in schema:
        return str(schema["title"])
    return name.rpartition(".")[2].replace("_", " ").capitalize()


def texts_of_value(field: Field, value: Any) -> dict[str, str]:
    """Return the texts of the inputs that represent a value, by the names of the inputs."""
    if field.form == "part":
        return texts_of_values(field.parts, value or {})
    if field.form == "variant" and isinstance(value, Mapping):
        part = _selected_part(field, value["type"])
        return {field.name: value["type"]} | ({} if part is None else texts_of_value(part, value))
    return {field.name: _text(field.form, value)}


def texts_of_values(fields: Iterable[Field], values: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts of the inputs for `values` (by the fields' keys); a field without a value has no text."""
    texts: dict[str, str] = {}
    for field in fields:
        if field.key in values:
            texts |= texts_of_value(field, values[field.key])
    return texts


def _text(form: str, value: Any) -> str:
    """Return a value as the text of an input; `form` is its kind (see `Field.form`)."""
    if value is None:
        return ""
    match form:
        case "lines" | "languages" | "texts":
            separator = f"\n{RULE}\n" if form == "texts" else "\n"
            return separator.join(map(str, [value] if isinstance(value, str) else value))
        case "pairs":
            return "\n".join(f"{name}: {member_text}" for name, member_text in value.items())
        case "lists":
            return "\n".join(f"{name}: {', '.join(map(str, words))}" for name, words in value.items())
        case "shares":
            return "\n".join(", ".join(f"{name} {share}" for name, share in shares.items()) for shares in value)
        case "json":
            return json.dumps(value, ensure_ascii=False, indent=1)
        case "boolean":
            return "true" if value else "false"
    return str(value)


RULE = "---"
"""Line between several long texts."""

LONG = 1000
"""A text that may have at least this number of characters gets an input with several lines."""

LONGEST_NUMBER = 15
"""Maximum number of characters of an integer."""

LONGEST_JSON = 1 << 16
"""Maximum length in characters of JSON in a field, which is parsed at each step of the wizard."""


class Unreadable(ValueError):
    """Invalid text for a field; the message describes the expected form."""


def read(field: Field, answers: Mapping[str, str]) -> Any:
    """Return the JSON value of a field, `NOTHING` if it is left at its default; raise `Unreadable` for invalid text."""
    if field.form == "part":
        return dict(_nondefault_values(field.parts, answers)) or NOTHING
    text = answers.get(field.name)
    text = None if text is None else text.replace("\r\n", "\n")  # browsers send the line ends of RFC 7578
    if text is None or text == _text(field.form, field.default):
        return NOTHING
    # a word of a variant selects an object, whose values have inputs of their own
    part = _selected_part(field, text) if field.form == "variant" else None
    if part is not None and (values := dict(_nondefault_values(part.parts, answers))):
        return {"type": text, **values}
    if text.strip():
        return _parse_text(field, text)
    if field.nullable:
        return None
    # an empty text or list is a value, an empty number or choice is not
    return NOTHING if field.form in {"number", "integer", "choice", "variant", "json"} else _parse_text(field, text="")


def read_all(fields: Sequence[Field], answers: Mapping[str, str]) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """Return the values of valid fields by key, and an error with a JSON pointer for each of the others."""
    values: dict[str, Any] = {}
    errors: list[dict[str, str]] = []
    for field in fields:
        try:
            values |= _nondefault_values([field], answers)
        except Unreadable as unreadable:
            errors.append({"pointer": "/" + field.name.replace(".", "/"), "detail": str(unreadable)})
    return values, errors


def _nondefault_values(fields: Sequence[Field], answers: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Yield the key and value of each field that is not left at its default."""
    for field in fields:
        value = read(field, answers)
        if value is not NOTHING:
            yield field.key, value


def _parse_text(field: Field, text: str) -> Any:
    """Return the value that the text of an input stands for; raise `Unreadable` if it does not fit the field."""
    lines = lines_of(text)
    try:
        match field.form:
            case "integer":
                return _parse_integer(text.strip())
            case "number":
                return float(text.strip())
            case "boolean":
                return text == "true"
            case "lines" | "languages" | "texts":
                return _split_list(text) if field.form == "texts" else lines
            case "pairs":
                return dict(map(_split_name, lines))
            case "lists":
                return {
                    name: [word.strip() for word in words.split(",") if word.strip()]
                    for name, words in map(_split_name, lines)
                }
            case "shares":
                return [dict(_split_share(part) for part in line.split(",")) for line in lines]
            case "json":
                return _parse_json(text)
    except ValueError:
        raise Unreadable(EXPECTED_TEXTS[field.form]) from None
    return text  # a text or a choice


def _split_list(text: str) -> str | list[str]:
    """Return the texts between lines of ``---`` (`RULE`) as a list; a single text is returned as it is."""
    texts = [part.strip() for part in f"\n{text}\n".split(f"\n{RULE}\n") if part.strip()]
    return texts[0] if len(texts) == 1 else texts


def _parse_integer(text: str) -> int:
    if len(text) > LONGEST_NUMBER:
        raise ValueError(text)
    return int(text)


def _parse_json(text: str) -> Any:
    if len(text) > LONGEST_JSON:
        raise ValueError(len(text))
    try:
        return read_json(text.encode())
    except Problem as problem:
        raise ValueError(problem.detail) from None


def _split_name(line: str) -> tuple[str, str]:
    name, colon, text = line.partition(":")
    if not colon:
        raise ValueError(line)
    return name.strip(), text.strip()


def _split_share(part: str) -> tuple[str, float]:
    name, _, share = part.strip().rpartition(" ")
    return name.strip(), float(share)


EXPECTED_TEXTS = {
    "integer": "Write a whole number.",
    "number": "Write a number, such as 0.1.",
    "pairs": "Write each line as name: value.",
    "lists": "Write each line as name: word, word.",
    "shares": "Write each line as he 0.5, she 0.5.",
    "json": "This is not JSON.",
}
"""Description of the expected text, by form; also shown beside the input."""


def text_of(field: Field, answers: Mapping[str, str]) -> str:
    """Return the text that an input shows: the answer, or the default."""
    answer = answers.get(field.name)
    return _text(field.form, field.default) if answer is None else answer
