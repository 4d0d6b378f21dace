"""Rankings of services, the public ratings of one service, its badge and its feed."""

from __future__ import annotations

import asyncio
import csv
import io
import time

import pytest
from lxml import etree, html
from sqlalchemy import text

from store.ratings.standing import service_key

pytestmark = pytest.mark.anyio

QUESTION = {"kind": "translator", "method": "round-trip", "attribute": "gender"}
ATOM = {"a": "http://www.w3.org/2005/Atom"}


def digest(number):
    return f"sha256:{number:024x}{'0' * 40}"


def key_of(number):
    return service_key({"digest": digest(number)})


@pytest.fixture
async def agency(guarded, serve):
    """An agency with pages that requires keys."""
    return await serve(guarded, pages=True)


@pytest.fixture
def rate(agency, worker, request_body):
    """Store a rating of service number n with an effect on unbiased input (by default public); return its id."""
    keys = {}

    async def rate(
        number, letter, interval=None, *, tenant="default", visibility="public", limit=0.1, languages=None, **changes
    ):
        headers = keys.setdefault(tenant, {"Authorization": f"Bearer {worker.make_key(tenant)}"})
        body = request_body(seed=time.time_ns() % 2**50, visibility=visibility)
        body["target"]["base_url"] = f"https://{number}.example.com/"
        body["experiment"] |= {} if languages is None else {"languages": languages}
        job = await agency.post("/v1/jobs", json=body, headers=headers)
        assert job.status_code == 202, job.text
        if interval is not None:
            low, estimate, high = interval
            effect = {"estimate": estimate, "low": low, "high": high}
            step = "step_2" if letter == "DSBS" else "step_1"
            component = {"name": "es", "letter": letter, "tolerances": {step: limit}, "effects": {step: effect}}
            changes["components"] = [component]
        service = {"name": f"S{number}", "kind": "translator", "protocol": "libretranslate", "digest": digest(number)}
        service |= changes.pop("described", {})
        return worker.rate(job.json()["id"], letter=letter, target=service, **changes)

    rate.keys = keys
    return rate


async def ranking(agency, **query):
    answer = await agency.get("/v1/services/ranking", params={**QUESTION, **query})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_services_are_ranked_by_letter_then_effect_and_undeclared_letters_have_no_place(agency, rate):
    await rate(1, "BS", (0.5, 0.6, 0.7))
    await rate(2, "BS", (0.25, 0.3, 0.35))
    await rate(3, "BS", (-0.4, -0.32, -0.3))  # the sign of an effect does not count; overlaps with 2
    await rate(4, "UCS", (-0.05, 0.01, 0.06))
    await rate(5, "UCS", (-0.04, 0.02, 0.07))
    await rate(6, "DSBS", (-0.05, 0.0, 0.05))
    await rate(7, "UCS", (-0.01, 0.0, 0.01), declared=False)
    await rate(8, "UCS")
    rows = (await ranking(agency))["items"]
    assert [(row["name"], row["place"]) for row in rows] == [
        *[("S4", 1), ("S5", 1), ("S8", None), ("S6", 3), ("S2", 4), ("S3", 4), ("S1", 6), ("S7", None)]
    ]
    assert rows[0]["rating"]["effect"]["of_limit"] == pytest.approx([0.1, 0.0, 0.6])
    assert rows[0]["rating"]["effect"]["name"] == "on balanced input"


async def test_services_of_one_letter_are_ranked_by_effect_relative_to_its_limit(agency, rate):
    await rate(1, "UCS", (0.08, 0.09, 0.095), limit=0.1)
    await rate(2, "UCS", (0.10, 0.11, 0.12), limit=0.5)
    assert [(row["name"], row["place"]) for row in (await ranking(agency))["items"]] == [("S2", 1), ("S1", 2)]


async def test_a_ranking_uses_the_newest_rating_of_a_service_and_expired_ratings_have_no_place(agency, rate, worker):
    await rate(1, "BS", (0.5, 0.6, 0.7))
    await asyncio.sleep(0.002)
    new = await rate(1, "UCS", (0.0, 0.01, 0.02))
    (row,) = (await ranking(agency))["items"]
    assert (row["rating"]["id"], row["place"]) == (new, 1)
    with worker.database.write() as c:
        c.execute(text("UPDATE ratings SET expires_at = 1"))
        c.execute(text("UPDATE service_ratings SET expires_at = 1"))
    (row,) = (await ranking(agency))["items"]
    assert (row["place"], row["rating"]["expired"]) == (None, True)


