"""A stranger without a key chooses between services: from the start page to a copied badge."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.test_whole_site import faults_of, with_axe
from tests.support.agency_process import Process
from tests.support.filled_agency import Site
from tests.support.keyboard import Keys

NAMES = ("faithful", "always-he", "balancing")


@pytest.fixture(scope="module")
def public_site(filled: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a copy of the filled agency that requires keys."""
    data: Path = tmp_path_factory.mktemp("public")
    shutil.copytree(filled.process.data, data, dirs_exist_ok=True)
    process = Process(data, ASSAY_AUTH="keys")
    yield process.agency.url
    process.stop()


def copied(page: Page) -> str:
    return str(page.evaluate("navigator.clipboard.readText()"))


def texts_of(page: Page) -> list[str]:
    """Return the texts that Chromium gives to a screen reader, with those of the style sheet."""
    nodes = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    return [node["name"]["value"] for node in nodes if node.get("role", {}).get("value") == "StaticText"]


def test_three_translators_are_compared_and_the_badge_of_one_is_copied_with_seven_clicks(
    public_site: str, context: BrowserContext
) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(public_site)
    page.get_by_role("main").get_by_role("link", name="All public ratings").first.click()  # 1
    for name in NAMES:  # 2, 3, 4
        page.get_by_role("checkbox", name=f"Compare {name}").check()
    assert "3" in texts_of(page), "the style sheet counts the boxes"
    page.get_by_role("button", name="chosen: compare").click()  # 5
    expect(page.locator("th[data-rating] bdi:first-child").filter(has_text="always-he")).to_be_visible()
    page.get_by_role("link", name="History and badge balancing").click()  # 6
    page.get_by_role("button", name="Copy Markdown").click()  # 7
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    markdown = copied(page)
    assert markdown.startswith(f"[![Bias rating]({public_site}/v1/services/")
    badge = page.request.get(markdown.partition("](")[2].partition(")]")[0])
    assert (badge.status, badge.headers["content-type"]) == (200, "image/svg+xml")
    assert "Bias rating: UCS" in badge.text()
    assert page.request.get(markdown.rpartition("](")[2].rstrip(")")).status == 200


def test_translators_are_compared_with_the_keyboard_alone(public_site: str, context: BrowserContext) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    keys = Keys(page)
    page.goto(public_site)
    keys.skip()
    keys.enter(page.get_by_role("main").get_by_role("link", name="All public ratings").first)
    keys.skip()
    boxes = page.get_by_role("checkbox")
    for index in range(3):
        keys.to(boxes.nth(index))
        keys.press("Space")
    keys.enter(page.get_by_role("button", name="chosen: compare"))
    keys.skip()
    keys.enter(page.get_by_role("link", name="History and badge").first)
    keys.skip()
    keys.enter(page.get_by_role("button", name="Copy Markdown"))
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert copied(page).startswith("[![Bias rating](")


@with_axe
def test_pages_to_choose_a_service_break_no_rule_of_accessibility(public_site: str, browser) -> None:
    with browser.new_context(bypass_csp=True, reduced_motion="reduce") as context:
        page = context.new_page()
        page.goto(f"{public_site}/registry?kind=translator")
        for name in NAMES:
            page.get_by_role("checkbox", name=f"Compare {name}").check()
        page.get_by_role("button", name="chosen: compare").click()
        found = faults_of(page)
        page.get_by_role("link", name="History and badge balancing").click()
        found += faults_of(page)
        for path in ("/compare?kind=translator", "/registry", "/sign-in"):
            page.goto(f"{public_site}{path}")
            found += faults_of(page)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert not found, "\n".join(found[:20])
