"""Form fields from JSON Schema: settings of a protocol, and the specification of a method.

Each field is written as text (a Boolean as ``true`` or ``false``), and read again as JSON. A value that
fits no form field, such as a list of objects, is left out: it comes from a specification, a corpus or an upload.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from service.http.json import read_json
from service.http.problems import Problem

Schema = Mapping[str, Any]
NOTHING = object()
"""No value: the field is left out of the request."""


@dataclass(frozen=True)
class Field:
    """A field of a form.

    Attributes
    ----------
    name : str
        Name of the input: its path in the document, joined by dots.
    form : str
        ``text``, ``long``, ``number``, ``integer``, ``boolean``, ``choice``, ``lines`` (a list), ``pairs`` (texts by
        name), ``lists`` (lists by name), ``shares`` (a list of numbers by name), ``json``, ``part`` (an object that can
        be left out) or ``variant`` (a word or one of several objects).
    default : object
        Value if nothing is written.
    parts : tuple of Field
        Fields of a part, or of all variants.
    """

    name: str
    form: str
    title: str
    description: str = ""
    default: Any = None
    required: bool = False
    nullable: bool = False
    group: str = ""
    options: tuple[tuple[str, str], ...] = ()
    least: float | None = None
    most: float | None = None
    parts: tuple[Field, ...] = ()

    @property
    def key(self) -> str:
        """Name of the field in its document."""
        return self.name.rpartition(".")[2]

    @property
    def folded(self) -> bool:
        """Whether the input has several lines."""
        return self.form in {"long", "lines", "pairs", "lists", "shares", "json"}


def fields_of(schema: Schema, prefix: str, *, as_json: bool = False) -> list[Field]:
    """Return the form fields of an object's schema.

    Parameters
    ----------
    prefix : str
        Prefix of the fields' names, such as ``settings``.
    as_json : bool
        Whether fields that no other input fits are written as JSON; otherwise they are left out.
    """
    required = schema.get("required", ())
    found = (
        _field(f"{prefix}.{name}", one, schema.get("$defs", {}), name in required, as_json=as_json)
        for name, one in schema.get("properties", {}).items()
    )
    return [one for one in found if one is not None]


def _field(name: str, schema: Schema, defs: Schema, required: bool, *, as_json: bool) -> Field | None:
    kinds = [_resolved(one, defs) for one in schema.get("anyOf", [schema])]
    nullable = any(one.get("type") == "null" for one in kinds)
    kinds = [one for one in kinds if one.get("type") != "null"]
    own = _resolved(schema, defs)
    about = {
        "title": _title(own, name),
        "description": " ".join(str(own.get("description", "")).split("Parameters\n")[0].replace("`", "").split()),
        "default": own.get("default"),
        "required": required and "default" not in own,
        "nullable": nullable,
        "group": own.get("x-group", ""),
    }
    if not kinds:
        return None
    one = kinds[0] if len(kinds) == 1 else {}
    form, more = _form(name, one, defs, as_json=as_json)
    if len(kinds) > 1 and {each.get("type") for each in kinds} == {"string", "array"}:
        form = "lines"
    if not form and as_json:
        form = "json"
    if form == "part" and not nullable:
        form = "json" if as_json else ""
    return Field(name, form, **{**about, **more}) if form else None


def _form(name: str, one: Schema, defs: Schema, *, as_json: bool) -> tuple[str, dict[str, Any]]:
    """Return the form for a value's schema and its special properties; an empty form if there is none."""
    if "oneOf" in one:
        return "variant", _variants(name, one["oneOf"], defs)
    if "enum" in one:
        return "choice", {"options": tuple((str(each), str(each).replace("-", " ")) for each in one["enum"])}
    match one.get("type"):
        case "string":
            return "long" if one.get("maxLength", 0) >= 1000 else "text", {}
        case "integer" | "number" as kind:
            low, high = one.get("minimum", one.get("exclusiveMinimum")), one.get("maximum", one.get("exclusiveMaximum"))
            return kind, {"least": low, "most": high}
        case "boolean":
            return "boolean", {}
        case "array":
            return _list_form(_resolved(one.get("items", {}), defs), one), {}
        case "object" if "properties" in one:
            parts = fields_of({**one, "$defs": defs}, name, as_json=as_json)
            return "part", {"parts": tuple(parts)} if parts else {}
        case "object":
            return _mapping_form(one.get("additionalProperties")), {}
    return "", {}


def _list_form(items: Schema, one: Schema) -> str:
    if "prefixItems" in one:
        return ""
    plain = {"string", "integer", "number", "boolean", "null"}
    if items.get("type") in plain or {each.get("type") for each in items.get("anyOf", ())} == plain:
        return "lines"
    inner = items.get("additionalProperties")
    return "shares" if isinstance(inner, Mapping) and inner.get("type") == "number" else ""


def _mapping_form(values: Any) -> str:
    kind = values.get("type") if isinstance(values, Mapping) else None
    return {"string": "pairs", "array": "lists"}.get(str(kind), "")


def _variants(name: str, kinds: Sequence[Schema], defs: Schema) -> dict[str, Any]:
    """Return the options of a variant (all its words), and a part for each of its objects."""
    options: list[tuple[str, str]] = []
    parts: list[Field] = []
    for kind in (_resolved(each, defs) for outer in kinds for each in outer.get("anyOf", [outer])):
        words = kind.get("enum")
        if words is None:
            tag = kind["properties"]["type"]
            words = tag.get("enum") or [tag["const"]]
            within = {key: each for key, each in kind["properties"].items() if key != "type"}
            inner = fields_of({**kind, "properties": within, "$defs": defs}, f"{name}.{words[0]}")
            own = tuple((word, word) for word in words)
            about = str(kind.get("description", "")).replace("`", "")
            parts.append(Field(inner[0].name.rpartition(".")[0], "part", about, options=own, parts=tuple(inner)))
        options += [(word, word.replace("-", " ")) for word in words]
    return {"options": tuple(dict(options).items()), "parts": tuple(parts)}