async def test_a_ranking_is_paged_sorted_by_any_column_and_downloadable_as_csv(agency, rate):
    for number, letter in ((1, "BS"), (2, "UCS"), (3, "DSBS")):
        await rate(number, letter, (0.1 * number, 0.2 * number, 0.3 * number), described={"name": f"=S{number}"})
    page = await ranking(agency, start=1, limit=1)
    assert (page["total"], [row["name"] for row in page["items"]]) == (3, ["=S3"])
    for sort, names in (("name", "123"), ("effect", "123"), ("place", "231"), ("rated_at", "321")):
        listed = [row["name"][-1] for row in (await ranking(agency, sort=sort))["items"]]
        assert "".join(listed) == names, sort
    table = (await agency.get("/v1/services/ranking.csv", params=QUESTION)).text
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [row["name"] for row in rows] == ["'=S2", "'=S3", "'=S1"]
    assert [float(row["estimate"]) for row in rows] == pytest.approx([0.4, 0.6, 0.2])
    other = await ranking(agency, method="one-hop")
    assert (other["items"], other["questions"][0]["services"]) == ([], 3)
    chosen = (await agency.get("/v1/services/ranking", params={"kind": "translator"})).json()
    assert (chosen["method"], chosen["attribute"], chosen["total"]) == ("round-trip", "gender", 3)


COMPARED = ((1, "UCS"), (2, "BS"))


async def test_compared_ratings_are_downloaded_as_csv_only_by_callers_that_can_read_both(agency, rate):
    ids = [
        await rate(number, letter, (0.1, 0.2, 0.3), described={"name": f"=S{number}"}) for number, letter in COMPARED
    ]
    hidden = await rate(3, "UCS", visibility="private")
    compared = await agency.get("/compare", params={"first": ids[1], "second": ids[0]}, headers={"Accept": "text/html"})
    (path,) = html.fromstring(compared.text).xpath("//a[@download]/@href")
    answer = await agency.get(path)
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    named = [(row["rating"], row["letter"], row["name"]) for row in rows]
    assert named == [(ids[1], "BS", "'=S2"), (ids[0], "UCS", "'=S1")]
    document = (await agency.get(f"/v1/ratings/{ids[1]}")).json()
    assert float(rows[0]["BS"]) == document["probabilities"]["BS"]
    because = document["because"] or {}
    assert rows[0]["because"] == because.get("text", "")
    assert rows[0]["rated_at"] == document["rated_at"]
    refused = await agency.get(path, params={"first": ids[0], "second": hidden})
    assert refused.status_code == 404


async def test_rankings_show_private_and_unlisted_ratings_to_their_owner_only(agency, rate):
    await rate(1, "UCS", (0.0, 0.01, 0.02), visibility="private")
    await rate(2, "UCS", (0.0, 0.01, 0.02), visibility="unlisted")
    await rate(3, "UCS", (0.0, 0.01, 0.02), tenant="rival", visibility="private")
    assert (await ranking(agency))["items"] == (await ranking(agency))["questions"] == []
    own = await agency.get("/v1/services/ranking", params=QUESTION, headers=rate.keys["default"])
    assert {row["name"] for row in own.json()["items"]} == {"S1", "S2"}
    assert own.headers["cache-control"] == "private, no-cache"


