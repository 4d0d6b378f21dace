"""Generate the client's types and methods from ``openapi.json``, and the synchronous client from the asynchronous one.

hatchling runs this file whenever it builds or installs the client. `documents.py` gets a `TypedDict` for each schema,
`operations.py` a method for each operation, once for `Client` and once for `AsyncClient`; `client.py` is
`async_client.py` without ``await``. Run ``python clients/python/build_operations.py`` to write them without an
installation.
"""

import builtins
import json
import keyword
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

Schema = Mapping[str, Any]

SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
PREFIX = "#/components/schemas/"
LINE = 120
COMMENT = 104
HEADERS = {
    "idempotency-key": ("Idempotency-Key", "idempotency_key", "str", "{}"),
    "prefer": ("Prefer", "wait_s", "int", "wait({})"),
    "last-event-id": ("Last-Event-ID", "last_event_id", "str", "{}"),
    "if-match": ("If-Match", "if_match", "str", "{}"),
}
"""Request headers: their name, and the name, type and expression of the argument that sets them."""

READERS = {"str": "as_text", "bytes": "as_bytes", "None": "as_nothing", "Event": "as_nothing"}
FILES = frozenset({"application/jsonl", "text/csv", "image/png"})
GENERATED = "Generated from openapi.json by build_operations.py; do not edit."
SYNCHRONOUS = {
    "AsyncIterator, Awaitable, Callable": "Callable, Iterator",
    "Awaitable[None]": "None",
    "asyncio": "time",
    "tasks of one event loop": "threads",
    "asynchronous client, from which": "synchronous client;",
    "generates the synchronous one": "generates it from the asynchronous one",
    "An asynchronous": "A synchronous",
    "Async": "",
    "async ": "",
    "await ": "",
    "aclosing": "closing",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "aclose": "close",
    "aread": "read",
    "aiter_bytes": "iter_bytes",
}
"""Words of asynchronous code, and the synchronous ones that replace them; the first that matches does."""


