"""The wizard at `/new`: five steps to a rating, with and without scripts."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import Reader, Site
from tests.support.agency_process import free_port

SECRET = "sesame-7f3a9c2b41"
RATED_S = 90
WORDY = "the model that was asked for is not loaded; " * 4 + "write to <b>the operators</b> of it"
"""A service's error message that is longer than the part that the page quotes in a cause."""


class Acts:
    """A person in the browser, whose clicks and typed fields are counted."""

    def __init__(self, page: Page) -> None:
        self.page, self.count = page, 0
        self.seen: list[str] = []

    def press(self, name: str) -> None:
        self.count += 1
        self.page.get_by_role("button", name=name, exact=True).first.click()
        self.page.wait_for_load_state()
        self.seen.append(self.page.content())

    def write(self, label: str, text: str) -> None:
        self.count += 1
        self.page.get_by_label(label).first.fill(text)


def rate(acts: Acts, site: Site, address: str) -> None:
    acts.page.goto(f"{site.url}/overview")
    acts.count += 1
    acts.page.get_by_role("link", name="New rating").first.click()
    acts.count += 1
    acts.page.get_by_role("button", name="Translator").click()
    acts.write("Address", address)
    acts.press("Try it")
    expect(acts.page.locator("#probe h2")).to_contain_text("It answers")
    for _ in range(3):
        acts.press("Continue")
    acts.press("Rate it")
    expect(acts.page.get_by_role("link", name="See the rating")).to_be_visible(timeout=RATED_S * 1000)


def job_of(page: Page, site: Site) -> dict[str, Any]:
    job: dict[str, Any] = site.process.agency.get(f"/v1/jobs/{page.url.rsplit('/', 1)[1]}")
    return job


@pytest.fixture
def plain(browser: Browser) -> Iterator[BrowserContext]:
    """A browser without scripts."""
    with browser.new_context(java_script_enabled=False, viewport={"width": 1280, "height": 900}) as made:
        yield made


def test_a_translator_is_rated_with_at_most_twelve_clicks_and_fields(reader: Reader, site: Site) -> None:
    began, acts = time.monotonic(), Acts(reader.page)
    rate(acts, site, site.services.url("always-he"))
    assert acts.count <= 12
    assert time.monotonic() - began <= RATED_S
    job = job_of(reader.page, site)
    assert (job["rating"]["letter"], job["rating"]["declared"]) == ("BS", True)
    planned = next(re.findall(r'data-plan="questions">([\d,]+)<', page) for page in acts.seen if "data-plan" in page)
    assert int(planned[0].replace(",", "")) == 120
    first = site.process.agency.get(f"/v1/jobs/{job['id']}")["expected"]
    assert first == 120  # the letter was declared at the first look, so no questions were added


def test_a_translator_can_be_rated_without_javascript(plain: BrowserContext, site: Site) -> None:
    page = plain.new_page()
    rate(Acts(page), site, site.services.url("always-he"))
    assert job_of(page, site)["rating"]["letter"] == "BS"


class Keyed(BaseHTTPRequestHandler):
    """A translator that requires a key; at other paths it answers with a web page or with a long error message."""

    keys: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.startswith("/site"):
            return self._answer(200, "text/html", b"<!doctype html><title>Welcome</title>")
        if self.path.startswith("/wordy"):
            return self._answer(500, "application/json", json.dumps({"error": WORDY}).encode())
        self.keys.append(str(asked.get("api_key", "")))
        if asked.get("api_key") != SECRET:
            return self._answer(401, "application/json", b'{"error": "this key is not known here"}')
        texts = asked["q"] if isinstance(asked["q"], list) else [asked["q"]]
        said = [text.swapcase() for text in texts]
        given = said if isinstance(asked["q"], list) else said[0]
        return self._answer(200, "application/json", json.dumps({"translatedText": given}).encode())

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def keyed() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Keyed) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def ratings_asked_for(site: Site) -> list[str]:
    return [job["id"] for job in site.process.agency.get("/v1/jobs?kind=rating&limit=200")["items"]]


def test_a_test_call_shows_a_different_remedy_for_each_fault_of_a_service_and_stores_nothing(
    reader: Reader, site: Site, keyed: str
) -> None:
    before, saved = ratings_asked_for(site), site.process.agency.get("/v1/targets")["items"]
    page = reader.open("/new")
    page.get_by_role("button", name="Translator").click()
    remedies = []
    for address, key in ((f"http://127.0.0.1:{free_port()}", ""), (keyed, "wrong"), (f"{keyed}/site", "")):
        page.get_by_label("Address").fill(address)
        page.get_by_label("Key or token").fill(key)
        page.get_by_role("button", name="Try it").click()
        expect(page.locator("#probe h2")).to_have_text("It did not answer as it should")
        remedies.append(page.locator("#probe .errors p").all_inner_texts())
    causes = [cause for cause, _ in remedies]
    assert "Nothing listens" in causes[0]
    assert "refused the key" in causes[1]
    assert "web page" in causes[2]
    assert len({remedy for _, remedy in remedies}) == 3
    assert not [
        remedy for _, remedy in remedies if "ASSAY_" in remedy or "base_url" in remedy
    ]  # remedies name inputs by their titles
    assert ratings_asked_for(site) == before
    assert site.process.agency.get("/v1/targets")["items"] == saved