async def test_the_ratings_of_a_service_are_grouped_by_method_mark_changed_rules_and_have_a_feed(agency, rate):
    old = await rate(1, "UCS", (0.0, 0.01, 0.02), methodology={"version": "1.0.0"})
    await asyncio.sleep(0.002)
    new = await rate(1, "BS", (0.2, 0.3, 0.4))
    service = (await agency.get(f"/v1/services/{key_of(1)}")).json()
    assert service["service"] == f"1-example-com-{key_of(1)}"
    (series,) = service["series"]
    assert [rating["id"] for rating in series["ratings"]] == [new, old]
    assert [rating["rules_changed"] for rating in series["ratings"]] == [True, False]
    by_id = await agency.get(f"/v1/services/{new}")
    assert by_id.json() == service
    page = html.fromstring((await agency.get(f"/s/{service['service']}", headers={"Accept": "text/html"})).text)
    (line,) = page.xpath("//figure//*[local-name()='svg']")
    assert [text for text in line.itertext() if text in {"1.0.0", "1.3.0"}] == ["1.3.0"], "the new rules are marked"
    assert len(line.xpath(".//*[local-name()='circle']")) == 2
    answer = await agency.get(f"/v1/services/{key_of(1)}/feed.atom")
    feed = etree.fromstring(answer.content)
    titles = feed.xpath("a:entry/a:title/text()", namespaces=ATOM)
    assert titles == ["BS: round-trip, gender", "UCS: round-trip, gender"]
    links = feed.xpath("a:entry/a:link/@href", namespaces=ATOM)
    assert [link.rpartition("/")[2] for link in links] == [new, old]


async def test_the_feed_of_a_ranking_lists_public_services_with_their_places_newest_rating_first(agency, rate):
    for number, letter in ((1, "UCS"), (2, "BS"), (3, "UCS")):
        rating_id = await rate(number, letter, (0.01, 0.02, 0.03))
        await asyncio.sleep(0.002)
    await rate(4, "BS", visibility="private")
    answer = await agency.get("/v1/services/ranking.atom", params=QUESTION)
    assert answer.headers["content-type"].startswith("application/atom+xml")
    feed = etree.fromstring(answer.content)
    titles = feed.xpath("a:entry/a:title/text()", namespaces=ATOM)
    assert titles == ["UCS: S3, place 1", "BS: S2, place 3", "UCS: S1, place 1"]
    assert feed.xpath("a:entry[1]/a:id/text()", namespaces=ATOM)[0].endswith(f"/r/{rating_id}")
    (page,) = feed.xpath("a:link[not(@rel)]/@href", namespaces=ATOM)
    listed = await agency.get(page, headers={"Accept": "text/html"})
    (link,) = html.fromstring(listed.text).xpath("//a[contains(@href, 'ranking.atom')]/@href")
    assert (await agency.get(link)).text == answer.text
    empty = await agency.get("/v1/services/ranking.atom", params={**QUESTION, "method": "one-hop"})
    assert etree.fromstring(empty.content).xpath("a:entry", namespaces=ATOM) == []


async def test_page_feed_csv_and_json_of_a_ranking_have_the_ratings_in_one_language_alone(agency, rate):
    spanish = await rate(1, "BS", (0.5, 0.6, 0.7), languages=["es"])
    await asyncio.sleep(0.002)
    await rate(1, "UCS", (0.0, 0.01, 0.02), languages=["fr"])
    await rate(2, "UCS", (0.0, 0.01, 0.02), languages=["es", "fr"])
    await rate(3, "UCS", (0.0, 0.01, 0.02), languages=["fr"])
    assert {row["name"] for row in (await ranking(agency))["items"]} == {"S1", "S2", "S3"}
    (row,) = (await ranking(agency, language="es"))["items"]
    assert (row["rating"]["id"], row["place"]) == (spanish, 1)
    query = {**QUESTION, "language": "es"}
    table = (await agency.get("/v1/services/ranking.csv", params=query)).text
    assert [row["rating"] for row in csv.DictReader(io.StringIO(table))] == [spanish]
    answer = await agency.get("/v1/services/ranking.atom", params=query)
    feed = etree.fromstring(answer.content)
    assert feed.xpath("a:entry/a:title/text()", namespaces=ATOM) == ["BS: S1, place 1"]
    (page,) = feed.xpath("a:link[not(@rel)]/@href", namespaces=ATOM)
    listed = html.fromstring((await agency.get(page, headers={"Accept": "text/html"})).text)
    assert listed.xpath("//table[@class='ranking']//th/a[starts-with(@href, '/s/')]/bdi/text()") == ["S1"]
    (link,) = listed.xpath("//a[contains(@href, 'ranking.atom')]/@href")
    assert (await agency.get(link)).text == answer.text
    (download,) = listed.xpath("//a[contains(@href, 'ranking.csv')]/@href")
    assert (await agency.get(download)).text == table


