"""Settings of a protocol: read, checked, and refused with the name of the field to mend."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, ClassVar, TypeVar, cast

from annotated_types import MaxLen, MinLen
from pydantic import Field, TypeAdapter, ValidationError

from assay.errors import SpecificationError
from assay.model import Field as Cell
from assay.model import Kind

STRICT: dict[str, Any] = {"extra": "forbid", "use_attribute_docstrings": True}
"""Misspelt fields are refused, and a field's docstring is its description in the schema."""

_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ()_|-]{0,63}", re.ASCII)

Sample = Annotated[str, MinLen(1), MaxLen(2000)] | Annotated[Mapping[str, Cell], MinLen(1), MaxLen(500)]
"""A text, or a record by the names of its cells."""

S = TypeVar("S")


@dataclass(frozen=True, kw_only=True)
class TargetSettings:
    """What the settings of every protocol can be asked."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    def __post_init__(self) -> None:
        """Check what a field's type cannot say; every class calls its parents'."""

    def check_secret(self, secret: str | None) -> None:
        """Raise a `SpecificationError` if the target's secret does not go with these settings."""

    def check_kind(self, kind: Kind) -> None:
        """Raise a `SpecificationError` if these settings do not go with the target's kind."""


@dataclass(frozen=True, kw_only=True)
class TranslatorSettings(TargetSettings):
    """What every translator's settings have."""

    language_codes: Annotated[
        Mapping[str, str],
        MaxLen(500),
        Field(description='The service\'s own code for a language where it differs: {"zh": "zh-Hans"}.'),
    ] = field(default_factory=dict)  # described here: docstrings of inherited fields do not reach the schema

    def __post_init__(self) -> None:
        super().__post_init__()
        for code, spelling in self.language_codes.items():
            if not _CODE.fullmatch(spelling):
                raise SpecificationError(
                    f"language_codes maps {code!r} to {spelling!r}; letters, digits and hyphens would do",
                    f"language_codes.{code}",
                )


@dataclass(frozen=True, kw_only=True)
class PredictorSettings(TargetSettings):
    """What the settings of every service have that answers with a class, a number or a vector."""

    labels: Annotated[
        tuple[Annotated[str, MinLen(1), MaxLen(200)], ...],
        MaxLen(1000),
        Field(
            description="A classifier's labels, all of them, in the order of the columns of its probabilities. "
            "Empty: whatever labels it names."
        ),
    ] = ()
    samples: Annotated[
        tuple[Sample, ...],
        MaxLen(10),
        Field(
            description="Texts or records to try the service with when there is no experiment to take them from. "
            "Empty: texts of ours; records are never invented."
        ),
    ] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.labels) == 1 or len(set(self.labels)) != len(self.labels):
            raise SpecificationError("labels must be two or more, all different, or left out", "labels")

    def check_kind(self, kind: Kind) -> None:
        """Refuse records to try an embedder with."""
        super().check_kind(kind)
        if kind is Kind.EMBEDDER and not all(isinstance(each, str) for each in self.samples):
            raise SpecificationError("an embedder is asked about texts; samples must be texts", "settings.samples")


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
