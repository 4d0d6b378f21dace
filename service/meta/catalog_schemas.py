"""Schemas of the catalog: methods, attributes, protocols."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from service.http.openapi.common_schemas import ResponseModel


class MethodSummary(ResponseModel):
    """A method of measuring bias."""

    name: Annotated[str, Field(examples=["round-trip"])]
    summary: str
    kinds: list[str]
    """Kinds of service that it can rate."""
    href: str


class MethodView(MethodSummary):
    """A method of measuring bias, with the schema of its specification."""

    description: str
    schema_: Annotated[dict[str, Any], Field(alias="schema")]
    """JSON Schema of a request's `experiment`."""
    attributes: list[str]
    """Attributes of the catalog that it can test without words of your own."""
    languages: dict[str, str] | None
    """English names of the languages that `languages` can hold, by code, the common ones first; null if it has none."""
    example: dict[str, Any]
    """A specification with every default filled in."""
    expected_probes: int
    """Number of questions that the example asks in a clear case."""


class MethodList(ResponseModel):
    """All methods."""

    items: list[MethodSummary]


class AttributeView(ResponseModel):
    """An attribute for which bias can be measured."""

    name: str
    title: str
    values: list[str]
    """Values of the attribute, in the order of all tables."""
    residual: str
    """Category of answers that name none of the values, or several."""
    source: str
    """Source of its values and words."""


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
    settings_schema: dict[str, Any]
    """JSON Schema of a target's `settings`."""


class ProtocolList(ResponseModel):
    """All protocols."""

    items: list[ProtocolView]
