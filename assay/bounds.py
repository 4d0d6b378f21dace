"""Keep the promises a specification's type hints make, without a validation library.

The same ``annotated_types`` bounds become the OpenAPI schema; checking them here too means that a
method built by hand is as safe as one that came over HTTP.
"""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any, get_type_hints

import annotated_types as at

from assay.errors import OutOfBounds


def check_bounds(specification: Any) -> None:
    """Compare every number and collection of a dataclass with its annotated bounds.

    Raises
    ------
    OutOfBounds
        Naming the field, the bound and what was seen.
    """
    hints = get_type_hints(type(specification), include_extras=True)
    for each in fields(specification):
        value = getattr(specification, each.name)
        for bound in getattr(hints[each.name], "__metadata__", ()):
            if wrong := _broken(bound, value):
                raise OutOfBounds(f"{each.name} must be {wrong}, not {value!r}", each.name)


def _broken(bound: Any, value: Any) -> str | None:
    """Say what `value` should have been, if it breaks `bound`."""
    if value is None:
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
