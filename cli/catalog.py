"""`assay methods|attributes|specifications|protocols`: lists of names for requests."""

import inspect
import json
import textwrap
from collections.abc import Container, Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from assay.catalog import attribute, attributes, construction, constructions
from assay.catalog.shipped import specifications
from assay.document import Json, JsonObject
from assay.errors import UnknownName
from assay.methods import AnyMethod, every_method, method_name
from assay.model import Kind
from cli.terminal import console, escape, print_json, show_list
from reports.coverage import counts_in_words, coverage
from service.catalog.service import descriptions_in
from workers.targets.registry import ProtocolInfo, protocols

T = TypeVar("T")

TYPES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
"""Words for the types of JSON Schema."""


def show_methods(name: str | None, kind: str | None, search: str | None, *, as_json: bool) -> None:
    """Print the methods; with a `name`, only that method, with its fields and their defaults."""
    methods = {method_name(method): method for method in every_method()}
    if name is not None:
        _show_method(_look_up("method", name, methods), as_json=as_json)
        return
    rows = [_method_facts(method) for method in methods.values() if _matches_kind(kind, method.kinds)]
    show_list(rows, search=search, as_json=as_json)


def show_attributes(name: str | None, search: str | None, *, as_json: bool) -> None:
    """Print the attributes with values and methods; with a `name`, only that attribute, with its words by method."""
    if name is None:
        show_list([_attribute_facts(attribute_name) for attribute_name in attributes()], search=search, as_json=as_json)
        return
    rows: list[JsonObject] = []
    for row in coverage(name):  # of each method: its words by language, or the reason why it has none
        languages = ", ".join(row.words) or ("any" if row.reason is None else "none")
        word_counts = "; ".join(f"{language}: {counts_in_words(counts)}" for language, counts in row.words.items())
        words = row.reason or word_counts or "groups of your own file"
        rows.append({"method": row.method, "languages": languages, "words": words})
    _print_entry(_attribute_facts(name), "methods", rows, as_json=as_json)


def show_specifications(name: str | None, attribute_name: str | None, search: str | None, *, as_json: bool) -> None:
    """Print the shipped word lists; with a `name`, only that list; with an `attribute_name`, only that attribute's."""
    word_lists = specifications()
    selected_lists = word_lists.values() if name is None else [_look_up("specification", name, word_lists)]
    rows = [
        {
            "specification": word_list.name,
            "for": [method_name(method) for method in every_method() if method.specification_kind == word_list.kind],
            "about": word_list.words.attribute,
            "title": word_list.title,
            "source": word_list.citation,
        }
        for word_list in selected_lists
        if attribute_name is None or word_list.words.attribute == attribute_name
    ]
    show_list(rows, search=search, as_json=as_json)


def show_protocols(name: str | None, kind: str | None, search: str | None, *, as_json: bool) -> None:
    """Print the protocols; with a `name`, only that protocol, with every setting and its description."""
    protocol_infos = {info.name: info for info in protocols()}
    if name is not None:
        _show_protocol(_look_up("protocol", name, protocol_infos), as_json=as_json)
        return
    rows = [_protocol_facts(info) for info in protocol_infos.values() if _matches_kind(kind, info.kinds)]
    show_list(rows, search=search, as_json=as_json)


def _look_up(noun: str, name: str, entries: Mapping[str, T]) -> T:
    if name not in entries:
        raise UnknownName(noun, name, entries)
    return entries[name]


def _matches_kind(kind: str | None, kinds: Container[Kind]) -> bool:
    if kind is not None and kind not in set(Kind):
        raise UnknownName("kind of service", kind, tuple(Kind))
    return kind is None or kind in kinds


def _method_facts(method: type[AnyMethod]) -> JsonObject:
    facts = {"question": method.summary, "source": method.paper}
    return {"method": method_name(method), "rates": sorted(method.kinds), **facts}


def _show_method(method: type[AnyMethod], *, as_json: bool) -> None:
    descriptions = descriptions_in(inspect.getdoc(method) or "")
    rows = [
        {
            "field": field.name,
            "default": _default_in_words(field.default, field.default_factory),
            "description": descriptions.get(field.name, "").replace("``", "").replace("`", ""),
        }
        for field in fields(method)
        if field.name != "method"
    ]
    _print_entry(_method_facts(method), "fields", rows, as_json=as_json)


def _attribute_facts(name: str) -> JsonObject:
    definition = attribute(name)
    return {
        "attribute": name,
        "values": list(definition.value_names),
        "templates": [template for template in constructions() if construction(template).supports(definition)],
        "methods": [row.method for row in coverage(name) if row.reason is None],
        "source": definition.source,
    }


def _protocol_facts(info: ProtocolInfo) -> JsonObject:
    return {
        "protocol": info.name,
        "rates": sorted(info.kinds),
        "what_it_is": info.summary,
        "needs": [word for word, needed in (("url", info.needs_url), ("secret", info.needs_secret)) if needed],
    }


def _show_protocol(info: ProtocolInfo, *, as_json: bool) -> None:
    schema = info.settings_schema()
    required_names = schema.get("required", ())
    rows = [
        {
            "setting": name,
            "type": "see Keys in docs/targets.md" if name == "auth" else _type_in_words(setting),
            "default": "required" if name in required_names else f"default {json.dumps(setting.get('default'))}",
            "description": setting.get("description", ""),
        }
        for name, setting in schema.get("properties", {}).items()
    ]
    _print_entry({**_protocol_facts(info), "notes": list(info.notes)}, "settings", rows, as_json=as_json)


def _print_entry(facts: Json, rows_name: str, rows: list[JsonObject], *, as_json: bool) -> None:
    """Print the facts about a method, attribute or protocol, and its rows, such as the fields of a method."""
    if as_json:
        print_json({**facts, rows_name: rows}, ensure_ascii=False)
        return
    for name, value in facts.items():
        # notes are sentences, a line each; other lists are names
        lines = value if name == "notes" else [", ".join(value) if isinstance(value, list) else value]
        for line in lines:
            console.print(f"[bold]{name.replace('_', ' ')}[/bold]  {escape(line)}", soft_wrap=True)
    console.print(f"\n[bold]{rows_name}[/bold]")
    for row in rows:
        heading, *short_facts, description = row.values()  # in the order in which the rows were made
        console.print(f"  [bold]{heading}[/bold]  {escape('; '.join(short_facts))}", soft_wrap=True)
        for line in textwrap.wrap(description, width=100):
            console.print(f"      {escape(line)}", soft_wrap=True)


def _type_in_words(schema: Json) -> str:
    """Return the type of a setting, which its JSON schema declares, in words."""
    if "enum" in schema or "const" in schema:
        return " or ".join(map(str, schema.get("enum", [schema.get("const")])))
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type_in_words(choice) for choice in schema["anyOf"]))
    if schema.get("type") == "array":
        return f"list of {_type_in_words(schema['items'])}" if schema.get("items") else "list"
    if "$ref" in schema or schema.get("type") == "object":
        return "table"
    return TYPES.get(str(schema.get("type")), str(schema.get("type", "any")))


def _default_in_words(default: Any, factory: Any) -> str:
    if default is MISSING:
        return "(required)" if factory is MISSING else str(factory())
    return "(the attribute's own)" if default == () else str(default)
