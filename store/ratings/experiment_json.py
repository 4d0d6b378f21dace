"""Validation and serialisation of a request's ``experiment``.

`assay` declares methods as plain dataclasses; this module validates them with pydantic. The service validates
requests with `AnyMethod`; workers rebuild the method from the job's row.
"""

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from assay.catalog.values import AND
from assay.document import Json, JsonObject, RatingDocument
from assay.errors import SpecificationError, UnknownName
from assay.experiment import Method
from assay.methods import AnyMethod as _AnyMethod
from assay.methods import every_method, method_name
from assay.rating.rerating import rules_of
from store.core.plain_messages import plain_message


def with_intersection(experiment: Any) -> Any:
    """Join an experiment's list of attributes, such as gender and race, to a single name; else return it unchanged."""
    names = experiment.get("attribute") if isinstance(experiment, Mapping) else None
    if not isinstance(names, list | tuple) or not names or not all(isinstance(name, str) for name in names):
        return experiment
    return {**experiment, "attribute": AND.join(names)}


if TYPE_CHECKING:
    AnyMethod = Annotated[_AnyMethod, Field(discriminator="method")]
else:  # at run time, installed plug-ins can add methods to the union
    AnyMethod = Annotated[
        Annotated[Union[every_method()], Field(discriminator="method")],  # noqa: UP007
        BeforeValidator(with_intersection),
    ]
"""A request's experiment, discriminated by its ``method`` field."""


def _class_of(name: str) -> type[_AnyMethod]:
    classes = {method_name(method_class): method_class for method_class in every_method()}
    if name not in classes:
        raise UnknownName("method", name, classes, field="method")
    return classes[name]


@cache
def _method_adapter(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(_class_of(name))


def parse_method(specification: Json) -> _AnyMethod:
    """Build a method from its specification.

    Raise `SpecificationError` if a field is invalid; the error names the first such field.
    """
    name = str(specification.get("method"))
    try:
        method: _AnyMethod = _method_adapter(name).validate_python(with_intersection(specification))
    except ValidationError as error:
        raise _as_specification_error(error, _class_of(name)) from None
    return method


def rated_method(rating: RatingDocument) -> Method:
    """Build the method (experiment) with which a rating's evidence was recorded.

    Raise `MethodologyRemoved` if this version of Assay does not have the rules that the rating was made under, and
    `SpecificationError` as `parse_method` does.
    """
    return rules_of(rating).amend(parse_method(rating.experiment))


def dump_method(method: _AnyMethod) -> JsonObject:
    """Serialise a method to JSON, including defaults."""
    specification: JsonObject = _method_adapter(method.method).dump_python(method, mode="json")
    return specification


def method_schema(name: str) -> JsonObject:
    """Return the JSON Schema of a method's specification, in which the field ``method`` is required."""
    schema: JsonObject = _method_adapter(name).json_schema()
    required_names = schema.get("required", [])
    return {**schema, "required": ["method", *(field_name for field_name in required_names if field_name != "method")]}


def _as_specification_error(error: ValidationError, method_class: type[_AnyMethod]) -> SpecificationError:
    """Convert an error of pydantic, which may list several faults, to the error of its first fault."""
    first_error = error.errors(include_url=False)[0]
    cause = first_error.get("ctx", {}).get("error")
    if isinstance(cause, SpecificationError):
        return cause
    field_path = ".".join(str(part) for part in first_error["loc"])
    is_own_field = len(first_error["loc"]) == 1  # a field of the method, not of an object in such a field
    field_names = [field.name for field in fields(method_class)] if is_own_field else ()
    return SpecificationError(f"{field_path}: {plain_message(first_error, field_names)}", field_path or None)
