"""Hostile variants of every form and link of every page: each is the caller's error, never the agency's.

Row 96 of docs/reliability.md: in spite of ASSAY_PUBLIC_URL, the page `/r/{id}` and its certificate named the host of an
attacker's request, and were cached for a minute.
Row 100 of docs/reliability.md: files about a private rating could be shown by the browser after the session had ended.
Row 104 of docs/reliability.md: 220 of 15,066 hostile requests to pages were answered with 500.
"""

from __future__ import annotations

import json
import re
import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import httpx
import pytest
from starlette.routing import Match

from demo.server import DemoServer
from store.core.database import Database
from store.security import keys, sessions
from store.targets import domains
from store.targets.domains import host_of
from tests.support.agency_process import Process, free_port
from tests.support.costs import Poller, main_thread_s
from tests.support.page_forms import PageForm, as_form, read_page, urlencoded, variant
from web.frame.visit import COOKIE
from web.ratings.pages import FILES
from web.site import AREAS

SEED = 20_261_127
REQUESTS = {"short": 400, "long": 15_000, "night": 15_000}
RATES = {f"ASSAY_{work}_RATE": "1000000/minute" for work in ("UPLOAD", "CALL", "WRITE", "VISIT", "SIGN_IN", "JOB")}
MOST_PAGES = 250
"""Maximum number of pages that are read for each caller."""

ENDING = ("/remove", "/revoke", "/withdraw", "/cancel", "/sign-out", "/rotate")
"""Ends of addresses whose forms take away what other forms are about: one in `RARELY` of their variants is sent."""

RARELY = 12
WAITING = ("/verify", "/rerate", "/probe")
"""Forms that wait, as documented, for an answer of another service."""

FOREIGN = "evil.example"

MOST_LOOP_S = 0.5
"""Maximum processor time of the event loop for one request."""

ROUTES = [route for area in AREAS for route in area.routes]


@dataclass
class Caller:
    """A person at a browser: administrator, reader or nobody, with the forms and links that this person sees."""

    name: str
    cookie: str
    forms: dict[tuple[str, ...], PageForm] = field(default_factory=dict)

    def client(self, url: str) -> httpx.Client:
        headers = {"Accept": "text/html"} | ({"Cookie": self.cookie} if self.cookie else {})
        return httpx.Client(base_url=url, headers=headers, timeout=120, trust_env=False)

    def read_pages(self, url: str, beginnings: list[str]) -> None:
        """Read pages from some addresses on, and collect their forms; one form for each route and set of fields."""
        waiting, seen = list(dict.fromkeys(beginnings)), Counter[str]()
        with self.client(url) as client:
            for _ in range(MOST_PAGES):
                if not waiting:
                    return
                address = waiting.pop(0)
                page = client.get(address)
                assert page.status_code < 500, (address, page.text)
                self._collect(as_form(address))
                if "text/html" not in page.headers.get("content-type", ""):
                    continue
                forms, links = read_page(address, page.text)
                for form in forms:
                    self._collect(form)
                for link in sorted(links):
                    route = f"{route_of('GET', link)} {sorted(name for name, _ in as_form(link).fields)}"
                    if seen[route] < 2 and link not in waiting:
                        seen[route] += 1
                        waiting.append(link)

    def _collect(self, form: PageForm) -> None:
        names = sorted({name for name, _ in form.fields})
        self.forms.setdefault((form.method, route_of(form.method, form.action), *names), form)


def route_of(method: str, address: str) -> str:
    """Return the path of the route that answers at an address, with its parameters' names."""
    scope = {
        "type": "http",
        "method": method,
        "path": address.partition("?")[0],
        "headers": [(b"accept", b"text/html")],
    }
    return next((route.path for route in ROUTES if route.matches(scope)[0] is Match.FULL), "")


@dataclass
class Agency:
    """A running agency with keys, in which something of every kind exists."""

    process: Process
    key: str
    callers: list[Caller]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.process.port}"


