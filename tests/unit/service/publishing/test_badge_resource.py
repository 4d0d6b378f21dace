"""Badges and other embeds over HTTP: content, freshness, and access control."""

from __future__ import annotations

import jsonpath
import pytest
import yaml
from sqlalchemy import text

from reports.embeds import EMBEDS
from service.badges.routes import render
from store.ratings import published
from store.ratings.published import DatedRating

pytestmark = pytest.mark.anyio

URL = "http://127.0.0.1:5000"
BY_URL = f"/v1/badge.svg?target_url={URL}"
FILES = [one.file for one in EMBEDS]


@pytest.fixture
def rated(client, request_body, worker):
    """Request a rating, complete its job, and return its id."""

    async def rated(seed=0, visibility="public", headers=None, on=client, target=None, **changes):
        body = request_body(seed=seed, visibility=visibility)
        body["target"] = target or body["target"]
        job = (await on.post("/v1/jobs", json=body, headers=headers)).json()
        return worker.rate(job["id"], **changes)

    return rated


@pytest.fixture
def saved(client, request_body):
    """Save the target and return its id."""

    async def saved(on=client, headers=None):
        return (await on.post("/v1/targets", json=request_body()["target"], headers=headers)).json()["id"]

    return saved


@pytest.fixture
def change(worker):
    """Change a rating's row directly in the database."""

    def change(rating_id, **columns):
        written = ", ".join(f"{name} = :{name}" for name in columns)
        with worker.database.write() as c:
            c.execute(text(f"UPDATE ratings SET {written} WHERE id = :id"), {**columns, "id": rating_id})

    return change


