"""Presets: protocols as data. Each TOML file here defines a protocol of the same name by settings of another one.

To add one, add a file: ``summary``, ``protocol`` (whose settings it fills), ``example`` (a base URL), ``notes``,
``[parameters]`` with a type and a description each, ``[settings]`` for all kinds of service, and a table for each
kind with its settings. ``"<name>"`` stands for a parameter, ``"<instruction>"`` for the instruction to a translating
model, ``"<null>"`` for null.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, make_dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Annotated, Any, ClassVar, get_type_hints
from urllib.parse import quote

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import Field

from assay.errors import SpecificationError
from assay.model import Kind
from workers.targets.auth.schemes import Strict
from workers.targets.protocols.openai.chat import INSTRUCTION
from workers.targets.settings import read_fields, settings_schema

_PARAMETER = re.compile(r"<([a-z_]+)>")
_TYPES: Mapping[str, Any] = {
    "string": Annotated[str, MinLen(1), MaxLen(200)],
    "integer": Annotated[int, Ge(1), Le(1_000_000)],
    "number": Annotated[float, Ge(0), Le(100)],
}


@dataclass(frozen=True)
class Preset:
    """Protocol defined by settings of another protocol; its facts are those of `workers.targets.Adapter`.

    Attributes
    ----------
    base : str
        The other protocol.
    example : str
        A base URL.
    parameters : type
        Dataclass of the preset's own settings; null leaves out a setting that has a default.
    settings, by_kind : mapping
        Settings of the other protocol: for all kinds of service, and for each kind.
    """

    protocol: str
    summary: str
    base: str
    example: str
    parameters: Any
    settings: Mapping[str, Any]
    by_kind: Mapping[Kind, Mapping[str, Any]]
    notes: tuple[str, ...] = ()
    needs_url: ClassVar[bool] = True
    needs_secret: ClassVar[bool] = False
    reproducible: ClassVar[bool] = True

    @cached_property
    def kinds(self) -> frozenset[Kind]:
        """Kinds of service that the preset supports."""
        return frozenset(self.by_kind)

    def settings_type(self, base: type) -> type:
        """Return a class with the preset's parameters and the other protocol's settings, for lists and schemas."""
        own = {each.name: (each.type, field(default=each.default)) for each in fields(self.parameters)}
        types, about = get_type_hints(base, include_extras=True), settings_schema(base)["properties"]
        for each in fields(base):
            kind: Any = types[each.name]
            described = Annotated[kind, Field(description=about[each.name]["description"])]
            filled = each.name in self.settings or all(each.name in made for made in self.by_kind.values())
            factory = list if filled else each.default_factory  # the preset's own default is not shown
            default = field(default_factory=factory) if factory is not MISSING else field(default=each.default)
            own.setdefault(each.name, (described, default))
        made = [(name, *facts) for name, facts in own.items()]
        return make_dataclass(base.__name__, made, kw_only=True, frozen=True, bases=(Strict,))

    def expanded(self, kind: Kind, written: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings of the other protocol; settings that the request names take precedence.

        Raises `SpecificationError` for a missing or invalid parameter.
        """
        names = {each.name for each in fields(self.parameters)}
        given = read_fields(
            self.parameters, {name: value for name, value in written.items() if name in names}, "settings"
        )
        values = {"instruction": INSTRUCTION, "null": None, **vars(given)}
        own = {name: value for name, value in written.items() if name not in names}
        usual = {**self.settings, **self.by_kind[kind]}
        made = {name: _filled(value, values, in_path=name == "path") for name, value in usual.items()}
        auth, theirs = made.get("auth"), own.get("auth")
        if isinstance(auth, Mapping) and isinstance(theirs, Mapping) and auth["type"] == theirs.get("type"):
            own["auth"] = {**auth, **theirs}
        return {**made, **own}


def _filled(template: Any, values: Mapping[str, Any], *, in_path: bool) -> Any:
    """Replace the parameters in a setting; escape braces in values, and percent-encode values in a path."""
    if isinstance(template, Mapping):
        filled = {name: _filled(each, values, in_path=in_path) for name, each in template.items()}
        return {name: each for name, each in filled.items() if each is not None}
    if isinstance(template, list):
        return [_filled(each, values, in_path=in_path) for each in template]
    if not isinstance(template, str):
        return template
    whole = _PARAMETER.fullmatch(template)
    if whole and not isinstance(values[whole[1]], str):
        return values[whole[1]]

    def written(match: re.Match[str]) -> str:
        value = str(values[match[1]])
        if in_path:
            if value in {".", ".."}:
                raise SpecificationError(f"{match[1]} is {value!r}, which would lead to another path", match[1])
            return quote(value, safe="")
        return value if match[1] == "instruction" else value.replace("{", "{{").replace("}", "}}")

    return _PARAMETER.sub(written, template)


def _parameters(written: Mapping[str, Mapping[str, Any]]) -> Any:
    made = []
    for name, about in written.items():
        kind = _TYPES[about["type"]] if "default" not in about else _TYPES[about["type"]] | None
        default = field(default=about.get("default", MISSING))
        made.append((name, Annotated[kind, Field(description=about["description"])], default))
    return make_dataclass("Parameters", made, kw_only=True, frozen=True, bases=(Strict,))


def _read(name: str, written: Mapping[str, Any]) -> Preset:
    return Preset(
        protocol=name,
        summary=written["summary"],
        base=written["protocol"],
        example=written["example"],
        parameters=_parameters(written.get("parameters", {})),
        settings=written.get("settings", {}),
        by_kind={kind: written[kind] for kind in Kind if kind in written},
        notes=tuple(written.get("notes", ())),
    )


@cache
def presets() -> Mapping[str, Preset]:
    """Return all presets by name, in alphabetical order."""
    found = sorted((each.name, each) for each in files(__name__).iterdir() if each.name.endswith(".toml"))
    names = {name.removesuffix(".toml"): each.read_text(encoding="utf-8") for name, each in found}
    return {name: _read(name, tomllib.loads(text)) for name, text in names.items()}