def fill(url: str, key: str, service: str, silent: str) -> list[str]:
    """Create something of every kind; return addresses of its pages. A job for the `silent` service does not end."""
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=120, trust_env=False) as client:

        def post(path: str, body: dict | None = None, **more) -> dict:
            answer = client.post(path, json=body, **more) if body is not None else client.post(path, **more)
            assert answer.status_code < 300, (path, answer.text)
            return answer.json() if answer.content else {}

        target = {"name": "even", "kind": "translator", "protocol": "libretranslate", "base_url": service}
        asked = {"experiment": {"method": "round-trip", "attribute": "gender", "languages": ["es"]}}
        saved = post("/v1/targets", target)["id"]
        unclaimed = post("/v1/targets", {**target, "name": "unclaimed", "base_url": "http://127.0.0.2:9"})["id"]
        jobs = [
            post("/v1/jobs", {"target": target, **asked, "seed": seed, "visibility": seen})
            for seed, seen in enumerate(("public", "private"))
        ]
        for job in jobs:
            until = time.monotonic() + 120
            while job["status"] not in {"succeeded", "failed"} and time.monotonic() < until:
                job |= client.get(f"/v1/jobs/{job['id']}", headers={"Prefer": "wait=10"}).json()
            assert job["status"] == "succeeded", job
        first, second = (job["rating"]["id"] for job in jobs)
        words = client.get("/v1/specifications/p4-science-arts").json()["words"]
        named = {"name": "own", "title": "Own", "kind": "stereotype", "language": "en", "citation": "me"}
        post("/v1/specifications", {**named, "words": words})
        corpus = post("/v1/corpora", {"name": "Own", "specification": "own"})["id"]
        sentence = {"text": f"{words['pairs'][0][0]} and {words['first_terms'][0]}"}
        post(f"/v1/corpora/{corpus}/items", {"items": [sentence]})
        pictures = post("/v1/corpora", {"name": "Pictures", "kind": "images", "attribute": "gender"})["id"]
        other = post("/v1/corpora", {"name": "Other", "kind": "sentences", "attribute": "gender"})["id"]
        item = post(f"/v1/corpora/{other}/items", {"items": [{"text": "The nurse sings."}]})["items"][0]["id"]
        query = {"purpose": "table", "name": "people"}
        upload = post("/v1/uploads", None, content=b"a,b\n1,2\n", params=query, headers={"Content-Type": "text/csv"})
        schedule = {
            "name": "weekly",
            "cron": "0 3 * * 1",
            "request": {"target": {"id": saved}, **asked},
            "paused": True,
        }
        post("/v1/schedules", schedule)
        endless = {**target, "name": "endless", "base_url": silent}
        running = post("/v1/jobs", {"target": endless, **asked, "max_age_s": 0})["id"]
        author = {**endless, "kind": "language-model", "protocol": "ollama", "settings": {"model": "m"}}
        writing = post(f"/v1/corpora/{corpus}/writing", {"author": author})["id"]
        suite = {"target": endless, "methods": ["round-trip"], "attributes": ["gender"], "languages": ["es"]}
        suite_id = post("/v1/suites", suite)["id"]
        hook = post("/v1/webhooks", {"url": f"{service}/hook", "description": "", "events": ["job.failed"]})["id"]
        post(f"/v1/webhooks/{hook}/ping")
        post("/v1/keys", {"name": "spare", "scopes": ["ratings:read"]})
        chain = post("/v1/compositions", {"chain": [{"rating": first}, {"rating": second}]})["id"]
        post("/v1/domains", {"host": host_of(service)})
    return [
        f"/ratings/{first}", f"/r/{first}", f"/ratings/{second}", f"/s/{first}", f"/v1/services/{first}/feed.atom",
        "/audits", f"/audits/{upload['id']}", "/compare?kind=translator&sort=name&start=1", f"/ratings/{first}/history",
        f"/jobs/{running}", f"/jobs/{jobs[0]['id']}", f"/services/{saved}", f"/services/{first}",
        f"/services/{unclaimed}",
        f"/services/{saved}/edit", "/specifications/own/edit", f"/corpora/{corpus}", f"/corpora/{pictures}/add",
        f"/corpora/{other}/add", f"/corpora/{other}/items/{item}?back=%2Fcorpora",
        f"/own-words/{corpus}/sentences?job={writing}",
        f"/own-words/{corpus}/words", f"/own-words/{other}/test", f"/uploads/{upload['id']}", f"/suites/{suite_id}",
        f"/suites/new?service={saved}&method=round-trip&attribute=gender&languages=es",
        f"/webhooks/{hook}", f"/compose/{chain}", f"/compare?first={first}&second={second}", f"/new?rating={first}",
        f"/new?target={saved}", f"/schedules/new?rating={first}", f"/ratings/{first}/withdraw",
        f"/ratings/{first}/reply", f"/ratings/{first}/evidence?q=a&kind=&order=&case=",
        f"/compose?rating={first}&act=up-0",
        f"/corpora/{pictures}/items/itm_0/image", f"/ratings/{first}/files/thumbnails/sha256:0",
        f"/ratings/{first}/files/observations/1/proof",
    ]  # fmt: skip


