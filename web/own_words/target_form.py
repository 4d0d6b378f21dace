"""A service as fields of a form: its protocol, address, secret, and the settings of the protocol's own schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from web.frame import Refused, Visit

FIRST = ("model", "task")
"""Settings that are shown at once, besides required ones; the others are folded."""

NOT_ASKED = ("instruction", "language_codes", "samples", "labels", "multi_label", "hypothesis_template", "pooling")
"""Settings of other kinds of services."""

DRAWING = frozenset({"openai-images"})
"""Protocols of services that draw: they neither write nor are rated."""

TASKS = {"language-model": "fill-mask", "image-classifier": "zero-shot-image-classification"}
"""Task to begin with, where a protocol has several."""


@dataclass(frozen=True)
class Setting:
    """A setting of a protocol, as a field.

    Attributes
    ----------
    shape : str
        ``text``, ``number``, ``switch``, ``choice``, ``lines``, or ``json`` for the few that are objects.
    value : str
        Its default, as the field shows it.
    """

    name: str
    shape: str
    hint: str
    value: str
    options: Sequence[str] = ()
    required: bool = False

    @property
    def folded(self) -> bool:
        """Whether it is shown only if asked for."""
        return not self.required and self.name not in FIRST


async def protocols_for(visit: Visit, kind: str) -> list[dict[str, Any]]:
    """Return the protocols of a kind of service."""
    found = await visit.api.get("/v1/protocols")
    return [one for one in found["items"] if kind in one["kinds"] and one["name"] not in DRAWING]


def settings_of(protocol: Mapping[str, Any], kind: str) -> list[Setting]:
    """Return the settings of a protocol as fields, required ones first."""
    schema = protocol["settings_schema"]
    named = {name: one for name, one in schema.get("properties", {}).items() if name not in NOT_ASKED}
    found = [_setting(name, one, name in schema.get("required", ()), kind) for name, one in named.items()]
    return sorted(found, key=lambda one: one.folded)


def _setting(name: str, schema: Mapping[str, Any], required: bool, kind: str) -> Setting:
    types = {schema.get("type"), *(one.get("type") for one in schema.get("anyOf", ()))} - {None, "null"}
    options = [str(one) for one in schema.get("enum", ())]
    default = TASKS[kind] if name == "task" and TASKS.get(kind) in options else schema.get("default")
    shape = next((shape for type_, shape in SHAPES.items() if types == {type_}), "json")
    if options:
        shape = "choice"
    elif types == {"array"} and schema.get("items", {}).get("type") == "string":
        shape = "lines"
    hint = schema.get("description", "").partition("\n\n")[0].replace("``", "")
    return Setting(name, shape, hint, _shown(shape, default), options, required)


SHAPES = {"string": "text", "integer": "number", "number": "number", "boolean": "switch"}


def _shown(shape: str, value: Any) -> str:
    if value is None or value in ([], {}):
        return ""
    if shape == "lines":
        return "\n".join(value)
    return json.dumps(value) if shape in {"json", "switch"} else str(value)


def target_of(typed: Mapping[str, str], kind: str, protocol: Mapping[str, Any]) -> dict[str, Any]:
    """Return the service that a form describes: the id of a saved one, or its description.

    Settings that are left at their default are left out.
    """
    if typed.get("saved"):
        return {"id": typed["saved"]}
    plain = {name: typed.get(name, "").strip() for name in ("name", "base_url", "secret")}
    settings = {}
    for one in settings_of(protocol, kind):
        written = typed.get(f"settings.{one.name}", "").strip()
        if written and (written != one.value or one.name == "task"):
            settings[one.name] = _read(one.shape, written)
    given = {name: value for name, value in plain.items() if value}
    return {"kind": kind, "protocol": protocol["name"], "settings": settings, **given}


def _read(shape: str, written: str) -> Any:
    """Parse a field; what cannot be parsed is passed on, for the API to refuse."""
    if shape == "lines":
        return [line.strip() for line in written.splitlines() if line.strip()]
    if shape in {"number", "switch", "json"} or (shape == "choice" and written.isdecimal()):
        try:
            return json.loads(written)
        except ValueError:
            return written
    return written


def wrong_fields(refused: Refused | None) -> dict[str, str]:
    """Return what was wrong with each field of the service, from the pointers of a problem document."""
    found: dict[str, str] = {}
    for error in refused.errors if refused else ():
        parts = error.get("pointer", "").strip("/").split("/")
        name = f"settings.{parts[2]}" if parts[1:2] == ["settings"] and len(parts) > 2 else parts[-1]
        found.setdefault(name, error["detail"])
    return found
