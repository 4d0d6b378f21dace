"""Pages for everyone: the start page, the registry, the methodology, the log, problems."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from assay.rating.methodology import shipped
from tests.support.filled_agency import Site

HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def site(own_site: Site) -> Site:
    """A separate agency, in which no other module has created anything."""
    return own_site


def cells(page, table="table"):
    """Return the texts of a table's cells by row; for a cell with a drawing, the label of the drawing."""
    return page.locator(table).first.evaluate(
        """table => [...table.tBodies[0].rows].map(row => [...row.cells].map(
            cell => cell.querySelector("svg")?.getAttribute("aria-label") ?? cell.textContent.trim()))"""
    )


def test_every_link_of_the_start_page_is_answered_with_200(reader):
    page = reader.open("/")
    links = page.eval_on_selector_all("a[href]", "all => all.map(one => one.getAttribute('href'))")
    assert {"/new", "/own-words", "/registry", "/methodology", "/log", "/overview", "/services"} <= set(links)
    paths = sorted({link.partition("#")[0] for link in links if not link.startswith("#")})
    answers = {path: page.request.get(f"{reader.url}{path}", headers=HTML).status for path in paths}
    assert set(answers.values()) == {200}, answers


def test_bars_of_the_start_page_show_the_counts_of_ratings_by_letter_of_the_api(reader, site):
    counted = site.process.agency.get("/v1/registry/distribution")["items"]
    page = reader.open("/")
    page.get_by_text("The same numbers as a table").click()
    rows = [[row["counts"][name] for name in ("UCS", "DSBS", "BS", "inconclusive")] for row in counted]
    assert [[int(text) for text in row[3:]] for row in cells(page, ".twin table")] == rows
    widths = page.locator(".dist svg").evaluate_all(
        "all => all.map(one => [...one.children].reduce((sum, bar) => sum + +bar.getAttribute('width') + .8, 0))"
    )
    most = max(row["targets"] for row in counted)
    assert widths == pytest.approx([100 * row["targets"] / most for row in counted])


def test_filters_of_the_registry_are_part_of_the_address_and_agree_with_the_api(reader, site):
    page = reader.open("/registry")
    page.get_by_label("Kind of service").select_option("translator")
    page.get_by_label("Letter", exact=True).select_option("BS")
    page.get_by_role("button", name="Show").click()
    asked = parse_qs(urlsplit(page.url).query)
    assert asked == {"kind": ["translator"], "letter": ["BS"]}
    listed = site.process.agency.get("/v1/ratings?kind=translator&letter=BS")["items"]
    links = page.locator("tbody th a").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    assert links == [f"/r/{one['id']}" for one in listed]
    assert links == [f"/r/{site.ratings['always-he']}"]
    reader.open("/registry?q=nobody-has-this-name")
    assert page.get_by_text("No public rating matches.").is_visible()


def test_a_service_and_its_badge_are_two_clicks_from_the_start_page(reader, site):
    page = reader.open("/")
    page.get_by_label("Find a rated service").fill("balancing")
    page.get_by_role("button", name="Find").click()
    page.locator("tbody summary").click()
    rating = site.ratings["balancing"]
    assert f"{site.url}/v1/ratings/{rating}/badge.svg" in page.locator("tbody pre").inner_text()
    badge = page.get_by_alt_text("Badge of this rating")
    badge.scroll_into_view_if_needed()
    page.wait_for_function("badge => badge.complete && badge.naturalWidth > 50", arg=badge.element_handle())


def test_the_methodology_is_shown_and_has_no_changes_before_its_second_version(reader):
    page = reader.open("/methodology")
    assert page.get_by_role("heading", name=f"Methodology {shipped().current.version}", exact=True).is_visible()
    assert page.locator("article strong", has_text="Step 1.").is_visible()
    reader.open("/methodology/changes")
    assert page.locator(".diff ins, .diff del").count() == 0, "one version has been released"


def test_the_page_of_the_log_shows_its_entries_and_a_consistency_proof(reader, site):
    agency = site.process.agency
    head = agency.get("/v1/log")
    page = reader.open("/log")
    entries = agency.get("/v1/log/entries?limit=200")["items"]
    assert [int(row[0]) for row in cells(page)] == [one["position"] for one in entries[::-1]][:50]
    assert page.get_by_text(head["root"]).first.is_visible()
    page.get_by_label("Size that you kept").fill("2")
    page.get_by_role("button", name="Prove it").click()
    proof = agency.get("/v1/log/proof/consistency?first=2")
    assert page.get_by_text(proof["first"]["root"]).is_visible()
    reader.open(f"/log?size={head['size'] + 9}")
    assert page.locator("#w-size").is_visible()


def test_errors_are_html_pages_for_browsers_and_problem_documents_for_programs(site, context):
    page = context.new_page()  # browsers report a 404 in the console
    answer = page.goto(f"{site.url}/problems/rate-limited")
    assert (answer.status, answer.headers["vary"]) == (200, "Accept-Encoding, Accept")
    known = site.process.agency.get("/problems/rate-limited")
    assert page.get_by_text(known["remedy"]).is_visible()
    assert page.goto(f"{site.url}/registry?kind=nonsense").status == 422
    assert page.locator(".errors code").inner_text() == "kind"
    for path in ("/nowhere", "/problems/unheard-of"):
        assert page.goto(f"{site.url}{path}").status == 404
        assert page.get_by_role("link", name="Start page").is_visible()
        program = page.request.get(f"{site.url}{path}", headers={"Accept": "application/json"})
        assert (program.status, program.headers["content-type"]) == (404, "application/problem+json")
        assert program.json()["code"] == "not-found"
