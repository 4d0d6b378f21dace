"""Conditional requests: ``ETag`` and ``If-None-Match`` (RFC 9110, sections 8.8.3 and 13.1.2)."""

from __future__ import annotations

from fastapi import Request


def none_match(request: Request, etag: str) -> bool:
    """Whether the caller already has the representation `etag` names (weak comparison)."""
    asked = ",".join(request.headers.getlist("if-none-match"))
    if not asked:
        return False
    wanted = {part.strip().removeprefix("W/") for part in asked.split(",")}
    return "*" in wanted or etag.removeprefix("W/") in wanted