def reply_as_owner(url: str, key: str, data: Path, page: str) -> None:
    """Prove the claimed host, and reply to a rating, so that its page has the form of an answer to the reply."""
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=120, trust_env=False) as client:
        (domain,) = client.get("/v1/domains").json()["items"]
        with closing(Database(f"sqlite:///{data}/assay.db")) as database, database.write() as c:
            domains.record_check(c, domain["id"], None)
        replied = client.put(f"/v1{page}/reply", json={"text": "It was replaced.", "objects": True})
        assert replied.status_code == 201, replied.text


@pytest.fixture(scope="module")
def agency(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agency]:
    data = tmp_path_factory.mktemp("agency")
    with ExitStack() as stack:
        silent = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=100))
        port = free_port()
        public = {"ASSAY_AUTH": "keys", "ASSAY_PUBLIC_URL": f"http://127.0.0.1:{port}"}
        process = Process(data, port, ASSAY_MAX_ACTIVE_JOBS="6", **public, **RATES)
        stack.callback(process.stop)
        with closing(Database(f"sqlite:///{data}/assay.db")) as database, database.write() as c:
            admin, plain = keys.create(c, "acme", ["admin"], "admin")
            reader, _ = keys.create(c, "acme", ["ratings:read"], "reader")
            cookies = [f"{COOKIE}={sessions.begin(c, key_id=key.id)}" for key in (admin, reader)]
        callers = [Caller("admin", cookies[0]), Caller("reader", cookies[1]), Caller("nobody", "")]
        found = Agency(process, plain, callers)
        with DemoServer() as services:
            endless = f"http://127.0.0.1:{silent.getsockname()[1]}"
            pages = fill(found.url, plain, services.url("faithful"), endless)
        reply_as_owner(found.url, plain, data, pages[0])
        # from here on the rated service does not answer, so that jobs of fuzzed forms cost nothing
        pages += sorted({route.path for route in ROUTES if "GET" in (route.methods or ()) and "{" not in route.path})
        for caller in found.callers:
            caller.read_pages(found.url, pages)
        go_through_the_wizard(found)
        yield found


def go_through_the_wizard(agency: Agency) -> None:
    """Collect the forms of all steps of the wizard, which are answers to its own form."""
    admin = agency.callers[0]
    begin = [form for key, form in admin.forms.items() if key[:2] == ("POST", "/new")]
    with admin.client(agency.url) as client:
        for form in begin:
            given = {name: value.decode() for name, value in form.fields}
            for kind in ("translator", "classifier", "embedder", "language-model", "image-classifier", "regressor"):
                begun = client.post("/new", data={**given, "kind": kind}, follow_redirects=False)
                draft = begun.headers["location"].removesuffix("/where")
                sent = {**given, "go": "what", "base_url": "http://127.0.0.1:9/"}
                pages = [client.post(f"{draft}/where", data=sent, follow_redirects=True)]
                pages += [client.get(f"{draft}/{step}") for step in ("kind", "where", "what", "sure", "confirm")]
                for page in pages:
                    assert page.status_code < 500, (page.url, page.text)
                    for found in read_page(page.url.path, page.text)[0]:
                        admin._collect(found)
            return


def forms_sent(agency: Agency) -> set[str]:
    return {key[1] for caller in agency.callers for key in caller.forms if key[0] == "POST"}


