"""Readers of single values of a rating document; a value of another type counts as absent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from assay.reports.plain import visible
from assay.reports.view import RESIDUALS, Shares

Part = Mapping[str, Any]
"""An object of a rating document."""


def mapping(part: Part, key: str) -> dict[str, Any]:
    """Read an object; any other value counts as an empty object."""
    value = part.get(key)
    return {str(name): each for name, each in value.items()} if isinstance(value, Mapping) else {}


def objects(part: Part, key: str) -> list[Mapping[str, Any]]:
    """Read the objects of a list."""
    value = part.get(key)
    # an abstract class takes five times as long to check as `dict`, and a list can hold thousands of sentences
    return [one for one in value if isinstance(one, (dict, Mapping))] if isinstance(value, list | tuple) else []


def texts(part: Part, key: str) -> tuple[str, ...]:
    """Read the texts of a list."""
    value = part.get(key)
    return tuple(visible(one) for one in value if isinstance(one, str)) if isinstance(value, list | tuple) else ()


def text(part: Part, key: str) -> str | None:
    """Read a text that is not empty."""
    value = part.get(key)
    return visible(value) or None if isinstance(value, str) else None


def finite(value: Any) -> float | None:
    """Return a value if it is a finite number, else ``None``; a truth value is not a number."""
    known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if known else None


def number(part: Part, key: str) -> float | None:
    """Read a finite number by its key."""
    return finite(part.get(key))


def count(part: Part, key: str) -> int | None:
    """Read a whole number by its key."""
    value = finite(part.get(key))
    return None if value is None else int(value)


def numbers(written: Any) -> Shares:
    """Read the finite numbers of an object."""
    if not isinstance(written, Mapping):
        return {}
    return {visible(str(key)): number for key, value in written.items() if (number := finite(value)) is not None}


def values(written: Any) -> Shares:
    """Read numbers by attribute value; the residual is last, wherever it is in the stored document."""
    given = numbers(written)
    return {key: given[key] for key in sorted(given, key=lambda key: key in RESIDUALS)}