# ----------------------------------------------------------------------------- types
class Schemas:
    """Python types for the schemas of an OpenAPI document: one `TypedDict` for each object.

    A `TypedDict` is the JSON itself with a declared shape: nothing is converted or lost, and fields that a
    later version of the service adds are there.

    Parameters
    ----------
    schemas : mapping
        ``components.schemas`` of the document.
    """

    def __init__(self, schemas: Mapping[str, Schema]) -> None:
        self._schemas = schemas
        names = {name: _python_name(name) for name in schemas}
        cut_names = {name: python.removesuffix("View") for name, python in names.items()}
        ambiguous = {short_name for short_name in cut_names.values() if list(cut_names.values()).count(short_name) > 1}
        self._names = {name: names[name] if cut_names[name] in ambiguous else cut_names[name] for name in schemas}
        if len(set(self._names.values())) < len(schemas):
            raise ValueError("two schemas would have the same name in Python; rename one of them")
        self._unions: dict[str, str] = {}

    def type_of(self, schema: Schema, union: str | None = None) -> str:
        """Return the Python type of a schema; a union of several objects is named `union`."""
        if "$ref" in schema:
            return self._names[schema["$ref"].removeprefix(PREFIX)]
        if "const" in schema:
            return f"Literal[{_literal(schema['const'])}]"
        if "enum" in schema:
            return f"Literal[{', '.join(map(_literal, schema['enum']))}]"
        for union_key in ("anyOf", "oneOf"):
            if union_key in schema:
                return self._union_type([self.type_of(option) for option in schema[union_key]], union)
        kind = schema.get("type", "")
        if kind == "array":
            # JSON has no tuples: `prefixItems` are read as a list too
            items = schema.get("prefixItems", [schema.get("items", {})])
            return f"list[{' | '.join(dict.fromkeys(map(self.type_of, items)))}]"
        if kind == "object":
            values = schema.get("additionalProperties")
            return f"dict[str, {self.type_of(values) if isinstance(values, Mapping) else 'Any'}]"
        return SCALARS.get(kind, "Any")

    def item_of(self, schema: Schema) -> str:
        """Return the Python type of the items of a page."""
        page = self._schemas[schema["$ref"].removeprefix(PREFIX)] if "$ref" in schema else schema
        return self.type_of(page["properties"]["items"]["items"])

    def module(self) -> str:
        """Return the source of `documents.py`."""
        head = (
            f'"""Types of the JSON in every request and answer.\n\n{GENERATED}\n"""\n\n'
            "from __future__ import annotations\n\n"
            "from typing import Any, Literal, NotRequired, TypeAlias, TypedDict\n"
        )
        # this also fills self._unions, which the next line reads
        classes = "".join(map(self._class_source, sorted(self._schemas, key=self._names.__getitem__)))
        unions = "".join(f"\n{name}: TypeAlias = {types}\n" for name, types in sorted(self._unions.items()))
        return head + classes + self._options_source("RatingRequest", ("target", "experiment")) + unions

    def used_in(self, source: str) -> list[str]:
        """Return the names of `documents.py` that `source` contains."""
        return sorted({*self._names.values(), *self._unions} & set(re.findall(r"\w+", source)))

    def _class_source(self, name: str) -> str:
        schema, python = self._schemas[name], self._names[name]
        if "properties" not in schema:
            return f"\n{python}: TypeAlias = {self.type_of(schema)}\n"
        required = set(schema.get("required", ()))
        if any(map(keyword.iskeyword, schema["properties"])):  # such as ``from``, which no class can have
            types = {field: self.type_of(value) for field, value in schema["properties"].items()}
            entries = (
                f'    "{field}": "{type_ if field in required else f"NotRequired[{type_}]"}",\n'
                for field, type_ in types.items()
            )
            return f'\n\n{python} = TypedDict("{python}", {{\n{"".join(entries)}}})\n'
        lines = [
            f"\n\nclass {python}(TypedDict):",
            f'    """{_summary(schema.get("description", ""), "A document.")}"""\n',
        ]
        for field, value in schema["properties"].items():
            type_ = self.type_of(value, python + "".join(part.title() for part in field.split("_")))
            lines += [f"    # {line}" for line in textwrap.wrap(value.get("description", ""), COMMENT)]
            lines += [f"    {field}: {type_ if field in required else f'NotRequired[{type_}]'}"]
        return "\n".join([*lines, ""])

    def _options_source(self, name: str, without: Sequence[str]) -> str:
        """Return the source of a class with the optional fields of a request, for keyword arguments."""
        python, fields = self._names[name], self._schemas[name]["properties"].items()
        lines = [f"    {field}: {self.type_of(value)}\n" for field, value in fields if field not in without]
        head = f"class {python.removesuffix('Request')}Options(TypedDict, total=False):"
        return f'\n\n{head}\n    """Fields of a `{python}` besides {" and ".join(without)}."""\n\n{"".join(lines)}'

    def _union_type(self, types: list[str], name: str | None) -> str:
        constants = [kind.removeprefix("Literal[").removesuffix("]") for kind in types if kind.startswith("Literal[")]
        others = [kind for kind in types if not kind.startswith("Literal[")]
        union = " | ".join(dict.fromkeys([*([f"Literal[{', '.join(constants)}]"] if constants else []), *others]))
        if name is None or "None" in types or not all(kind in self._names.values() for kind in types):
            return union
        self._unions[name] = union
        return name


def _python_name(schema: str) -> str:
    """Shorten a name that FastAPI qualified by its module: ``service__schemas__log__EntryView`` is ``LogEntryView``."""
    *modules, own_name = schema.split("__")
    return (modules[-1].title() if modules else "") + re.sub(r"\W", "", own_name)


def _literal(value: object) -> str:
    return json.dumps(value) if isinstance(value, str) else repr(value)


def _summary(text: str, otherwise: str) -> str:
    """Return the first sentence of a description, shortened to one line."""
    paragraph = " ".join(text.partition("\n\n")[0].split()).replace("\\", "").replace('"', "'")
    sentence = re.split(r"(?<=[.!?]) (?=[A-Z])", paragraph)[0] or otherwise
    return textwrap.shorten(sentence if sentence[-1] in ".!?" else f"{sentence}.", COMMENT, placeholder=" …")


# ----------------------------------------------------------------------------- operations
@dataclass(frozen=True)
class Argument:
    """An argument of a method: its name in the API, its name and type in Python, and its place in the request."""

    place: str
    api_name: str
    name: str
    type: str
    required: bool
    expression: str
    description: str

    def declaration(self) -> str:
        """Return the argument's declaration in a signature."""
        return f"{self.name}: {self.type}" if self.required else f"{self.name}: {self.type} | None = None"