# ---------------------------------------------------------------------------- hosts and caches
@pytest.mark.slow
def test_no_answer_contains_the_host_header_of_the_request(agency: Agency) -> None:
    # before, /r/{id} and its certificate named it in commands and links, and caches kept that page for a minute
    asked = 0
    for caller in agency.callers:
        with caller.client(agency.url) as client:
            for form in caller.forms.values():
                if form.method == "GET":
                    query = urlencoded(form.fields).decode()
                    answer = client.get(f"{form.action.partition('?')[0]}?{query}", headers={"Host": FOREIGN})
                    assert FOREIGN not in answer.text, form.action
                    assert FOREIGN not in str(answer.headers), form.action
                    asked += 1
    assert asked > 100
    with httpx.Client(
        base_url=agency.url, headers={"Authorization": f"Bearer {agency.key}"}, trust_env=False
    ) as client:
        for path in rating_files(agency, "private"):
            answer = client.get(path, headers={"Host": FOREIGN})
            assert FOREIGN not in answer.text + str(answer.headers), path


def rating_files(agency: Agency, visibility: str) -> list[str]:
    """Return the addresses of everything that the API offers about a rating."""
    with httpx.Client(
        base_url=agency.url, headers={"Authorization": f"Bearer {agency.key}"}, trust_env=False, timeout=60
    ) as client:  # the first request for the document of the API builds it
        ratings = client.get("/v1/ratings", params={"mine": True}).json()["items"]
        rating = next(one["id"] for one in ratings if one["visibility"] == visibility)
        paths = client.get("/openapi.json").json()["paths"]
        named = [path.replace("{rating_id}", rating) for path, offered in paths.items() if "get" in offered]
        seq = client.get(f"/v1/ratings/{rating}/observations").json()["items"][0]["seq"]
        figures = client.get(f"/v1/ratings/{rating}/report.html").text
    names = re.findall(r"figures/([\w-]+)\.svg", figures) or ["band"]
    values = {"{seq}": str(seq), "{name}": names[0], "{figure_name}": names[0]}
    filled = []
    for path in named:
        for placeholder, value in values.items():
            path = path.replace(placeholder, value)
        if f"/v1/ratings/{rating}" in path and "{" not in path:
            filled.append(path)
    return filled


@pytest.mark.slow
def test_caches_are_told_not_to_reuse_files_of_a_private_rating(agency: Agency) -> None:
    # before, "private, max-age=300, stale-while-revalidate=86400": a browser showed them after the session had ended
    fetched = 0
    with httpx.Client(
        base_url=agency.url, headers={"Authorization": f"Bearer {agency.key}"}, trust_env=False
    ) as client:
        for path in rating_files(agency, "private"):
            answer = client.get(path)
            if answer.status_code == 200:
                check_private(answer, path)
                fetched += 1
        rating = path.split("/")[3]
    with agency.callers[0].client(agency.url) as client:
        for name in FILES:
            answer = client.get(f"/ratings/{rating}/files/{name}")
            if answer.status_code == 200:
                check_private(answer, name)
                assert answer.headers["cache-control"] == "no-store", name
                fetched += 1
    assert fetched > len(FILES)


def check_private(answer: httpx.Response, what: str) -> None:
    kept, varies = answer.headers["cache-control"], answer.headers["vary"]
    assert "public" not in kept, what
    assert "max-age" not in kept, what
    assert {"Authorization", "Cookie"} <= {name.strip() for name in varies.split(",")}, what


@pytest.mark.slow
def test_files_of_a_public_rating_may_be_cached(agency: Agency) -> None:
    cacheable = []
    with httpx.Client(base_url=agency.url, trust_env=False) as client:
        for path in rating_files(agency, "public"):
            answer = client.get(path)
            if answer.status_code == 200 and "public" in answer.headers["cache-control"]:
                assert "Cookie" not in answer.headers.get("vary", ""), path
                cacheable.append(path.rpartition("/")[2])
        page = client.get(f"/r/{path.split('/')[3]}", headers={"Accept": "text/html"})
    assert {"badge.svg", "badge.json", "report.html", "attestation.json"} <= set(cacheable)
    assert page.headers["cache-control"] == "public, max-age=60"


