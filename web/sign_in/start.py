"""The beginning of a session, however its owner was recognised."""

from __future__ import annotations

from typing import Any

from starlette.responses import RedirectResponse, Response

from service.dependencies import service_of
from store.security import sessions
from web.frame import Visit
from web.frame.visit import COOKIE

START = "/overview"

LONGEST = 2000
"""Bytes of an address that is remembered."""

FLAGS: dict[str, Any] = {"secure": True, "httponly": True, "samesite": "lax", "path": "/"}
"""Flags of the cookies; `lax`, so that the link of a colleague, or the provider, finds the person signed in."""


def own(following: str) -> str:
    """Return the address of a page of our own: `following`, or `START` if that could be another host."""
    is_own = (
        following.startswith("/") and not following.startswith(("//", "/\\")) and len(following.encode()) <= LONGEST
    )
    return following if is_own else START


async def begun(visit: Visit, following: str, **whose: str) -> Response:
    """Begin a session (`sessions.begin`), end the one before, and go on to the page that was asked for."""
    database = service_of(visit.request).database
    await database.write(sessions.end, visit.request.cookies.get(COOKIE, ""))
    token = await database.write(sessions.begin, **whose)
    response = RedirectResponse(own(following), 303, {"Cache-Control": "no-store"})
    response.set_cookie(COOKIE, token, **FLAGS)
    return response
