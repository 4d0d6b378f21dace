"""The problem document (RFC 9457), as the OpenAPI schema shows it."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from service.http.openapi.common_schemas import Told


class ProblemPlace(Told):
    """One place to mend."""

    pointer: str | None = None
    """JSON pointer into the body, such as `/experiment/languages/0`."""
    parameter: str | None = None
    """Name of a query or path parameter."""
    header: str | None = None
    """Name of a header."""
    line: int | None = None
    """Line of an uploaded file, or row of a table that has no lines."""
    column: str | None = None
    """Column of an uploaded table."""
    detail: str
    """What is wrong there and what would do."""
    code: str | None = None
    """The kind of specification error, such as `unknown-name`."""


class ProblemDocument(Told):
    """What went wrong, in the form of RFC 9457. Further members may be present."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True, title="Problem")

    type: Annotated[str, Field(json_schema_extra={"format": "uri"})]
    """Address of the page that explains this kind of problem."""
    title: str
    """The kind of problem, in words."""
    status: Annotated[int, Field(ge=400, le=599)]
    detail: str
    """What was wrong with this request."""
    code: str
    """The kind of problem, for programs: the last part of `type`."""
    instance: str
    """The path that was asked for."""
    request_id: str
    """Names this exchange in the service's log."""
    errors: Annotated[list[ProblemPlace], Field(default_factory=list)]
    """The places to mend."""
