"""Types of Python for the schemas of an OpenAPI document: one `TypedDict` for each object.

A `TypedDict` is the JSON itself with its shape declared: nothing is converted, nothing is lost, and what
a later version of the service adds is there.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]

SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
PREFIX = "#/components/schemas/"
WIDTH = 104


class Documents:
    """The schemas of a document, and what Python calls them.

    Parameters
    ----------
    schemas : mapping
        ``components.schemas`` of the document.
    """

    def __init__(self, schemas: Mapping[str, Schema]) -> None:
        self._schemas = schemas
        spelt = {name: _spelt(name) for name in schemas}
        plain = {name: written.removesuffix("View") for name, written in spelt.items()}
        shared = [one for one in plain.values() if list(plain.values()).count(one) > 1]
        self._names = {name: spelt[name] if plain[name] in shared else plain[name] for name in schemas}
        if len(set(self._names.values())) < len(schemas):
            raise ValueError("two schemas would have one name in Python; rename one of them")
        self._unions: dict[str, str] = {}

    @property
    def names(self) -> list[str]:
        """Names in the module that is made: of every object, and of every choice among objects met so far."""
        return sorted([*self._names.values(), *self._unions])

    def type_of(self, schema: Schema, union: str | None = None) -> str:
        """Write the type of a schema; `union` names it where it is one of several objects."""
        if "$ref" in schema:
            return self._names[schema["$ref"].removeprefix(PREFIX)]
        if "const" in schema:
            return f"Literal[{schema['const']!r}]"
        if "enum" in schema:
            return f"Literal[{', '.join(map(repr, schema['enum']))}]"
        for several in ("anyOf", "oneOf"):
            if several in schema:
                return self._union([self.type_of(one) for one in schema[several]], union)
        kind = schema.get("type")
        if kind == "array":
            return self._array(schema)
        if kind == "object":
            inner = schema.get("additionalProperties")
            return f"dict[str, {self.type_of(inner) if isinstance(inner, Mapping) else 'Any'}]"
        return SCALARS.get(kind or "", "Any")

    def item_of(self, schema: Schema) -> str:
        """Write the type of what the items of a list are."""
        return self.type_of(self._resolved(schema)["properties"]["items"]["items"])

    def module(self) -> Iterator[str]:
        """Write a class for each object and an alias for everything else."""
        classes = [part for name in sorted(self._schemas, key=self._names.__getitem__) for part in self._class(name)]
        yield from classes
        for name, written in sorted(self._unions.items()):
            yield f"{name}: TypeAlias = {written}\n"

    def _class(self, name: str) -> Iterator[str]:
        schema, python = self._schemas[name], self._names[name]
        if "properties" not in schema:
            yield f"{python}: TypeAlias = {self.type_of(schema)}\n"
            return
        yield f"class {python}(TypedDict):\n"
        yield f'    """{first_sentence(schema.get("description", ""), "As the API has it.")}"""\n'
        required = set(schema.get("required", ()))
        for field, value in schema["properties"].items():
            written = self.type_of(value, python + "".join(part.title() for part in field.split("_")))
            yield from _comment(value.get("description", ""))
            yield f"    {field}: {written if field in required else f'NotRequired[{written}]'}\n"
        yield "\n\n"

    def _union(self, types: list[str], name: str | None) -> str:
        constants = [one.removeprefix("Literal[").removesuffix("]") for one in types if one.startswith("Literal[")]
        others = [one for one in types if not one.startswith("Literal[")]
        written = " | ".join(dict.fromkeys([*([f"Literal[{', '.join(constants)}]"] if constants else []), *others]))
        if name is None or "None" in types or not all(one in self._names.values() for one in types):
            return written
        self._unions[name] = written
        return name

    def _array(self, schema: Schema) -> str:
        if "prefixItems" in schema:
            # JSON has lists, not tuples: what is read is a list
            return f"list[{' | '.join(dict.fromkeys(self.type_of(one) for one in schema['prefixItems']))}]"
        return f"list[{self.type_of(schema.get('items', {}))}]"

    def _resolved(self, schema: Schema) -> Schema:
        return self._schemas[schema["$ref"].removeprefix(PREFIX)] if "$ref" in schema else schema


def _spelt(name: str) -> str:
    """Spell a name that FastAPI made of a module's: ``service__schemas__log__EntryView`` is ``LogEntryView``."""
    *modules, last = name.split("__")
    return (modules[-1].title() if modules else "") + re.sub(r"\W", "", last)


def first_sentence(text: str, otherwise: str) -> str:
    """Take the first sentence of a description, as long as a line may be; `otherwise` where there is none."""
    said = " ".join(text.partition("\n\n")[0].split()).replace("\\", "").replace('"', "'")
    sentence = re.split(r"(?<=[.!?]) (?=[A-Z])", said)[0] or otherwise
    return textwrap.shorten(
        sentence if sentence.endswith((".", "!", "?")) else f"{sentence}.", WIDTH, placeholder=" …."
    )


def _comment(text: str) -> Iterator[str]:
    for line in textwrap.wrap(" ".join(text.split()), WIDTH):
        yield f"    # {line}\n"