def _object_of(field: Field, word: str) -> Field | None:
    """Return the part of a variant that a word selects; ``None`` if the word is the whole value."""
    return next((part for part in field.parts if word in dict(part.options)), None)


def _resolved(schema: Schema, defs: Schema) -> Schema:
    reference = schema.get("$ref")
    return {**defs[reference.rpartition("/")[2]], **schema} if reference else schema


def _title(schema: Schema, name: str) -> str:
    """Return the title from the API's catalog, or else one made from the name, as generated titles are."""
    if "x-group" in schema:
        return str(schema["title"])
    return name.rpartition(".")[2].replace("_", " ").capitalize()


# ---------------------------------------------------------------------------- JSON to text and back
def written(field: Field, value: Any) -> dict[str, str]:
    """Return the texts of the inputs that represent a value, by the names of the inputs."""
    if field.form == "part":
        given = value or {}
        inner = (written(part, given[part.key]) for part in field.parts if part.key in given)
        return {name: text for each in inner for name, text in each.items()}
    if field.form == "variant" and isinstance(value, Mapping):
        part = _object_of(field, value["type"])
        return {field.name: value["type"]} | ({} if part is None else written(part, value))
    return {field.name: _text(field.form, value)}


def _text(form: str, value: Any) -> str:
    if value is None:
        return ""
    match form:
        case "lines" | "languages":
            return "\n".join(map(str, [value] if isinstance(value, str) else value))
        case "pairs":
            return "\n".join(f"{name}: {one}" for name, one in value.items())
        case "lists":
            return "\n".join(f"{name}: {', '.join(map(str, some))}" for name, some in value.items())
        case "shares":
            return "\n".join(", ".join(f"{name} {share:g}" for name, share in one.items()) for one in value)
        case "json":
            return json.dumps(value, ensure_ascii=False, indent=1)
        case "boolean":
            return "true" if value else "false"
    return str(value)


LONGEST_NUMBER = 15

LONGEST_JSON = 1 << 16
"""Maximum length in characters of JSON in a field, which is parsed at each step of the wizard."""


class Unreadable(ValueError):
    """Invalid text for a field; the message describes the expected form."""


def read(field: Field, answers: Mapping[str, str]) -> Any:
    """Return the JSON value of a field, or `NOTHING` if it is left at its default.

    Raises
    ------
    Unreadable
        If the text does not have the field's form.
    """
    if field.form == "part":
        within = dict(_read_all(field.parts, answers))
        return within or NOTHING
    text = answers.get(field.name)
    if text is None or text == _text(field.form, field.default):
        return NOTHING
    part = _object_of(field, text) if field.form == "variant" else None
    if part is not None and (within := dict(_read_all(part.parts, answers))):
        return {"type": text, **within}
    if text.strip():
        return _parsed(field, text)
    if field.nullable:
        return None
    return NOTHING if field.form in {"number", "integer", "choice", "variant", "json"} else _parsed(field, "")


def read_all(fields: Sequence[Field], answers: Mapping[str, str]) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """Return the values of valid fields by key, and an error with a JSON pointer for each of the others."""
    values: dict[str, Any] = {}
    wrong: list[dict[str, str]] = []
    for field in fields:
        try:
            value = read(field, answers)
        except Unreadable as unreadable:
            wrong.append({"pointer": "/" + field.name.replace(".", "/"), "detail": str(unreadable)})
            continue
        if value is not NOTHING:
            values[field.key] = value
    return values, wrong


def _read_all(fields: Sequence[Field], answers: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    for field in fields:
        value = read(field, answers)
        if value is not NOTHING:
            yield field.key, value


def _parsed(field: Field, text: str) -> Any:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    try:
        match field.form:
            case "integer":
                return _integer(text.strip())
            case "number":
                return float(text.strip())
            case "boolean":
                return text == "true"
            case "lines" | "languages":
                return lines
            case "pairs":
                return dict(map(_named, lines))
            case "lists":
                return {
                    name: [word.strip() for word in some.split(",") if word.strip()]
                    for name, some in map(_named, lines)
                }
            case "shares":
                return [dict(_share(part) for part in line.split(",")) for line in lines]
            case "json":
                return _json(text)
    except ValueError:
        raise Unreadable(WRITTEN[field.form]) from None
    return text


def _integer(text: str) -> int:
    if len(text) > LONGEST_NUMBER:
        raise ValueError(text)
    return int(text)


def _json(text: str) -> Any:
    if len(text) > LONGEST_JSON:
        raise ValueError(len(text))
    try:
        return read_json(text.encode())
    except Problem as problem:
        raise ValueError(problem.detail) from None


def _named(line: str) -> tuple[str, str]:
    name, colon, rest = line.partition(":")
    if not colon:
        raise ValueError(line)
    return name.strip(), rest.strip()


def _share(part: str) -> tuple[str, float]:
    name, _, share = part.strip().rpartition(" ")
    return name.strip(), float(share)


WRITTEN = {
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
    found = answers.get(field.name)
    return _text(field.form, field.default) if found is None else found
