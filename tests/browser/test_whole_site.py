"""Every page, found by following links: rules of accessibility, small screens, translation, security headers."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Reader
from tests.support.filled_agency import Site
from tests.support.marked_language import TEXTS, marked_pages, untranslated
from web.site import AREAS

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / ".ci/browser/node_modules/axe-core/axe.min.js"
with_axe = pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: make test installs it where npm is")
NOT_PAGES = re.compile(
    r"/v1/|/static/|/openapi|/\.well-known/|/docs/operations|/export|/files/|/image|download|\.(csv|svg|html|md|jsonl|json|yaml|toml)(\?|$)"
)
MOST_OF_A_KIND = 2
"""Maximum number of addresses visited for each page."""

WIDTHS, SCHEMES = (1280, 390), ("light", "dark")
"""Each page is checked at each width (in pixels) and in each colour scheme."""

ROUTES = {
    route.path: route.path_regex for area in AREAS for route in area.routes if route.methods and "GET" in route.methods
}


def kind_of(path: str) -> str:
    """Return the route that matches an address, such as `/jobs/{job_id}`."""
    for written, pattern in ROUTES.items():
        if pattern.match(path):
            return written
    return path


def crawled(reader: Reader) -> dict[str, list[str]]:
    """Follow links from `/`; return the visited addresses by route."""
    seen: dict[str, list[str]] = {}
    waiting = ["/"]
    while waiting:
        address = waiting.pop(0)
        kind = kind_of(address.partition("?")[0])
        if address in seen.get(kind, []) or len(seen.get(kind, [])) >= MOST_OF_A_KIND:
            continue
        seen.setdefault(kind, []).append(address)
        answer = reader.page.goto(f"{reader.url}{address}")
        assert answer is not None
        headings = reader.page.locator("h1").count()
        described = reader.page.locator('meta[name="description"][content]:not([content=""])').count()
        if (answer.status, headings, described) != (200, 1, 1):
            faults = f"{answer.status}, with {headings} main headings and {described} descriptions"
            reader.complaints.append(f"{address} answered {faults}")
        links = reader.page.eval_on_selector_all("a[href]", "all => all.map(one => one.getAttribute('href'))")
        for link in links:
            found = urldefrag(urljoin(f"{reader.url}{address}", link)).url
            if found.startswith(f"{reader.url}/") and not NOT_PAGES.search(found):
                waiting.append(found.removeprefix(reader.url))
    return seen


def furnished(site: Site) -> None:
    """Create one resource of each kind that a person can create, so that each page has content."""
    post = site.process.agency.post
    target = {"name": "saved", "kind": "translator", "protocol": "libretranslate"}
    target["base_url"] = site.services.url("faithful")
    job = {"target": target, "experiment": {"method": "round-trip", "attribute": "gender"}}
    post("/v1/targets", target)
    post("/v1/compositions", {"chain": [{"rating": site.ratings["faithful"]}] * 2})
    post("/v1/suites", {"target": target, "methods": ["round-trip"], "attributes": ["gender"]})
    post("/v1/schedules", {"name": "monthly", "cron": "0 4 1 * *", "request": job})
    hook = post("/v1/webhooks", {"url": f"{site.services.url('faithful')}/hook"})
    post(f"/v1/webhooks/{hook['id']}/ping", {})
    corpus = post("/v1/corpora", {"name": "Science", "kind": "sentences", "attribute": "gender"})
    post(f"/v1/corpora/{corpus['id']}/items", {"items": [{"text": "The man is good at science."}]})


@pytest.fixture(scope="module")
def addresses(browser, site) -> dict[str, list[str]]:
    furnished(site)
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        reader = Reader(context.new_page(), site.url)
        reader.watch()
        found = crawled(reader)
        assert not reader.complaints
        # a rating by each method, because their figures and tables differ
        methods = {
            site.process.agency.get(f"/v1/ratings/{rating_id}")["method"]: rating_id
            for rating_id in site.ratings.values()
        }
        return found | {"/ratings/{rating_id}": [f"/ratings/{rating_id}" for rating_id in methods.values()]}


def test_every_page_is_reached_from_the_start_page_by_links(addresses):
    # sign-in redirects if no keys are required (see test_sessions.py); parts of pages have no page of their own
    not_linked = {path for path in ROUTES if path.endswith(("/now", "/running")) or path.startswith("/sign-in")}
    # pages that need the user's words or files are opened by test_own_words.py and test_corpora.py
    not_linked |= {path for path in ROUTES if path.startswith("/own-words/{")}
    not_linked |= {"/uploads/{upload_id}", "/audits/{upload_id}", "/specifications/{name}/edit"}
    not_linked |= {"/suites/{suite_id}/audits/{name}"}  # see test_recorded_decisions.py
    not_linked |= {"/keys/shown-once"}  # see test_going_back.py
    not_linked |= {"/methodology/changes"}  # compares two versions (see test_methodology_changes.py); this is the first
    files = {path for path in ROUTES if NOT_PAGES.search(path)}
    assert set(ROUTES) - not_linked - files - set(addresses) == set()


def faults_of(page: Page) -> list[str]:
    """Return the rules of accessibility that a page breaks at any width or colour scheme.

    The page is loaded only once, because only its style sheet depends on the screen. Of the colour scheme, only the
    contrast depends.
    """
    page.add_script_tag(path=AXE)
    found = []
    for width, scheme in itertools.product(WIDTHS, SCHEMES):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        rules = {} if scheme == SCHEMES[0] else {"runOnly": ["color-contrast"]}
        told = page.evaluate("given => axe.run(document, {resultTypes: ['violations'], ...given})", rules)
        found += [
            f"{page.url} ({width}, {scheme}): {one['id']}: {node['target']} {node['failureSummary'][:300]}"
            for one in told["violations"]
            for node in one["nodes"][:3]
        ]
    return found


@with_axe
def test_no_page_breaks_a_rule_of_accessibility(browser, site, addresses):
    found = []
    with browser.new_context(bypass_csp=True, reduced_motion="reduce") as context:
        page = context.new_page()
        for visited in addresses.values():
            page.goto(f"{site.url}{visited[-1]}")
            found += faults_of(page)
    assert not found, "\n".join(found[:20])


def test_small_screens_need_no_horizontal_scrolling_and_every_button_and_link_is_large_enough(browser, site, addresses):
    wide, small = {}, {}
    script = """() => [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, summary')]
      .filter(one => one.offsetParent && !one.closest('p, li li, td, dd, label, .peek, .skip, .vh'))
      .map(one => [one.outerHTML.slice(0, 90), one.getBoundingClientRect()])
      .filter(([_, box]) => box.height > 0 && (box.height < 24 || box.width < 24)
        && getComputedStyle(document.body).display != 'none')
      .map(([text, box]) => `${text} ${Math.round(box.width)}x${Math.round(box.height)}`)"""
    with browser.new_context() as context:
        page = context.new_page()
        for visited in addresses.values():
            page.set_viewport_size({"width": 320, "height": 640})
            page.goto(f"{site.url}{visited[-1]}")
            width = page.evaluate("document.documentElement.scrollWidth")
            if width > 320:
                wide[visited[-1]] = width
            page.set_viewport_size({"width": 390, "height": 844})
            if found := page.evaluate(script):
                small[visited[-1]] = found[:3]
    assert not wide
    assert not small


def test_every_text_of_a_page_is_translated_into_another_language(browser, site, addresses):
    left = {}
    with marked_pages(site) as (url, told), browser.new_context() as context:
        page = context.new_page()
        for route, visited in addresses.items():
            if route.startswith("/new/{"):
                continue  # names and summaries of methods are read once from the API and then cached
            told.texts.clear()
            page.goto(f"{url}{visited[-1]}", wait_until="domcontentloaded")
            text = page.evaluate(TEXTS)
            assert "⟦" in text, visited[-1]
            if found := untranslated(text, told):
                left[visited[-1]] = found
    assert not left, "\n".join(f"{path}: {some[:20]}" for path, some in left.items())


def test_pages_have_security_headers_and_only_public_pages_may_be_cached(site, browser):
    with browser.new_context() as context:
        public, own = context.request.get(f"{site.url}/"), context.request.get(f"{site.url}/overview")
    for answer in (public, own):
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert "public" in public.headers["cache-control"]
    assert own.headers["cache-control"] == "no-store"
