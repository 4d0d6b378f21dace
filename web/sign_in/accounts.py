"""``/sign-in/oidc``: people sign in with an account of their organisation (docs/operations.md)."""

from __future__ import annotations

import structlog
from starlette.responses import RedirectResponse, Response

from service.container import service_of
from service.http.problems import Problem
from web.frame import Pages, Visit
from web.frame.routing import problem_page
from web.sign_in.provider import ATTEMPT_S, CALLBACK, Attempt, Provider
from web.sign_in.start import FLAGS, own_page_or_start, start_session

pages = Pages(public=True)

ATTEMPT = "__Host-assay-oidc"
"""Name of the cookie of a sign-in attempt."""

MAX_SUBJECT_CHARACTERS = 255
"""Maximum length of a subject in characters (OpenID Connect Core 1.0, section 2)."""

MOST_NAMES = 50
"""Maximum number of claims that a log line names."""

log = structlog.get_logger(__name__)


def provider_of(visit: Visit) -> Provider | None:
    """Return the provider of the agency, if it has one."""
    provider: Provider | None = visit.request.app.state.provider
    return provider


@pages.get("/sign-in/oidc")
async def redirect_to_provider(visit: Visit) -> Response:
    """Redirect the browser to the identity provider (OpenID Connect)."""
    provider = provider_of(visit)
    if provider is None:
        return visit.redirect("/sign-in")
    await visit.admit_sign_in()
    attempt = Attempt.begin(service_of(visit.request).vault.mark, own_page_or_start(visit.query("next")))
    response = RedirectResponse(await provider.address(attempt), 303, {"Cache-Control": "no-store"})
    response.set_cookie(ATTEMPT, attempt.cookie, max_age=ATTEMPT_S, **FLAGS)
    return response


@pages.get(CALLBACK)
async def complete_sign_in(visit: Visit) -> Response:
    """Begin a session for the user that the provider authenticated; the sign-in attempt ends in any case."""
    provider = provider_of(visit)
    if provider is None:
        return visit.redirect("/sign-in")
    try:
        await visit.admit_sign_in()
        response = await _begin_session(visit, provider)
    except Problem as problem:
        response = problem_page(visit.request, visit, problem)
    response.delete_cookie(ATTEMPT, **FLAGS)
    return response


async def _begin_session(visit: Visit, provider: Provider) -> Response:
    attempt = Attempt(visit.request.cookies.get(ATTEMPT, ""), service_of(visit.request).vault.mark)
    following = attempt.check(visit.query("state"))
    if not (code := visit.query("code")):
        raise Problem("sign-in-failed", f"the provider answered: {visit.query('error', 'nothing')[:80]}")
    claims = await provider.claims(attempt, code)
    subject = str(claims["sub"])[:MAX_SUBJECT_CHARACTERS]
    for mark, rule in provider.rules.items():
        if rule.holds(claims):
            log.info("person signed in", subject=subject, tenant=rule.tenant, scopes=rule.scopes)
            return await start_session(visit, following, rule=mark, subject=subject)
    log.warning("person without a rule", subject=subject, claims=sorted(claims)[:MOST_NAMES])
    raise Problem("no-access", f"no rule of this agency applies to the account {subject!r}")