@pytest.mark.parametrize("language", ["%", "e_", '["es"]', 'es","fr', "<script>", "\\", "\U0001f600", "e" * 100])
async def test_a_language_in_which_nothing_is_rated_has_an_empty_ranking(agency, rate, language):
    await rate(1, "BS", (0.5, 0.6, 0.7), languages=["es", "fr"])
    await rate(2, "BS", (0.5, 0.6, 0.7), languages=["es"])
    assert (await ranking(agency, language=language))["items"] == []
    page = await agency.get("/compare", params={**QUESTION, "language": language}, headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert "<script>" not in page.text


async def test_the_badge_of_a_service_never_shows_the_letter_of_another_model_at_its_address(agency, rate):
    small = {"url": "https://9.example.com/", "settings": {"model": "small"}}
    large = {"url": "https://9.example.com/", "settings": {"model": "large"}}
    await rate(1, "UCS", described=small)
    await asyncio.sleep(0.002)
    await rate(2, "BS", described=large)

    async def message(name, **query):
        return (await agency.get(f"/v1/services/{name}/badge.json", params=query)).json()["message"]

    assert (await message(key_of(1))).startswith("UCS")
    assert (await message(key_of(2), method="round-trip", attribute="gender")).startswith("BS")
    assert await message(key_of(1), attribute="age") == await message(key_of(3)) == "unrated"


@pytest.mark.parametrize("visibility", ["private", "unlisted"])
async def test_a_private_or_unlisted_rating_has_no_service_page_no_feed_and_no_badge(agency, rate, visibility):
    rating_id = await rate(1, "BS", visibility=visibility)
    for name in (rating_id, key_of(1)):
        for path in (f"/v1/services/{name}", f"/v1/services/{name}/feed.atom", f"/s/{name}"):
            assert (await agency.get(path, headers={"Accept": "text/html"})).status_code == 404
        assert (await agency.get(f"/v1/services/{name}/badge.json")).json()["message"] == "unrated"


async def test_a_service_whose_newest_rating_is_withdrawn_shows_neither_that_rating_nor_an_older_letter(agency, rate):
    old = await rate(1, "UCS")
    await asyncio.sleep(0.002)
    bad = await rate(1, "BS")
    withdrawn = await agency.post(f"/v1/ratings/{bad}/withdraw", json={"reason": "x"}, headers=rate.keys["default"])
    assert withdrawn.status_code == 200
    (series,) = (await agency.get(f"/v1/services/{key_of(1)}")).json()["series"]
    assert (series["withdrawn"], [rating["id"] for rating in series["ratings"]]) == (True, [old])
    page = (await agency.get(f"/s/{key_of(1)}", follow_redirects=True)).text
    assert bad not in page
    assert bad not in (await agency.get(f"/v1/services/{key_of(1)}/feed.atom")).text
    assert (await agency.get(f"/v1/services/{key_of(1)}/badge.json")).json()["message"].startswith("withdrawn")


async def test_a_strangers_withdrawal_does_not_remove_a_letter(agency, rate):
    valid = await rate(1, "BS", tenant="acme", description="default")
    await rate(1, "UCS", tenant="dave", description="default")
    await asyncio.sleep(0.002)
    last = await rate(1, "UCS", tenant="dave", description="default")
    answer = await agency.post(f"/v1/ratings/{last}/withdraw", json={"reason": "x"}, headers=rate.keys["dave"])
    assert answer.status_code == 200
    (series,) = (await agency.get(f"/v1/services/{key_of(1)}")).json()["series"]
    assert (series["withdrawn"], [rating["id"] for rating in series["ratings"]]) == (False, [valid])
    assert [row["rating"]["id"] for row in (await ranking(agency))["items"]] == [valid]
    assert (await agency.get(f"/v1/services/{key_of(1)}/badge.json")).json()["message"].startswith("BS")
    page = (await agency.get(f"/s/{key_of(1)}", follow_redirects=True)).text
    assert f"/r/{valid}" in page
    assert "was withdrawn" not in page


@pytest.mark.parametrize("name", ["nobody", "x" * 3000, "rat_0", "%00", "a%2Fb", "ü-" + "0" * 24])
async def test_an_unknown_or_very_long_service_name_is_404(agency, name):
    answer = await agency.get(f"/v1/services/{name}")
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")
    page = await agency.get(f"/s/{name}", headers={"Accept": "text/html"})
    assert page.status_code == 404
