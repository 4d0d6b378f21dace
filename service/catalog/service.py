"""Titles, descriptions and groups of the fields of an experiment, for forms that are built from its JSON Schema."""

import inspect
import re
import tomllib
from importlib.resources import files
from typing import Any

from assay.document import Json, JsonObject

_TEXTS: Json = tomllib.loads(files(__package__).joinpath("field_texts.toml").read_text("utf-8"))

_PARAMETERS = re.compile(r"^Parameters\n-+\n(.*?)(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
"""Pattern of the section ``Parameters`` of a docstring, which describes the fields, up to an empty line."""
_FIELD = re.compile(r"^(?=\S)([\w, ]+?)(?: : .*)?\n((?: {4}.*\n?)+)", re.MULTILINE)
"""Pattern of a line ``names : type``, and of the indented lines that describe the fields with these names."""


def with_descriptions(schema: JsonObject, method: object) -> JsonObject:
    """Return a schema whose fields, and those of nested schemas, have a title, a description and a group (``x-group``).

    `schema` is the JSON Schema of the class `method`, whose docstring describes the fields.
    """
    schema_with_texts = _add_texts(schema, inspect.getdoc(method) or "")
    if nested_schemas := schema.get("$defs"):
        # pydantic makes the docstring of a nested dataclass the description of its schema
        defs = {name: _add_texts(nested, str(nested.get("description", ""))) for name, nested in nested_schemas.items()}
        schema_with_texts["$defs"] = defs
    return schema_with_texts


def _add_texts(schema: dict[str, Any], docstring: str) -> dict[str, Any]:
    descriptions = descriptions_in(docstring)
    # pydantic's own titles are replaced
    fields = {
        name: {"x-group": _group_of_field(name), **field, "title": title_of(name)}
        | ({"description": descriptions[name]} if name in descriptions else {})
        for name, field in schema.get("properties", {}).items()
    }
    return {**schema, "properties": fields}


def title_of(name: str) -> str:
    """Return the title of a field: a text of ``field_texts.toml``, or else its name in words."""
    return _TEXTS["titles"].get(name) or name.replace("_", " ").capitalize()


def descriptions_in(docstring: str) -> dict[str, str]:
    """Return the descriptions of the parameters in a docstring (numpydoc), by name."""
    section = _PARAMETERS.search(docstring)
    descriptions: dict[str, str] = {}
    for names, lines in _FIELD.findall(section[1] if section else ""):
        descriptions |= dict.fromkeys(names.split(", "), " ".join(lines.split()))
    return descriptions


def _group_of_field(name: str) -> str:
    """Return the group of a form field; a field in no group of ``field_texts.toml`` belongs to ``material``."""
    return next((group for group, names in _TEXTS["groups"].items() if name in names), "material")
