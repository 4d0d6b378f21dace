"""Validation of dataclass fields against their annotated bounds, without a validation library.

The same ``annotated_types`` bounds become the OpenAPI schema. They are checked here too, so that a
method that is made in Python is validated like a method from an HTTP request.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from inspect import cleandoc
from typing import Any, ClassVar, get_type_hints

import annotated_types as at

from assay.errors import OutOfBounds, SpecificationError


def check_bounds(specification: object) -> None:
    """Raise `OutOfBounds` if the value of a dataclass field, or its length, violates the field's annotated bounds."""
    for name, bounds in _bounds_by_field(type(specification)):  # type: ignore[arg-type] # a class is hashable
        value = getattr(specification, name)
        for bound in bounds:
            if requirement := _violated_requirement(bound, value):
                raise OutOfBounds(f"{name} must be {requirement}, not {value!r}", name)


class Bounded:
    """Base class of request dataclasses: unknown fields are refused, and values must be within their bounds."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    def __init_subclass__(cls, **options: object) -> None:
        """Add inherited fields to the docstring (of numpydoc): forms, commands and the API describe fields with it."""
        super().__init_subclass__(**options)
        summary, _, own_parameters = cleandoc(cls.__doc__ or "").partition(_PARAMETERS)  # at the heading
        _, _, base_parameters = cleandoc(cls.__base__.__doc__ or "").partition(_PARAMETERS)
        if base_parameters:
            entries = [*_NEW_ENTRY.split(base_parameters), *_NEW_ENTRY.split(own_parameters)]
            entry_by_field = {entry.partition(" : ")[0]: entry for entry in entries}  # own entries replace inherited
            cls.__doc__ = summary + _PARAMETERS + "\n".join(filter(None, entry_by_field.values()))

    def __post_init__(self) -> None:
        """Raise `OutOfBounds` if a value is out of its bounds."""
        check_bounds(self)


_PARAMETERS = "\n\nParameters\n----------\n"
_NEW_ENTRY = re.compile(r"\n(?=\S)")  # the descriptions below a field's name are indented


def refuse_repeats(field: str, names: Sequence[str]) -> None:
    """Raise `SpecificationError` about the request's `field` if `names` is empty, or contains a name twice."""
    if not names:
        raise SpecificationError(f"{field} must name at least one", field)
    for index, name in enumerate(names):
        if name in names[:index]:
            raise SpecificationError(f"{field} names {name!r} twice", f"{field}.{index}")


@cache
def _bounds_by_field(specification_type: type[Any]) -> tuple[tuple[str, tuple[Any, ...]], ...]:
    """Return the name and bounds of each field of a class; cached, because evaluating type hints is slow."""
    hints = get_type_hints(specification_type, include_extras=True)
    return tuple((field.name, getattr(hints[field.name], "__metadata__", ())) for field in fields(specification_type))


def _violated_requirement(bound: Any, value: Any) -> str | None:
    """Return a phrase for the valid values, such as "at least 1", if `value` violates `bound`; else ``None``."""
    if value is None:  # an optional field that was left out
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return "a finite number"
    match bound:
        case at.Ge(ge) if not value >= ge:
            return f"at least {ge}"
        case at.Gt(gt) if not value > gt:
            return f"greater than {gt}"
        case at.Le(le) if not value <= le:
            return f"at most {le}"
        case at.Lt(lt) if not value < lt:
            return f"less than {lt}"
        case at.MinLen(least) if len(value) < least:
            return f"of length {least} or more"
        case at.MaxLen(most) if len(value) > most:
            return f"of length {most} or less"
        case _:
            return None


_INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Match a control character, a line end, or a character that hides or reorders text; not ZWNJ and ZWJ of Persian."""


def invisible_in(name: str) -> str | None:
    """Return the code of the first invisible character of a name, such as ``U+001B``; ``None`` if there is none."""
    match = None if name.isprintable() else _INVISIBLE.search(name)
    return None if match is None else f"U+{ord(match[0]):04X}"
