"""`assay methods|attributes|specifications|protocols`: lists of names for requests."""

from __future__ import annotations

import inspect
import json
import sys
import textwrap
from collections.abc import Container, Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from assay.catalog import attribute, attributes, construction, constructions
from assay.catalog.shipped import specifications
from assay.errors import UnknownName
from assay.methods import AnyMethod, every_method, method_name
from assay.model import Kind
from cli.lists import console, show_list
from cli.terminal import escape
from service.meta.field_texts import descriptions_in
from workers.targets import ProtocolInfo, protocols

T = TypeVar("T")

TYPES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
"""Words for the types of JSON Schema."""


def show_methods(name: str | None, kind: str | None, search: str | None, *, as_json: bool) -> None:
    """Print the methods; with a `name`, only this one, with its fields and their defaults."""
    known = {method_name(each): each for each in every_method()}
    if name is not None:
        _show_method(_named("method", name, known), as_json=as_json)
        return
    show_list([_method(each) for each in known.values() if _of_kind(kind, each.kinds)], search=search, as_json=as_json)


def show_attributes(name: str | None, search: str | None, *, as_json: bool) -> None:
    """Print the attributes with their values and the templates that support them; with a `name`, only this one."""
    named = [name] if name is not None else attributes()
    show_list([_attribute(one) for one in named], search=search, as_json=as_json)


def show_specifications(name: str | None, about: str | None, search: str | None, *, as_json: bool) -> None:
    """Print the shipped word lists; `name` selects one of them, `about` those for an attribute."""
    known = specifications()
    chosen = known.values() if name is None else [_named("specification", name, known)]
    rows = [
        {
            "specification": one.name,
            "for": [method_name(each) for each in every_method() if each.specification_kind == one.kind],
            "about": one.words.attribute,
            "title": one.title,
            "source": one.citation,
        }
        for one in chosen
        if about is None or one.words.attribute == about
    ]
    show_list(rows, search=search, as_json=as_json)


def show_protocols(name: str | None, kind: str | None, search: str | None, *, as_json: bool) -> None:
    """Print the protocols; with a `name`, only this one, with every setting and its description."""
    known = {one.name: one for one in protocols()}
    if name is not None:
        _show_protocol(_named("protocol", name, known), as_json=as_json)
        return
    show_list([_protocol(one) for one in known.values() if _of_kind(kind, one.kinds)], search=search, as_json=as_json)


def _named(what: str, name: str, known: Mapping[str, T]) -> T:
    if name not in known:
        raise UnknownName(what, name, known)
    return known[name]


def _of_kind(kind: str | None, kinds: Container[Kind]) -> bool:
    if kind is not None and kind not in set(Kind):
        raise UnknownName("kind of service", kind, tuple(Kind))
    return kind is None or kind in kinds


def _method(kind: type[AnyMethod]) -> dict[str, Any]:
    return {"method": method_name(kind), "rates": sorted(kind.kinds), "question": kind.summary, "source": kind.paper}


def _show_method(kind: type[AnyMethod], *, as_json: bool) -> None:
    texts = descriptions_in(inspect.getdoc(kind) or "")
    listed = [
        {
            "field": each.name,
            "default": _default(each.default, each.default_factory),
            "description": texts.get(each.name, "").replace("``", "").replace("`", ""),
        }
        for each in fields(kind)
        if each.name != "method"
    ]
    _show_one(_method(kind), "fields", listed, as_json=as_json)


def _attribute(name: str) -> dict[str, Any]:
    one = attribute(name)
    carriers = [each for each in constructions() if construction(each).supports(one)]
    return {"attribute": name, "values": list(one.value_names), "templates": carriers, "source": one.source}


def _protocol(one: ProtocolInfo) -> dict[str, Any]:
    return {
        "protocol": one.name,
        "rates": sorted(one.kinds),
        "what_it_is": one.summary,
        "needs": [word for word, needed in (("url", one.needs_url), ("secret", one.needs_secret)) if needed],
    }


def _show_protocol(one: ProtocolInfo, *, as_json: bool) -> None:
    schema = one.settings_schema()
    required = schema.get("required", ())
    listed = [
        {
            "setting": name,
            "type": "see Keys in docs/targets.md" if name == "auth" else _type(each),
            "default": "required" if name in required else f"default {json.dumps(each.get('default'))}",
            "description": each.get("description", ""),
        }
        for name, each in schema.get("properties", {}).items()
    ]
    _show_one({**_protocol(one), "notes": list(one.notes)}, "settings", listed, as_json=as_json)


def _show_one(facts: Mapping[str, Any], name: str, rows: list[dict[str, Any]], *, as_json: bool) -> None:
    """Print the facts about a method or protocol, and its fields or settings."""
    if as_json:
        sys.stdout.write(json.dumps({**facts, name: rows}, indent=2, ensure_ascii=False) + "\n")
        return
    for fact, value in facts.items():
        several = value if fact == "notes" else [", ".join(value) if isinstance(value, list) else value]
        for each in several:
            console.print(f"[bold]{fact.replace('_', ' ')}[/bold]  {escape(each)}", soft_wrap=True)
    console.print(f"\n[bold]{name}[/bold]")
    for row in rows:
        first, *facts_of_it, last = row.values()
        console.print(f"  [bold]{first}[/bold]  {escape('; '.join(facts_of_it))}", soft_wrap=True)
        for line in textwrap.wrap(last, 100):
            console.print(f"      {escape(line)}", soft_wrap=True)


def _type(schema: Mapping[str, Any]) -> str:
    if "enum" in schema or "const" in schema:
        return " or ".join(map(str, schema.get("enum", [schema.get("const")])))
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(one) for one in schema["anyOf"]))
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}" if schema.get("items") else "list"
    if "$ref" in schema or schema.get("type") == "object":
        return "table"
    return TYPES.get(str(schema.get("type")), str(schema.get("type", "any")))


def _default(default: Any, factory: Any) -> str:
    if default is MISSING:
        return "(required)" if factory is MISSING else str(factory())
    return "(the attribute's own)" if default == () else str(default)
