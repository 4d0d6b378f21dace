"""Conditional requests: ``ETag``, ``If-None-Match`` and ``If-Match`` (RFC 9110, sections 8.8.3 and 13.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import Header, Request, Response

from service.http.problems import Problem

IfMatch = Annotated[
    str | None, Header(max_length=200, description="Change it only if this is still its `ETag`; 412 otherwise.")
]


def entity_tag(*parts: object) -> str:
    """Make a strong entity tag of what names a version: an id, a number."""
    return f'"{"-".join(map(str, parts))}"'


def none_match(request: Request, etag: str) -> bool:
    """Whether the caller already has the representation `etag` names (weak comparison)."""
    asked = ",".join(request.headers.getlist("if-none-match"))
    if not asked:
        return False
    wanted = {part.strip().removeprefix("W/") for part in asked.split(",")}
    return "*" in wanted or etag.removeprefix("W/") in wanted


def not_modified(request: Request, headers: Mapping[str, str]) -> Response | None:
    """Return 304 if the caller already has the representation that the `ETag` of `headers` names."""
    return Response(status_code=304, headers=dict(headers)) if none_match(request, headers["ETag"]) else None


def must_match(asked: str | None, etag: str) -> None:
    """Refuse a change to what is not any more what the caller has read (strong comparison).

    Raises
    ------
    Problem
        ``precondition-failed``.
    """
    if asked is None:
        return
    wanted = {part.strip() for part in asked.split(",")}
    if "*" not in wanted and etag not in wanted:
        told = {"header": "If-Match", "detail": f"the version kept now is {etag}"}
        raise Problem("precondition-failed", errors=[told], headers={"ETag": etag})
