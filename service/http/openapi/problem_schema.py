"""Schema of problem documents (RFC 9457)."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from service.http.openapi.common_schemas import ResponseModel


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
