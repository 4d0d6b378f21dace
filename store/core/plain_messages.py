"""Messages for invalid fields in plain words, from the details of validation errors (`pydantic_core.ErrorDetails`)."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from assay.errors import known_names

_REQUIREMENTS: Mapping[str, str] = {
    "missing": "this field is required",
    "string": "must be text",
    "int": "must be a whole number",
    "float": "must be a number",
    "bool": "must be true or false",
    "none_required": "must be null",
    "tuple": "must be a list",
    "list": "must be a list",
    "set": "must be a list",
    "dict": "must be an object",
    "mapping": "must be an object",
    "model": "must be an object",
    "dataclass": "must be an object",
}
"""Requirements of a field, by the part of an error's type before ``_type``, ``_parsing`` and similar endings."""

_TYPE_ENDINGS = (
    *("_attributes_type", "_exact_type", "_from_float", "_type"),
    *("_keyword_only_argument", "_argument", "_parsing"),
)


def plain_message(error: Mapping[str, Any], valid_names: Iterable[str] = ()) -> str:
    """Return a plain message for pydantic's `error` about a field; `valid_names` are the field names allowed there."""
    error_type, context = str(error["type"]), error.get("ctx") or {}
    match error_type:
        case "unexpected_keyword_argument" | "extra_forbidden":
            name = str(error["loc"][-1])
            return f"no field is called {name!r}{known_names(name, valid_names)}"
        case "literal_error" | "enum":
            # pydantic writes: 'a', 'b' or 'c'
            names = str(context["expected"]).replace(" or ", ", ").replace("'", "").split(", ")
            value = str(error.get("input", ""))
            return f"{value[:80]!r} is not possible{known_names(value, names)}"
        case "union_tag_invalid":
            names = str(context["expected_tags"]).replace("'", "").split(", ")
            # pydantic writes 'field', or name() for a discriminating function
            field = str(context["discriminator"]).strip("'").removeprefix("_").removesuffix("()")
            return f"no {field} is called {context['tag']!r}{known_names(str(context['tag']), names)}"
        case "union_tag_not_found":
            return "this field is required"
        case "too_short" | "too_long":
            bound, limit_name = ("least", "min_length") if error_type == "too_short" else ("most", "max_length")
            actual_length = context.get("actual_length")
            correction = f", not {actual_length}" if actual_length is not None else ""
            return f"must have at {bound} {context[limit_name]} entries{correction}"
    for ending in _TYPE_ENDINGS:  # such as "_parsing"
        error_type = error_type.removesuffix(ending)
    if error_type in _REQUIREMENTS:
        return _REQUIREMENTS[error_type]
    message = str(error["msg"]).removeprefix("Value error, ").removeprefix("Input ").removeprefix("String ")
    return re.sub("^should", "must", message).replace("must be a valid", "must be")
