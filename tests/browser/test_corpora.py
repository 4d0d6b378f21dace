"""Corpora, specifications and uploads: review of many sentences, two editors, import and export of tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import Reader, Site, write

NOTES = {"name": "Notes", "attribute": "gender"}
PAYLOAD = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'{{ 7 * 7 }}"
MOST_PAGE_BYTES = 60_000


@pytest.fixture
def api(site: Site) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=site.url, timeout=60, trust_env=False) as client:
        yield client


def made(api: httpx.Client, *texts: str, **changes: Any) -> dict[str, Any]:
    """Create a corpus with these sentences."""
    corpus = api.post("/v1/corpora", json=NOTES | changes).json()
    for begin in range(0, len(texts), 1000):
        items = [{"text": text} for text in texts[begin : begin + 1000]]
        assert api.post(f"{corpus['links']['items']}", json={"items": items}).status_code == 201
    return dict(corpus)


def texts_of(api: httpx.Client, corpus: dict[str, Any]) -> list[str]:
    return [item["text"] for item in api.get(corpus["links"]["items"], params={"limit": 200}).json()["items"]]


def edit(page: Page, number: int, text: str) -> None:
    page.get_by_role("link", name=f"Edit {number}", exact=True).click()
    page.get_by_label("Sentence", exact=True).fill(text)


def test_the_second_of_two_editors_of_a_sentence_chooses_between_both_texts(reader: Reader, browser: Browser, api):
    corpus = made(api, "The first text.", "Another sentence.")
    page = reader.open(f"/corpora/{corpus['id']}")
    edit(page, 1, "My text.")
    with browser.new_context(java_script_enabled=False, base_url=reader.url) as other:
        theirs = other.new_page()
        theirs.goto(f"/corpora/{corpus['id']}")
        edit(theirs, 1, "Their text.")
        theirs.get_by_role("button", name="Save").click()
        expect(theirs.locator(".item").first.locator("p").first).to_have_text("Their text.")
    page.get_by_role("button", name="Save").click()
    choice = page.locator(".item").first
    expect(choice.get_by_role("alert")).to_contain_text("Somebody changed it")
    expect(choice).to_contain_text("Their text.")
    expect(choice.get_by_label("Yours")).to_have_value("My text.")
    assert texts_of(api, corpus)[0] == "Their text.", "nothing is overwritten before the choice"
    choice.get_by_role("button", name="Store mine").click()
    expect(page.locator(".item").first.locator("p").first).to_have_text("My text.")
    assert texts_of(api, corpus) == ["My text.", "Another sentence."]
    reader.complaints[:] = [told for told in reader.complaints if "412" not in told]  # the browser reports the status


def test_a_corpus_of_10000_sentences_is_split_into_small_pages_and_is_edited_in_place(reader: Reader, api):
    texts = [f"Sentence {number} says that somebody went home, and nobody knew why or when." for number in range(9999)]
    corpus = made(api, PAYLOAD, *texts, name=PAYLOAD)
    here = f"/corpora/{corpus['id']}"
    page = reader.open(here)
    assert len(api.get(here).content) <= MOST_PAGE_BYTES
    expect(page.locator(".item p").first).to_have_text(PAYLOAD)
    expect(page.get_by_role("heading", level=1)).to_have_text(PAYLOAD)
    page.get_by_role("link", name="Next").click()
    expect(page.locator(".item p").first).to_have_text(texts[39])
    page.get_by_label("Find").fill("SENTENCE 9876 ")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator(".item")).to_have_count(1)
    assert "q=SENTENCE" in page.url, "the filter lives in the address"
    edit(page, 9878, text := "Sentence 9876 was edited once.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".item p").first).to_have_text(text)
    expect(page.get_by_role("link", name="Edit 9878")).to_be_focused()
    assert api.get(corpus["links"]["items"], params={"q": "was edited once"}).json()["items"][0]["seq"] == 9878


def test_of_the_sentences_of_a_corpus_the_ticked_ones_or_all_others_can_be_removed(reader: Reader, api):
    corpus = made(api, *(f"Sentence {number}." for number in range(5)))
    page = reader.open(f"/corpora/{corpus['id']}")
    page.get_by_label("Tick 2", exact=True).check()
    page.get_by_role("button", name="Remove", exact=True).first.click()
    expect(page.locator(".item")).to_have_count(4)
    for number in (1, 5):
        page.get_by_label(f"Tick {number}", exact=True).check()
    page.get_by_role("button", name="Keep, and remove the others").click()
    expect(page.locator(".item")).to_have_count(2)
    edit(page, 1, "Sentence 0.")
    page.get_by_role("button", name="Remove it").click()
    expect(page.locator(".item")).to_have_count(1)
    assert texts_of(api, corpus) == ["Sentence 4."]


def test_an_imported_table_is_refused_with_reasons_or_can_be_downloaded(context: BrowserContext, site: Site, tmp_path):
    page, table = context.new_page(), tmp_path / "table.csv"
    page.goto(f"{site.url}/corpora")
    form = page.locator("form", has=page.get_by_role("heading", name="New corpus"))
    form.get_by_label("Name").fill("Professions of two people")
    form.get_by_label("Words that its sentences follow").select_option("p4-professions")
    form.get_by_role("button", name="Create").click()
    page.get_by_role("link", name="Add sentences").first.click()
    table.write_text("text,note\r\nThe woman had left.,a\r\nNobody came.,b\r\n", encoding="utf-8")
    imported(page, table)
    expect(page.get_by_role("alert")).to_contain_text("2 of 2 sentences are refused")
    expect(page.get_by_role("alert").get_by_role("listitem")).to_have_count(2)
    table.write_text("text,note\r\nThe woman saw the receptionist.,a\r\nThe man met a plumber.,b\r\n", encoding="utf-8")
    imported(page, table)
    expect(page.locator(".item")).to_have_count(2)
    page.get_by_role("link", name="plumber 1").click()
    expect(page.locator(".item p").first).to_have_text("The man met a plumber.")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download CSV").click()
    download.value.save_as(table)
    rows = list(csv.DictReader(io.StringIO(table.read_text(encoding="utf-8"), newline="")))
    assert [(row["attribute_term"], row["note"]) for row in rows] == [("receptionist", "a"), ("plumber", "b")]
    page.get_by_text("Remove this corpus").click()
    page.get_by_role("button", name="Remove", exact=True).last.click()
    expect(page.get_by_role("heading", name="Corpora", level=1)).to_be_visible()
    expect(page.get_by_role("link", name="Professions of two people", exact=True)).to_have_count(0)


def imported(page: Page, table: Path) -> None:
    page.get_by_label("CSV file").set_input_files(table)
    page.get_by_role("button", name="Import").click()


def test_a_specification_can_be_created_changed_in_a_new_version_and_removed(reader: Reader, api):
    page = reader.open("/specifications/new?kind=association")
    typed = {
        "title": "Towns and villages",
        "citation": "Our pilot study",
        "attribute": "home",
        "protected": "town: street, tram\nvillage: field, barn",
        "attributes": "town: loud, quick\nvillage: quiet, slow",
        "human": "neighbour, person",
        "neutral": "table, spoon",
    }
    for name, text in typed.items():
        write(page.locator(f"[name={name}]"), text)
    page.get_by_role("button", name="Store").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Towns and villages")
    stored = api.get("/v1/specifications/towns-and-villages").json()
    assert stored["words"]["protected"] == {"town": ["street", "tram"], "village": ["field", "barn"]}
    page.get_by_role("link", name="New version").click()
    expect(page.get_by_role("button", name="Store as the next version")).to_be_visible()
    write(page.locator("[name=neutral]"), "table, spoon, lamp")
    page.get_by_role("button", name="Store as the next version").click()
    expect(page.get_by_text("version 2 of 2")).to_be_visible()
    assert api.get("/v1/specifications/towns-and-villages").json()["words"]["neutral"] == ["table", "spoon", "lamp"]
    page.get_by_role("link", name="1", exact=True).click()
    expect(page.get_by_text("version 1 of 2")).to_be_visible()
    page.get_by_text("Remove this specification").click()
    page.get_by_role("button", name="Remove", exact=True).click()
    page.wait_for_url("**/specifications")
    assert api.get("/v1/specifications/towns-and-villages").status_code == 404


def test_a_file_can_be_uploaded_through_a_form_and_removed(context: BrowserContext, site: Site, api, tmp_path):
    page, table = context.new_page(), tmp_path / "people.csv"
    rows = "".join(f"{number % 2},{'fm'[number % 2]},{number}\n" for number in range(120_000))
    table.write_text(f"label,sex,row\n{rows}", encoding="utf-8")
    assert table.stat().st_size > 1 << 20, "more than a request of another kind may have"
    page.goto(f"{site.url}/uploads")
    page.get_by_label("File").set_input_files(tmp_path / "people.csv")
    page.get_by_role("button", name="Send").click()
    page.get_by_role("link", name="people.csv").click()
    expect(page.get_by_role("definition").first).to_be_visible()
    (upload,) = [upload for upload in api.get("/v1/uploads").json()["items"] if upload["name"] == "people.csv"]
    assert upload["bytes"] == table.stat().st_size
    expect(page.get_by_role("row", name="sex")).to_contain_text("f, m")
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("heading", name="Uploads", level=1)).to_be_visible()
    expect(page.get_by_role("link", name="people.csv")).to_have_count(0)
    (tmp_path / "wrong.csv").write_text("a,b\n1,2,3\n", encoding="utf-8")
    page.get_by_label("File").set_input_files(tmp_path / "wrong.csv")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert")).to_contain_text("line 2: 3 cells")
