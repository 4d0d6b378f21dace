"""Pages of an agency without any data, and error pages: they break no rule of accessibility."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.test_whole_site import faults_of, with_axe
from tests.support.agency_process import Process

EMPTY = ("/", "/overview", "/jobs", "/ratings", "/services", "/suites", "/schedules", "/specifications",
         "/corpora", "/audits", "/uploads", "/compare", "/compose", "/registry", "/log", "/webhooks", "/keys",
         "/settings")  # fmt: skip
REFUSED = {"/nowhere": 404, "/registry?kind=nonsense": 422, "/ratings/rat_0": 404, "/jobs?cursor=nonsense": 422}


@pytest.fixture(scope="module")
def nothing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    process = Process(tmp_path_factory.mktemp("nothing"))
    yield process.agency.url
    process.stop()


@with_axe
def test_empty_pages_and_error_pages_break_no_rule_of_accessibility(browser: Browser, nothing: str) -> None:
    found = []
    with browser.new_context(bypass_csp=True, reduced_motion="reduce") as context:
        page = context.new_page()
        for path in (*EMPTY, *REFUSED):
            answer = page.goto(f"{nothing}{path}")
            assert answer is not None
            assert answer.status == REFUSED.get(path, 200), path
            found += faults_of(page)
        page.goto(f"{nothing}/new?kind=translator")
        page.get_by_role("button", name="Translator").click()
        page.get_by_role("button", name="Continue without a test").click()
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_role("alert")).to_be_visible()
        found += faults_of(page)
    assert not found, "\n".join(found[:20])
