"""Browser history: at every step of every form, going back and reloading lose nothing and repeat nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Reader, Site, write

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
    "schedules",
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


@pytest.fixture(scope="module")
def site(own_site: Site) -> Site:
    """An agency of its own, because the forms leave rows that other modules do not expect."""
    return own_site


def written(page: Page, fields: dict[str, str]) -> None:
    for name, text in fields.items():
        write(page.locator(f"main [name='{name}']").last, text)


def kept_over_a_reload(page: Page, fields: dict[str, str], error: str) -> None:
    """Check that a refused form shows an error and what was typed, also after a reload."""
    for _ in range(2):
        expect(page.locator(error).first).to_be_visible()
        for name, text in fields.items():
            expect(page.locator(f"main [name='{name}']").last).to_have_value(text)
        page.reload()


def press(page: Page, name: str) -> None:
    """Press a button even if the browser would refuse the form, so that the agency refuses it."""
    page.evaluate("() => document.querySelectorAll('main form').forEach(form => form.noValidate = true)")
    page.get_by_role("button", name=name, exact=True).first.click()
    page.wait_for_load_state()


def key(page: Page) -> None:
    written(page, {"name": "importer"})


def saved(site: Site, name: str) -> str:
    """Save a service that does not answer, and return its id."""
    target = {"name": name, "kind": "translator", "protocol": "libretranslate", "base_url": "http://127.0.0.1:9"}
    return str(site.process.agency.post("/v1/targets", target)["id"])


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
    "schedules": (
        "/schedules/new",
        lambda page: written(page, {"name": "Weekly"}),
        "Make the schedule",
        "schedules",
        {"name": "x" * 500},
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
def test_reloading_sends_no_form_again_and_going_back_keeps_its_fields(name: str, reader: Reader, site: Site) -> None:
    address, fill, button, created, wrong = FORMS[name]
    page, before = reader.open(address), rows(site)
    written(page, wrong)
    press(page, button)
    kept_over_a_reload(page, wrong, "[role=alert]")
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


def test_a_new_key_is_shown_once_and_a_reload_creates_no_second_key(reader: Reader, site: Site) -> None:
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


KEPT = {
    "service": ("/services/{target}/edit", {"name": "Ours", "base_url": "nowhere"}, "Save"),
    "reply": ("/ratings/{rating}/reply", {"text": "We have replaced it.", "link": "nowhere"}, "Reply"),
    "upload": ("/uploads", {"name": "people"}, "Send"),
    "schedule of a rating": ("/schedules/new?rating={rating}&every=month", {"name": "x" * 500}, "Make the schedule"),
}
"""Forms of something that exists: address, fields that are refused, button."""


@pytest.mark.parametrize("name", KEPT)
def test_a_refused_form_keeps_its_fields_after_a_reload(name: str, reader: Reader, site: Site) -> None:
    address, wrong, button = KEPT[name]
    page = reader.open(address.format(target=saved(site, name), rating=site.ratings["faithful"]))
    before, opened = rows(site), page.url
    written(page, wrong)
    press(page, button)
    kept_over_a_reload(page, wrong, "[role=alert], .errors, .wrong")
    page.go_back()
    assert page.url == opened
    assert rows(site) == before
    reader.complaints.clear()


def test_the_suite_form_keeps_its_fields_after_planning_reloading_and_going_back(reader: Reader, site: Site) -> None:
    saved(site, "silent")
    page, before = reader.open("/suites/new"), rows(site)
    page.get_by_role("checkbox", name=re.compile("^silent")).check()
    page.locator("summary").filter(has_text="Methods").click()
    page.get_by_role("checkbox", name=re.compile("^Round trip")).check()
    page.get_by_label("Languages").fill("es")
    press(page, "Plan it")
    planned = page.url
    for act in (page.reload, page.go_back, page.go_forward):
        act()
    assert page.url == planned
    for name in ("silent", "Round trip"):
        expect(page.get_by_role("checkbox", name=re.compile(f"^{name}"))).to_be_checked()
    expect(page.get_by_label("Languages")).to_have_value("es")
    page.get_by_role("button", name=re.compile("^Ask .* questions$")).click()
    page.wait_for_url(re.compile("/suites/sui_"))
    site.process.agency.post(f"/v1/suites/{page.url.rpartition('/')[2]}/cancel", {})
    after = rows(site)
    page.reload()
    page.go_back()
    assert page.url == planned
    page.go_forward()
    assert rows(site) == after
    assert after["suites"] == before["suites"] + 1


def test_a_chain_of_services_is_kept_after_a_reload_and_after_going_back(reader: Reader, site: Site) -> None:
    chain = "&".join(f"rating={site.ratings[name]}" for name in ("faithful", "echo"))
    page, before = reader.open(f"/compose?{chain}"), rows(site)
    press(page, "Infer the letter")
    composed = page.url
    page.reload()
    page.go_back()
    assert page.locator(".chain li").count() == 2
    page.go_forward()
    assert page.url == composed
    assert rows(site) == before + Counter(compositions=1)


def test_a_reload_creates_no_second_secret_of_a_webhook(reader: Reader, site: Site) -> None:
    hook = site.process.agency.post("/v1/webhooks", {"url": "http://127.0.0.1:9/hook"})["id"]
    page = reader.open(f"/webhooks/{hook}")
    page.locator("summary").filter(has_text="New secret").click()
    press(page, "Make a new secret")
    secret = page.locator("[data-secret]").inner_text()
    assert secret not in page.url
    page.reload()
    assert secret not in page.content()
    page.go_back()
    page.go_forward()
    assert secret not in page.content()


def test_every_step_of_the_wizard_keeps_its_values_after_a_reload_or_going_back(reader: Reader, site: Site) -> None:
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
