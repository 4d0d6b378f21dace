"""What can be asked: methods, attributes, protocols."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from service.http.openapi.common_schemas import Told


class MethodSummary(Told):
    """A way to look for bias."""

    name: Annotated[str, Field(examples=["round-trip"])]
    summary: str
    kinds: list[str]
    """Kinds of service it can rate."""
    href: str


class MethodView(MethodSummary):
    """A way to look for bias, with the schema of its specification."""

    description: str
    schema_: Annotated[dict[str, Any], Field(alias="schema")]
    """JSON Schema of the `experiment` of a request."""
    example: dict[str, Any]
    """A specification with every default filled in."""
    expected_probes: int
    """Questions that the example asks of a clear case."""


class MethodList(Told):
    """Every method."""

    items: list[MethodSummary]


class AttributeView(Told):
    """An attribute that bias can be tested for."""

    name: str
    title: str
    values: list[str]
    """What can go in, in the order of every table about it."""
    residual: str
    """What an answer is read as that names none of them, or several."""
    source: str
    """Where its values and words come from."""


class AttributeList(Told):
    """Every attribute."""

    items: list[AttributeView]


class ProtocolView(Told):
    """A protocol that targets may speak."""

    name: str
    summary: str
    kinds: list[str]
    needs_url: bool
    needs_secret: bool
    reproducible: bool
    """False where asking again may reach another service."""
    settings_schema: dict[str, Any]
    """JSON Schema of a target's `settings`."""


class ProtocolList(Told):
    """Every protocol."""

    items: list[ProtocolView]
