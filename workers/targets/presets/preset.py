"""Presets: each TOML file in this folder defines a protocol, named like the file, by settings of another protocol.

To add one, add a file: ``summary``, ``protocol`` (whose settings it fills), ``example`` (a base URL), ``notes``,
``[parameters]`` with a type and a description each, ``[settings]`` for all kinds of service, and a table for each
kind with its settings. ``"<name>"`` stands for a parameter, ``"<instruction>"`` for the instruction to a translating
model, ``"<null>"`` for null.
"""

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

from assay.document import Json, JsonObject
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
    """Protocol defined by settings of another one; `workers.targets.adapter.Adapter` explains the fields they share."""

    protocol: str
    summary: str
    base: str
    """Name of the base protocol, whose settings the preset fills in."""
    example: str
    """Example of a base URL."""
    parameters: Any
    """Dataclass of the preset's own settings; those with a default may be null, which leaves them out of requests."""
    settings: Json
    """Settings of the base protocol for all kinds of service."""
    by_kind: Mapping[Kind, Json]
    """Settings of the base protocol for each kind of service."""
    notes: tuple[str, ...] = ()
    needs_url: ClassVar[bool] = True
    needs_secret: ClassVar[bool] = False
    reproducible: ClassVar[bool] = True

    @cached_property
    def kinds(self) -> frozenset[Kind]:
        """Kinds of service that the preset supports."""
        return frozenset(self.by_kind)

    def settings_type(self, base: type) -> type:
        """Return a class with the preset's parameters and the base protocol's settings, from which a schema is made."""
        members = {
            parameter.name: (parameter.type, field(default=parameter.default)) for parameter in fields(self.parameters)
        }
        types, properties = get_type_hints(base, include_extras=True), settings_schema(base)["properties"]
        for setting in fields(base):
            type_of_setting: Any = types[setting.name]
            described_type = Annotated[type_of_setting, Field(description=properties[setting.name]["description"])]
            is_filled = setting.name in self.settings or all(setting.name in own for own in self.by_kind.values())
            # a schema shows no value of a factory, so this hides the base's default, which the preset replaces
            factory = list if is_filled else setting.default_factory
            default = field(default_factory=factory) if factory is not MISSING else field(default=setting.default)
            members.setdefault(setting.name, (described_type, default))  # a parameter of this name takes precedence
        member_list = [(name, *type_and_default) for name, type_and_default in members.items()]
        return make_dataclass(base.__name__, member_list, kw_only=True, frozen=True, bases=(Strict,))

    def expand(self, kind: Kind, given_settings: Json) -> JsonObject:
        """Return the settings of the base protocol: the preset's filled templates, overridden by `given_settings`.

        Raises `SpecificationError` for a missing or invalid parameter.
        """
        parameter_names = {parameter.name for parameter in fields(self.parameters)}
        given_parameters = {name: value for name, value in given_settings.items() if name in parameter_names}
        parameters = read_fields(self.parameters, given_parameters, "settings")
        substitutes = {"instruction": INSTRUCTION, "null": None, **vars(parameters)}
        requested_settings = {name: value for name, value in given_settings.items() if name not in parameter_names}
        templates = {**self.settings, **self.by_kind[kind]}
        preset_settings = {name: _fill(value, substitutes, in_path=name == "path") for name, value in templates.items()}
        auth, request_auth = preset_settings.get("auth"), requested_settings.get("auth")
        if isinstance(auth, Mapping) and isinstance(request_auth, Mapping) and auth["type"] == request_auth.get("type"):
            requested_settings["auth"] = {**auth, **request_auth}  # a request may change single fields of the scheme
        return {**preset_settings, **requested_settings}


def _fill(template: object, values: Mapping[str, Any], *, in_path: bool) -> Any:
    """Replace the parameters in a setting; escape braces in their values, or (`in_path`) percent-encode the values."""
    if isinstance(template, Mapping):
        filled_members = {name: _fill(value, values, in_path=in_path) for name, value in template.items()}
        return {name: value for name, value in filled_members.items() if value is not None}  # null leaves it out
    if isinstance(template, list):
        return [_fill(member, values, in_path=in_path) for member in template]
    if not isinstance(template, str):
        return template
    parameter = _PARAMETER.fullmatch(template)
    if parameter and not isinstance(values[parameter[1]], str):
        return values[parameter[1]]  # a number or null, not its text

    def text_of_parameter(match: re.Match[str]) -> str:
        """Return the text that replaces a parameter within a longer text."""
        name = match[1]
        text = str(values[name])
        if in_path:
            if text in {".", ".."}:
                raise SpecificationError(f"{name} must not be {text!r}: it would lead to another path", name)
            return quote(text, safe="")
        # the base protocol fills braces itself; only those of the instruction are meant for it
        return text if name == "instruction" else text.replace("{", "{{").replace("}", "}}")

    return _PARAMETER.sub(text_of_parameter, template)


def _parse_parameters(descriptions: Mapping[str, Json]) -> Any:
    """Return a dataclass with a field for each described parameter."""
    members = []
    for name, description in descriptions.items():
        base_type = _TYPES[description["type"]]
        parameter_type = base_type | None if "default" in description else base_type
        default = field(default=description.get("default", MISSING))
        members.append((name, Annotated[parameter_type, Field(description=description["description"])], default))
    return make_dataclass("Parameters", members, kw_only=True, frozen=True, bases=(Strict,))


def _parse_preset(name: str, document: Json) -> Preset:
    """Build a preset from its TOML file."""
    return Preset(
        protocol=name,
        summary=document["summary"],
        base=document["protocol"],
        example=document["example"],
        parameters=_parse_parameters(document.get("parameters", {})),
        settings=document.get("settings", {}),
        by_kind={kind: document[kind] for kind in Kind if kind in document},
        notes=tuple(document.get("notes", ())),
    )


@cache
def presets() -> Mapping[str, Preset]:
    """Read all presets from the TOML files in this folder; return them by name, sorted."""
    named_files = sorted((file.name, file) for file in files(__package__).iterdir() if file.name.endswith(".toml"))
    text_by_name = {name.removesuffix(".toml"): file.read_text(encoding="utf-8") for name, file in named_files}
    return {name: _parse_preset(name, tomllib.loads(text)) for name, text in text_by_name.items()}
