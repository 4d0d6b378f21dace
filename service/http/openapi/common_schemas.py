"""Base classes and field types that several schemas share."""

import ast
import sys
import unicodedata
from datetime import UTC, datetime
from functools import cache
from inspect import cleandoc, getsource
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue

from assay.bounds import invisible_in
from assay.errors import SpecificationError

MAX_SEED = 2**53 - 1
"""Largest integer that every JSON parser represents exactly."""

Visibility = Literal["private", "unlisted", "public"]
LetterName = Literal["UCS", "DSBS", "BS"]
KindName = Literal[
    "translator", "classifier", "regressor", "embedder", "language-model", "image-classifier", "decision-tool"
]


@cache
def _attribute_docstrings(module: str) -> dict[str, dict[str, str]]:
    """Return the docstrings of attributes in a module, by class and attribute."""
    tree = ast.parse(getsource(sys.modules[module]))
    docstrings: dict[str, dict[str, str]] = {}
    for class_node in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        class_docstrings = docstrings[class_node.name] = {}
        # an attribute's docstring is the string literal after its annotation
        for field, following in pairwise(class_node.body):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                match following:
                    case ast.Expr(ast.Constant(str(docstring))):
                        class_docstrings[field.target.id] = cleandoc(docstring)
    return docstrings


class DescribedModel(BaseModel):
    """Base class of models whose attribute docstrings are the descriptions of fields in the OpenAPI document.

    The docstrings are parsed when the document is built; pydantic's `use_attribute_docstrings` does so at each start.
    """

    described_by: ClassVar[type | None] = None
    """Class whose attribute docstrings describe this schema, if the schema is generated from that class."""

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the class's schema, with the docstrings of its attributes as descriptions of the properties."""
        schema = handler(core)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        # the class itself comes first; `setdefault` keeps its descriptions, so that base classes only add missing ones
        for base in cls.__mro__[: cls.__mro__.index(DescribedModel)]:
            source = base.__dict__.get("described_by") or base  # set in `base` itself, not inherited
            for name, description in _attribute_docstrings(source.__module__).get(source.__name__, {}).items():
                if name in cls.model_fields:
                    properties[cls.model_fields[name].alias or name].setdefault("description", description)
        return schema


class RequestModel(DescribedModel):
    """Base class of requests: unknown fields and silent conversions are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class QueryModel(BaseModel):
    """Base class of query parameters: unknown parameters are refused."""

    model_config = ConfigDict(extra="forbid")


class ResponseModel(DescribedModel):
    """Base class of responses, which may get further fields; a nested view can be made of any object's attributes."""

    model_config = ConfigDict(defer_build=True, from_attributes=True)

    @classmethod
    def from_row(cls, row: object, **fields: object) -> Self:
        """Build the view of a stored row: `fields`, and for the other fields the row's attributes of the same names."""
        return cls(**{name: getattr(row, name) for name in cls.model_fields if name not in fields}, **fields)


Item = TypeVar("Item")


class ListModel(ResponseModel, Generic[Item]):
    """One page of a list."""

    items: list[Item]
    next_cursor: str | None
    total: int | None = None
    """Number of rows of the whole list; null if it has more than 1,000, or is not counted."""


def check_name(name: str) -> str:
    """Return a name from a query; raise a `SpecificationError` if it holds an invisible character."""
    if invisible := invisible_in(name):
        raise SpecificationError(f"a name holds the invisible character {invisible}; leave it out")
    return name


def check_url(url: str) -> str:
    """Return an address, or refuse it if it is not plain ``http(s)://host…``.

    With control characters, blanks, backslashes and user names, two parsers can find different hosts in
    one address. Whether the host may be called is checked at the call.

    Raise `SpecificationError`, naming the rule that the address breaks.
    """
    # the category C: control and formatting characters, and those that are not assigned
    if any(character.isspace() or unicodedata.category(character)[0] == "C" for character in url) or "\\" in url:
        raise SpecificationError("an address must not contain spaces, control characters or backslashes")
    try:
        url_parts = urlsplit(url)
        host, _ = url_parts.hostname, url_parts.port  # reading an invalid port raises `ValueError`
    except ValueError:
        raise SpecificationError("this is not an address; write it as http://host:port/path") from None
    if url_parts.scheme not in {"http", "https"}:
        shown_url = "…" if "@" in url else url.partition("?")[0][:80]  # without a password or key
        suggestion = "" if "://" in url or not shown_url else f"; did you mean 'http://{shown_url}'?"
        raise SpecificationError(f"an address must begin with http:// or https://, not {shown_url!r}{suggestion}")
    if not host:
        raise SpecificationError("the address has no host; write http://host:port/path")
    if "@" in url_parts.netloc:
        raise SpecificationError("remove `user:password@` from the address, and send the credentials as `secret`")
    return url


Url = Annotated[
    str, Field(max_length=2048, json_schema_extra={"minLength": 8, "format": "uri"}), AfterValidator(check_url)
]


def instant(epoch_ms: int) -> str:
    """Format a time as RFC 3339, in UTC, with milliseconds."""
    return datetime.fromtimestamp(epoch_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Instant = Annotated[
    str,
    BeforeValidator(lambda time: instant(time) if isinstance(time, int) else time),
    Field(examples=["2026-01-02T03:04:05.678Z"], json_schema_extra={"format": "date-time"}),
]
"""A time as RFC 3339; made from a stored time in milliseconds since 1970."""


class ProblemPlace(ResponseModel):
    """One invalid field of a request."""

    pointer: str | None = None
    """JSON pointer into the body, such as `/experiment/languages/0`."""
    parameter: str | None = None
    """Name of a query or path parameter."""
    header: str | None = None
    """Name of a header."""
    line: int | None = None
    """Line of an uploaded file, or row of a binary table."""
    column: str | None = None
    """Column of an uploaded table."""
    detail: str
    """The error, and a valid alternative."""
    code: str | None = None
    """The kind of specification error, such as `unknown-name`."""


class ProblemDocument(ResponseModel):
    """A problem document (RFC 9457). Further members may be present."""

    model_config = ConfigDict(extra="allow", title="Problem")

    type: Annotated[str, Field(json_schema_extra={"format": "uri"})]
    """Address of the page that explains this kind of problem."""
    title: str
    """The kind of problem, in words."""
    status: Annotated[int, Field(ge=400, le=599)]
    detail: str
    """The error of this request."""
    code: str
    """The kind of problem, for programs: the last part of `type`."""
    instance: str
    """Path of the request."""
    request_id: str
    """Id of this request in the service's log."""
    errors: Annotated[list[ProblemPlace], Field(default_factory=list)]
    """The invalid fields."""
