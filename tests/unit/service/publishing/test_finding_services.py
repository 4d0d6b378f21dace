"""Web pages with a search for services by name, which also finds services that are not listed.

Row 108 of docs/reliability.md: with 600,000 ratings, the start page took 3.4 s, a search 1.35 s and the overview .64 s.
"""

from __future__ import annotations

import asyncio
import time

import pytest
from lxml import html

from service.overview import routes as overview
from service.services import routes as services
from store.ratings import rating_statistics, standing
from store.ratings import services as stored
from web.own_words import testing
from web.services import service as web_services
from web.suites import pages as suites

pytestmark = pytest.mark.anyio

QUESTION = {"kind": "translator", "method": "round-trip", "attribute": "gender"}


@pytest.fixture
async def agency(settings, serve):
    """An agency with pages that requires no key."""
    return await serve(settings, pages=True)


@pytest.fixture
def rate(agency, worker, request_body):
    """Store a public rating of a service with a name, and return the rating's id."""

    async def rate(name, number, size=0.5, **changes):
        body = request_body(seed=number, visibility="public")
        body["target"]["base_url"] = f"https://{number}.example.com/"
        job = await agency.post("/v1/jobs", json=body)
        effect = {"estimate": size, "low": size - 0.01, "high": size + 0.01}
        component = {"name": "es", "letter": "BS", "tolerances": {"step_1": 0.1}, "effects": {"step_1": effect}}
        digest = f"sha256:{number:024x}{'0' * 40}"
        target = {"name": name, "kind": "translator", "protocol": "libretranslate", "digest": digest}
        changes = {"letter": "BS", "components": [component], "target": target, **changes}
        return worker.rate(job.json()["id"], **changes)

    return rate


@pytest.fixture
def few_are_listed(monkeypatch):
    """Lists have at most three services."""
    for module, name in ((overview, "MOST_TARGETS"), (web_services, "MOST_RATED"), (suites, "MAX_LISTED_SERVICES")):
        monkeypatch.setattr(module, name, 3)


async def page(agency, path, **query):
    answer = await agency.get(path, params=query or None, headers={"Accept": "text/html"}, follow_redirects=True)
    assert answer.status_code == 200, answer.text[:500]
    return html.fromstring(answer.text)


def names_in(document, path):
    return [" ".join(name.text_content().split()) for name in document.xpath(path)]


@pytest.mark.usefixtures("few_are_listed")
async def test_a_service_rated_too_long_ago_to_be_listed_is_found_by_a_search_for_its_name(agency, rate):
    await rate("first-of-all", 0)
    for number in range(1, 6):
        await rate(f"later-{number}", number)
    newest = await page(agency, "/services")
    assert names_in(newest, "//table//th/a") == ["later-5", "later-4", "later-3"]
    assert "are found by their name" in newest.text_content()
    found = await page(agency, "/services", q="FIRST-of")
    assert names_in(found, "//table//th/a") == ["first-of-all"]
    assert "are found by their name" not in found.text_content()
    many = await page(agency, "/services", q="later")
    assert "More services match than are listed" in many.text_content()


@pytest.mark.usefixtures("few_are_listed")
async def test_a_search_lists_a_service_with_several_ratings_once_with_its_newest_rating(agency, rate):
    await rate("twice", 1)
    newest = await rate("twice", 1)
    assert (await page(agency, "/services", q="twice")).xpath("//table//th/a/@href") == [f"/services/{newest}"]


@pytest.mark.usefixtures("few_are_listed")
async def test_the_schedule_form_offers_services_found_by_a_search_and_keeps_the_chosen_one(agency, rate):
    old = await rate("first-of-all", 0)
    for number in range(1, 6):
        await rate(f"later-{number}", number)
    options = "//select[@name='service']/option"
    unsearched = await page(agency, "/schedules/new")
    assert len(unsearched.xpath(options)) == 3
    assert "are found by their name" in unsearched.text_content()
    found = await page(agency, "/schedules/new", q="first")
    assert [one.text_content() for one in found.xpath(options)] == ["first-of-all (Translator)"]
    nothing = await page(agency, "/schedules/new", q="no such name")
    assert "No service matches." in nothing.text_content()
    assert nothing.xpath("//input[@name='q' and @form='find-service']/@value") == ["no such name"]
    chosen = await page(agency, "/schedules/new", service=old)
    assert chosen.xpath(f"{options}[@selected]/@value") == [old]


@pytest.mark.usefixtures("few_are_listed")
async def test_the_suite_form_offers_services_found_by_a_search_and_says_that_more_can_be_found(agency, rate):
    old = await rate("first-of-all", 0)
    for number in range(1, 6):
        await rate(f"later-{number}", number)
    boxes = "//input[@name='service']/../span/bdi"
    unsearched = await page(agency, "/suites/new")
    assert names_in(unsearched, boxes) == ["later-3", "later-4", "later-5"]
    assert "More services are found by their name." in unsearched.text_content()
    assert names_in(await page(agency, "/suites/new", q="first"), boxes) == ["first-of-all"]
    # a chosen service stays although the filter does not list it
    document = await page(agency, "/suites/new", q="later-5", service=old)
    assert names_in(document, boxes) == ["first-of-all", "later-5"]
    assert document.xpath("//input[@name='service'][@checked]/@value") == [old]