@dataclass(frozen=True)
class Operation:
    """An operation of the API, as a method of both clients."""

    method: str
    path: str
    name: str
    arguments: tuple[Argument, ...]
    result: str
    item: str | None
    description: str

    def write(self) -> str:
        """Return the source of the operation's asynchronous method, and of the iterator over a paged list."""
        if self.result == "Event":
            return self._method_source(self.name, "def", "AsyncIterator[Event]", "self._events", self._docstring())
        source = self._method_source(self.name, "async def", self.result, "await self._send", self._docstring())
        if self.item:
            name, docstring = f"iter_{self.name.removeprefix('list_')}", f"Iterate over all pages of `{self.name}`."
            source += self._method_source(name, "def", f"AsyncIterator[{self.item}]", "self._pages", docstring)
        return source

    def _method_source(self, name: str, define: str, result: str, send: str, docstring: str) -> str:
        required = [arg.declaration() for arg in self.arguments if arg.required]
        optional = [arg.declaration() for arg in self.arguments if not arg.required]
        signature = ["self", *required, *(["*", *optional] if optional else [])]
        call = "Call" if self.result in READERS else f"Call[{self.result}]"
        return (
            f"{_join_lines(f'    {define} {name}(', signature, f') -> {result}:')}\n"
            f"{textwrap.indent(f'{chr(34) * 3}{docstring}{chr(34) * 3}', ' ' * 8)}\n"
            f"{_join_lines(f'        return {send}({call}(', self._call_arguments(), '))')}\n\n"
        )

    def _call_arguments(self) -> list[str]:
        """Return the arguments of the `Call` that describes the request."""
        path = self.path
        for arg in self._arguments_in("path"):
            path = path.replace(f"{{{arg.api_name}}}", f"{{segment({arg.name})}}")
        call = [f'"{self.method}"', f'{"f" if path != self.path else ""}"{path}"', READERS.get(self.result, "as_json")]
        for place, name in (("query", "query"), ("header", "headers")):
            if fields := self._arguments_in(place):
                call.append(f"{name}={{{', '.join(f'{_literal(arg.api_name)}: {arg.expression}' for arg in fields)}}}")
        return call + [f"{arg.place}={arg.name}" for arg in self.arguments if arg.place in {"json", "content"}]

    def _arguments_in(self, place: str) -> list[Argument]:
        return [arg for arg in self.arguments if arg.place == place]

    def _docstring(self) -> str:
        opening, *paragraphs = self.description.split("\n\n")
        summary, opening = _summary(opening, f"{self.method} {self.path}."), " ".join(opening.split())
        paragraphs = [opening.removeprefix(summary) if opening.startswith(summary) else opening, *paragraphs]
        text = "\n\n".join([summary, *(textwrap.fill(" ".join(part.split()), COMMENT) for part in paragraphs if part)])
        arguments = [arg for arg in self.arguments if arg.description and arg.place in {"query", "header"}]
        lines = ["", "Parameters", "----------"] if arguments else []
        for arg in arguments:
            lines += [f"{arg.name} : {arg.type}{'' if arg.required else ', optional'}"]
            lines += textwrap.wrap(arg.description, COMMENT - 4, initial_indent="    ", subsequent_indent="    ")
        return "\n".join([text, *lines, ""]) if lines or "\n" in text else text


def operations(document: Schema, schemas: Schemas) -> Iterator[Operation]:
    """Read every operation of an OpenAPI document, in its order."""
    order = ["path", "content", "json", "query", "header"]
    for path, item in document["paths"].items():
        for method, operation in item.items():
            arguments = [*_parameter_arguments(path, operation, schemas), *_body_arguments(operation, schemas)]
            arguments.sort(key=lambda arg: (not arg.required, order.index(arg.place)))
            result, schema = _result_type(operation, schemas)
            yield Operation(
                method=method.upper(),
                path=path,
                name=re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", operation["operationId"]).lower(),
                arguments=tuple(arguments),
                result=result,
                item=schemas.item_of(schema) if any(arg.api_name == "cursor" for arg in arguments) else None,
                description=operation.get("description") or f"{operation['summary']}.",
            )


def _parameter_arguments(path: str, operation: Schema, schemas: Schemas) -> list[Argument]:
    path_names = re.findall(r"\{(\w+)\}", path)
    arguments = []
    for parameter in operation.get("parameters", ()):
        place, name, schema = parameter["in"], parameter["name"], parameter["schema"]
        description = parameter.get("description") or schema.get("description", "")
        if place == "header":
            # a new header raises KeyError until somebody adds it to HEADERS
            api_name, python, type_, expression = HEADERS[name.lower()]
            if python == "wait_s":
                description = "Seconds that the service may hold its answer back until the job has ended, at most 30."
        else:
            api_name, python = name, f"{name}_" if keyword.iskeyword(name) or hasattr(builtins, name) else name
            type_, expression = schemas.type_of(schema).removesuffix(" | None"), "{}"
        required = bool(parameter.get("required"))
        arguments.append(Argument(place, api_name, python, type_, required, expression.format(python), description))
    return sorted(arguments, key=lambda arg: path_names.index(arg.api_name) if arg.place == "path" else len(path_names))


