"""Browser history: at every step of every form, going back and reloading lose nothing and repeat nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Reader, Site

LISTS = (
    "keys",
    "webhooks",
    "jobs",
    "suites",
    "compositions",
    "targets",
    "corpora",
    "uploads",
    "domains",
    "specifications",
)
STUDY = {"first": "men", "second": "women", "first_terms": "science, physics", "second_terms": "poetry, dance"}
WORDS = {"title": "Men and science", "attribute": "gender", "pairs": "man, woman", "neutral": "tea, rain", **STUDY}


def rows(site: Site) -> Counter[str]:
    """Count the rows of everything that a form can create."""
    counts: Counter[str] = Counter()
    for name in LISTS:
        cursor = ""
        while cursor is not None:
            listing = site.process.agency.get(f"/v1/{name}?limit=200" + (f"&cursor={cursor}" if cursor else ""))
            counts[name] += len(listing["items"])
            cursor = listing["next_cursor"]
    return counts


def written(page: Page, fields: dict[str, str]) -> None:
    for name, text in fields.items():
        page.locator(f"main [name='{name}']").last.fill(text)


def press(page: Page, name: str) -> None:
    """Press a button even if the browser would refuse the form, so that the agency refuses it."""
    page.evaluate("() => document.querySelectorAll('main form').forEach(form => form.noValidate = true)")
    page.get_by_role("button", name=name, exact=True).first.click()
    page.wait_for_load_state()


def key(page: Page) -> None:
    written(page, {"name": "importer"})


FORMS: dict[str, tuple[str, Callable[[Page], None], str, str, dict[str, str]]] = {
    "keys": ("/keys", key, "Make the key", "keys", {"name": ""}),
    "webhooks": (
        "/webhooks",
        lambda page: written(page, {"url": "http://127.0.0.1:9/hook", "description": "ours"}),
        "Make the endpoint",
        "webhooks",
        {"url": "nowhere", "description": "ours"},
    ),
    "domains": (
        "/settings",
        lambda page: written(page, {"host": "example.org"}),
        "Claim this service",
        "domains",
        {"host": "?"},
    ),
    "corpora": (
        "/corpora",
        lambda page: written(page, {"name": "Notes", "attribute": "gender"}),
        "Create",
        "corpora",
        {"name": ""},
    ),
    "specifications": (
        "/specifications/new",
        lambda page: written(page, WORDS),
        "Store",
        "specifications",
        {"title": "Men and science", "pairs": "man"},
    ),
    "own words": (
        "/own-words",
        lambda page: written(page, {"title": "Men and science", "first_words": "", **STUDY}),
        "Make the sentences",
        "corpora",
        {"title": "Men and science", "first_words": "man, boy"},
    ),
}
"""Forms: address, valid fields, button, what it creates, and fields that are refused."""


@pytest.mark.parametrize("name", FORMS)
def test_a_reload_repeats_no_form_and_going_back_loses_nothing(name: str, reader: Reader, site: Site) -> None:
    address, fill, button, created, wrong = FORMS[name]
    page, before = reader.open(address), rows(site)
    written(page, wrong)
    press(page, button)
    for _ in range(2):
        expect(page.get_by_role("alert").first).to_be_visible()
        for field, text in wrong.items():
            expect(page.locator(f"main [name='{field}']").last).to_have_value(text)
        page.reload()
    assert rows(site) == before
    fill(page)
    press(page, button)
    after = rows(site)
    assert after[created] == before[created] + 1
    final = page.url
    page.reload()
    page.go_back()
    expect(page.get_by_role("alert").first).to_be_visible()
    page.go_back()
    expect(page.get_by_role("button", name=button, exact=True).first).to_be_visible()
    page.go_forward()
    page.go_forward()
    assert page.url == final
    assert rows(site) == after
    reader.complaints.clear()  # browsers write the status of the refused form into the console


def test_a_secret_is_shown_once_and_a_reload_makes_no_second_one(reader: Reader, site: Site) -> None:
    page = reader.open("/keys")
    key(page)
    press(page, "Make the key")
    before, secret = rows(site), page.locator("[data-secret]").inner_text()
    assert secret not in page.url
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("It was shown once, and is not shown again")
    assert secret not in page.content()
    page.go_back()
    page.go_forward()
    assert secret not in page.content()
    assert rows(site) == before


def test_every_step_of_the_wizard_can_be_reloaded_and_left_by_the_back_button(reader: Reader, site: Site) -> None:
    page, before = reader.open("/new"), rows(site)
    page.get_by_role("button", name="Translator").click()
    page.get_by_label("Address").fill(site.services.url("faithful"))
    page.get_by_label("Key or token").fill("sesame")
    steps = []
    for act in ("Try it", "Continue", "Continue", "Continue"):
        press(page, act)
        page.reload()
        steps.append(page.url)
        assert "sesame" not in page.content() + page.url
    assert rows(site) == before + Counter(jobs=1), "the test of the service is a job, and a reload makes no second one"
    for url in reversed(steps[:-1]):
        page.go_back()
        assert page.url == url
    expect(page.get_by_label("Address")).to_have_value(site.services.url("faithful"))
    expect(page.locator("#probe h2")).to_contain_text("It answers")
    page.get_by_label("Name").first.fill("Ours")
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("link", name="Confirm").click()
    expect(page.locator("dl.review")).to_contain_text("Ours")
    press(page, "Rate it")
    job = page.url
    page.reload()
    page.go_back()
    press(page, "Rate it")
    assert page.url == job, "the same request finds the job of the first"
    assert rows(site) == before + Counter(jobs=2)
    site.process.finished(job.rpartition("/")[2])
