"""Pages to compare ratings, to compose chains and to read suites, in a browser."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import Reader
from tests.support.filled_agency import Site
from tests.support.keyboard import Keys
from web.compose.pages import rearranged_chain
from web.frame.rendering import number, percent


@pytest.fixture(scope="module")
def site(own_site: Site) -> Site:
    """A separate agency, in which no other module has rated a service again under another name."""
    return own_site


def cells(table: Locator) -> list[list[str]]:
    """Return the texts of a table's rows."""
    return [[cell.strip() for cell in row.locator("th, td").all_inner_texts()] for row in table.locator("tr").all()]


def choose(page: Page, name: str, rating_id: str) -> None:
    """Search a service on `/compare`, and choose one of its ratings."""
    page.get_by_role("searchbox").fill(name)
    page.get_by_role("button", name="Find").click()
    expect(page).to_have_url(re.compile(rf"\bq={name}\b"))  # the previous list is shown until the results arrive
    page.locator(f'#choose .picks a[href*="{rating_id}"]').click()


def test_a_comparison_of_two_services_shows_the_numbers_of_the_api(site: Site, reader: Reader) -> None:
    page = reader.open("/compare")
    first, second = site.ratings["faithful"], site.ratings["always-he"]
    choose(page, "faithful", first)
    choose(page, "always-he", second)
    expect(page).to_have_url(re.compile(rf"/compare\?first={first}&second={second}$"))
    difference = site.process.agency.get(f"/v1/ratings/{first}/difference?with={second}")
    expect(page.get_by_role("heading", level=1)).to_have_text("DSBS and BS: the letters differ")
    expect(page.get_by_text(difference["sentences"][0])).to_be_visible()
    for rating_id in (first, second):
        rating = site.process.agency.get(f"/v1/ratings/{rating_id}")
        column = page.locator(f'td[data-rating="{rating_id}"]')
        expect(column.get_by_role("img", name=rating["letter"])).to_be_visible()
        shown = " ".join(column.all_text_contents())
        assert f"{rating['letter']} {percent(rating['probabilities'][rating['letter']])}" in " ".join(shown.split())
        assert rating["because"]["text"] in shown
        for step in ("step_1", "step_2"):
            effect = rating["components"][0]["effects"][step]
            written = f"{number(effect['estimate'])} ({number(effect['low'])} to {number(effect['high'])})"
            assert written in " ".join(column.all_inner_texts())
    page.get_by_text("Every effect, before and after").click()
    rows = cells(page.locator("details.twin table tbody"))
    assert [row[2:5] for row in rows] == [
        [number(one["before"]["estimate"], 3), number(one["after"]["estimate"], 3), number(one["moved"], 3)]
        for one in difference["effects"]
    ]


def test_a_comparison_lists_questions_with_changed_replies_first(site: Site, reader: Reader) -> None:
    pair = [site.ratings["faithful"], site.ratings["always-he"]]
    page = reader.open(f"/compare?first={pair[0]}&second={pair[1]}")
    replies: list[dict[str, str]] = []
    for rating_id in pair:
        rows = site.process.agency.get(f"/v1/ratings/{rating_id}/observations?limit=200")["items"]
        asked = {row["unit"].removesuffix("/out"): row["ask"]["text"] for row in rows if row["unit"].endswith("/out")}
        back = {row["unit"].removesuffix("/back"): row["value"] for row in rows if row["unit"].endswith("/back")}
        replies.append({asked[unit]: value for unit, value in back.items()})
    shared = set(replies[0]) & set(replies[1])
    changed = {text for text in shared if replies[0][text] != replies[1][text]}
    expect(
        page.get_by_role("heading", name=f"{len(changed)} of {len(shared)} questions have another answer")
    ).to_be_visible()
    rows = page.locator(".joined tbody tr")
    shown = [row.locator("td").all_text_contents() for row in rows.all()]
    told = [[cell.rpartition(": ")[2].strip() for cell in row] for row in shown]
    assert [row[0] in changed for row in told] == sorted((row[0] in changed for row in told), reverse=True)
    assert all([replies[0][row[0]], replies[1][row[0]]] == row[1:] for row in told)
    assert rows.first.locator("mark").all_text_contents()[-1].split()[0] == "He"