async def test_a_ranking_searched_for_a_service_starts_a_few_rows_above_that_service(agency, rate, monkeypatch):
    ids = [await rate(f"Place {number:02}", number, 0.2 + number / 10) for number in range(12)]
    for text, start in ((ids[9], 5), ("place 09", 5), ("PLACE 02", 0), ("Place", 0)):
        answer = (await agency.get("/v1/services/ranking", params={**QUESTION, "q": text, "limit": 6})).json()
        assert (answer["start"], answer["total"], len(answer["items"])) == (start, 12, 6), text
        assert answer["items"][0]["name"] == f"Place {start:02}"
    missing = (await agency.get("/v1/services/ranking", params={**QUESTION, "q": "no such name"})).json()
    assert (missing["total"], missing["items"]) == (12, [])
    whole = await agency.get("/v1/services/ranking.csv", params={**QUESTION, "q": ids[9]})
    assert whole.text.count("Place") == 12
    monkeypatch.setattr(services, "RATINGS_PER_READ", 5)
    in_pieces = await agency.get("/v1/services/ranking.csv", params=QUESTION)
    assert in_pieces.text == whole.text


@pytest.mark.parametrize("auth", ["none", "keys"])
async def test_a_starting_agency_reads_its_public_registry_into_a_cache_before_the_first_request(
    settings, serve, rate, monkeypatch, auth
):
    for number in range(7):
        await rate(f"Place {number}", number)
    monkeypatch.setattr(standing, "PART_SIZE", 3)
    started = await serve(settings.model_copy(update={"auth": auth}), pages=True)
    entries = started._transport.app.state.service.merged_reads._entries
    until = time.monotonic() + 30
    while [entry.value is None for entry in entries.values()] != [False] * 3:  # letters, questions, a ranking
        assert time.monotonic() < until, "the registry was not read ahead"
        await asyncio.sleep(0.01)

    def refuse(*_, **__):
        raise AssertionError("a page read the registry again")

    for module, name in ((stored, "newest"), (stored, "questions"), (rating_statistics, "distribution")):
        monkeypatch.setattr(module, name, refuse)
    counts = (await page(started, "/")).xpath("//tr[th[contains(., 'ranslator')]]/td/text()")
    assert "7" in counts
    assert len((await page(started, "/compare", kind="translator")).xpath("//table[@class='ranking']//tbody/tr")) == 7


async def test_the_page_of_a_service_links_to_its_own_row_in_the_ranking(agency, rate):
    ids = [await rate(f"Place {number:02}", number, 0.2 + number / 10) for number in range(12)]
    (link,) = (await page(agency, f"/s/{ids[9]}")).xpath("//a[.='Its place among others']/@href")
    ranking = await page(agency, link.partition("#")[0])
    assert names_in(ranking, "//tr[@aria-current]/th/a") == ["Place 09"]
    assert names_in(ranking, "//tbody/tr[1]/th/a") == ["Place 05"]
    assert "1 is the largest that counts as no bias" in ranking.text_content()
    unknown = await page(agency, "/compare", **QUESTION, of="no such name")
    assert "No service of this ranking is called so." in unknown.text_content()


async def test_the_404_page_links_anonymous_visitors_to_public_pages(guarded, serve):
    stranger = await serve(guarded, pages=True)
    answer = await stranger.get("/nothing", headers={"Accept": "text/html"})
    assert answer.status_code == 404
    assert html.fromstring(answer.text).xpath("//main//a[contains(@class,'main')]/@href") == ["/registry"]
    assert "tenant" not in answer.text


async def test_the_provenance_page_of_a_rating_names_settings_with_the_titles_of_the_form(agency, rate):
    rated = await rate("any", 1, experiment={"texts_per_block": 40, "delta_loss": 0.15})
    terms = names_in(await page(agency, f"/ratings/{rated}/provenance"), "//dt")
    assert {"Texts in a block", "Tolerance for lost replies"} <= set(terms)
    assert not [term for term in terms if "_" in term]


async def test_a_saved_model_that_is_not_listed_is_found_by_its_name_when_testing_own_sentences(agency, monkeypatch):
    sentences = {"name": "Science", "kind": "sentences", "attribute": "gender"}
    corpus = (await agency.post("/v1/corpora", json=sentences)).json()["id"]
    monkeypatch.setattr(testing, "MOST_SAVED", 1)
    for name in ("older model", "newer model"):
        target = {"name": name, "kind": "language-model", "protocol": "openai-chat", "base_url": "https://m.example/v1"}
        saved = await agency.post("/v1/targets", json=target | {"settings": {"model": name}})
        assert saved.status_code == 201, saved.text
    options = "//select[@name='saved']/option[@value!='']"
    path = f"/own-words/{corpus}/sentences"
    listed = await page(agency, path)
    assert names_in(listed, options) == ["newer model"]
    assert "the others are found by their name" in listed.text_content()
    assert names_in(await page(agency, path, service="older"), options) == ["older model"]
    assert "No saved service of this kind matches." in (await page(agency, path, service="zzz")).text_content()
