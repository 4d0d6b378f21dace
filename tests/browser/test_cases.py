"""Cases of the evidence in the browser: in place of a square, by keys, by links, on a phone, without scripts."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Reader
from tests.browser.test_whole_site import faults_of, with_axe
from tests.support.filled_agency import Site

PHONE = {"width": 390, "height": 844}
SMALLEST_TARGET = 24
SIDES = "squares => squares.map((s) => s.getBoundingClientRect()).map((box) => Math.min(box.width, box.height))"


def cases(site: Site, name: str, query: str = "") -> dict:
    address = f"{site.url}/v1/ratings/{site.ratings[name]}/cases{query}"
    with urllib.request.urlopen(address, timeout=30) as answer:
        return dict(json.loads(answer.read()))


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    with browser.new_context(viewport=PHONE, has_touch=True) as context:
        yield context.new_page()


def test_each_row_of_the_evidence_highlights_the_changed_word_and_counts_equal_those_of_the_api(
    site: Site, reader: Reader
) -> None:
    page = reader.open(f"/r/{site.ratings['always-he']}/evidence")
    listed = cases(site, "always-he", "?limit=50")
    assert page.locator(".cases > li").count() == len(listed["items"])
    chips = page.get_by_role("navigation", name="Kinds of cases").get_by_role("link").all_inner_texts()
    assert chips == ["all", *(f"{kind.replace('-', ' ')} {count:,}" for kind, count in listed["counts"].items())]
    first = page.locator(".cases > li").first
    for text in listed["items"][0]["texts"]:
        expect(first).to_contain_text(text["text"])
    assert {word.lower() for word in first.locator(".differs").all_inner_texts()} >= {"she", "he"}
    page.get_by_role("link", name=re.compile("^kept")).click()
    expect(page.locator(".cases .kind").first).to_have_text("kept")
    assert {kind.lower() for kind in page.locator(".cases .kind").all_inner_texts()} == {"kept"}


def test_a_click_on_a_square_opens_its_case_and_arrow_keys_open_the_next_case(site: Site, reader: Reader) -> None:
    page = reader.open(f"/ratings/{site.ratings['stereotyped-model']}")
    figure = page.locator("[data-peek]").first
    square = figure.locator(".squares a").nth(5)
    likelier = square.locator("title").text_content().split("\n")[1].removeprefix("likelier: ")
    square.click()
    case = figure.locator("article.opened")
    expect(case).to_contain_text(likelier)
    expect(case).to_be_focused()
    label = case.get_attribute("aria-label")
    page.keyboard.press("ArrowRight")
    expect(case).not_to_have_attribute("aria-label", label)
    page.keyboard.press("ArrowLeft")
    expect(case).to_have_attribute("aria-label", label)
    assert "/evidence" not in page.url
    page.keyboard.press("Escape")
    expect(case).to_have_count(0)


def test_a_link_to_a_case_opens_it_and_a_reload_keeps_it(site: Site, reader: Reader) -> None:
    evidence = f"/r/{site.ratings['always-he']}/evidence"
    first, second = cases(site, "always-he", "?limit=2")["items"]
    page = reader.open(f"{evidence}#case-{first['id']}")
    expect(page.locator(f"#case-{first['id']}")).to_contain_text(first["texts"][-1]["text"])
    page.get_by_role("link", name="Next", exact=False).first.click()
    opened = page.locator(f"article#case-{second['id']}")
    expect(opened).to_be_visible()
    assert page.url.endswith(f"?case={second['id']}#case-{second['id']}")
    page.reload()
    expect(opened).to_contain_text(f"no. {second['observations'][0]}")
    page.get_by_role("link", name=f"Read case {first['id']} as recorded").click()
    expect(page.locator(f"li article#case-{first['id']}")).to_be_focused()


def test_on_a_phone_squares_of_a_figure_are_large_enough_to_tap_and_open_the_answers(site: Site, phone: Page) -> None:
    phone.goto(f"{site.url}/ratings/{site.ratings['stereotyped-model']}")
    sides = phone.locator(".squares rect").evaluate_all(SIDES)
    assert len(sides) > 100
    assert min(sides) >= SMALLEST_TARGET
    assert phone.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    phone.locator(".squares a").first.tap()
    drawer = phone.locator("article.opened")
    expect(drawer).to_be_visible()
    box = drawer.bounding_box()
    assert box is not None
    assert (box["x"], round(box["width"])) == (0, PHONE["width"])
    assert round(box["y"] + box["height"]) == PHONE["height"]
    for link in drawer.get_by_role("link").all():
        area = link.bounding_box()
        assert area is not None
        assert min(area["width"], area["height"]) >= SMALLEST_TARGET


def test_cases_can_be_read_one_after_the_other_without_javascript(site: Site, browser: Browser) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(f"{site.url}/ratings/{site.ratings['stereotyped-model']}")
        address = page.locator(".squares a").first.get_attribute("href")
        page.goto(f"{site.url}{address}")
        expect(page.locator("#opened article")).to_be_visible()
        expect(page.locator(".cases > li")).to_have_count(1)
        page.goto(f"{site.url}/r/{site.ratings['always-he']}/evidence")
        page.get_by_role("link", name="As recorded").or_(page.get_by_role("link", name="as recorded")).first.click()
        first = page.locator("#opened article").get_attribute("id")
        page.get_by_role("link", name="Next →").click()
        expect(page.locator("#opened article")).not_to_have_id(first)


@with_axe
def test_an_opened_case_breaks_no_rule_of_accessibility(site: Site, browser: Browser) -> None:
    first = cases(site, "always-he", "?limit=1")["items"][0]
    with browser.new_context(bypass_csp=True, reduced_motion="reduce") as context:
        page = context.new_page()
        page.goto(f"{site.url}/r/{site.ratings['always-he']}/evidence?case={first['id']}")
        assert faults_of(page) == []


def test_long_texts_are_collapsed_until_opened_or_found_by_a_search(site: Site, reader: Reader) -> None:
    evidence = f"/r/{site.ratings['curt-writer']}/evidence"
    page = reader.open(evidence)
    assert page.evaluate("document.documentElement.scrollHeight") < 15_000
    assert page.locator(".cases details[open]").count() == 0
    first = page.locator(".cases > li").first
    expect(first).not_to_contain_text("judge")
    first.locator("summary").first.click()
    whole = cases(site, "curt-writer", "?limit=1")["items"][0]["texts"]
    expect(first).to_contain_text(max((text["answer"] for text in whole), key=len))
    page.goto(f"{site.url}{evidence}?q=everybody")
    assert page.locator(".cases details[open] mark").count() > 0


def test_a_list_of_cases_shows_their_total_number(site: Site, reader: Reader) -> None:
    page = reader.open(f"/r/{site.ratings['stereotyped-model']}/evidence")
    expect(page.get_by_role("navigation", name="Pages")).to_contain_text("800 in all")
    expect(page.locator("#evidence")).to_contain_text("Cases: 800.")


def test_an_untranslated_text_is_marked_unusable_and_questions_show_their_context(site: Site, reader: Reader) -> None:
    page = reader.open(f"/r/{site.ratings['echo']}/evidence")
    expect(page.locator(".cases > li").first).to_contain_text("cannot be used: the text came back untranslated")
    page = reader.open(f"/r/{site.ratings['even-answerer']}/evidence")
    expect(page.locator(".cases > li").first).to_contain_text(re.compile(r"Who .+\? \(.+ / .+ / .+\)"))


def test_a_rating_page_of_recorded_decisions_shows_the_digest_of_the_uploaded_file(site: Site, reader: Reader) -> None:
    page = reader.open(f"/r/{site.ratings['even-recruiter']}")
    with urllib.request.urlopen(f"{site.url}/v1/ratings/{site.ratings['even-recruiter']}", timeout=30) as answer:
        digest = json.loads(answer.read())["experiment"]["table"]["digest"]
    expect(page.locator(".seal")).to_contain_text(f"uploaded file {digest[7:23]}…")
    expect(page.locator(".seal")).to_contain_text("follows from the uploaded decisions")
