"""Problem documents (RFC 9457): every kind of problem, from ``problem_types.toml``, and how it is written.

Every error leaves as ``application/problem+json`` with an absolute ``type`` that is also a page
(`service.meta.routes`). The text of an exception never leaves: only what is written here, or
the message of a `SpecificationError`, which is written for the caller.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from importlib.resources import files
from typing import Any

from fastapi import Request
from starlette.datastructures import URL
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True)
class ProblemKind:
    """One kind of problem: its address is ``/problems/{code}``.

    `meaning` says what happened and `remedy` what would do; both are shown on its page.
    """

    code: str
    status: int
    title: str
    meaning: str
    remedy: str


KINDS: Mapping[str, ProblemKind] = {
    code: ProblemKind(code, **facts)
    for code, facts in tomllib.loads(files(__package__).joinpath("problem_types.toml").read_text("utf-8")).items()
}
"""Every kind of problem by its code: requests first, then access, the service, and failed jobs."""


class Problem(HTTPException):
    """An error as the caller shall see it.

    Parameters
    ----------
    code : str
        One of `KINDS`.
    detail : str
        What was wrong with this request, what was seen and what would do.
    errors : sequence of mapping
        The places to mend: ``{"pointer" | "parameter" | "header": …, "detail": …}``.
    headers : mapping
        Headers of the response, such as ``Retry-After``.
    **more
        Extension members of the problem document.
    """

    def __init__(
        self,
        code: str,
        detail: str | None = None,
        *,
        errors: Sequence[Mapping[str, Any]] = (),
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        self.kind = KINDS[code]
        super().__init__(self.kind.status, detail or self.kind.meaning, dict(headers or {}))
        self.errors, self.more = tuple(errors), more


def not_found(what: str, name: str) -> Problem:
    """Say that a thing does not exist, or is not the caller's to see: the two are not told apart."""
    return Problem("not-found", f"no {what} has the id {name[:80]!r}")


def kind_named(code: str) -> ProblemKind | None:
    """Look a kind of problem up; failed jobs write their codes with underscores, requests with hyphens."""
    return KINDS.get(code) or KINDS.get(code.replace("_", "-"))


def base_url(request: Request) -> str:
    """Address of this service as its callers see it, without a closing slash."""
    public: str = request.app.state.service.settings.public_url
    if public:
        return public.rstrip("/")
    scope, host = request.scope, request.headers.get("host")
    server = scope.get("server")  # a list, some say, or a tuple
    return _reached_at(scope["scheme"], host, None if server is None else tuple(server), scope.get("root_path", ""))


@lru_cache(256)
def _reached_at(scheme: str, host: str | None, server: tuple[Any, ...] | None, root_path: str) -> str:
    """Take a request's own word for where it went, as far as that is an address."""
    headers = [] if host is None else [(b"host", host.encode("latin-1"))]
    scope = {"scheme": scheme, "headers": headers, "server": server, "path": f"{root_path}/"}
    return str(URL(scope=scope)).rstrip("/")


def type_uri(request: Request, code: str) -> str:
    """Absolute address of a kind of problem."""
    return f"{base_url(request)}/problems/{code}"


def document(request: Request, problem: Problem) -> dict[str, Any]:
    """Write a problem down (RFC 9457, section 3)."""
    written: dict[str, Any] = {
        "type": type_uri(request, problem.kind.code),
        "title": problem.kind.title,
        "status": problem.status_code,
        "detail": problem.detail,
        "code": problem.kind.code,
        "instance": request.scope.get("path", ""),
        "request_id": request.scope.get("assay.request_id"),
    }
    if problem.errors:
        written["errors"] = [dict(error) for error in problem.errors]
    return written | problem.more


def respond(request: Request, problem: Problem) -> JSONResponse:
    """Make the response that tells a problem."""
    headers = {"Cache-Control": "no-store", **(problem.headers or {})}
    return JSONResponse(document(request, problem), problem.status_code, headers, MEDIA_TYPE)


def phrase(status: int) -> str:
    """Reason phrase of a status, for the errors a framework raises by number alone."""
    return HTTPStatus(status).phrase
