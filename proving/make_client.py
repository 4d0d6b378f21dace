"""Write the part of `assay_client` that the API decides: ``python -m proving.make_client``.

From the OpenAPI document come `documents` (what travels), `calls` (a description of each request, which
does nothing) and two classes with a method for each operation, one that waits and one to be awaited.
What takes thought (retries, waiting, pages, events) is written by hand, over those calls.
"""

from __future__ import annotations

import builtins
import json
import keyword
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proving.client_documents import Documents, Schema, first_sentence
from tools import openapi_document

PLACE = Path(__file__).resolve().parents[1] / "assay_client"
HEADERS = {
    "idempotency-key": ("Idempotency-Key", "idempotency_key", "str", "{}"),
    "prefer": ("Prefer", "wait_s", "int", "wait({})"),
    "last-event-id": ("Last-Event-ID", "last_event_id", "str", "{}"),
    "if-match": ("If-Match", "if_match", "str", "{}"),
}
"""Headers of requests: their name, and the name, type and writing of the argument that sets them."""

READERS = {"str": "as_text", "bytes": "as_bytes", "None": "as_nothing", "Event": "as_nothing"}
FILES = frozenset({"application/jsonl", "text/csv", "image/png"})
MADE = "Made from the API's description by `python -m proving.make_client`; not to be edited."


@dataclass(frozen=True)
class Argument:
    """An argument of a method: its name in the API, its name and type in Python, and where it goes."""

    place: str
    written: str
    name: str
    type: str
    required: bool
    value: str
    meaning: str

    def declared(self) -> str:
        """Write it in a signature."""
        return f"{self.name}: {self.type}" if self.required else f"{self.name}: {self.type} | None = None"


@dataclass(frozen=True)
class Operation:
    """An operation as a method: all that its three forms are written from."""

    method: str
    path: str
    name: str
    arguments: tuple[Argument, ...]
    result: str
    item: str | None
    said: str

    @property
    def signature(self) -> str:
        """Arguments of all three forms: what names the resource, the body, what must be said, the rest by name."""
        needed = [one.declared() for one in self.arguments if one.required]
        rest = [one.declared() for one in self.arguments if not one.required]
        return ", ".join([*needed, *(["*", *rest] if rest else [])])

    @property
    def handed_on(self) -> str:
        """The same arguments, handed on."""
        return ", ".join(one.name if one.required else f"{one.name}={one.name}" for one in self.arguments)

    def at(self, place: str) -> list[Argument]:
        """Arguments that go to one place of the request."""
        return [one for one in self.arguments if one.place == place]


# ------------------------------------------------------------------------------------- reading
def operations(document: Mapping[str, Any], documents: Documents) -> Iterator[Operation]:
    """Read every operation of an OpenAPI document, in its order."""
    for path, item in document["paths"].items():
        for method, one in item.items():
            arguments = [*_parameters(path, one, documents), *_body(one, documents)]
            order = ["path", "content", "json", "query", "header"]
            arguments.sort(key=lambda each: (not each.required, order.index(each.place)))
            result, schema = _result(one, documents)
            paged = any(each.written == "cursor" for each in arguments)
            yield Operation(
                method=method.upper(),
                path=path,
                name=re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", one["operationId"]).lower(),
                arguments=tuple(arguments),
                result=result,
                item=documents.item_of(schema) if paged else None,
                said=one.get("description") or f"{one['summary']}.",
            )


def _parameters(path: str, operation: Schema, documents: Documents) -> list[Argument]:
    inside = re.findall(r"\{(\w+)\}", path)
    found = []
    for one in operation.get("parameters", ()):
        place, name, schema = one["in"], one["name"], one["schema"]
        meaning = one.get("description") or schema.get("description", "")
        if place == "header":
            written, python, type_, value = HEADERS[name.lower()]  # a new header wants a decision: a KeyError
            if python == "wait_s":
                meaning = "Seconds that the service may hold its answer back, at most 30, until this has ended."
        else:
            written, python = name, f"{name}_" if keyword.iskeyword(name) or hasattr(builtins, name) else name
            type_, value = documents.type_of(schema).removesuffix(" | None"), "{}"
        required = bool(one.get("required"))
        found.append(Argument(place, written, python, type_, required, value.format(python), meaning))
    return sorted(found, key=lambda one: inside.index(one.written) if one.place == "path" else len(inside))


