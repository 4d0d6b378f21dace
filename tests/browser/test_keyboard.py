"""The keyboard alone: every control is reached with Tab, and the focus survives when a part of a page is replaced."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Reader
from tests.support.filled_agency import Site
from tests.support.keyboard import Keys


@pytest.fixture
def keys(reader: Reader) -> Keys:
    return Keys(reader.page)


def begin(reader: Reader, keys: Keys, path: str) -> Page:
    page = reader.open(path)
    keys.skip()
    return page


def test_a_service_can_be_rated_with_the_keyboard_alone(reader: Reader, keys: Keys, site: Site) -> None:
    page = reader.open("/")
    keys.enter(page.get_by_role("link", name="New rating").locator("visible=true").first)
    keys.skip()
    keys.enter(page.get_by_role("button", name="Translator"))
    keys.skip()
    speaks = page.get_by_label("Protocol")
    keys.to(speaks)
    before = speaks.input_value()
    keys.press("ArrowDown")  # the form of its settings replaces the previous one
    expect(page.locator("#h-protocol")).not_to_have_text("")
    expect(speaks).not_to_have_value(before)
    keys.press("ArrowUp")
    expect(speaks).to_have_value(before)
    expect(speaks).to_be_focused()
    keys.to(page.get_by_label("Address"))
    keys.write(site.services.url("always-he"))
    keys.enter(page.get_by_role("button", name="Try it"))
    expect(page.locator("#probe h2")).to_contain_text("It answers")
    keys.skip()
    keys.enter(page.get_by_role("button", name="Continue"))
    keys.skip()
    method = page.get_by_role("radio", name="Round trip")
    keys.to(method)
    with page.expect_response("**/new/**"):
        keys.press("ArrowDown")
    expect(page.get_by_role("heading", name="One hop")).to_be_visible()
    with page.expect_response("**/new/**"):
        keys.press("ArrowUp")
    expect(page.get_by_role("heading", name="Round trip")).to_be_visible()
    expect(method).to_be_focused()
    keys.enter(page.get_by_role("button", name="Continue"))
    keys.skip()
    size = page.locator("[name=size]:checked")
    keys.to(size)
    with page.expect_response("**/new/**"):
        keys.press("ArrowDown")
    keys.keep()
    keys.enter(page.get_by_role("button", name="Continue"))
    keys.skip()
    keys.enter(page.get_by_role("button", name="Rate it"))
    expect(page.get_by_role("link", name="See the rating")).to_be_visible(timeout=90_000)
    keys.keep()
    keys.skip()
    keys.enter(page.get_by_role("link", name="See the rating"))
    expect(page.locator("svg.stamp")).to_have_attribute("aria-label", "BS, declared")


@pytest.mark.parametrize("swaps", ["at once", "after a page without its button"])
def test_the_keyboard_focus_is_not_lost_when_a_job_ends(reader: Reader, keys: Keys, site: Site, swaps: str) -> None:
    target = {
        "name": "ends",
        "kind": "translator",
        "protocol": "libretranslate",
        "base_url": site.services.url("faithful"),
    }
    target |= {"limits": {"requests_per_second": 2}}
    experiment = {"method": "round-trip", "attribute": "gender", "languages": ["es"]}
    job = site.process.agency.post("/v1/jobs", {"target": target, "experiment": experiment, "seed": 4711})
    page = begin(reader, keys, f"/jobs/{job['id']}")
    keys.to(page.get_by_role("button", name="Cancel the job"))
    seen = page.locator("[data-count=asked]").inner_text()
    expect(page.locator("[data-count=asked]")).not_to_have_text(seen, timeout=20_000)
    expect(page.get_by_role("button", name="Cancel the job")).to_be_focused()
    if swaps != "at once":  # the status until the worker notices the cancellation
        page.route("**/now", without_button)
        expect(page.locator("#content")).to_be_focused()
        page.unroute("**/now")
    site.process.agency.post(f"/v1/jobs/{job['id']}/cancel", {})
    expect(page.get_by_role("heading", name="It was cancelled")).to_be_visible(timeout=20_000)
    expect(page.get_by_role("link", name="Try again")).to_be_focused()
    keys.keep()


def without_button(route: Route) -> None:
    answer = route.fetch()
    body, taken = re.subn(r"<p data-top><button.*?</button></p>", "", answer.text())
    assert taken == 1
    route.fulfill(response=answer, body=body)


def test_each_square_of_a_figure_and_its_answers_can_be_read_with_the_keyboard_alone(
    reader: Reader, keys: Keys, site: Site
) -> None:
    page = begin(reader, keys, f"/ratings/{site.ratings['stereotyped-model']}")
    figure = page.locator("[data-peek]").first
    keys.to(figure.locator(".squares").first)
    keys.press("ArrowRight", "ArrowDown")
    chosen = figure.locator(".peek .pref").inner_text().removeprefix("likelier: ")
    keys.press("Enter")
    case = figure.locator("article.opened")
    expect(case).to_contain_text(chosen)
    expect(case).to_be_focused()
    keys.press("ArrowRight")
    expect(case).not_to_contain_text(chosen)
    page = begin(reader, keys, f"/ratings/{site.ratings['stereotyped-model']}/evidence")
    find = page.get_by_label("Find in questions and answers")
    keys.to(find)
    with page.expect_response("**/evidence*"):
        keys.write("broker")
        keys.press("Enter")
    expect(page.locator("mark").first).to_have_text("broker")
    expect(find).to_be_focused()
    keys.keep()


def test_a_corpus_can_be_edited_with_the_keyboard_alone(reader: Reader, keys: Keys, site: Site) -> None:
    post = site.process.agency.post
    corpus = post("/v1/corpora", {"name": "By keyboard", "kind": "sentences", "attribute": "gender"})
    texts = ["One sentence.", "Another sentence.", "A third sentence."]
    post(f"/v1/corpora/{corpus['id']}/items", {"items": [{"text": text} for text in texts]})
    page = begin(reader, keys, f"/corpora/{corpus['id']}")
    edit = page.get_by_role("link", name="Edit 1", exact=True)
    keys.enter(edit)
    expect(page.get_by_label("Sentence", exact=True)).to_be_focused()
    keys.write("A better sentence.")
    keys.enter(page.get_by_role("button", name="Save"))
    expect(page.locator(".item p").first).to_have_text("A better sentence.")
    expect(edit).to_be_focused()
    keys.press("Enter")
    expect(page.get_by_label("Sentence", exact=True)).to_be_focused()
    keys.enter(page.get_by_role("link", name="Leave it as it is"))
    expect(edit).to_be_focused()
    keys.press("Enter")
    expect(page.get_by_label("Sentence", exact=True)).to_be_focused()
    keys.enter(page.get_by_role("button", name="Remove it"))
    expect(page.get_by_text("Removed.")).to_be_focused()
    keys.to(page.get_by_label("Tick 3"))
    keys.press("Space")
    keys.to(page.locator("#bulk").get_by_role("button", name="Remove", exact=True), "Shift+Tab")
    keys.press("Enter")
    expect(page.locator(".item")).to_have_count(1)
    kept = site.process.agency.get(f"/v1/corpora/{corpus['id']}/items")["items"]
    assert [one["text"] for one in kept] == ["Another sentence."]
