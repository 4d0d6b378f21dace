"""Schemas that are derived from dataclasses: components of a rating, and the difference of two ratings."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, reduce
from operator import or_
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model

from assay.document import JsonObject, ReasonDocument
from assay.methods import every_method
from assay.model import Letter
from assay.rating.difference import RatingDifference
from reports.because import Because
from service.http.openapi.common_schemas import Instant, LetterName, ResponseModel


class ClosedModel(BaseModel):
    """Base class of the schemas that `model_of` makes from dataclasses: other fields are refused."""

    model_config = ConfigDict(extra="forbid", defer_build=True)


@cache
def model_of(dataclass: Any) -> type[ClosedModel]:
    """Return the schema of a dataclass of the rating document.

    Fields with the metadata ``always`` are required, and null if not known; other fields can be missing.
    """
    hints, schema_fields = get_type_hints(dataclass), dict[str, Any]()
    for field in fields(dataclass):
        annotation = _schema_type(hints[field.name], model_of)
        if field.metadata.get("always"):
            # null: the value is not known; truth values always are, and a default of None has null in its type already
            needs_null = field.default is not None and not isinstance(field.default, bool)
            schema_fields[field.name] = (annotation | None if needs_null else annotation, ...)
        elif field.name != "json":  # `json` is the whole stored document, not a field of the document
            schema_fields[field.name.removesuffix("_")] = (annotation, None)  # ``from_`` is the key ``from``
    return create_model(dataclass.__name__, __base__=ClosedModel, __doc__=dataclass.__doc__, **schema_fields)


@cache
def view_of(dataclass: type) -> type[ResponseModel]:
    """Return the response schema of a dataclass; every field is required, because answers always have all fields."""
    hints = get_type_hints(dataclass).items()
    schema_fields: dict[str, Any] = {name: (_schema_type(hint, view_of), ...) for name, hint in hints}
    if "rated_at" in schema_fields:  # a time, which the dataclass holds as text
        schema_fields["rated_at"] = (Instant | None, ...)
    view = create_model(f"{dataclass.__name__}View", __base__=ResponseModel, __doc__=dataclass.__doc__, **schema_fields)
    view.described_by = dataclass
    return view


def _schema_type(hint: object, schema_of: Callable[[Any], type[BaseModel]]) -> Any:
    """Return the type in a schema for the type `hint`: tuples become lists, dataclasses the result of `schema_of`."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is UnionType:
        members = [argument if argument is NoneType else _schema_type(argument, schema_of) for argument in arguments]
        return reduce(or_, members)
    if origin is tuple:
        return list[_schema_type(arguments[0], schema_of)] if arguments[-1] is ... else hint  # type: ignore[misc]
    if origin is Mapping:
        return dict[str, _schema_type(arguments[1], schema_of)]  # type: ignore[misc]
    if hint is Letter:
        return LetterName
    return schema_of(hint) if is_dataclass(hint) else hint


if TYPE_CHECKING:
    AnyComponent = JsonObject
    AnyAggregation = JsonObject
    ReasonView = JsonObject
    BecauseView = JsonObject
else:  # at run time, installed plug-ins can add methods
    AnyComponent = reduce(or_, dict.fromkeys(model_of(method.COMPONENT) for method in every_method()))
    AnyAggregation = reduce(or_, dict.fromkeys(model_of(method.AGGREGATION) for method in every_method()))
    ReasonView = model_of(ReasonDocument)
    BecauseView = view_of(Because)

RatingDifferenceView = view_of(RatingDifference)
