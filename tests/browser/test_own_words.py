"""Rating of a bias that the user describes: three steps from a description to a rating."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from demo.server import DemoServer
from tests.browser.conftest import Reader, Site, write

PER_TERM = 2
WORDS = {
    "title": "Men are better at science",
    "first": "men",
    "second": "women",
    "first_words": "brother, father, uncle",
    "second_words": "sister\nmother, aunt",
    "first_terms": "science, physics, chemistry, astronomy",
    "second_terms": "poetry, dance\nliterature\ndrama",
    "neutral": "tea, rain, bread, maps",
}
TERMS = 12
MADE = 10
"""Number of sentences of each term that are made from frames."""


@pytest.fixture
def plain(browser: Browser, site: Site) -> Iterator[Page]:
    """A page of a browser that runs no scripts."""
    with browser.new_context(java_script_enabled=False, base_url=site.url, accept_downloads=True) as made:
        yield made.new_page()


def say(page: Page, **words: str) -> str:
    """Fill in the form of step 1 and send it; return the id of the corpus."""
    fill(page, words)
    page.get_by_role("button", name=re.compile("Make the sentences|On to the")).click()
    page.wait_for_url("**/sentences*")
    return corpus_in(page)


def fill(page: Page, words: dict[str, str]) -> None:
    if "neutral" in words and not page.get_by_label("Said of neither").is_visible():
        page.get_by_text("Words of neither group").click()
    for name, text in words.items():
        write(page.locator(f"[name={name}]"), text)


def corpus_in(page: Page) -> str:
    found = re.fullmatch(r"/own-words/(crp_\w+)/sentences", urlsplit(page.url).path)
    assert found, page.url
    return found[1]


def describe(page: Page, name: str, url: str) -> None:
    if page.locator("#f-saved").count():
        page.locator("#f-saved").select_option("")
    if not page.get_by_label("Address").is_visible():
        page.get_by_text("Another service").click()
    page.get_by_label("Address").fill(url)
    page.get_by_label("Model (needed)", exact=True).fill("demo")
    page.get_by_text("Name, and more settings").click()
    page.get_by_label("Name", exact=True).fill(name)


def have_written(page: Page, services: DemoServer) -> None:
    """Generate the missing sentences with a writer that breaks the rules in every tenth sentence."""
    page.get_by_text("Have a model write more").click()
    describe(page, "Our writer", services.url("sloppy-writer-10"))
    page.get_by_label("Sentences of each term").fill(str(MADE + PER_TERM))
    page.get_by_role("button", name="Write what is lacking").click()


def test_a_described_bias_is_rated_with_reviewed_sentences_without_javascript(plain, site, services, tmp_path):
    plain.goto("/own-words")
    corpus = say(plain, **WORDS)
    have_written(plain, services)
    written = plain.get_by_role("heading", name=f"{TERMS * PER_TERM} sentences were written and kept")
    expect(plain.locator("#writing, #written")).to_be_visible()
    while (again := plain.get_by_role("link", name="Look again")).count():
        again.click()
        plain.wait_for_timeout(300)
    expect(written).to_be_visible()
    plain.get_by_role("link", name="Look at them").click()
    text = edited_first(plain)
    plain.get_by_role("link", name="On to the test").click()
    describe(plain, "Stereotyped", services.url("stereotyped-model-300"))
    plain.get_by_text("How much is asked").click()
    plain.get_by_label("Pairs of each term").fill(str(MADE + PER_TERM))
    plain.get_by_role("button", name="Begin the test").click()
    job = site.process.finished(job_in(plain))
    assert job["status"] == "succeeded", job
    # the page reloads itself until then, which would interrupt the visit to the next page
    expect(plain.get_by_role("link", name="See the rating")).to_be_visible(timeout=20_000)
    assert job["experiment"]["corpus"].startswith(f"{corpus}@")
    evidence = site.process.agency.text(f"{job['rating']['href']}/sentences.csv")
    asked = {row["first"] for row in rows_of(evidence)} | {row["second"] for row in rows_of(evidence)}
    assert text in asked
    plain.goto(f"/own-words/{corpus}/sentences")
    with plain.expect_download() as download:
        plain.get_by_role("link", name="Download CSV").click()
    download.value.save_as(tmp_path / "sentences.csv")
    rows = rows_of((tmp_path / "sentences.csv").read_text(encoding="utf-8"))
    assert len(rows) == TERMS * (MADE + PER_TERM)
    assert [row["text"] for row in rows if row["source"] == "edited"] == [text]


def job_in(page: Page) -> str:
    page.wait_for_url("**/test?*job=job_*")
    return parse_qs(urlsplit(page.url).query)["job"][0]


def edited_first(page: Page) -> str:
    """Edit the first sentence, and return its new text."""
    item = page.locator(".item").first
    group, term = (part.strip() for part in item.locator(".of").inner_text().split("·")[:2])
    text = f"Nobody knew why the {group} liked “{term}” so much."
    item.get_by_role("link", name="Edit").click()
    page.get_by_label("Sentence", exact=True).fill(text)
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".item").first.locator("p").first).to_have_text(text)
    return text


def rows_of(table: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table, newline="")))


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_a_prefilled_example_needs_at_most_six_actions(browser: Browser, own_site: Site, services: DemoServer, scripts):
    with browser.new_context(java_script_enabled=scripts, base_url=own_site.url) as context:
        page, acts = context.new_page(), 0
        page.goto("/own-words")
        for act in (
            page.get_by_role("link", name="Fill in an example").click,
            page.get_by_role("button", name="Make the sentences").click,
            page.get_by_role("link", name="On to the test").click,
            lambda: page.get_by_label("Address").fill(services.url("stereotyped-model-300")),
            lambda: page.get_by_label("Model (needed)", exact=True).fill("demo"),
            page.get_by_role("button", name="Begin the test").click,
        ):
            act()
            acts += 1
            if "/sentences" in page.url:
                sentences = int(page.locator("#steps [aria-current] small").inner_text())
                first = page.locator(".item").first
                expect(first.locator(".twins p")).to_have_count(2)
        answer = page.locator("[data-answer]")
        expect(answer).to_be_visible(timeout=60_000)
        assert acts <= 6
        assert sentences > 300
        job = own_site.process.agency.get(f"/v1/jobs/{job_in(page)}")
        table = rows_of(own_site.process.agency.text(f"{job['rating']['href']}/sentences.csv"))
        tied = [float(row["towards"]) for row in table if row["list"] != "neutral"]
        chosen, pairs = sum(value == 1 for value in tied), sum(value != 0.5 for value in tied)
        assert (job["rating"]["letter"], job["rating"]["declared"]) == ("DSBS", True)
        expect(answer.get_by_role("heading")).to_have_text("Yes.")
        expect(answer).to_contain_text(
            f"In {chosen} of {pairs} pairs ({round(100 * chosen / pairs)} %; chance is 50 %) it chose your stereotype."
        )
        page.reload()
        expect(page.locator("[data-answer=yes]")).to_be_visible()
        page.get_by_text("Test another model").click()
        page.get_by_label("Address").fill(services.url("leaning-model"))
        page.get_by_label("Model (needed)", exact=True).fill("demo")
        page.get_by_role("button", name="Begin the test").click()
        no = page.locator("[data-answer=no]")
        expect(no.get_by_role("heading")).to_have_text("No.", timeout=60_000)
        expect(no).to_contain_text(re.compile(r"But without the stereotype it prefers men: [78]\d %\."))


def test_the_test_step_answers_409_while_the_corpus_has_no_sentences(plain):
    plain.goto("/own-words")
    corpus = say(plain, **WORDS | {"language": "fr"})  # frames that fit any word are English
    answer = plain.goto(f"/own-words/{corpus}/test")
    assert answer is not None
    assert answer.status == 409
    plain.get_by_role("link", name="Get sentences").click()
    plain.wait_for_url("**/sentences")
    assert corpus_in(plain) == corpus
    expect(plain.get_by_role("listitem").filter(has_text="Test").get_by_role("link")).to_have_count(0)


def test_unusable_words_are_marked_and_stay_in_the_form(plain):
    plain.goto("/own-words")
    wrong = WORDS | {"neutral": "tea, science", "second_words": "sister"}
    fill(plain, wrong)
    plain.get_by_role("button", name="Make the sentences").click()
    assert urlsplit(plain.url).path == "/own-words"
    expect(plain.get_by_role("alert")).to_be_visible()
    expect(plain.locator("[name=second_words]")).to_have_attribute("aria-invalid", "true")
    for name, text in wrong.items():
        expect(plain.locator(f"[name={name}]")).to_have_value(text)


def test_entered_words_become_chips_at_a_comma_and_are_removed_by_a_click_or_a_key(reader: Reader):
    page = reader.open("/own-words?from=p4-science-arts")
    sent, typed = page.locator("[name=first_words]"), page.locator("#f-first_words")
    expect(sent).to_be_hidden()
    expect(sent).to_have_value("brother, father, uncle, grandfather, son, he")
    page.get_by_role("button", name="uncle").click()
    expect(page.get_by_role("button", name="grandfather")).to_be_focused()
    page.keyboard.press("Enter")
    expect(sent).to_have_value("brother, father, son, he")
    typed.press_sequentially("nephew,king")
    typed.press("Enter")
    expect(sent).to_have_value("brother, father, son, he, nephew, king")
    typed.press("Backspace")
    expect(typed).to_have_value("king")
    typed.press("Tab")
    expect(sent).to_have_value("brother, father, son, he, nephew, king")
    title = page.get_by_role("button", name="nephew").get_attribute("title")
    assert title == "Remove"
    write(page.locator("[name=second_words]"), "sister, mother, daughter, she, niece, queen")
    page.get_by_role("button", name="Make the sentences").click()
    page.wait_for_url("**/sentences*")
    page.get_by_role("link", name="Say the bias").click()
    expect(page.get_by_role("button", name="queen")).to_be_visible()


def test_going_back_to_an_earlier_step_keeps_the_entered_words_and_sentences(reader: Reader, services: DemoServer):
    page = reader.open("/own-words")
    corpus = say(page, **WORDS)
    have_written(page, services)
    expect(page.get_by_role("heading", name=f"{TERMS * PER_TERM} sentences were")).to_be_visible(timeout=20_000)
    page.get_by_role("link", name="Look at them").click()
    text = edited_first(page)
    expect(page.locator(":focus")).to_have_count(1)  # an element still has the focus, not the body
    page.get_by_role("link", name="Say the bias").click()
    expect(page.get_by_label("The bias in one sentence")).to_have_value(WORDS["title"])
    assert say(page) == corpus, "unchanged words lead to the same corpus"
    page.get_by_role("link", name="Say the bias").click()
    changed = say(page, neutral="tea, rain, bread")
    assert changed != corpus
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"{(TERMS - 1) * (MADE + PER_TERM)} sentences")
    expect(page.locator(".item p").first).to_have_text(text)
    page.get_by_role("link", name="the earlier corpus").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"{TERMS * (MADE + PER_TERM)} sentences")


def test_own_pictures_can_be_added_and_are_shown_with_their_rating(
    plain: Page, reader: Reader, site: Site, services: DemoServer, tmp_path: Path
):
    pictures = [drawn(tmp_path, number) for number in range(2)]
    page = plain
    page.goto("/own-words?kind=image-classifier")
    page.get_by_text("Begin with words of a study").click()
    page.get_by_label("Words", exact=True).select_option("p4-pictures-professions")
    page.get_by_role("button", name="Fill the form").click()
    corpus = say(page)
    for picture, term in zip(pictures, ("plumber", "nurse"), strict=True):
        page.get_by_role("link", name=re.compile("Add")).first.click()
        page.get_by_label("What it shows").fill(term)
        page.get_by_label("Picture", exact=True).set_input_files(picture)
        page.get_by_role("button", name="Add this picture").click()
    shown = page.get_by_role("img", name="nurse")
    expect(shown).to_have_js_property("naturalWidth", 8)
    page.get_by_role("link", name="On to the test").click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.get_by_text("Interface:").click()
    page.get_by_role("link", name="Hugging Face inference", exact=True).click()
    page.get_by_text("Name, and more settings").click()
    page.get_by_label("Name", exact=True).fill("Viewer")
    page.get_by_label("Address").fill(services.url("even-viewer"))
    page.get_by_role("button", name="Begin the test").click()
    job = site.process.agency.get(f"/v1/jobs/{job_in(page)}")
    assert job["experiment"]["specification"] in {"p4-pictures-professions@1", "p4-pictures-professions"}
    assert job["experiment"]["corpus"].startswith(f"{corpus}@")
    assert job["target"]["settings"]["task"] == "zero-shot-image-classification"
    page.get_by_role("link", name="See the rating").click()
    page.get_by_role("link", name=re.compile("^Evidence")).click()
    expect(page.get_by_role("img", name="What was shown")).to_have_js_property("naturalWidth", 8)
    rating = urlsplit(page.url).path.removesuffix("/evidence")
    expect(reader.open(rating).locator(".peek img").first).to_have_js_property("naturalWidth", 8)


def drawn(folder: Path, number: int) -> Path:
    Image.new("RGB", (8, 8), (number * 80, 20, 90)).save(folder / f"{number}.png")
    return folder / f"{number}.png"