def _body(operation: Schema, documents: Documents) -> Iterator[Argument]:
    content = operation.get("requestBody", {}).get("content", {})
    if "application/json" in content:
        type_ = documents.type_of(content["application/json"]["schema"])
        yield Argument("json", "body", "body", type_, True, "body", "What is asked for.")
    elif content:
        types = f"Literal[{', '.join(map(repr, content))}]"
        yield Argument("content", "content", "content", "bytes", True, "content", "The file itself.")
        yield Argument("header", "Content-Type", "content_type", types, True, "content_type", "What the file is.")


def _result(operation: Schema, documents: Documents) -> tuple[str, Schema]:
    """Type of the result, and its schema."""
    for status, answer in operation["responses"].items():
        for media, one in answer.get("content", {}).items() if status.startswith("2") else ():
            if media == "text/event-stream":
                return "Event", {}
            if media.endswith("json"):
                return documents.type_of(one["schema"]), one["schema"]
            return ("bytes" if media in FILES else "str"), {}
    return "None", {}


# ------------------------------------------------------------------------------------- writing
def calls_module(found: list[Operation], names: Iterable[str]) -> str:
    """Write `assay_client.calls`."""
    head = (
        f'"""A description of every request of the API; none of them does anything.\n\n{MADE}\n"""\n\n'
        "from __future__ import annotations\n\n"
        "from typing import Any, Literal\n\n"
        "from assay_client.call import Call, as_bytes, as_json, as_nothing, as_text, segment, wait\n"
        f"from assay_client.documents import {', '.join(names)}\n\n\n"
    )
    return head + "".join(map(_call, found))


def _call(one: Operation) -> str:
    result = "None" if one.result == "Event" else one.result
    path = one.path
    for each in one.at("path"):
        path = path.replace(f"{{{each.written}}}", f"{{segment({each.name})}}")
    given = [f"{one.method!r}", f"{'f' if one.at('path') else ''}{path!r}", READERS.get(one.result, "as_json")]
    for place, name in (("query", "query"), ("header", "headers")):
        if fields := one.at(place):
            given.append(f"{name}={{{', '.join(f'{each.written!r}: {each.value}' for each in fields)}}}")
    given += [f"{each.place}={each.name}" for each in [*one.at("json"), *one.at("content")]]
    return (
        f"def {one.name}({one.signature}) -> Call[{result}]:\n"
        f'    """{one.method} {one.path}."""\n'
        f"    return Call({', '.join(given)})\n\n\n"
    )


def class_module(found: list[Operation], names: Iterable[str], *, awaited: bool) -> str:
    """Write `assay_client.operations`, or `assay_client.async_operations` with methods to be awaited."""
    name, iterator = ("AsyncOperations", "AsyncIterator") if awaited else ("Operations", "Iterator")
    define, send = ("async def", "await self._send") if awaited else ("def", "self._send")
    head = (
        f'"""A method for every operation of the API{", to be awaited" if awaited else ""}.\n\n{MADE}\n"""\n\n'
        "from __future__ import annotations\n\n"
        "from abc import ABC, abstractmethod\n"
        f"from collections.abc import {iterator}\n"
        "from typing import Any, Literal, TypeVar\n\n"
        "from assay_client import calls\nfrom assay_client.call import Call\n"
        f"from assay_client.documents import {', '.join(names)}\nfrom assay_client.events import Event\n\n"
        'T = TypeVar("T")\n\n\n'
        f"class {name}(ABC):\n"
        '    """What the API can be asked; a client says how a call is sent."""\n\n'
        f"    @abstractmethod\n    {define} _send(self, call: Call[T]) -> T:\n"
        '        """Send a call and read its answer."""\n\n'
        f"    @abstractmethod\n    def _pages(self, call: Call[Any]) -> {iterator}[Any]:\n"
        '        """Give every item of a list, page after page."""\n\n'
        f"    @abstractmethod\n    def _events(self, call: Call[Any]) -> {iterator}[Event]:\n"
        '        """Give every event of a stream, across connections."""\n\n'
    )
    parts = [head]
    for one in found:
        if one.result == "Event":
            parts.append(_method(one, one.name, "def", f"{iterator}[Event]", "self._events"))
            continue
        parts.append(_method(one, one.name, define, one.result, send))
        if one.item:
            each = f"iter_{one.name.removeprefix('list_')}"
            parts.append(_method(one, each, "def", f"{iterator}[{one.item}]", "self._pages", paging=True))
    return "".join(parts)


