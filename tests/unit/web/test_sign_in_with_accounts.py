"""Sign-in by OpenID Connect with a real provider on the loopback address: access rules and refused attacks.

Row 86 of docs/reliability.md: forms were decoded by codecs that take quadratic time, without a key: 40 posts of 60 kB
delayed everybody by 13.7 s.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
import pytest
from joserfc.jwk import ECKey, RSAKey

from cli.agency.sign_in import open_provider
from service.app import create_app
from store.core import migrate
from store.core.settings import Settings
from tests.support.oidc_provider import CLIENT_ID, HUGE, SECRET, oidc_provider
from web.frame.visit import COOKIE
from web.sign_in import provider as under_test
from web.sign_in.pages import ATTEMPT_COOKIE
from web.site import add_pages
from workers.targets.registry import TargetChecker

pytestmark = pytest.mark.anyio

AGENCY = "https://assay.example"
RULES = [
    {"claim": "groups", "value": "bias team", "tenant": "acme", "scopes": ["ratings:read", "jobs:write"]},
    {"claim": "email", "value": "bob@example.org", "tenant": "bobs", "scopes": ["ratings:read"]},
]
PEOPLE = {
    "ada": {"sub": "ada-1", "groups": ["staff", "bias team"]},
    "bob": {"sub": "bob-2", "email": "bob@example.org", "email_verified": True},
    "mallory": {"sub": "mallory-3", "email": "bob@example.org", "email_verified": False, "groups": "staff"},
}
LIMIT = 262_144
"""Maximum size in bytes of a response of the provider, as docs/operations.md states."""

CONFIGURATION = "/.well-known/openid-configuration"


@pytest.fixture
def provider():
    with oidc_provider(PEOPLE) as started:
        yield started


@pytest.fixture
def settings(provider, tmp_path):
    settings = Settings(
        data_dir=tmp_path,
        auth="keys",
        public_url=AGENCY,
        egress_allow="127.0.0.0/8",
        oidc_issuer=provider.url,
        oidc_client_id=CLIENT_ID,
        oidc_client_secret=SECRET,
        oidc_rules=json.dumps(RULES),
        oidc_name="Example Ltd",
    )
    migrate.upgrade(settings.resolved_database_url)
    return settings


def browser_of(settings):
    """Return a browser (an HTTP client with its own cookies) of an agency with these settings."""
    app = create_app(settings, validator=TargetChecker(settings), doorbell=lambda _: None)
    add_pages(app, open_provider(settings, app.state.service.vault))
    return another_browser(app)


def another_browser(app):
    opened = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=AGENCY, headers={"Accept": "text/html"})
    opened.app = app
    return opened


@pytest.fixture
async def browser(settings):
    async with browser_of(settings) as opened:
        yield opened
        await opened.app.state.service.database.close()


async def leave(browser, following=""):
    """Follow the link to the provider; return the parameters that the provider receives."""
    sent = await browser.get("/sign-in/oidc", params={"next": following})
    assert sent.status_code == 303, sent.text
    assert "httponly" in sent.headers["set-cookie"].lower()
    return dict(parse_qsl(urlsplit(sent.headers["location"]).query))


def back(provider, asked, person="ada"):
    """Choose an account; return the address to which the provider sends the browser."""
    return provider.authorize(asked, person).removeprefix(AGENCY)


async def sign_in(browser, provider, person="ada", following=""):
    return await browser.get(back(provider, await leave(browser, following), person))


def refused(answer, status=403, code="sign-in-failed"):
    """Check that a response is the page of a problem and begins no session."""
    assert answer.status_code == status, answer.text
    assert f"/problems/{code}" in answer.text
    assert COOKIE not in answer.cookies
    assert answer.headers["cache-control"] == "no-store"
    return True


# ---------------------------------------------------------------------------- access rules
async def test_a_user_who_signs_in_with_an_account_gets_the_tenant_and_scopes_of_the_matching_rule(browser, provider):
    page = await browser.get("/sign-in?next=/settings")
    assert "Sign in with Example Ltd" in page.text
    assert 'href="/sign-in/oidc?next=%2Fsettings"' in page.text
    answer = await sign_in(browser, provider, following="/settings")
    assert (answer.status_code, answer.headers["location"]) == (303, "/settings")
    assert ATTEMPT_COOKIE not in browser.cookies
    shown = (await browser.get("/settings")).text
    assert "<dd>acme</dd>" in shown
    assert "jobs:write, ratings:read" in shown
    assert (await browser.get("/keys")).status_code == 403


async def test_the_api_does_not_accept_the_session_cookie_of_a_user(browser, provider):
    await sign_in(browser, provider)
    assert (await browser.get("/v1/limits")).status_code == 401


async def test_a_public_client_signs_in_without_a_secret(settings, provider):
    provider.secret, provider.key = "", RSAKey.generate_key(2048, {"kid": "rsa"})
    async with browser_of(settings.model_copy(update={"oidc_client_secret": None})) as browser:
        assert (await sign_in(browser, provider)).status_code == 303
        await browser.app.state.service.database.close()


async def test_a_rule_matches_an_email_address_only_if_it_is_verified(browser, provider):
    assert (await sign_in(browser, provider, "bob")).status_code == 303
    assert "<dd>bobs</dd>" in (await browser.get("/settings")).text
    browser.cookies.clear()
    answer = await sign_in(browser, provider, "mallory")
    assert refused(answer, 403, "no-access")
    assert "mallory-3" in answer.text


async def test_signing_in_again_ends_the_earlier_session_and_signing_out_ends_the_current_session(browser, provider):
    await sign_in(browser, provider)
    first = browser.cookies[COOKIE]
    await sign_in(browser, provider)
    second = browser.cookies[COOKIE]
    assert first != second
    page = (await browser.get("/settings")).text
    token = page.partition('name="form_token" value="')[2].partition('"')[0]
    browser.cookies.clear()
    assert (await browser.get("/settings", headers={"Cookie": f"{COOKIE}={first}"})).status_code == 303
    kept = {"Cookie": f"{COOKIE}={second}"}
    await browser.post("/sign-out", data={"form_token": token}, headers=kept)
    assert (await browser.get("/settings", headers=kept)).status_code == 303


@pytest.mark.parametrize(
    "changed",
    [
        {"oidc_rules": json.dumps([*RULES, {**RULES[0], "value": "auditors"}])},
        {"oidc_client_secret": "another"},
        {"oidc_client_id": "another"},
    ],
    ids=["rules", "secret", "client"],
)
async def test_sessions_end_when_the_operator_changes_the_sign_in_rules_or_the_identity_client(
    browser, settings, provider, changed
):
    await sign_in(browser, provider)
    cookie = {"Cookie": f"{COOKIE}={browser.cookies[COOKIE]}"}
    for later, status in ((settings, 200), (Settings(**{**given(settings), **changed}), 303)):
        async with browser_of(later) as again:
            assert (await again.get("/settings", headers=cookie)).status_code == status
            await again.app.state.service.database.close()


def given(settings):
    """Return the keyword arguments that were used to make the settings."""
    values = settings.model_dump(include=settings.model_fields_set)
    return {**values, "oidc_rules": json.dumps(RULES)}


# ---------------------------------------------------------------------------- page after signing in
@pytest.mark.parametrize(
    ("asked", "led"),
    [
        ("/suites?a=1&b=é", "/suites?a=1&b=%C3%A9"),
        ("//evil.example", "/overview"),
        ("/\\evil.example", "/overview"),
        ("https://evil.example/", "/overview"),
        ("javascript:alert(1)", "/overview"),
        ("/\t/evil.example", "/%09/evil.example"),
        (f"/{'x' * 3000}", "/overview"),
    ],
)
async def test_signing_in_redirects_only_to_pages_of_the_agency(browser, provider, asked, led):
    assert (await sign_in(browser, provider, following=asked)).headers["location"] == led


# ---------------------------------------------------------------------------- attacks on the callback
async def test_a_callback_with_the_state_of_another_browser_is_refused(browser, provider):
    """Login CSRF: an attacker's link would sign the victim in to the attacker's account."""
    link = back(provider, await leave(browser))
    async with another_browser(browser.app) as victim:
        assert refused(await victim.get(link))
        await leave(victim)
        assert refused(await victim.get(link))
    assert "/token" not in provider.asked


async def test_a_state_can_be_used_only_once(browser, provider):
    asked = await leave(browser)
    assert (await browser.get(back(provider, asked))).status_code == 303
    assert refused(await browser.get(back(provider, asked)))


async def test_a_callback_that_is_replayed_with_its_cookie_is_refused(browser, provider):
    link = back(provider, await leave(browser))
    cookie = {"Cookie": f"{ATTEMPT_COOKIE}={browser.cookies[ATTEMPT_COOKIE]}"}
    browser.cookies.clear()
    assert (await browser.get(link, headers=cookie)).status_code == 303
    browser.cookies.clear()
    assert refused(await browser.get(link, headers=cookie))


async def test_a_callback_with_an_altered_cookie_is_refused(browser, provider):
    asked = await leave(browser, "/suites")
    end, random, page = browser.cookies[ATTEMPT_COOKIE].strip('"').split(".")
    for changed in (f"{int(end) + 1}.{random}.{page}", f"{end}.{random}.", f"{end}.x.{page}", ""):
        browser.cookies.clear()
        assert refused(await browser.get(back(provider, asked), headers={"Cookie": f"{ATTEMPT_COOKIE}={changed}"}))


async def test_an_expired_attempt_to_sign_in_is_refused(browser, provider, monkeypatch):
    monkeypatch.setattr(under_test, "ATTEMPT_S", -1)
    assert refused(await sign_in(browser, provider))


async def test_a_stolen_code_is_refused_without_its_pkce_verifier(browser, provider):
    """A stolen code is useless: the provider requires the PKCE verifier of the browser that began the attempt."""
    async with another_browser(browser.app) as victim:
        stolen = dict(parse_qsl(urlsplit(back(provider, await leave(victim))).query))["code"]
    own = await leave(browser)
    answer = await browser.get(f"{under_test.CALLBACK}?{urlencode({'code': stolen, 'state': own['state']})}")
    assert refused(answer)
    assert provider.asked[-1] == "/token"


async def test_the_provider_of_these_tests_refuses_a_code_without_its_pkce_verifier(browser, provider):
    code = dict(parse_qsl(urlsplit(back(provider, await leave(browser))).query))["code"]
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": f"{AGENCY}{under_test.CALLBACK}"}
    provider.secret = ""
    assert provider.token({**form, "client_id": CLIENT_ID}, None)[0] == 400


async def test_a_refusal_by_the_provider_is_shown_as_a_problem_page(browser):
    asked = await leave(browser)
    answer = await browser.get(f"{under_test.CALLBACK}?error=access_denied&state={asked['state']}")
    assert refused(answer)
    assert "access_denied" in answer.text


# ---------------------------------------------------------------------------- attacks in the ID token
@pytest.mark.parametrize(
    "changed",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"exp": 1_000_000_000},
        {"exp": None},
        {"exp": "never"},
        {"iat": None},
        {"nbf": 9_999_999_999},
        {"aud": "another client"},
        {"aud": ["another client"]},
        {"aud": None},
        {"aud": [CLIENT_ID, "another client"]},
        {"aud": [CLIENT_ID, "another client"], "azp": "another client"},
        {"azp": "another client"},
        {"iss": "https://evil.example"},
        {"iss": None},
        {"sub": None},
        {"sub": 3},
    ],
    ids=str,
)
async def test_an_id_token_with_a_wrong_or_missing_claim_is_refused(browser, provider, changed):
    def change(claims):
        claims.update(changed)
        for name in [name for name, value in changed.items() if value is None]:
            del claims[name]

    provider.change = change
    assert refused(await sign_in(browser, provider))
    provider.change = lambda _: None
    assert (await sign_in(browser, provider)).status_code == 303


async def test_an_id_token_for_several_audiences_is_accepted_with_azp(browser, provider):
    provider.change = lambda claims: claims.update(aud=[CLIENT_ID, "another client"], azp=CLIENT_ID)
    assert (await sign_in(browser, provider)).status_code == 303


def forged(algorithm, sign):
    """Return a function that signs claims with `sign`, under the name of an algorithm."""

    def make(claims):
        head = {"alg": algorithm, "kid": "first"}
        parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in (head, claims)]
        signature = base64.urlsafe_b64encode(sign(b".".join(parts))).rstrip(b"=")
        return b".".join([*parts, signature]).decode()

    return make


@pytest.mark.parametrize("algorithm", ["none", "None", "nOnE", ""])
async def test_an_id_token_without_a_signature_is_refused(browser, provider, algorithm):
    provider.sign = forged(algorithm, lambda _: b"")
    assert refused(await sign_in(browser, provider))


@pytest.mark.parametrize("form", ["pem", "der", "jwk"])
async def test_an_id_token_signed_with_the_public_key_as_hmac_secret_is_refused(browser, provider, form):
    provider.key = RSAKey.generate_key(2048, {"kid": "first"})
    public = {
        "pem": provider.key.as_pem(private=False),
        "der": provider.key.as_der(private=False),
        "jwk": json.dumps(provider.key.as_dict(private=False)).encode(),
    }[form]
    provider.sign = forged("HS256", lambda text: hmac.digest(public, text, "sha256"))
    assert refused(await sign_in(browser, provider))


async def test_an_id_token_signed_with_a_symmetric_key_of_the_provider_is_refused(browser, provider):
    secret = base64.urlsafe_b64encode(b"k" * 32).decode().rstrip("=")
    keys = {"keys": [{"kty": "oct", "k": secret, "kid": "first"}]}
    provider.answers["/keys"] = 200, json.dumps(keys).encode()
    provider.sign = forged("HS256", lambda text: hmac.digest(b"k" * 32, text, hashlib.sha256))
    assert refused(await sign_in(browser, provider))


async def test_an_id_token_signed_with_another_key_is_refused(browser, provider):
    right, wrong = provider.key, ECKey.generate_key("P-256", {"kid": "first"})
    await sign_in(browser, provider)
    browser.cookies.clear()
    provider.key = wrong  # the agency still has the right key with the same id
    assert refused(await sign_in(browser, provider))
    provider.key = right
    assert (await sign_in(browser, provider)).status_code == 303


async def test_a_new_key_of_the_provider_is_found_and_keys_are_read_again_at_most_once_a_minute(browser, provider):
    await sign_in(browser, provider)
    for name, status in (("second", 303), ("third", 403)):
        provider.key = ECKey.generate_key("P-256", {"kid": name})
        assert (await sign_in(browser, provider)).status_code == status
    assert provider.asked.count("/keys") == 2
    assert provider.asked.count(CONFIGURATION) == 1


# ---------------------------------------------------------------------------- a provider that fails
@pytest.mark.parametrize("path", [CONFIGURATION, "/token", "/keys"])
@pytest.mark.parametrize(
    "answer",
    [
        (500, b"{}"),
        (302, b"http://127.0.0.1:9/"),
        (200, b"<html>"),
        (200, b"[]"),
        (200, b'{"keys": [{"kty": "RSA"}], "id_token": 3}'),
        (200, b'{"keys": "x' + b"x" * HUGE + b'"}'),
    ],
    ids=["error", "redirect", "page", "list", "nonsense", "50 MB"],
)
async def test_an_invalid_response_of_the_provider_is_shown_as_a_page_with_a_remedy(browser, provider, path, answer):
    provider.answers[path] = answer
    began = time.monotonic()
    if path == CONFIGURATION:
        shown = await browser.get("/sign-in/oidc")
    else:
        shown = await sign_in(browser, provider)
    assert refused(shown, 502, "provider-unavailable")
    assert "sign in with an API key" in shown.text
    assert time.monotonic() - began < 5
    provider.answers.clear()
    assert (await sign_in(browser, provider)).status_code == 303


async def test_a_response_of_the_provider_is_not_read_beyond_the_size_limit(browser, provider):
    body = provider.get(CONFIGURATION)[1]
    provider.answers[CONFIGURATION] = 200, body[:-1] + b" " * (LIMIT - len(body)) + b"}"
    await leave(browser)
    provider.answers["/keys"] = 200, b" " * (LIMIT - 1000) + provider.get("/keys")[1] + b" " * 1000
    assert refused(await sign_in(browser, provider), 502, "provider-unavailable")


async def test_an_unreachable_provider_is_shown_as_a_problem_page(settings):
    down = settings.model_copy(update={"oidc_issuer": "http://127.0.0.1:9"})
    async with browser_of(down) as browser:
        assert refused(await browser.get("/sign-in/oidc"), 502, "provider-unavailable")
        assert (await browser.get("/sign-in")).status_code == 200
        await browser.app.state.service.database.close()


async def test_a_wrong_client_secret_shows_a_problem_page_and_logs_the_reason(browser, provider, capsys):
    provider.secret = "another"
    assert refused(await sign_in(browser, provider), 502, "provider-unavailable")
    log = capsys.readouterr()
    assert "invalid_client" in log.out + log.err
    assert SECRET not in log.out + log.err


@pytest.mark.parametrize(
    "changed",
    [
        {"issuer": "http://evil.example"},
        {"token_endpoint": "http://127.0.0.1:9/token"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"jwks_uri": None},
    ],
    ids=str,
)
async def test_a_provider_configuration_with_invalid_or_insecure_addresses_is_refused(browser, provider, changed):
    said = {**json.loads(provider.get(CONFIGURATION)[1]), **changed}
    provider.answers[CONFIGURATION] = 200, json.dumps(said).encode()
    assert refused(await browser.get("/sign-in/oidc"), 502, "provider-unavailable")
    assert provider.asked == [CONFIGURATION]


async def test_an_agency_without_a_provider_redirects_to_the_sign_in_form_for_keys(settings):
    async with browser_of(Settings(data_dir=settings.data_dir, auth="keys")) as browser:
        for path in ("/sign-in/oidc", under_test.CALLBACK):
            assert (await browser.get(path)).headers["location"] == "/sign-in"
        assert "Sign in with" not in (await browser.get("/sign-in")).text
        await browser.app.state.service.database.close()


async def test_an_agency_that_requires_no_keys_cannot_start_with_a_provider(settings):
    open_to_all = settings.model_copy(update={"auth": "none"})
    with pytest.raises(ValueError, match="ASSAY_AUTH=keys"):
        browser_of(open_to_all)


async def test_attempts_to_sign_in_with_an_account_have_a_rate_limit_per_ip_address(settings, provider):
    async with browser_of(settings.model_copy(update={"sign_in_rate": "3/hour"})) as browser:
        asked = await leave(browser)
        assert (await browser.get("/sign-in/oidc")).status_code == 303
        assert (await browser.get("/sign-in/oidc/callback?state=x&code=y")).status_code == 403
        for path in (back(provider, asked), "/sign-in/oidc"):
            limited = await browser.get(path)
            assert limited.status_code == 429, path
            assert COOKIE not in limited.cookies
        await browser.app.state.service.database.close()
