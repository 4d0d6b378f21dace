"""Choices of the wizard from the API's catalog: kinds, protocols, methods and lists."""

import asyncio
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from assay.catalog.decisions import decision, decisions
from assay.document import Json
from web.frame import Api, segment
from web.wizard.schema_form import Field, Schema, fields_of, settings_fields

_CATALOG: Json = tomllib.loads(files(__package__).joinpath("catalog.toml").read_text("utf-8"))

KINDS: Mapping[str, Sequence[str]] = _CATALOG["kinds"]
"""Kinds of services: their titles, and what they do."""

DECIDING_MODEL = "deciding-model"
"""The wizard's kind for a language model with a decision prompt; the API's kind is a classifier or a regressor."""

SHOWN_FIRST = frozenset(_CATALOG["shown_first"])
"""Fields of the folded parts of a form that are shown first if the service is a model that decides."""

LIMITS = tuple(Field(**entry) for entry in _CATALOG["limits"])
MORE = tuple(Field(**entry) for entry in _CATALOG["more"])
"""Fields of a request in addition to target and experiment."""

SIZES: Mapping[str, Sequence[str]] = _CATALOG["sizes"]
"""Fields that set the number of questions, by method; other methods ask about all their words."""


@dataclass(frozen=True)
class Material:
    """Choices that fit the answers so far: possible protocols and methods, the chosen ones, and their form fields."""

    protocols: Sequence[Mapping[str, Any]]
    methods: Sequence[Mapping[str, Any]]
    protocol: Mapping[str, Any]
    method: Mapping[str, Any]
    settings: tuple[Field, ...]
    """Fields of the settings of the chosen protocol."""
    fields: tuple[Field, ...]
    """Form fields for the experiment of the chosen method."""
    copied: Mapping[str, Any]
    """Parts of an earlier rating's experiment that no input shows."""
    shown_first: tuple[Field, ...] = ()
    """Fields of folded parts that are shown before the parts (see `SHOWN_FIRST`)."""

    @property
    def inputs(self) -> Sequence[Field]:
        """All fields of the form to which an error can belong."""
        return (*self.settings, *self.fields, *self.shown_first, *LIMITS, *MORE)


def kind_of(answers: Mapping[str, str]) -> str:
    """Return the API's kind of service; a model that decides is a regressor if it gives a number, else a classifier."""
    kind = answers.get("kind", "")
    if kind != DECIDING_MODEL:
        return kind
    labels, bounds, name = (answers.get(f"settings.decision.{key}", "").strip() for key in ("labels", "range", "name"))
    gives_number = bounds or (name in decisions() and decision(name).range)
    return "regressor" if gives_number and not labels else "classifier"


async def material_for(api: Api, answers: Mapping[str, str]) -> Material:
    """Read from the API the choices that fit the answers so far."""
    kind, decides = kind_of(answers), answers.get("kind") == DECIDING_MODEL
    protocol_list, method_list = await asyncio.gather(api.items("/v1/protocols"), api.items("/v1/methods"))
    protocols = [
        protocol
        for protocol in protocol_list
        if kind in protocol["kinds"]
        and _can_be_written(protocol["settings_schema"])
        and ("language-model" in protocol["kinds"] or not decides)  # a language model decides, by its prompt
    ]
    methods = [method for method in method_list if kind in method["kinds"]]
    default_protocol = protocols[0]
    if decides:  # most chat models have the interface of OpenAI
        default_protocol = _named(protocols, "openai-chat", default_protocol)
    chosen_protocol = _named(protocols, answers.get("protocol"), default_protocol)
    chosen_method = _named(methods, answers.get("method"), methods[0])
    settings = tuple(map(_with_decision_choices, settings_fields(chosen_protocol["settings_schema"], kind)))
    method_facts = await api.get(chosen_method["href"])
    fields = await _method_fields(api, method_facts)
    earlier_id = answers.get("earlier", "")
    copied = await _copied_values(api, earlier_id, chosen_method["name"], fields) if earlier_id else {}
    inner_fields = _inner_fields(*settings, *fields) if decides else ()  # fields of folded parts
    shown_first = tuple(field for field in inner_fields if field.name in SHOWN_FIRST)
    return Material(protocols, methods, chosen_protocol, method_facts, settings, tuple(fields), copied, shown_first)