def _method(one: Operation, name: str, define: str, result: str, through: str, *, paging: bool = False) -> str:
    said = "Give every item, page after page, of `" + one.name + "`." if paging else _docstring(one)
    separator = ", " if one.arguments else ""
    return (
        f"    {define} {name}(self{separator}{one.signature}) -> {result}:\n"
        f"{textwrap.indent(f'{chr(34) * 3}{said}{chr(34) * 3}', ' ' * 8)}\n"
        f"        return {through}(calls.{one.name}({one.handed_on}))\n\n"
    )


def _docstring(one: Operation) -> str:
    first, *rest = one.said.split("\n\n")
    summary = first_sentence(first, f"{one.method} {one.path}.")
    further = " ".join(first.split())[len(summary) :] if " ".join(first.split()).startswith(summary) else first
    said = "\n\n".join([summary, *(textwrap.fill(" ".join(part.split()), 108) for part in [further, *rest] if part)])
    told = [each for each in one.arguments if each.meaning and each.place in {"query", "header"}]
    if not told:
        return said if "\n" not in said else said + "\n"
    lines = [said, "", "Parameters", "----------"]
    for each in told:
        lines += [f"{each.name} : {each.type}{'' if each.required else ', optional'}"]
        lines += [textwrap.fill(" ".join(each.meaning.split()), 104, initial_indent="    ", subsequent_indent="    ")]
    return "\n".join([*lines, ""])


def made() -> dict[str, str]:
    """Write every module of the package that the API decides, by file name."""
    with tempfile.TemporaryDirectory() as folder:
        openapi_document.main(str(place := Path(folder) / "openapi.json"))
        document = json.loads(place.read_text(encoding="utf-8"))
    documents = Documents(document["components"]["schemas"])
    described = "".join(documents.module())  # first: it finds the choices among objects, and names them
    found = list(operations(document, documents))
    head = (
        f'"""What travels: the JSON of every request and answer, with its shape declared.\n\n{MADE}\n"""\n\n'
        "from __future__ import annotations\n\n"
        "from typing import Any, Literal, NotRequired, TypeAlias, TypedDict\n\n\n"
    )
    return {
        "documents.py": _tidied(head + described),
        "calls.py": _tidied(calls_module(found, documents.names)),
        "operations.py": _tidied(class_module(found, documents.names, awaited=False)),
        "async_operations.py": _tidied(class_module(found, documents.names, awaited=True)),
    }


def _tidied(source: str) -> str:
    """Format as the rest of the tree is, with no import that is not used."""
    for tidy in (["check", "--quiet", "--select", "I,F401", "--fix-only"], ["format"]):
        ruff = [sys.executable, "-m", "ruff", *tidy, "--stdin-filename", str(PLACE / "made.py"), "-"]
        source = subprocess.run(ruff, input=source, capture_output=True, text=True, check=True).stdout
    return source


if __name__ == "__main__":
    for name, source in made().items():
        (PLACE / name).write_text(source, encoding="utf-8")
