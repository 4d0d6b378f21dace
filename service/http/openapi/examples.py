"""Request examples of the API's documentation, from ``examples.json``; a test validates each of them."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, get_args

from assay.document import JsonObject

EXAMPLES: dict[str, JsonObject] = json.loads(files(__package__).joinpath("examples.json").read_text("utf-8"))
"""Examples by the name of a request's schema; for a union, of its first member."""


def examples_of(body: Any) -> JsonObject | None:
    """Return the examples of a request's schema, or of the schema that it extends."""
    schema = next(iter(get_args(body)), body)
    return next((EXAMPLES[base.__name__] for base in schema.__mro__ if base.__name__ in EXAMPLES), None)
