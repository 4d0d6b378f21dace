"""A real browser (Debian's Chromium) before an agency that has rated services of known behaviour."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from demo.server import DemoServer
from tests.support.filled_agency import Site, filled_agency

CHROMIUM = shutil.which("chromium")


@pytest.fixture(scope="session")
def services() -> Iterator[DemoServer]:
    with DemoServer() as server:
        yield server


@pytest.fixture(scope="session")
def site(services: DemoServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Rate four translators, a language model and a classifier; all ratings are public."""
    with filled_agency(services, tmp_path_factory.mktemp("agency")) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start Chromium for one module: while it runs, this thread has an event loop, and other tests start their own."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    with sync_playwright() as playwright:
        # prevents requests to other machines: no updates, no translations of pages
        started = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--no-first-run"],
        )
        yield started
        started.close()


@dataclass
class Reader:
    """A person before the browser; `complaints` are errors of the console, and requests to other hosts."""

    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        """Open a page, and wait until it is loaded."""
        answer = self.page.goto(f"{self.url}{path}")
        assert answer is not None
        return self.page

    def watch(self) -> None:
        self.page.on(
            "console",
            lambda told: self.complaints.append(f"{told.text} {told.location}") if told.type == "error" else None,
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda asked: self._asked(asked.url))

    def _asked(self, url: str) -> None:
        if urlsplit(url).scheme in {"http", "https"} and not url.startswith(self.url):
            self.complaints.append(f"another host was asked: {url}")


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    with browser.new_context(viewport={"width": 1280, "height": 900}) as made:
        yield made


@pytest.fixture
def reader(context: BrowserContext, site: Site) -> Iterator[Reader]:
    """Someone who reads the site; a page that complains in the console fails the test."""
    found = Reader(context.new_page(), site.url)
    found.watch()
    yield found
    assert not found.complaints