def test_a_ranking_shows_the_places_of_the_api_and_compares_the_ticked_services(site: Site, reader: Reader) -> None:
    page = reader.open("/compare")
    page.locator("#ranking").get_by_role("link", name="Translators").click()
    ranking = site.process.agency.get("/v1/services/ranking?kind=translator&method=round-trip&attribute=gender")[
        "items"
    ]
    table = page.locator("table.ranking")
    assert table.locator("tbody th bdi").all_inner_texts() == [row["name"] for row in ranking]
    places = [str(row["place"] or "–") for row in ranking]
    assert table.locator("tbody td:nth-child(2)").all_inner_texts() == places
    assert ranking[0]["name"] == "balancing"
    assert [row["place"] for row in ranking if row["name"] == "echo"] == [None]
    table.get_by_role("link", name="Service").click()
    expect(page).to_have_url(re.compile("sort=name"))
    names = table.locator("tbody th bdi").all_inner_texts()
    assert names == sorted(names)
    for name in ("balancing", "faithful"):
        table.locator("tr", has_text=name).get_by_role("checkbox").check()
    page.get_by_role("button", name="chosen: compare").click()
    expect(page.locator("th[data-rating]")).to_have_count(2)


def test_ratings_by_different_methods_are_shown_with_a_warning(site: Site, reader: Reader) -> None:
    page = reader.open(f"/compare?first={site.ratings['faithful']}&second={site.ratings['stereotyped-model']}")
    expect(page.get_by_role("status")).to_contain_text("their letters answer different questions")
    expect(page.locator("th[data-rating]")).to_have_count(2)


def verified(page: Page, site: Site, *, names: list[str]) -> dict[str, Any]:
    """Check the page of a composition against the API, and return the composition."""
    expect(page).to_have_url(re.compile(r"/compose/cmp_\w+$"))
    found = site.process.agency.get(f"/v1/compositions/{page.url.rpartition('/')[2]}")
    assert [link["target"]["name"] for link in found["chain"]] == names
    expect(page.locator(".why li")).to_have_text(found["explanation"])
    expect(page.locator(".note p")).to_have_text([one["text"] for one in found["notes"]])
    return dict(found)


def test_a_chain_can_be_composed_with_the_keyboard_alone(site: Site, reader: Reader) -> None:
    keys = Keys(reader.page)
    page = reader.open(f"/compose?rating={site.ratings['faithful']}")
    keys.skip()
    keys.to(page.locator("#add"))
    page.keyboard.type("always-he")
    keys.press("Tab", "Enter")
    up = page.get_by_role("button", name="Move always-he up")
    expect(up).to_be_visible()
    expect(page.locator("#add")).to_be_focused()
    keys.to(up, "Shift+Tab")
    keys.press("Enter")
    expect(page.locator(".chain b")).to_have_text(["always-he", "faithful"])
    expect(page.get_by_role("button", name="Move always-he down")).to_be_focused()
    keys.to(page.get_by_role("radio", name="By the published table"))
    keys.press("ArrowDown", "Tab", "Enter")
    found = verified(page, site, names=["always-he", "faithful"])
    assert found["table"] == "revised"
    hidden = found["predicted"]["components"][0]["hidden"]
    expect(page.get_by_role("row", name=re.compile(re.escape(hidden[0]["name"])))).to_contain_text(
        number(hidden[0]["effect"]["estimate"])
    )


