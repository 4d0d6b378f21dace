"""Problem documents (RFC 9457); their kinds are listed in ``problem_types.toml``.

Every error is answered as ``application/problem+json`` with an absolute ``type``, the address of a page
(`service.meta.routes`). The text of an exception is never sent, except that of a `SpecificationError`,
which is written for the caller.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TypeVar

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from assay.document import Json, JsonObject

MEDIA_TYPE = "application/problem+json"

T = TypeVar("T")


@dataclass(frozen=True)
class ProblemKind:
    """One kind of problem; its page ``/problems/{code}`` shows `meaning` (the cause) and `remedy`."""

    code: str
    status: int
    title: str
    meaning: str
    remedy: str


KINDS: Mapping[str, ProblemKind] = {
    code: ProblemKind(code, **facts)
    for code, facts in tomllib.loads(files(__package__).joinpath("problem_types.toml").read_text("utf-8")).items()
}
"""Every kind of problem by its code; first those of requests, then of access, of the service and of failed jobs."""


class Problem(HTTPException):
    """An error that is answered with a problem document.

    Parameters
    ----------
    code : str
        One of `KINDS`.
    detail : str
        The error of this request, the invalid value, and a valid alternative.
    errors : sequence of mapping
        The invalid fields: ``{"pointer" | "parameter" | "header": …, "detail": …}``.
    headers : mapping
        Headers of the response, such as ``Retry-After``.
    **extensions
        Extension members of the problem document.
    """

    def __init__(
        self,
        code: str,
        detail: str | None = None,
        *,
        errors: Sequence[Json] = (),
        headers: Mapping[str, str] | None = None,
        **extensions: object,
    ) -> None:
        self.kind = KINDS[code]
        super().__init__(self.kind.status, detail or self.kind.meaning, dict(headers or {}))
        self.errors, self.extensions = tuple(errors), extensions

    def extend_pointers(self, prefix: str) -> None:
        """Put `prefix`, the pointer of a part of the body, before the errors' pointers, which are relative to it."""
        self.errors = tuple(
            {**error, "pointer": prefix + error["pointer"]} if "pointer" in error else error for error in self.errors
        )


def not_found(noun: str, name: str) -> Problem:
    """Return the problem for a missing resource, and, in the same words, for one that the caller must not see."""
    return Problem("not-found", f"no {noun} has the id {name[:80]!r}")


def scope_missing(scope: str) -> Problem:
    """Return the problem of a caller without a scope that a request needs."""
    header = f'Bearer realm="assay", error="insufficient_scope", scope="{scope}"'
    detail = f"this requires a key {'of the operator ' if scope == 'metrics:read' else ''}with the scope {scope}"
    return Problem("scope-missing", detail, headers={"WWW-Authenticate": header}, scope=scope)


def existing(row: T | None, noun: str, name: str) -> T:
    """Return `row`, or raise `not_found` if it is ``None``."""
    if row is None:
        raise not_found(noun, name)
    return row


def removed(was_removed: bool, noun: str, name: str) -> Response:
    """Return 204 for a removed resource, or raise `not_found` if nothing was removed."""
    if not was_removed:
        raise not_found(noun, name)
    return Response(status_code=204)


def kind_named(code: str) -> ProblemKind | None:
    """Return the kind of problem with a code, whose words are joined by ``-`` or ``_``; ``None`` if it is unknown."""
    return KINDS.get(code) or KINDS.get(code.replace("_", "-"))


def base_url(request: Request) -> str:
    """Return the address under which callers reach this service, without a closing slash."""
    public_url: str = request.app.state.service.settings.public_url
    return (public_url or str(request.base_url)).rstrip("/")


def respond(request: Request, problem: Problem) -> JSONResponse:
    """Return the response for a problem: a problem document (RFC 9457, section 3)."""
    document: JsonObject = {
        "type": f"{base_url(request)}/problems/{problem.kind.code}",
        "title": problem.kind.title,
        "status": problem.status_code,
        "detail": problem.detail,
        "code": problem.kind.code,
        "instance": request.scope.get("path", ""),
        "request_id": request.scope.get("assay.request_id"),
    }
    if problem.errors:
        document["errors"] = [dict(error) for error in problem.errors]
    headers = {"Cache-Control": "no-store", **(problem.headers or {})}
    return JSONResponse(document | problem.extensions, problem.status_code, headers, MEDIA_TYPE)
