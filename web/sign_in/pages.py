"""``/sign-in`` and ``/sign-out``: a key is pasted once and becomes a session."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from service.dependencies import service_of
from service.http.authentication import verified
from service.http.problems import Problem
from store.security import sessions
from web.frame import Pages, Visit
from web.frame.visit import COOKIE

pages = Pages(public=True)
private = Pages()

START = "/overview"


@pages.get("/sign-in")
async def sign_in(visit: Visit) -> Response:
    """Ask for a key."""
    if visit.keyless:
        return visit.redirect(START)
    return _asked(visit, visit.query("next"))


@pages.post("/sign-in")
async def begin_session(visit: Visit) -> Response:
    """Begin a session with the key that was pasted; the way goes on to the page that was asked for."""
    form = await visit.form()
    following, plain = str(form.get("next", "")), str(form.get("key", "")).strip()
    here = service_of(visit.request)
    try:
        key = await verified(here, plain)
    except Problem:
        return _asked(visit, following, 403, wrong=True)
    await here.database.write(sessions.end, visit.request.cookies.get(COOKIE, ""))
    token = await here.database.write(sessions.begin, key.id)
    # nothing but a page of our own: "//elsewhere" would be another host
    own = following.startswith("/") and not following.startswith(("//", "/\\"))
    response = RedirectResponse(following if own else START, 303)
    response.set_cookie(COOKIE, token, secure=True, httponly=True, samesite="lax", path="/")
    return response


@private.post("/sign-out")
async def end_session(visit: Visit) -> Response:
    """End the session."""
    await service_of(visit.request).database.write(sessions.end, visit.session)
    response = RedirectResponse("/", 303)
    response.delete_cookie(COOKIE, secure=True, httponly=True, samesite="lax", path="/")
    return response


def _asked(visit: Visit, following: str, status: int = 200, *, wrong: bool = False) -> Response:
    response = visit.page("sign_in/sign_in.html", status, following=following, wrong=wrong)
    response.headers["Cache-Control"] = "no-store"
    return response