def test_a_missing_address_is_reported_before_the_next_step(reader: Reader) -> None:
    page = reader.open("/new")
    page.get_by_role("button", name="Translator").click()
    page.get_by_role("button", name="Continue without a test").click()
    expect(page.get_by_label("Address")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("heading", level=1)).to_have_text("Where is it?")
    reader.complaints.clear()  # browsers write the status of the refused form into the console


def test_a_long_message_of_the_service_is_shown_completely(reader: Reader, keyed: str) -> None:
    page = reader.open("/new")
    page.get_by_role("button", name="Translator").click()
    page.get_by_label("Address").fill(f"{keyed}/wordy")
    page.get_by_role("button", name="Try it").click()
    expect(page.locator("#probe .errors q")).to_have_text(WORDY)


def test_the_secret_is_sent_to_the_service_but_is_on_no_page(context: BrowserContext, site: Site, keyed: str) -> None:
    pages: list[str] = []
    page = context.new_page()
    page.on(
        "response", lambda got: pages.append(got.text()) if "text/html" in got.headers.get("content-type", "") else None
    )
    page.goto(f"{site.url}/new?kind=translator")
    acts = Acts(page)
    acts.press("Translator Turns a text into another language.")
    acts.write("Address", keyed)
    acts.write("Key or token", SECRET)
    acts.press("Try it")
    expect(page.locator("#probe h2")).to_contain_text("It answers")
    Keyed.keys.clear()
    for name in ("Continue", "Continue", "Continue", "Rate it"):
        acts.press(name)
    job = site.process.finished(job_of(page, site)["id"])
    assert job["asked"] > 0
    assert set(Keyed.keys) == {SECRET}
    assert len(pages) >= 6
    assert not [text for text in [*pages, *acts.seen] if SECRET in text]


def test_going_back_keeps_the_entered_values_and_errors_are_shown_at_their_fields(reader: Reader, site: Site) -> None:
    page = reader.open("/new")
    acts = Acts(page)
    page.get_by_role("button", name="Translator").click()
    acts.write("Address", site.services.url("faithful"))
    acts.write("Name", "Der <b>Übersetzer</b>")
    acts.press("Continue without a test")
    page.get_by_label("French").check()
    page.get_by_text("More", exact=True).click()
    page.get_by_label("Tolerance", exact=True).fill("0.2")
    acts.press("Continue")
    page.get_by_label("Half").check()
    expect(page.locator("[data-plan=questions]")).to_have_text("120")  # half of 240, for two languages
    acts.press("Continue")
    acts.write("Callback address", "nowhere-at-all")
    acts.press("Rate it")
    expect(page.locator("#errors")).to_be_focused()
    assert [complaint for complaint in reader.complaints if "422" not in complaint] == []
    reader.complaints.clear()  # browsers write the status of the refused form into the console
    expect(page.get_by_label("Callback address")).to_have_attribute("aria-invalid", "true")
    for back in ("Back to how sure", "Back to what is measured", "Back to the address"):
        acts.press(back)
    assert page.get_by_label("Name").first.input_value() == "Der <b>Übersetzer</b>"
    acts.press("Continue without a test")
    assert page.get_by_label("French").is_checked()
    assert page.get_by_label("Tolerance", exact=True).input_value() == "0.2"
    acts.press("Continue")
    assert page.get_by_label("Half").is_checked()
    acts.press("Continue")
    assert page.get_by_label("Callback address").input_value() == "nowhere-at-all"


def test_a_second_click_on_the_last_button_creates_no_second_job(reader: Reader, site: Site) -> None:
    page = reader.open(f"/new?rating={site.ratings['echo']}")
    acts = Acts(page)
    for name in ("Continue without a test", "Continue", "Continue"):
        acts.press(name)
    form = page.evaluate("() => new URLSearchParams(new FormData(document.getElementById('wizard'))).toString()")
    before = len(ratings_asked_for(site))
    sent = "form => fetch('', {method: 'POST', body: new URLSearchParams(form + '&go=post')}).then(got => got.url)"
    jobs = page.evaluate(f"form => Promise.all([1, 2].map(() => ({sent})(form)))", form)
    assert jobs[0] == jobs[1]
    assert len(ratings_asked_for(site)) == before + 1
    job = site.process.agency.get(f"/v1/jobs/{jobs[0].rsplit('/', 1)[1]}")
    assert (job["target"]["name"], job["seed"]) == ("echo", 7)