# ---------------------------------------------------------------------------- by rating
@pytest.mark.parametrize("form", EMBEDS, ids=lambda form: form.file)
async def test_every_badge_or_embed_of_a_rating_has_its_media_type_and_date_headers(client, rated, form):
    rating_id = await rated()
    url = f"/v1/ratings/{rating_id}/{form.file}"
    answer = await client.get(url)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].partition(";")[0] == form.media_type
    assert answer.headers["Cache-Control"] == "public, max-age=300, stale-while-revalidate=86400"
    assert answer.headers["X-Assay-Methodology"] == "1.3.0"
    rating = (await client.get(f"/v1/ratings/{rating_id}")).json()
    assert answer.headers["X-Assay-Rated-At"] == rating["rated_at"]
    assert answer.headers["X-Assay-Expires-At"] == rating["expires_at"]
    assert "DSBS" in answer.text
    again = await client.get(url, headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", answer.headers["ETag"])
    head = await client.head(url)
    assert (head.status_code, head.content, head.headers["ETag"]) == (200, b"", answer.headers["ETag"])


async def test_an_embed_of_a_private_rating_is_served_only_to_its_tenant_and_not_to_shared_caches(
    serve, guarded, worker, rated
):
    client = await serve(guarded)
    mine = {"Authorization": f"Bearer {worker.make_key('mine')}"}
    rating_id = await rated(visibility="private", headers=mine, on=client)
    for file in FILES:
        url = f"/v1/ratings/{rating_id}/{file}"
        answer = await client.get(url, headers=mine)
        assert answer.status_code == 200
        assert answer.headers["Cache-Control"].startswith("private")
        assert answer.headers["Vary"] == "Authorization, Cookie"
        assert "Access-Control-Allow-Origin" not in answer.headers
        for anyone in ({}, {"Authorization": f"Bearer {worker.make_key('theirs')}"}):
            hidden = await client.get(url, headers=anyone)
            unknown = await client.get(f"/v1/ratings/rat_nobodys/{file}", headers=anyone)
            assert (hidden.status_code, unknown.status_code) == (404, 404)
            assert "ETag" not in hidden.headers


async def test_an_embed_of_an_unlisted_rating_is_readable_by_id_but_not_by_target_url(serve, guarded, worker, rated):
    client = await serve(guarded)
    mine = {"Authorization": f"Bearer {worker.make_key('mine')}"}
    rating_id = await rated(visibility="unlisted", headers=mine, on=client)
    answer = await client.get(f"/v1/ratings/{rating_id}/badge.svg")
    assert (answer.status_code, answer.headers["Access-Control-Allow-Origin"]) == (200, "*")
    assert "unrated" in (await client.get(BY_URL)).text


async def test_a_badge_with_an_invalid_key_is_401(client, rated):
    url = f"/v1/ratings/{await rated()}/badge.svg"
    assert (await client.get(url, headers={"Authorization": "Bearer assay_no_no"})).status_code == 401


async def test_links_in_embeds_use_the_public_url(serve, settings, rated):
    client = await serve(settings.model_copy(update={"public_url": "https://assay.example/agency"}))
    client.headers["Host"] = "assay.example"
    rating_id = await rated(on=client)
    overlay = yaml.safe_load((await client.get(f"/v1/ratings/{rating_id}/overlay.yaml")).text)
    facts = overlay["actions"][0]["update"]["x-bias-rating"]
    assert facts["badge"] == f"https://assay.example/agency/v1/ratings/{rating_id}/badge.svg"


async def test_every_link_of_a_linkset_resolves(client, rated):
    rating_id = await rated()
    links = (await client.get(f"/v1/ratings/{rating_id}/linkset.json")).json()["linkset"]
    for relation in ("alternate", "collection"):
        for link in links[1][relation]:
            answer = await client.get(link["href"])
            assert answer.status_code == 200, link
            assert answer.headers["Content-Type"].partition(";")[0] == link["type"]


async def test_the_address_of_the_agent_cards_extension_and_its_links_resolve(serve, rated):
    client = await serve(pages=True)
    extension = (await client.get(f"/v1/ratings/{await rated(on=client)}/a2a-extension.json")).json()
    specification = await client.get(extension["uri"], headers={"Accept": "text/html"})
    assert specification.status_code == 200
    assert "How a client verifies it" in specification.text
    for name in ("rating", "report", "badge", "keys"):
        assert (await client.get(extension["params"][name])).status_code == 200, name
    missing = [name for name in extension["params"] if f"<code>{name}</code>" not in specification.text]
    assert missing == [], "the page explains every field"


@pytest.mark.slow
async def test_the_openapi_overlay_adds_the_rating_to_a_document(client, rated):
    overlay = yaml.safe_load((await client.get(f"/v1/ratings/{await rated()}/overlay.yaml")).text)
    document = (await client.get("/openapi.json")).json()
    (action,) = overlay["actions"]
    (info,) = [found.obj for found in jsonpath.finditer(action["target"], document)]
    info.update(action["update"])
    assert document["info"]["x-bias-rating"]["letter"] == "DSBS"
    assert document["info"]["title"] == "Assay"


# ---------------------------------------------------------------------------- by target id and by target URL
async def test_a_badge_by_target_url_shows_the_newest_public_rating(client, rated):
    await rated(seed=1)
    await rated(seed=2, letter="BS", attribute="race")
    assert "race bias" in (await client.get(BY_URL)).text
    gender = await client.get(f"{BY_URL}&attribute=gender&method=round-trip")
    assert ">DSBS<" in gender.text
    assert gender.headers["X-Assay-Methodology"] == "1.3.0"
    shields = (await client.get("/v1/badge.json", params={"target_url": URL, "attribute": "race"})).json()
    assert shields["message"].startswith("BS · ")


async def test_badges_of_private_and_of_missing_ratings_are_identical(serve, guarded, worker, rated, saved):
    client = await serve(guarded)
    mine = {"Authorization": f"Bearer {worker.make_key('mine')}"}
    target_id = await saved(on=client, headers=mine)
    await rated(visibility="private", headers=mine, on=client, target={"id": target_id})
    for file in ("badge.svg", "badge.json"):
        asked = [
            await client.get(f"/v1/{file}", params={"target_url": "http://never.example"}),
            await client.get(f"/v1/{file}", params={"target_url": URL}),
            await client.get(f"/v1/{file}", params={"target_url": URL}, headers=mine),
            await client.get(f"/v1/{file}", params={"target_url": URL, "attribute": "no such"}),
            await client.get(f"/v1/targets/{target_id}/{file}"),
            await client.get(f"/v1/targets/{target_id}/{file}", headers=mine),
            await client.get(f"/v1/targets/tgt_nobodys/{file}"),
        ]
        assert {one.status_code for one in asked} == {200}
        assert len({one.content for one in asked}) == 1
        told = [{name: value for name, value in one.headers.items() if name != "x-request-id"} for one in asked]
        assert all(one == told[0] for one in told)
        assert "unrated" in asked[0].text


async def test_a_badge_by_target_id_shows_the_newest_rating_that_is_not_private(serve, guarded, worker, rated, saved):
    client = await serve(guarded)
    mine = {"Authorization": f"Bearer {worker.make_key('mine')}"}
    target_id = await saved(on=client, headers=mine)
    await rated(seed=1, visibility="unlisted", headers=mine, on=client, target={"id": target_id})
    await rated(seed=2, visibility="private", letter="BS", headers=mine, on=client, target={"id": target_id})
    badge = await client.get(f"/v1/targets/{target_id}/badge.svg")
    assert ">DSBS<" in badge.text
    assert badge.headers["Cache-Control"].startswith("public")
    assert (await client.get(f"/v1/targets/{target_id}/badge.json")).json()["label"] == "gender bias"
    assert "unrated" in (await client.get(f"/v1/targets/{target_id}/badge.svg?attribute=age")).text


async def test_a_running_job_does_not_change_a_badge(client, rated, request_body, worker):
    await rated(letter="UCS")
    before = await client.get(BY_URL)
    job = (await client.post("/v1/jobs", json=request_body(seed=9, visibility="public"))).json()
    worker.claim(job["id"])
    assert (await client.get(BY_URL)).content == before.content


async def test_reading_badges_starts_no_job(client):
    for path in (BY_URL, "/v1/targets/tgt_x/badge.svg", "/v1/ratings/rat_x/badge.svg"):
        await client.get(path)
    assert (await client.get("/v1/jobs")).json()["items"] == []


async def test_the_badge_of_a_withdrawn_rating_shows_the_withdrawal(client, rated, change):
    rating_id = await rated()
    etag = (await client.get(BY_URL)).headers["ETag"]
    change(rating_id, withdrawn_at=1, withdrawn_why="it was wrong")
    for url in (BY_URL, f"/v1/ratings/{rating_id}/badge.svg"):
        badge = await client.get(url, headers={"If-None-Match": etag})
        assert badge.status_code == 200
        assert "withdrawn" in badge.text
        assert ">DSBS<" not in badge.text


async def test_a_badge_and_its_etag_change_with_the_ratings_age(rated, worker):
    await rated()
    with worker.database.read() as c:
        seen = published.of_address(c, URL)
    later = [render(DatedRating(seen.rating, seen.at + ms), EMBEDS[0], "http://x") for ms in (0, 1, 86_400_000)]
    today, still, expired = ((one.body.decode(), one.headers["ETag"]) for one in later)
    assert today == still
    assert "today" in today[0]
    assert "expired, was" in expired[0]
    assert "1 day ago" in expired[0]
    assert expired[1] != today[1]


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("", "target_url"),
        ("?target_url=", "target_url"),
        (f"?target_url={'x' * 2049}", "target_url"),
        (f"?target_url=x&attribute={'y' * 101}", "attribute"),
        ("?target_url=x&colour=red", "colour"),
    ],
)
async def test_a_badge_with_invalid_query_parameters_is_refused(client, query, parameter):
    answer = await client.get(f"/v1/badge.svg{query}")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["parameter"] == parameter


