"""Specifications as JSON: what a request's ``experiment`` may hold, and how it is kept.

`assay` declares methods as plain dataclasses; this is the one place where pydantic reads them.
The service validates requests with `AnyMethod`; the worker rebuilds the method from its row.
"""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import Field, TypeAdapter, ValidationError

from assay.errors import SpecificationError, UnknownName
from assay.methods import AnyMethod as _AnyMethod
from assay.methods import every_method, method_name

if TYPE_CHECKING:
    AnyMethod = Annotated[_AnyMethod, Field(discriminator="method")]
else:  # installed packages may offer more
    AnyMethod = Annotated[Union[every_method()], Field(discriminator="method")]  # noqa: UP007
"""A request's experiment, told apart by its ``method`` field."""


@cache
def _adapter() -> TypeAdapter[Any]:
    return TypeAdapter(AnyMethod)


@cache
def _adapter_of(name: str) -> TypeAdapter[Any]:
    for kind in every_method():
        if method_name(kind) == name:
            return TypeAdapter(kind)
    raise UnknownName("method", name, tuple(method_name(kind) for kind in every_method()), "method")


def parse_method(written: Mapping[str, Any]) -> _AnyMethod:
    """Build a method from its specification.

    Raises
    ------
    SpecificationError
        Naming the first field that is wrong, what was seen and what would do.
    """
    known = tuple(method_name(kind) for kind in every_method())
    name = written.get("method")
    if name not in known:
        raise UnknownName("method", str(name), known, "method")
    try:
        method: _AnyMethod = _adapter().validate_python(dict(written))
    except ValidationError as invalid:
        raise _as_specification_error(invalid) from None
    return method


def dump_method(method: _AnyMethod) -> dict[str, Any]:
    """Write a method down with every default filled in."""
    written: dict[str, Any] = _adapter_of(method.method).dump_python(method, mode="json")
    return written


def method_schema(name: str) -> dict[str, Any]:
    """Give the JSON Schema of one method's specification."""
    schema: dict[str, Any] = _adapter_of(name).json_schema()
    required = schema.get("required", [])
    return {**schema, "required": ["method", *(each for each in required if each != "method")]}


def _as_specification_error(invalid: ValidationError) -> SpecificationError:
    first = invalid.errors(include_url=False)[0]
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, SpecificationError):
        return cause
    where = ".".join(str(part) for part in first["loc"][1:])
    return SpecificationError(f"{where}: {first['msg']}", where or None)