def test_a_decision_prompt_typed_in_the_wizard_replaces_the_built_in_decision(reader: Reader, site: Site) -> None:
    page = reader.page
    decide(page, site, "fair-screener")
    page.locator('[name="settings.decision.name"]').select_option("hiring")
    page.locator('[name="settings.decision.prompt"]').fill("{text}\n\nShould this person be invited?")
    page.locator('[name="settings.decision.labels"]').fill("yes\nno")
    page.get_by_role("button", name="Continue without a test").click()
    page.get_by_role("link", name="Where").click()
    expect(page.locator('[name="settings.decision.name"]')).to_have_value("")
    expect(page.locator('[name="settings.decision.prompt"]')).to_have_value("{text}\n\nShould this person be invited?")


def decide(page: Page, site: Site, screener: str) -> None:
    """Ask for a rating of a model that decides, up to the step that says what is measured."""
    page.goto(f"{site.url}/new")
    page.get_by_role("button", name="Model that decides").click()
    page.get_by_label("Address").fill(site.services.url(screener))
    page.locator('[name="settings.model"]').fill("demo")


def test_the_wizard_has_a_button_to_rate_a_language_model_that_decides_about_people(reader: Reader, site: Site) -> None:
    page = reader.page
    decide(page, site, "refusing-screener")
    expect(page.locator('[name="settings.decision.name"]')).to_have_value("hiring")
    page.get_by_role("button", name="Try it", exact=True).click()
    probe = page.locator("#probe")
    expect(probe).to_contain_text("Should the applicant be invited to an interview?")
    page.get_by_role("button", name="Continue").first.click()
    expect(page.locator('[name="experiment.texts.decision"]')).to_have_value("hiring")
    page.locator('[name="experiment.texts.mention"]').select_option("explicit")
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("radio").first.check()
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Rate it").click()
    expect(page.get_by_role("link", name="See the rating")).to_be_visible(timeout=RATED_S * 1000)
    job = job_of(page, site)
    assert (job["rating"]["letter"], job["rating"]["declared"]) == ("BS", True)
    assert job["target"]["settings"]["decision"] == {"name": "hiring"}
    assert job["experiment"]["texts"]["mention"] == "explicit"
    page.goto(f"{site.url}/new?job={job['id']}")
    expect(page.locator('[name="settings.decision.name"]')).to_have_value("hiring")


def test_an_own_decision_prompt_with_two_system_prompts_is_entered_without_javascript(
    plain: BrowserContext, site: Site
) -> None:
    page = plain.new_page()
    decide(page, site, "fair-screener")
    page.locator('[name="settings.decision.name"]').select_option("")
    prompt, first, second = "{text}\n\nShould this person be invited?", "You screen.\nBe brief.", "Be strict."
    page.locator('[name="settings.decision.prompt"]').fill(prompt)
    page.locator('[name="settings.decision.system"]').fill(f"{first}\n---\n{second}")
    page.locator('[name="settings.decision.labels"]').fill("yes\nno")
    page.get_by_role("button", name="Try it", exact=True).click()
    expect(page.locator("#probe")).to_contain_text("Should this person be invited?")
    page.get_by_role("button", name="Continue").first.click()
    expect(page.locator('[name="experiment.texts.decision"]')).to_have_value("")
    page.locator('[name="experiment.texts.decision"]').select_option("hiring")
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Continue").click()
    expect(page.locator("dl.review")).to_contain_text("Be strict.")
    page.get_by_role("button", name="Rate it").click()
    job = job_of(page, site)
    assert job["target"]["kind"] == "classifier"
    decision = job["target"]["settings"]["decision"]
    assert decision == {"prompt": prompt, "system": [first, second], "labels": ["yes", "no"]}
    site.process.agency.post(f"/v1/jobs/{job['id']}/cancel", {})


def test_the_decision_chosen_for_a_model_is_preselected_in_the_next_wizard_step(reader: Reader, site: Site) -> None:
    page = reader.page
    decide(page, site, "fair-screener")
    page.locator('[name="settings.decision.name"]').select_option("pay")
    page.get_by_role("button", name="Continue without a test").click()
    expect(page.locator('[name="experiment.texts.decision"]')).to_have_value("pay")
    page.get_by_role("button", name="Back to the address").click()
    page.locator('[name="settings.decision.name"]').select_option("loan")
    page.get_by_role("button", name="Continue without a test").click()
    expect(page.locator('[name="experiment.texts.decision"]')).to_have_value("loan")


def test_an_own_decision_prompt_without_labels_is_refused(context: BrowserContext, site: Site) -> None:
    page = context.new_page()
    decide(page, site, "fair-screener")
    page.locator('[name="settings.decision.name"]').select_option("")
    page.locator('[name="settings.decision.prompt"]').fill("Shall we hire {text}?")
    page.get_by_role("button", name="Try it", exact=True).click()
    expect(page.locator("#errors")).to_contain_text("two or more labels")
