"""``/sign-in`` and ``/sign-out``: sessions by a pasted key, or by an account (OpenID Connect; docs/operations.md)."""

from typing import Any

import structlog
from starlette.responses import RedirectResponse, Response

from service.container import service_of
from service.http.authentication import verified_key
from service.http.problems import Problem
from store.security import sessions
from web.frame import Pages, Visit
from web.frame.routing import problem_page
from web.frame.visit import COOKIE, is_own_page
from web.sign_in.provider import ATTEMPT_S, CALLBACK, Attempt, Provider

pages = Pages(public=True)
private = Pages()

START_PAGE = "/overview"

ATTEMPT_COOKIE = "__Host-assay-oidc"
"""Name of the cookie of a sign-in attempt."""

MAX_SUBJECT_CHARACTERS = 255
"""Maximum length of a subject in characters (OpenID Connect Core 1.0, section 2)."""

MOST_NAMES = 50
"""Maximum number of claims that a log line names."""

MAX_ADDRESS_BYTES = 2000
"""Maximum length in bytes of the address to return to."""

COOKIE_FLAGS: dict[str, Any] = {"secure": True, "httponly": True, "samesite": "lax", "path": "/"}
"""Flags of the cookies; with `lax`, browsers also send them after a link or redirect from another site."""

log = structlog.get_logger(__name__)


def own_page_or_start(next_page: str) -> str:
    """Return `next_page` if it is the address of a page of this site, otherwise `START_PAGE`."""
    return next_page if is_own_page(next_page) and len(next_page.encode()) <= MAX_ADDRESS_BYTES else START_PAGE


async def start_session(visit: Visit, next_page: str, **credential: str) -> Response:
    """Begin a session by a `credential` (see `sessions.begin`), end the previous one, and redirect to `next_page`."""
    database = service_of(visit.request).database
    token = await database.write(sessions.begin, previous=visit.request.cookies.get(COOKIE, ""), **credential)
    response = RedirectResponse(own_page_or_start(next_page), 303, {"Cache-Control": "no-store"})
    response.set_cookie(COOKIE, token, **COOKIE_FLAGS)
    return response


@pages.get("/sign-in")
async def sign_in(visit: Visit) -> Response:
    """Show the form for a key, and a link to the account provider if there is one."""
    if visit.keyless:
        return visit.redirect(START_PAGE)
    wrong = bool(visit.query("wrong"))  # a wrong key was sent
    contact = service_of(visit.request).settings.contact
    values = {"following": visit.query("next"), "wrong": wrong, "provider": provider_of(visit), "contact": contact}
    response = visit.page("sign_in/sign_in.html", 403 if wrong else 200, **values)
    response.headers["Cache-Control"] = "no-store"
    return response


@pages.post("/sign-in", None)
async def begin_session(visit: Visit) -> Response:
    """Begin a session with the pasted key, and redirect to the requested page."""
    next_page, key_text = visit.form.get("next", ""), visit.form.get("key", "").strip()
    try:
        key = await verified_key(service_of(visit.request), key_text)
    except Problem:
        return visit.redirect("/sign-in", next=next_page, wrong=1)
    return await start_session(visit, next_page, key_id=key.id)


@private.post("/sign-out", None)
async def end_session(visit: Visit) -> Response:
    """End the session."""
    await service_of(visit.request).database.write(sessions.end, visit.session)
    response = RedirectResponse("/", 303)
    response.delete_cookie(COOKIE, **COOKIE_FLAGS)
    return response


def provider_of(visit: Visit) -> Provider | None:
    """Return the provider of accounts; ``None`` if the agency has none."""
    provider: Provider | None = visit.request.app.state.provider
    return provider


@pages.get("/sign-in/oidc")
async def redirect_to_provider(visit: Visit) -> Response:
    """Redirect the browser to the identity provider (OpenID Connect)."""
    if (provider := provider_of(visit)) is None:
        return visit.redirect("/sign-in")
    await visit.admit_sign_in()
    attempt = Attempt.begin(service_of(visit.request).vault.mark, own_page_or_start(visit.query("next")))
    response = RedirectResponse(await provider.address(attempt), 303, {"Cache-Control": "no-store"})
    response.set_cookie(ATTEMPT_COOKIE, attempt.cookie, max_age=ATTEMPT_S, **COOKIE_FLAGS)
    return response


@pages.get(CALLBACK)
async def complete_sign_in(visit: Visit) -> Response:
    """Begin a session for the user that the provider authenticated; the attempt ends even if it fails."""
    if (provider := provider_of(visit)) is None:
        return visit.redirect("/sign-in")
    try:
        await visit.admit_sign_in()
        response = await _begin_account_session(visit, provider)
    except Problem as problem:
        response = problem_page(visit.request, visit, problem)
    response.delete_cookie(ATTEMPT_COOKIE, **COOKIE_FLAGS)
    return response


async def _begin_account_session(visit: Visit, provider: Provider) -> Response:
    """Begin a session with the rights of the first rule that holds for the account; raise `Problem` on failure."""
    attempt = Attempt(visit.request.cookies.get(ATTEMPT_COOKIE, ""), service_of(visit.request).vault.mark)
    next_page = attempt.check(visit.query("state"))
    if not (code := visit.query("code")):
        raise Problem("sign-in-failed", f"the provider answered: {visit.query('error', 'nothing')[:80]}")
    claims = await provider.claims(attempt, code)
    subject = str(claims["sub"])[:MAX_SUBJECT_CHARACTERS]
    for rule_id, rule in provider.rules.items():
        if rule.holds(claims):
            log.info("person signed in", subject=subject, tenant=rule.tenant, scopes=rule.scopes)
            return await start_session(visit, next_page, rule=rule_id, subject=subject)
    log.warning("person without a rule", subject=subject, claims=sorted(claims)[:MOST_NAMES])
    raise Problem("no-access", f"no rule of this agency applies to the account {subject!r}")