def test_a_chain_can_be_composed_measured_and_removed_without_javascript(site: Site, browser: Browser) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(f"{site.url}/compose")
        for name in ("always-he", "balancing", "echo"):
            page.get_by_role("searchbox").fill(name)
            page.get_by_role("searchbox").press("Enter")
            page.locator("#add").select_option(index=1)
            page.get_by_role("button", name="Add").click()
        page.get_by_role("button", name="Remove echo").click()
        page.get_by_role("button", name="Infer the letter").click()
        found = verified(page, site, names=["always-he", "balancing"])
        assert (found["letter"], found["predicted"]["letter"]) == ("UCS", "BS")
        expect(page.get_by_role("heading", level=1)).to_have_text("The table says UCS, the measured answers say BS")
        address = page.url
        page.get_by_role("button", name="Measure the chain").click()
        job = site.process.finished(page.url.rpartition("/")[2])
        assert job["target"]["protocol"] == "chain"
        # the page reloads itself until then, which would interrupt the visit to the next page
        expect(page.get_by_role("link", name="See the rating")).to_be_visible(timeout=20_000)
        page.goto(f"{site.url}/compose")
        saved = page.locator("#saved li", has=page.locator(f'a[href="/compose/{found["id"]}"]'))
        saved.locator("summary").click()
        saved.get_by_role("button", name="Remove it").click()
        assert page.request.get(address).status == 404


@pytest.mark.parametrize(
    ("act", "after", "focus"),
    [
        ("up-2", ["a", "c", "b"], "1"),
        ("down-0", ["b", "a", "c"], "1"),
        ("up-0", ["a", "b", "c"], "0"),
        ("down-2", ["a", "b", "c"], "2"),
        ("remove-1", ["a", "c"], "add"),
        ("up-9", ["a", "b", "c"], "add"),
        ("up--1", ["a", "b", "c"], "add"),
        ("add", ["a", "b", "c"], "add"),
    ],
)
def test_buttons_move_and_remove_services_of_a_chain_and_set_the_focus(act: str, after: list[str], focus: str) -> None:
    assert rearranged_chain(["a", "b", "c"], act) == (after, focus)


def test_a_suite_can_be_planned_and_requested_and_its_matrix_agrees_with_the_api(site: Site, reader: Reader) -> None:
    page = reader.open("/suites/new")
    for summary in page.locator("details.more > summary").all():
        summary.click()
    for name in ("faithful Translator", "always-he Translator", "Round trip", "One hop"):
        page.get_by_role("checkbox", name=re.compile(f"^{name}")).check()
    for attribute in ("Gender", "Race and ethnicity"):
        page.get_by_role("checkbox", name=attribute, exact=True).check()
    page.get_by_label("Languages").fill("es")
    page.get_by_role("button", name="Plan it").click()
    asked = page.get_by_role("button", name=re.compile("^Ask .* questions$"))
    expect(asked).to_be_visible()
    questions = int(re.sub(r"\D", "", asked.inner_text()))
    asked.click()
    expect(page).to_have_url(re.compile(r"/suites/sui_\w+$"))
    suite_id = page.url.rpartition("/")[2]
    # the page follows the suite by itself
    expect(page.get_by_text("All jobs have ended")).to_be_visible(timeout=120_000)
    suite = site.process.agency.get(f"/v1/suites/{suite_id}")
    assert questions == suite["progress"]["expected"]
    table = page.locator(".matrix")
    heads = [text.split("\n") for text in table.locator("thead th").all_inner_texts()[1:]]
    columns = [(method.lower().replace(" ", "-"), attribute) for method, attribute in heads]
    lines = table.locator("tbody tr").all()
    for service, line in zip(suite["services"], lines, strict=True):
        assert service["target"]["name"] in line.locator("th").inner_text()
        shown = dict(zip(columns, line.locator("td").all(), strict=True))
        asked_rows = {(row["method"], row["attribute"]): row["cells"] for row in service["rows"]}
        for column, letters in shown.items():
            expected = [cell for cell in asked_rows.get(column, ()) if cell]
            assert (letters.inner_text() == "–") == (not expected)
            rated = [cell for cell in expected if cell["status"] != "omitted"]
            for cell, link in zip(rated, letters.locator("a").all(), strict=True):
                sure = "" if cell["declared"] else ", inconclusive"
                name = f"{cell['letter']}{sure}" if cell["letter"] else "no letter"
                assert link.locator("svg.punch").get_attribute("aria-label") == name, json.dumps(cell)
                assert link.get_attribute("href") == cell["href"].replace("/v1/", "/")
            for cell in expected:
                assert (cell["reason"] or "") in str(letters.text_content())
    report = page.request.get(f"{page.url}/report.html")
    assert (report.status, report.headers["content-type"]) == (200, "text/html; charset=utf-8")