@pytest.mark.parametrize("strange", ["%00", "%ed%a0%80", "%ff", "http://%F0%9F%A6%84", "%27%20OR%201=1--", "%2e%2e%2f"])
async def test_a_badge_with_an_unusual_text_in_its_url_is_never_a_server_error(client, strange):
    plain = await client.get("/v1/badge.svg?target_url=nothing")
    for url in (f"/v1/badge.svg?target_url={strange}", f"/v1/badge.svg?target_url=x&method={strange}"):
        assert (await client.get(url)).content == plain.content
    assert (await client.get(f"/v1/targets/tgt_{strange}/badge.svg")).status_code in {200, 404}
    assert (await client.get(f"/v1/ratings/rat_{strange}/badge.svg")).status_code == 404


# ---------------------------------------------------------------------------- cache
async def test_many_requests_for_a_badge_share_few_database_reads(serve, settings, rated):
    client = await serve(settings.model_copy(update={"badge_cache_s": 1.0}))
    await rated(on=client)
    for _ in range(50):
        assert ">DSBS<" in (await client.get(BY_URL)).text
    numbers = (await client.get("/metrics")).text
    counted = {
        line.split('"')[1]: float(line.rpartition(" ")[2])
        for line in numbers.splitlines()
        if line.startswith("assay_embeds_total{")
    }
    assert counted["hit"] + counted["miss"] == 50
    assert counted["read"] < 10  # at most one per second, however slow the machine is


async def test_a_cached_private_embed_is_not_served_to_another_tenant(serve, guarded, worker, rated):
    client = await serve(guarded.model_copy(update={"badge_cache_s": 1.0}))
    mine = {"Authorization": f"Bearer {worker.make_key('mine')}"}
    rating_id = await rated(visibility="private", headers=mine, on=client)
    url = f"/v1/ratings/{rating_id}/badge.svg"
    assert (await client.get(url, headers=mine)).status_code == 200
    assert (await client.get(url)).status_code == 404


# ---------------------------------------------------------------------------- API catalog
@pytest.mark.slow
async def test_the_api_catalog_links_to_the_apis_descriptions(client):
    answer = await client.get("/.well-known/api-catalog")
    assert answer.headers["Content-Type"] == (
        'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'
    )
    catalog, api = answer.json()["linkset"]
    assert catalog["anchor"] == "http://assay.test/.well-known/api-catalog"
    assert catalog["item"][0]["href"] == api["anchor"] == "http://assay.test/v1"
    for relation in ("service-desc", "service-meta", "status"):
        assert (await client.get(api[relation][0]["href"])).status_code == 200
    assert api["service-doc"][0]["href"] == "http://assay.test/docs", "a page of the site, which the API alone has not"
    again = await client.get("/.well-known/api-catalog", headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304


async def test_head_of_the_api_catalog_has_its_links(client):
    head = await client.head("/.well-known/api-catalog")
    assert (head.status_code, head.content) == (200, b"")
    assert head.links["api-catalog"]["url"] == "http://assay.test/.well-known/api-catalog"
    assert head.links["item"]["url"] == "http://assay.test/v1"
