"""Fixtures with a real browser (Debian's Chromium) and an agency that has rated services of known behaviour."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright

from demo.server import DemoServer
from tests.support.filled_agency import Site, copied_agency, filled_agency

CHROMIUM, HERE = shutil.which("chromium"), Path(__file__).parent


@pytest.fixture(scope="session")
def services() -> Iterator[DemoServer]:
    with DemoServer() as server:
        yield server


@pytest.fixture(scope="session")
def filled(services: DemoServer, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Rate four translators, a language model and a classifier in public; return the agency, which is then stopped."""
    with filled_agency(services, tmp_path_factory.mktemp("filled")) as found:
        return found


@pytest.fixture(scope="session")
def site(filled: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A running agency with ratings, which all modules without an agency of their own share."""
    with copied_agency(filled, tmp_path_factory.mktemp("agency")) as found:
        yield found


@pytest.fixture(scope="module")
def own_site(filled: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A running agency with ratings, in which no other module has created anything."""
    with copied_agency(filled, tmp_path_factory.mktemp("agency")) as found:
        yield found


@contextmanager
def chromium(program: str) -> Iterator[Browser]:
    """Run Chromium without its requests to other machines (updates, translations of pages)."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=program,
            args=["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--no-first-run"],
        )
        yield started
        started.close()


_open = ExitStack()
_running: list[Browser] = []


@pytest.fixture(scope="module")
def browser() -> Browser:
    """The browser that all modules of this folder share in one process."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    if not _running:
        _running.append(_open.enter_context(chromium(CHROMIUM)))
    return _running[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """End Chromium before tests of another folder, because its event loop in this thread would disturb theirs."""
    try:
        return (yield)
    finally:
        if nextitem is None or not nextitem.path.is_relative_to(HERE):
            _running.clear()
            _open.close()


def write(field: Locator, text: str) -> None:
    """Replace the text of a field; words that a script shows as chips are removed, and others are typed below them."""
    expect(field).to_be_attached()
    field.page.wait_for_load_state()  # the script that makes chips has run
    chips = field.locator("xpath=following-sibling::*[1][contains(@class, 'chips')]")
    if not chips.count():
        return field.fill(text)
    for _ in range(chips.get_by_role("button").count()):
        chips.get_by_role("button").first.click()
    return chips.locator("xpath=following-sibling::textarea").fill(text)


@dataclass
class Reader:
    """A person who uses the browser; `complaints` are errors in the console, and requests to other hosts."""

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
    """A reader of the site; the test fails if a page writes an error into the console."""
    found = Reader(context.new_page(), site.url)
    found.watch()
    yield found
    assert not found.complaints
