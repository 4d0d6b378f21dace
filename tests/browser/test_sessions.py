"""Sessions of an agency that requires keys: signing in with keys and accounts, forms, pages of another tenant."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import BrowserContext, expect

from demo.server import DemoServer
from tests.support.agency_process import Process, free_port
from tests.support.commands import run_command
from tests.support.oidc_provider import CLIENT_ID, SECRET, oidc_provider
from web.frame.visit import COOKIE
from web.site import AREAS

POSTS = [(route.path, area.public) for area in AREAS for route in area.routes if "POST" in (route.methods or ())]
PAGES = [
    route.path
    for area in AREAS
    if not area.public
    for route in area.routes
    if "GET" in (route.methods or ()) and "{" in route.path
]


@dataclass
class Locked:
    """An agency that requires keys, with a key of its administrator and a key of another tenant."""

    process: Process
    admin: str
    other: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.process.port}"

    def client(self, **headers: str) -> httpx.Client:
        """A client without redirects and without automatic cookies."""
        return httpx.Client(base_url=self.url, headers={"Accept": "text/html", **headers}, timeout=60)

    def api(self) -> httpx.Client:
        return self.client(Authorization=f"Bearer {self.admin}", Accept="application/json")

    def key(self) -> dict[str, Any]:
        with self.api() as api:
            made = api.post("/v1/keys", json={"name": "a person's", "scopes": ["ratings:read"]})
        made.raise_for_status()
        return dict(made.json())

    def sign_in(self, key: str, following: str = "", cookie: str = "") -> httpx.Response:
        """Send the form of the sign-in page."""
        with self.client(**({"Cookie": cookie} if cookie else {})) as client:
            token = token_in(client.get("/sign-in").text)
            return client.post("/sign-in", data={"form_token": token, "key": key, "next": following})

    def cookie(self, key: str) -> str:
        """Sign in, and return the cookie as a browser sends it."""
        return f"{COOKIE}={session_of(self.sign_in(key))}"


def token_in(page: str) -> str:
    found = re.search(r'name="form_token" value="([^"]+)"', page)
    assert found, page
    return found[1]


def session_of(answer: httpx.Response) -> str:
    """Return the token in the cookie that an answer sets."""
    return SimpleCookie(answer.headers["set-cookie"])[COOKIE].value


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Locked]:
    data = tmp_path_factory.mktemp("locked")
    process = Process(data, ASSAY_AUTH="keys", ASSAY_CONTACT="audits@example.org")
    admin = (data / "first-admin-key").read_text().strip()
    arguments = ("keys", "create", "--tenant", "rival", "--scope", "admin", "--name", "rival")
    made = run_command(*arguments, environment=process._environment)
    assert made.returncode == 0, made.stderr
    other = next(word for word in made.stdout.split() if word.startswith("assay_"))
    yield Locked(process, admin, other)
    process.stop()


def test_signing_in_leads_to_the_requested_page(locked: Locked, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{locked.url}/keys?limit=10")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.get_by_label("API key").fill("assay_wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("This key is unknown, revoked or expired.")).to_be_visible()
    assert context.cookies() == []
    page.get_by_label("API key").fill(locked.admin)
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(f"{locked.url}/keys?limit=10")
    expect(page.get_by_text("you are signed in with it")).to_be_visible()
    (cookie,) = context.cookies()
    shown = {name: cookie[name] for name in ("name", "path", "secure", "httpOnly", "sameSite", "expires", "domain")}
    flags = {"path": "/", "secure": True, "httpOnly": True, "sameSite": "Lax", "expires": -1, "domain": "127.0.0.1"}
    assert shown == {"name": COOKIE, **flags}
    page.goto(f"{locked.url}/settings")
    page.get_by_role("main").get_by_role("button", name="Sign out").click()
    assert context.cookies() == []
    page.goto(f"{locked.url}/settings")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    with locked.client(Cookie=f"{COOKIE}={cookie['value']}") as client:
        assert client.get("/settings").status_code == 303


PUBLIC_LINKS = ["Registry", "Compare", "How it works", "Log", "API", "Sign in"]


def test_a_visitor_without_a_session_sees_links_to_public_pages_and_to_the_sign_in_only(
    locked: Locked, context: BrowserContext
) -> None:
    page = context.new_page()
    page.goto(locked.url)
    menu = page.get_by_role("navigation", name="Main", exact=True).get_by_role("link")
    assert menu.all_inner_texts() == PUBLIC_LINKS
    links = page.eval_on_selector_all("a[href]", "all => all.map(one => one.getAttribute('href'))")
    paths = sorted({link.partition("#")[0] for link in links if not link.startswith("#")} - {"/overview"})
    with locked.client() as client:
        answers = {path: client.get(path).status_code for path in paths}
    assert set(answers.values()) == {200}, answers
    page.goto(f"{locked.url}/compare?kind=translator")
    page.get_by_role("navigation", name="Main", exact=True).get_by_role("link", name="Sign in").click()
    expect(page.get_by_role("link", name="audits@example.org")).to_have_attribute("href", "mailto:audits@example.org")
    page.get_by_label("API key").fill(locked.admin)
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(f"{locked.url}/compare?kind=translator")
    expect(menu.filter(has_text="Overview")).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(locked.url)
    page.get_by_text("Menu", exact=True).click()
    small = page.get_by_role("navigation", name="Main, small screens").get_by_role("link")
    assert small.all_inner_texts() == PUBLIC_LINKS


def test_a_new_key_is_copied_to_the_clipboard_with_one_click(locked: Locked, context: BrowserContext) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(f"{locked.url}/sign-in?next=/keys")
    page.get_by_label("API key").fill(locked.admin)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("What it is for").fill("to copy")
    page.get_by_role("button", name="Make the key").click()
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("[data-secret]").inner_text()


@pytest.fixture
def known(tmp_path: Path, services: DemoServer) -> Iterator[str]:
    """An agency where people have accounts, with a job of the tenant acme; yield its address."""
    rules = [{"claim": "groups", "value": "bias team", "tenant": "acme", "scopes": ["ratings:read", "jobs:write"]}]
    people = {"ada": {"sub": "ada-1", "groups": ["bias team"]}, "eve": {"sub": "eve-2", "groups": []}}
    target = {"name": "the translator of acme", "kind": "translator", "protocol": "libretranslate"}
    target["base_url"] = services.url("faithful")
    request = {"target": target, "experiment": {"method": "round-trip", "attribute": "gender"}}
    port = free_port()
    agency = f"http://127.0.0.1:{port}"
    # another name of this machine, which the browser treats as a different site, without strict cookies
    with oidc_provider(people, "localhost") as provider:
        process = Process(
            tmp_path,
            port=port,
            ASSAY_AUTH="keys",
            ASSAY_PUBLIC_URL=agency,
            ASSAY_OIDC_ISSUER=provider.url,
            ASSAY_OIDC_CLIENT_ID=CLIENT_ID,
            ASSAY_OIDC_CLIENT_SECRET=SECRET,
            ASSAY_OIDC_RULES=json.dumps(rules),
            ASSAY_OIDC_NAME="Example Ltd",
        )
        try:
            arguments = ("keys", "create", "--tenant", "acme", "--name", "acme")
            key = run_command(*arguments, environment=process._environment).stdout.strip()
            posted = httpx.post(f"{agency}/v1/jobs", json=request, headers={"Authorization": f"Bearer {key}"})
            assert posted.status_code == 202, posted.text
            yield agency
        finally:
            process.stop()


def test_a_person_signs_in_with_an_account_and_sees_the_jobs_of_their_tenant(
    known: str, context: BrowserContext
) -> None:
    page = context.new_page()
    page.goto(f"{known}/jobs?limit=20")
    page.get_by_role("link", name="Sign in with Example Ltd").click()
    page.get_by_role("button", name="eve").click()
    expect(page.get_by_role("heading", name="This account has no access here")).to_be_visible()
    assert context.cookies(known) == []
    page.goto(f"{known}/jobs?limit=20")
    page.get_by_role("link", name="Sign in with Example Ltd").click()
    page.get_by_role("button", name="ada").click()
    expect(page).to_have_url(f"{known}/jobs?limit=20")
    expect(page.get_by_text("the translator of acme").first).to_be_visible()
    assert [cookie.get("name") for cookie in context.cookies(known)] == [COOKIE]
    page.goto(f"{known}/settings")
    expect(page.get_by_text("ends after 12 hours without a visit, or after 7 days")).to_be_visible()
    page.get_by_role("main").get_by_role("button", name="Sign out").click()
    assert context.cookies(known) == []


def test_signing_in_never_redirects_to_another_site(locked: Locked) -> None:
    for asked, led in (
        ("/suites?a=1", "/suites?a=1"),
        ("//evil.example", "/overview"),
        ("/\\evil.example", "/overview"),
        ("https://evil.example/", "/overview"),
        ("", "/overview"),
        ("/\t/evil.example", "/%09/evil.example"),
    ):
        answer = locked.sign_in(locked.admin, asked)
        assert (answer.status_code, answer.headers["location"]) == (303, led)


def test_signing_in_starts_a_new_session_and_ends_the_previous_session(locked: Locked) -> None:
    first = locked.cookie(locked.admin)
    second = session_of(locked.sign_in(locked.admin, cookie=first))
    assert second not in first
    with locked.client() as client:
        assert client.get("/settings", headers={"Cookie": first}).status_code == 303
        assert client.get("/settings", headers={"Cookie": f"{COOKIE}={second}"}).status_code == 200
        assert client.get("/settings", headers={"Cookie": f"{COOKIE}=chosen"}).status_code == 303


def test_revoking_the_key_ends_the_session(locked: Locked) -> None:
    key = locked.key()
    with locked.client(Cookie=locked.cookie(key["key"])) as client, locked.api() as api:
        assert client.get("/suites").status_code == 200
        assert api.delete(f"/v1/keys/{key['id']}").status_code == 204
        ended = client.get("/suites?cursor=x")
    assert (ended.status_code, ended.headers["location"]) == (303, "/sign-in?next=%2Fsuites%3Fcursor%3Dx")


def test_the_api_does_not_accept_the_session_cookie(locked: Locked) -> None:
    with locked.client(Cookie=locked.cookie(locked.admin), Accept="*/*") as client:
        assert client.get("/settings").status_code == 200
        assert client.get("/v1/limits").status_code == 401
        assert client.post("/v1/keys", json={"name": "x", "scopes": ["admin"]}).status_code == 401


def test_every_form_is_refused_without_its_csrf_token_or_from_another_site(locked: Locked) -> None:
    own, foreign = locked.cookie(locked.admin), locked.cookie(locked.other)
    with locked.client() as client:
        tokens = {
            True: token_in(client.get("/sign-in").text),
            False: token_in(client.get("/settings", headers={"Cookie": own}).text),
        }
        for path, public in POSTS:
            address, right = re.sub(r"{\w+(:\w+)?}", "x", path), {"form_token": tokens[public]}
            for data, headers in (
                ({}, {}),
                ({"form_token": "x"}, {}),
                (right, {"Origin": "http://evil.example"}),
                (right, {"Origin": "null"}),
                (right, {"Sec-Fetch-Site": "cross-site"}),
                (right, {"Sec-Fetch-Site": "same-site"}),
            ):
                answer = client.post(address, data=data, headers={"Cookie": own, **headers})
                assert answer.status_code == 403, (path, data, headers)
            if not public:
                assert client.post(address, data=right, headers={"Cookie": foreign}).status_code == 403, path
                assert client.post(address, data=right).headers["location"].startswith("/sign-in?"), path


def test_pages_of_a_tenant_are_answered_with_404_to_another_tenant(locked: Locked, services: DemoServer) -> None:
    target = {"name": "faithful", "kind": "translator", "protocol": "libretranslate"}
    target["base_url"] = services.url("faithful")
    request = {"target": target, "experiment": {"method": "round-trip", "attribute": "gender"}}
    with locked.api() as api:
        job = api.post("/v1/jobs", json=request, headers={"Prefer": "wait=30"}).json()
        chain = {"chain": [{"rating": job["rating"]["id"]}] * 2}
        suite = {"target": target, "methods": ["round-trip"], "attributes": ["gender"]}
        webhook = {"url": f"{services.url('faithful')}/hook"}
        ids = {
            "job_id": job["id"],
            "rating_id": job["rating"]["id"],
            "composition_id": api.post("/v1/compositions", json=chain).json()["id"],
            "suite_id": api.post("/v1/suites", json=suite).json()["id"],
            "webhook_id": (hook := api.post("/v1/webhooks", json=webhook).json()["id"]),
            "delivery_id": api.post(f"/v1/webhooks/{hook}/ping").json()["id"],
            "target_id": api.post("/v1/targets", json=target).json()["id"],
        }
    paths = [path for path in PAGES if set(re.findall(r"{(\w+)}", path)) <= set(ids)]
    assert {"/compose/{composition_id}", "/suites/{suite_id}", "/webhooks/{webhook_id}"} <= set(paths)
    own, foreign = locked.cookie(locked.admin), locked.cookie(locked.other)
    with locked.client() as client:
        for path in paths:
            answers = [client.get(path.format(**ids), headers={"Cookie": cookie}) for cookie in (own, foreign)]
            assert [one.status_code for one in answers] == [200, 404], path
            assert not any(one in answers[1].text for one in ("faithful", services.url("faithful")))
        for query in ("first", "rating"):
            page = "compare" if query == "first" else "compose"
            assert client.get(f"/{page}?{query}={ids['rating_id']}", headers={"Cookie": foreign}).status_code == 404
