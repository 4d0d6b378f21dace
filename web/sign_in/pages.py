"""``/sign-in`` and ``/sign-out``: a key is pasted once and becomes a session."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from service.container import service_of
from service.http.authentication import verified
from service.http.problems import Problem
from store.security import sessions
from web.frame import Pages, Visit
from web.frame.visit import COOKIE
from web.sign_in.accounts import provider_of
from web.sign_in.start import FLAGS, START, start_session

pages = Pages(public=True)
private = Pages()


@pages.get("/sign-in")
async def sign_in(visit: Visit) -> Response:
    """Show the form for a key, and a link to the account provider if there is one."""
    if visit.keyless:
        return visit.redirect(START)
    wrong = bool(visit.query("wrong"))
    following = visit.query("next")
    contact = service_of(visit.request).settings.contact
    values = {"following": following, "wrong": wrong, "provider": provider_of(visit), "contact": contact}
    response = visit.page("sign_in/sign_in.html", 403 if wrong else 200, **values)
    response.headers["Cache-Control"] = "no-store"
    return response


@pages.post("/sign-in", None)
async def begin_session(visit: Visit) -> Response:
    """Begin a session with the pasted key, and redirect to the requested page."""
    form = visit.form
    following, plain = form.get("next", ""), form.get("key", "").strip()
    api_service = service_of(visit.request)
    try:
        key = await verified(api_service, plain)
    except Problem:
        return visit.redirect("/sign-in", next=following, wrong=1)
    return await start_session(visit, following, key_id=key.id)


@private.post("/sign-out", None)
async def end_session(visit: Visit) -> Response:
    """End the session."""
    await service_of(visit.request).database.write(sessions.end, visit.session)
    response = RedirectResponse("/", 303)
    response.delete_cookie(COOKIE, **FLAGS)
    return response
