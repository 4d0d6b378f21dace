"""Schemas of the catalog: methods, attributes, protocols."""

from typing import Annotated

from pydantic import Field

from assay.document import JsonObject
from service.http.openapi.common_schemas import ResponseModel


class MethodSummary(ResponseModel):
    """A method that measures bias."""

    name: Annotated[str, Field(examples=["round-trip"])]
    summary: str
    kinds: list[str]
    """Kinds of service that the method can rate."""
    href: str


class MethodView(MethodSummary):
    """A method that measures bias, with the schema of its specification."""

    description: str
    schema_: Annotated[JsonObject, Field(alias="schema")]
    """JSON Schema of a request's `experiment`."""
    attributes: list[str]
    """Attributes of the catalog that the method can test without words of your own."""
    languages: dict[str, str] | None
    """Valid values of `languages` with their English names, common languages first; null without this field."""
    example: JsonObject
    """A specification with every default filled in."""
    expected_probes: int
    """Number of questions of the example if it ends at the first interim analysis."""


class MethodList(ResponseModel):
    """All methods."""

    items: list[MethodSummary]


class AttributeMethod(ResponseModel):
    """What a method can ask about an attribute without words of your own."""

    method: str
    words: dict[str, dict[str, int]]
    """Number of words of each kind, by language; empty if the groups are those of your own file."""
    reason: str | None
    """Reason why the method cannot test the attribute; null if it can."""


class AttributeView(ResponseModel):
    """An attribute for which bias can be measured."""

    name: str
    title: str
    values: list[str]
    """Values of the attribute, in the order of all tables."""
    residual: str
    """Category of answers that name none of the values, or several."""
    source: str
    """Source of the values and words."""
    methods: list[AttributeMethod]
    """What each method can ask about the attribute."""


class AttributeList(ResponseModel):
    """All attributes."""

    items: list[AttributeView]


class ProtocolView(ResponseModel):
    """A protocol of targets."""

    name: str
    summary: str
    kinds: list[str]
    needs_url: bool
    needs_secret: bool
    reproducible: bool
    """False if a later call can reach another service."""
    settings_schema: JsonObject
    """JSON Schema of a target's `settings`."""


class ProtocolList(ResponseModel):
    """All protocols."""

    items: list[ProtocolView]