# ---------------------------------------------------------------------------- forms
@pytest.mark.slow
def test_every_form_that_the_agency_accepts_is_on_a_page(agency: Agency) -> None:
    accepted = {route.path for route in ROUTES if "POST" in (route.methods or ())}
    assert sorted(accepted - forms_sent(agency) - SOMETIMES) == []


SOMETIMES = {
    "/ratings/{rating_id}/rerate",
    "/schedules/{schedule_id}/pause",
    "/settings/domains/{domain_id}/allow",
    "/webhooks/{webhook_id}/enable",
    "/webhooks/{webhook_id}/redeliver",
}
"""Forms that a page has in one state only: a rating of an older methodology, an active schedule, a host whose
owner refuses ratings, a disabled endpoint, failed deliveries."""


@pytest.mark.slow
def test_every_page_can_be_reached_by_links(agency: Agency) -> None:
    pages = {route.path for route in ROUTES if "GET" in (route.methods or ())}
    linked = {key[1] for caller in agency.callers for key in caller.forms if key[0] == "GET"}
    assert sorted(pages - linked - NOT_LINKED) == []


NOT_LINKED = {"/{path:path}", "/sign-in/oidc", "/sign-in/oidc/callback", "/suites/{suite_id}/audits/{name}"}
NOT_LINKED |= {"/new/{draft_id}/{step}"}
"""The page of missing resources, the pages of an agency with accounts, files of suites of recorded decisions, and steps
of the wizard, to which its own form redirects."""


@pytest.mark.slow
def test_hostile_variants_of_all_forms_and_links_never_cause_a_server_error(
    agency: Agency, request: pytest.FixtureRequest, record_property
) -> None:
    scale = request.config.getoption("--chaos-scale")
    rng, statuses, failures, slow = Random(SEED), Counter[int](), [], []
    every = [(caller, key, form) for caller in agency.callers for key, form in sorted(caller.forms.items())]
    longest, dearest_s, sent, accepted, covered = 0.0, 0.0, 0, 0, set()
    with ExitStack() as opened, Poller(agency.url, pause_s=0.05) as poller:
        clients = {caller.name: opened.enter_context(caller.client(agency.url)) for caller in agency.callers}
        while sent < REQUESTS[scale]:
            caller, key, form = rng.choice(every)
            if form.action.endswith(ENDING) and rng.randrange(RARELY):
                continue
            made = variant(form, rng)
            began, before_s = time.perf_counter(), main_thread_s(agency.process.process.pid)
            answer = clients[caller.name].request(made.method, made.path, content=made.content, headers=made.headers)
            took_s, cost_s = time.perf_counter() - began, main_thread_s(agency.process.process.pid) - before_s
            sent += 1
            statuses[answer.status_code] += 1
            accepted += caller.name == "admin" and answer.status_code < 400
            covered.add((form.method, key[1]))
            if answer.status_code >= 500:
                failures.append((caller.name, made.what, made.path[:300], made.content[:300], answer.status_code))
            if not form.action.endswith(WAITING) and b"probe" not in made.content:
                longest, dearest_s = max(longest, took_s), max(dearest_s, cost_s)
                if took_s > 1 or cost_s > MOST_LOOP_S:
                    slow.append((round(took_s, 2), caller.name, made.what, len(made.content)))
            if len(failures) > 20:
                break
    figures = {
        "requests": sent, "accepted of admin": accepted, "forms and links": len(every), "routes": len(covered),
        "statuses": dict(sorted(statuses.items())),
        "longest_s": round(longest, 2), "event_loop_s": round(dearest_s, 2), "slow": slow[:20],
        "livez_p99_s": round(poller.quantile(0.99), 3),
        "livez_longest_s": round(max(poller.took_s), 3),
    }  # fmt: skip
    print(json.dumps(figures))
    record_property("figures", json.dumps(figures))
    log = agency.process.log.read_text()
    assert not failures, (
        json.dumps(figures),
        *failures,
        *[line for line in log.splitlines() if "request failed" in line][-20:],
    )
    assert "request failed" not in log
    assert accepted > sent / 10, "most variants are refused because of their token or session, so nothing is tested"
    assert dearest_s < MOST_LOOP_S, slow
    assert poller.quantile(0.99) < (0.5 if scale != "short" else 5)
    assert longest < (1 if scale != "short" else 20), slow