def _body_arguments(operation: Schema, schemas: Schemas) -> Iterator[Argument]:
    content = operation.get("requestBody", {}).get("content", {})
    if "application/json" in content:
        type_ = schemas.type_of(content["application/json"]["schema"])
        yield Argument("json", "body", "body", type_, True, "body", "")
    elif content:
        types = f"Literal[{', '.join(map(_literal, content))}]"
        yield Argument("content", "content", "content", "bytes", True, "content", "")
        yield Argument("header", "Content-Type", "content_type", types, True, "content_type", "Media type of the file.")


def _result_type(operation: Schema, schemas: Schemas) -> tuple[str, Schema]:
    for status, answer in operation["responses"].items():
        for media, content in answer.get("content", {}).items() if status.startswith("2") else ():
            if media == "text/event-stream":
                return "Event", {}
            if media.endswith("json"):
                return schemas.type_of(content["schema"]), content["schema"]
            return ("bytes" if media in FILES else "str"), {}
    return "None", {}


def _operations_module(methods: Sequence[Operation], schemas: Schemas) -> str:
    body = (ASYNC_OPERATIONS + "".join(operation.write() for operation in methods)).rstrip() + "\n"
    return (
        f'"""A method for every operation of the API, synchronous and asynchronous.\n\n{GENERATED}\n"""\n\n'
        "from __future__ import annotations\n\n"
        "from abc import ABC, abstractmethod\n"
        "from collections.abc import AsyncIterator, Iterator\n"
        "from typing import Any, Literal, TypeVar\n\n"
        "from assay_client.call import Call, as_bytes, as_json, as_nothing, as_text, segment, wait\n"
        f"{_join_lines('from assay_client.documents import (', schemas.used_in(body), ')')}\n"
        'from assay_client.events import Event\n\nT = TypeVar("T")\n'
        f"{synchronous(body)}{body}"
    )


ASYNC_OPERATIONS = '''

class AsyncOperations(ABC):
    """The operations of the API; a client decides how a call is sent."""

    @abstractmethod
    async def _send(self, call: Call[T]) -> T:
        """Send a call and return its result."""

    @abstractmethod
    def _pages(self, call: Call[Any]) -> AsyncIterator[Any]:
        """Iterate over the items of all pages."""

    @abstractmethod
    def _events(self, call: Call[Any]) -> AsyncIterator[Event]:
        """Iterate over the events of a stream, across connections."""

'''


def synchronous(source: str) -> str:
    """Return asynchronous code without ``await``, with the classes and functions that `SYNCHRONOUS` names."""
    words = "|".join(rf"(?<![A-Za-z_]){re.escape(word)}" for word in SYNCHRONOUS)
    return re.sub(words, lambda match: SYNCHRONOUS[match[0]], source)


def _join_lines(before: str, parts: Sequence[str], after: str) -> str:
    """Join `parts` on one line, or one part a line if that would be too long."""
    line = f"{before}{', '.join(parts)}{after}"
    if len(line) <= LINE:
        return line
    indent = " " * (len(before) - len(before.lstrip()))
    return f"{before}\n" + "".join(f"{indent}    {part},\n" for part in parts) + f"{indent}{after}"


# ----------------------------------------------------------------------------- modules and main
def modules(document: Schema, async_client: str) -> dict[str, str]:
    """Return the source of every generated module, by file name; `async_client` is the source of that module."""
    schemas = Schemas(document["components"]["schemas"])
    documents = schemas.module()  # called first, because it names the unions that operations refer to
    return {
        "documents.py": documents,
        "operations.py": _operations_module(list(operations(document, schemas)), schemas),
        "client.py": synchronous(async_client),
    }


def write_modules(root: Path) -> None:
    """Write the generated modules of the distribution at `root`."""
    document, package = json.loads((root / "openapi.json").read_text(encoding="utf-8")), root / "src" / "assay_client"
    async_client = (package / "async_client.py").read_text(encoding="utf-8")
    for name, source in modules(document, async_client).items():
        (package / name).write_text(source, encoding="utf-8")


class GenerateModules(BuildHookInterface):  # type: ignore[type-arg]  # its parameters differ between versions
    """A hatchling build hook that writes the generated modules before they are packed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Write the modules into the source tree."""
        write_modules(Path(self.root))


if __name__ == "__main__":
    write_modules(Path(__file__).parent)
