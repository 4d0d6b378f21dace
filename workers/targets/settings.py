"""Settings of protocols: parsing, validation, JSON Schema."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Annotated, Any, TypeVar, cast

from annotated_types import MaxLen, MinLen
from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from assay.document import JsonObject
from assay.errors import SpecificationError
from assay.model import Field as Cell
from assay.model import Kind
from store.core.plain_messages import plain_message
from workers.targets.auth.schemes import Auth, Strict, check_auth
from workers.targets.parsing.answer_parsing import label_text
from workers.targets.parsing.written_numbers import NumberForm

_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ()_|-]{0,63}", re.ASCII)

Sample = Annotated[str, MinLen(1), MaxLen(2000)] | Annotated[Mapping[str, Cell], MinLen(1), MaxLen(500)]
"""Text, or record as a mapping from column names to cells."""

S = TypeVar("S")


@dataclass(frozen=True, kw_only=True)
class TargetSettings(Strict):
    """Base class of all settings."""

    def __post_init__(self) -> None:
        """Validate rules that types cannot express; each class calls the method of its parents."""

    def check_secret(self, secret: str | None) -> None:
        """Raise a `SpecificationError` if the target's secret does not fit these settings."""

    def check_kind(self, kind: Kind) -> None:
        """Raise a `SpecificationError` if these settings do not fit the target's kind."""


@dataclass(frozen=True, kw_only=True)
class CalledSettings(TargetSettings):
    """Base class of the settings of services that are called over HTTP."""

    auth: Annotated[
        Auth | None, Field(description="How the secret authenticates calls. Null: as the protocol does by itself.")
    ] = None

    def check_secret(self, secret: str | None) -> None:
        """Raise a `SpecificationError` if the secret does not fit `auth`."""
        super().check_secret(secret)
        if self.auth is not None:
            check_auth(self.auth, secret)


@dataclass(frozen=True, kw_only=True)
class TranslatorSettings(CalledSettings):
    """Base class of the settings of translators."""

    language_codes: Annotated[
        Mapping[str, str],
        MaxLen(500),
        Field(description='The service\'s own code for a language where it differs: {"zh": "zh-Hans"}.'),
        # described with `Field`, because docstrings of inherited fields are missing in the schema
    ] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        for code, spelling in self.language_codes.items():
            if not _CODE.fullmatch(spelling):
                message = f"language_codes maps {code!r} to {spelling!r}; use letters, digits and hyphens"
                raise SpecificationError(message, f"language_codes.{code}")


@dataclass(frozen=True, kw_only=True)
class PredictorSettings(CalledSettings):
    """Base class of the settings of classifiers, regressors and embedders."""

    labels: Annotated[
        tuple[Annotated[str, BeforeValidator(label_text), MinLen(1), MaxLen(200)], ...],
        MaxLen(1000),
        Field(
            description="A classifier's labels, all of them, in the order of the columns of its probabilities; texts, "
            "numbers or truth values. Empty: whatever labels it names."
        ),
    ] = ()
    number: Annotated[
        NumberForm | None,
        Field(
            description="Regressors: form of numbers that come as text, with their units: decimal-point ($1,234.5) or "
            "decimal-comma (1.234,5 €). Null: only plain numbers are read from text."
        ),
    ] = None
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
        """Validate the kind; for an embedder, also refuse samples that are records."""
        super().check_kind(kind)
        if kind is Kind.EMBEDDER and not all(isinstance(sample, str) for sample in self.samples):
            raise SpecificationError("an embedder is asked about texts; samples must be texts", "settings.samples")


@cache
def _type_adapter(settings_type: type) -> TypeAdapter[Any]:
    return TypeAdapter(settings_type)  # cached, because an adapter is slow to build


def settings_schema(settings_type: type) -> JsonObject:
    """Return the JSON Schema of a settings class."""
    return _type_adapter(settings_type).json_schema()


def read_fields(settings_type: type[S], values: Mapping[str, Any], where: str) -> S:
    """Parse a frozen dataclass of settings or limits from the request field `where`.

    Raise `SpecificationError` if a field is invalid; ``field`` begins with `where`. The message never repeats a value,
    which might be a key.
    """
    try:
        settings: S = _type_adapter(cast("Any", settings_type)).validate_python(dict(values))
        return settings
    except ValidationError as invalid:
        error = invalid.errors(include_url=False, include_input=False)[0]
    cause = error.get("ctx", {}).get("error")
    # the second part of a location in `auth` is the tag of the scheme, which is no field
    location = error["loc"][:1] + error["loc"][2:] if error["loc"][:1] == ("auth",) else error["loc"]
    if isinstance(cause, SpecificationError):
        inner_field = cause.field
    else:  # without the parts that name a type instead of a field
        inner_field = ".".join(str(part) for part in location if "[" not in str(part) and part != "constrained-str")
    name = f"{where}.{inner_field}" if inner_field else where
    # for a field of a nested object, the names of this class would be wrong suggestions
    known_names = [field.name for field in fields(cast("Any", settings_type))] if len(location) == 1 else ()
    message = str(cause) if isinstance(cause, SpecificationError) else f"{name}: {plain_message(error, known_names)}"
    raise SpecificationError(message, name)
