"""Conditional requests: ``ETag``, ``If-None-Match`` and ``If-Match`` (RFC 9110, sections 8.8.3 and 13.1).

`service.http.json.StrictRoute` answers 304 to a GET whose answer the caller has already; a route calls `not_modified`
itself only to save the work of the answer.
"""

from collections.abc import Mapping
from typing import Annotated

from fastapi import Header, Request, Response

from service.http.problems import Problem

IfMatch = Annotated[
    str | None, Header(max_length=200, description="Apply the change only if this is still the `ETag`; 412 otherwise.")
]


def entity_tag(*parts: object) -> str:
    """Return a strong entity tag made of parts that together identify a version, such as an id and a number."""
    return f'"{"-".join(map(str, parts))}"'


def caller_has(request: Request, etag: str) -> bool:
    """Return whether the caller has the version `etag` already: ``If-None-Match`` names this tag (weak comparison)."""
    header = ",".join(request.headers.getlist("if-none-match"))
    if not header:
        return False
    tags = {part.strip().removeprefix("W/") for part in header.split(",")}
    return "*" in tags or etag.removeprefix("W/") in tags


def not_modified(request: Request, headers: Mapping[str, str]) -> Response | None:
    """Return a 304 response if the caller has the version in the `ETag` of `headers`, else ``None``."""
    if "ETag" not in headers or not caller_has(request, headers["ETag"]):
        return None
    headers_without_body = {
        name: value for name, value in headers.items() if name.lower() not in {"content-length", "content-type"}
    }
    return Response(status_code=304, headers=headers_without_body)


def must_match(if_match: str | None, etag: str) -> None:
    """Raise ``precondition-failed`` unless ``If-Match`` is absent, ``*``, or holds `etag` (strong comparison)."""
    if if_match is None:
        return
    tags = {part.strip() for part in if_match.split(",")}
    if "*" not in tags and etag not in tags:
        error = {"header": "If-Match", "detail": f"the current version is {etag}"}
        raise Problem("precondition-failed", errors=[error], headers={"ETag": etag})