def _named(infos: Sequence[Mapping[str, Any]], name: str | None, default: Mapping[str, Any]) -> Mapping[str, Any]:
    return next((info for info in infos if info["name"] == name), default)


def _inner_fields(*fields: Field) -> Iterator[Field]:
    """Yield the parts of fields, the parts of these parts, and so on at any depth."""
    for field in fields:
        yield from field.parts
        yield from _inner_fields(*field.parts)


def _with_decision_choices(field: Field) -> Field:
    """Return a field; a part of it that names a decision becomes a choice among the catalog's decisions."""
    titles = [(name, decision(name).title) for name in decisions()]
    names = {"settings.decision.name", "experiment.texts.decision"}
    parts = tuple(_choice(part, titles) if part.name in names else part for part in field.parts)
    return replace(field, parts=parts)


def _can_be_written(schema: Schema) -> bool:
    """Return whether a form has inputs for all settings that the schema requires; for a chain, it has not."""
    keys = {field.key for field in fields_of(schema, "settings")}
    return set(schema.get("required", ())) <= keys


async def _method_fields(api: Api, method: Mapping[str, Any]) -> list[Field]:
    fields = [field for field in fields_of(method["schema"], "experiment") if field.key != "method"]
    return [await _with_options(api, method, field) for field in fields]


async def _with_options(api: Api, method: Mapping[str, Any], field: Field) -> Field:
    """Return a field with options: the attributes, languages, specifications, corpora or tables that it can name."""
    match field.key:
        case "attribute":
            titles = {attribute["name"]: attribute["title"] for attribute in await api.items("/v1/attributes")}
            # the caller's own records and inputs may have attributes that are not in the catalog
            own_data_fields = {"records", "vectors"} & set(method["schema"]["properties"])
            options = tuple((name, titles[name]) for name in method["attributes"])
            return replace(field, form="text" if own_data_fields else "choice", options=options, description="")
        case "languages":
            return replace(field, form="languages", options=tuple((method["languages"] or {}).items()))
        case "specification":
            word_lists = await api.items("/v1/specifications", kind=_CATALOG["words"].get(method["name"]), limit=200)
            return _choice(field, ((word_list["name"], word_list["title"]) for word_list in word_lists))
        case "corpus":
            kind = "images" if "pictures" in method["schema"]["properties"] else "sentences"
            corpora = await api.items("/v1/corpora", kind=kind, limit=200)
            return _choice(field, ((corpus["id"], corpus["name"]) for corpus in corpora))
        case "upload":
            uploads = await api.items("/v1/uploads", purpose="table", limit=200)
            return _choice(field, ((upload["digest"], upload["name"] or upload["id"]) for upload in uploads))
        case _ if field.form == "part":
            parts = [await _with_options(api, method, part) for part in field.parts]
            return _with_decision_choices(replace(field, parts=tuple(parts)))
    return field


def _choice(field: Field, options: Iterable[tuple[str, str]]) -> Field:
    return replace(field, form="choice", options=tuple(options))


async def _copied_values(api: Api, earlier_id: str, method: str, fields: Sequence[Field]) -> Mapping[str, Any]:
    """Return values of an earlier rating's or job's experiment that no field shows; none if by another method."""
    resource = "ratings" if earlier_id.startswith("rat_") else "jobs"
    experiment = (await api.get(f"/v1/{resource}/{segment(earlier_id)}"))["experiment"] or {}
    if experiment.get("method") != method:
        return {}
    shown_keys = {field.key for field in fields if field.form != "part"}
    return {name: value for name, value in experiment.items() if name not in shown_keys and value not in (None, [], {})}


def sizes_of(material: Material, values: Mapping[str, Any], factor: float) -> dict[str, int]:
    """Return new values of the fields that set the number of questions: the values times `factor`, within bounds."""
    sizes = {}
    for field in material.fields:
        if field.key in SIZES.get(material.method["name"], ()) and factor != 1:  # 1 leaves the field as it is
            size = round(int(values.get(field.key, field.default)) * factor)
            sizes[field.key] = int(max(field.minimum or 1, min(field.maximum or size, size)))
    return sizes
