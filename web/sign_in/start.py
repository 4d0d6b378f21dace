"""Start of a session, for sign-in by key and by account."""

from __future__ import annotations

from typing import Any

from starlette.responses import RedirectResponse, Response

from service.container import service_of
from store.security import sessions
from web.frame import Visit
from web.frame.visit import COOKIE, is_own_page

START = "/overview"

MAX_ADDRESS_BYTES = 2000
"""Maximum length in bytes of the address to return to."""

FLAGS: dict[str, Any] = {"secure": True, "httponly": True, "samesite": "lax", "path": "/"}
"""Flags of the cookies; with `lax`, browsers also send them after a link or redirect from another site."""


def own_page_or_start(following: str) -> str:
    """Return `following` if it is the address of a page of this site, otherwise `START`."""
    return following if is_own_page(following) and len(following.encode()) <= MAX_ADDRESS_BYTES else START


async def start_session(visit: Visit, following: str, **whose: str) -> Response:
    """Begin a session (`sessions.begin`), end the previous one, and redirect to the requested page."""
    database = service_of(visit.request).database
    token = await database.write(sessions.begin, previous=visit.request.cookies.get(COOKIE, ""), **whose)
    response = RedirectResponse(own_page_or_start(following), 303, {"Cache-Control": "no-store"})
    response.set_cookie(COOKIE, token, **FLAGS)
    return response
