"""Settings of a protocol: read, checked, and refused with the name of the field to mend."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, ClassVar, TypeVar, cast

from annotated_types import MaxLen
from pydantic import Field, TypeAdapter, ValidationError

from assay.errors import SpecificationError

STRICT: dict[str, Any] = {"extra": "forbid", "use_attribute_docstrings": True}
"""Misspelt fields are refused, and a field's docstring is its description in the schema."""

_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ()_|-]{0,63}", re.ASCII)

S = TypeVar("S")


@dataclass(frozen=True, kw_only=True)
class TranslatorSettings:
    """What every translator's settings have."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    language_codes: Annotated[
        Mapping[str, str],
        MaxLen(500),
        Field(description='The service\'s own code for a language where it differs: {"zh": "zh-Hans"}.'),
    ] = field(default_factory=dict)  # described here: docstrings of inherited fields do not reach the schema

    def __post_init__(self) -> None:
        for code, spelling in self.language_codes.items():
            if not _CODE.fullmatch(spelling):
                raise SpecificationError(
                    f"language_codes maps {code!r} to {spelling!r}; letters, digits and hyphens would do",
                    f"language_codes.{code}",
                )

    def check_secret(self, secret: str | None) -> None:
        """Raise a `SpecificationError` if the target's secret does not go with these settings."""


@cache
def _validator(kind: type) -> TypeAdapter[Any]:
    return TypeAdapter(kind)  # slow to build


def settings_schema(kind: type) -> dict[str, Any]:
    """Give the JSON Schema of a settings class."""
    return _validator(kind).json_schema()


def read_fields(kind: type[S], written: Mapping[str, Any], where: str) -> S:
    """Build settings or limits from what a request wrote.

    Parameters
    ----------
    kind : type
        A frozen dataclass.
    written : mapping
        JSON-able fields.
    where : str
        The request's field that holds them: ``"settings"``.

    Raises
    ------
    SpecificationError
        Whose ``field`` begins with `where`. It never repeats a value, which might be a key.
    """
    try:
        made: S = _validator(cast("Any", kind)).validate_python(dict(written))
        return made
    except ValidationError as invalid:
        first = invalid.errors(include_url=False, include_input=False)[0]
    cause = first.get("ctx", {}).get("error")
    inner = cause.field if isinstance(cause, SpecificationError) else ".".join(str(part) for part in first["loc"])
    name = f"{where}.{inner}" if inner else where
    message = str(cause) if isinstance(cause, SpecificationError) else f"{name}: {first['msg']}"
    raise SpecificationError(message, name)
