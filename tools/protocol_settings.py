"""The settings of every protocol as Markdown, for docs/targets.md.

``python -m tools.protocol_settings docs/targets.md`` replaces the text between the marks in that page; a test
compares the page with the code.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from workers.targets.presets.preset import presets
from workers.targets.registry import ProtocolInfo, protocols

BEGIN, END = "<!-- settings: begin (python -m tools.protocol_settings) -->", "<!-- settings: end -->"
HEAD = ("| setting | value | default | meaning |", "|---|---|---|---|")


def settings_page() -> str:
    """Return the settings of all protocols, and of the objects that they contain."""
    definitions: dict[str, Mapping[str, Any]] = {}
    lines = [line for info in protocols() for line in _protocol_section(info, definitions)]
    for name, schema in sorted(definitions.items()):
        if "properties" not in schema:
            continue
        lines += [f"### Object `{name}`", "", _sentence(schema.get("description", "")), "", *HEAD, *_rows(schema), ""]
    return "\n".join(lines).strip()


def with_settings(page: str) -> str:
    """Return a page with the settings of the code between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"the page has no marks {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{settings_page()}\n\n{END}{after}"


def _protocol_section(info: ProtocolInfo, definitions: dict[str, Mapping[str, Any]]) -> Iterator[str]:
    schema = info.settings_schema()
    preset = presets().get(info.name)
    yield from (f"### `{info.name}`", "")
    yield from (f"{_sentence(info.summary)} {' '.join(f'{_sentence(note)}' for note in info.notes)}".strip(), "")
    if preset is not None:
        names = {entry.name for entry in fields(preset.parameters)}
        schema = {**schema, "properties": {name: spec for name, spec in schema["properties"].items() if name in names}}
        yield from (f"A preset of `{preset.base}`, whose settings it takes as well; at `{preset.example}`.", "")
    else:
        definitions.update(schema.get("$defs", {}))
    if schema["properties"]:
        yield from (*HEAD, *_rows(schema), "")


def _rows(schema: Mapping[str, Any]) -> Iterator[str]:
    required = schema.get("required", ())
    for name, setting in schema.get("properties", {}).items():
        default = "needed" if name in required else _default_text(setting)
        allowed_values = "see [Keys](#keys)" if name == "auth" else _values_in_words(setting)
        yield f"| `{name}` | {allowed_values} | {default} | {_cell_text(setting.get('description', ''))} |"


def _default_text(setting: Mapping[str, Any]) -> str:
    return f"`{_cell_text(json.dumps(setting['default'], ensure_ascii=False))}`" if "default" in setting else ""


def _values_in_words(schema: Mapping[str, Any]) -> str:
    """Return the values that a JSON Schema allows, in words."""
    if schema.get("$ref") == "#/$defs/Kind":
        return "kind of service"
    if "$ref" in schema:
        return f"object `{schema['$ref'].rpartition('/')[2]}`"
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(_values_in_words(option) for option in schema[key]))
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{option}`" for option in schema.get("enum", [schema.get("const")]))
    match schema.get("type"):
        case "array":
            items = schema.get("items") or {}
            return f"list of {_values_in_words(items)}" if items else "list"
        case "null":
            return "null"
        case "object":
            return "object"
        case "integer" | "number" as kind:
            low = next((schema[name] for name in ("minimum", "exclusiveMinimum") if name in schema), None)
            high = next((schema[name] for name in ("maximum", "exclusiveMaximum") if name in schema), None)
            return f"{kind}, {low:,} to {high:,}" if low is not None and high is not None else kind
        case kind:
            return kind or "any"


def _cell_text(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("``", "`")


def _sentence(text: str) -> str:
    sentence = _cell_text(text)
    return f"{sentence[:1].upper()}{sentence[1:]}{'' if sentence.endswith(('.', '?')) or not sentence else '.'}"


def main() -> None:
    """Update the settings in the page that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    page = parser.parse_args().page
    page.write_text(with_settings(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
