"""Ratings over HTTP: `/v1/ratings` and everything derived from a rating."""

from __future__ import annotations

import csv
import io

import pytest
from pyarrow import parquet
from sqlalchemy import text

import assay
from assay.canonical import rating_digest

pytestmark = pytest.mark.anyio


@pytest.fixture
def rated(client, request_body, worker):
    """Request a rating, complete its job, and return its id."""

    async def rated(seed=0, visibility="private", url="http://127.0.0.1:5000", headers=None, on=client, **changes):
        body = request_body(seed=seed, visibility=visibility)
        body["target"]["base_url"] = url
        job = (await on.post("/v1/jobs", json=body, headers=headers)).json()
        return worker.rate(job["id"], **changes)

    return rated


async def test_the_rating_resource_returns_the_stored_rating_and_private_cache_headers(client, rated):
    rating_id = await rated()
    answer = await client.get(f"/v1/ratings/{rating_id}")
    rating = answer.json()
    assert (rating["id"], rating["letter"], rating["declared"]) == (rating_id, "DSBS", True)
    assert rating["probabilities"]["DSBS"] == 0.996
    assert rating["next_methodology"] == {"version": None, "letter": None}
    assert rating["rated_at"] < rating["expires_at"]
    assert answer.headers["X-Assay-Methodology"] == "1.3.0"
    assert answer.headers["Cache-Control"] == "private, no-cache"
    assert answer.headers["Vary"] == "Authorization, Cookie"


async def test_a_rating_names_the_limits_that_its_requester_chose_without_a_change_of_its_digest(
    client, worker, request_body
):
    shown = []
    for delta in (0.1, 3.0):
        experiment = {"method": "alternation", "attribute": "gender", "delta": delta, "delta_individual": 0.25}
        job = (await client.post("/v1/jobs", json=request_body(seed=int(delta)))).json()
        rating_id = worker.rate(job["id"], method="alternation", experiment=experiment)
        shown.append((await client.get(f"/v1/ratings/{rating_id}")).json())
    assert "choices" not in shown[0]
    assert shown[1]["choices"] == ["delta 3.0 instead of 0.1"]
    assert rating_digest(shown[1]) == rating_digest({**shown[1], "choices": []})


async def test_an_unchanged_rating_is_304(client, rated):
    url = f"/v1/ratings/{await rated()}"
    etag = (await client.get(url)).headers["ETag"]
    for path in (url, f"{url}/report.html", f"{url}/report.md"):
        assert (await client.get(path, headers={"If-None-Match": f'"other", {etag}'})).status_code == 304
    assert (await client.get(url, headers={"If-None-Match": "*"})).status_code == 304


async def test_a_rating_and_its_report_are_sent_again_after_an_update_of_assay(client, rated, monkeypatch):
    url = f"/v1/ratings/{await rated()}"
    for path in (url, f"{url}/report.md"):
        etag = (await client.get(path)).headers["ETag"]
        with monkeypatch.context() as update:
            update.setattr(assay, "__version__", "999.0")
            assert (await client.get(path, headers={"If-None-Match": etag})).status_code == 200


async def test_every_representation_of_a_rating_has_its_dates_and_methodology(client, rated):
    url = f"/v1/ratings/{await rated()}"
    rating = (await client.get(url)).json()
    forms = ("", "/report.html", "/report.md", "/observations.csv", "/attestation.json", "/badge.svg")
    latest = f"/v1/ratings/latest?target_url={rating['target']['url']}"
    for address in (*(f"{url}{form}" for form in forms), latest):
        answer = await client.get(address)
        assert answer.status_code == 200, address
        assert answer.headers["X-Assay-Rated-At"] == rating["rated_at"]
        assert answer.headers["X-Assay-Expires-At"] == rating["expires_at"]
        assert answer.headers["X-Assay-Methodology"] == rating["methodology"]["version"]


async def test_a_report_shows_a_withdrawal_and_its_reason(client, rated):
    url = f"/v1/ratings/{await rated()}"
    before = await client.get(f"{url}/report.html")
    assert "was withdrawn" not in before.text
    await client.post(f"{url}/withdraw", json={"reason": "The <b>wrong</b> model answered."})
    shown = await client.get(f"{url}/report.html", headers={"If-None-Match": before.headers["ETag"]})
    assert "This rating was withdrawn on" in shown.text
    assert "The &lt;b&gt;wrong&lt;/b&gt; model answered." in shown.text
    assert "This rating was withdrawn on" in (await client.get(f"{url}/report.md")).text


async def test_the_report_of_an_expired_rating_shows_the_expiry_and_has_another_etag(client, worker, rated):
    url = f"/v1/ratings/{await rated()}/report.html"
    before = await client.get(url)
    assert "This rating expired" not in before.text
    with worker.database.write() as c:
        c.execute(text("UPDATE ratings SET expires_at = 1"))
    after = await client.get(url, headers={"If-None-Match": before.headers["ETag"]})
    assert (after.status_code, "This rating expired on" in after.text) == (200, True)


async def test_a_rating_without_measured_components_has_null_as_letter_and_probabilities(client, rated):
    rating_id = await rated(letter=None)
    rating = (await client.get(f"/v1/ratings/{rating_id}")).json()
    assert (rating["letter"], rating["probabilities"]) == (None, None)


async def test_ratings_are_listed_newest_first_and_filtered(client, rated):
    older, newer = await rated(seed=1), await rated(seed=2, letter="BS", attribute="race")

    async def ids(**query):
        return [one["id"] for one in (await client.get("/v1/ratings", params=query)).json()["items"]]

    assert await ids() == [newer, older]
    assert await ids(letter="BS") == [newer]
    assert await ids(attribute="gender") == [older]
    assert await ids(method="one-hop") == []
    assert await ids(target_url="http://127.0.0.1:5000", declared=True) == [newer, older]
    assert await ids(declared=False) == []


async def test_ratings_are_paged(client, rated):
    made = [await rated(seed=seed) for seed in range(3)]
    page = await client.get("/v1/ratings", params={"limit": 2, "letter": "DSBS"})
    rest = await client.get(page.links["next"]["url"])
    assert [one["id"] for one in page.json()["items"] + rest.json()["items"]] == made[::-1]


async def test_ratings_latest_returns_the_newest_rating_of_a_target(client, rated):
    await rated(seed=1)
    newest = await rated(seed=2)
    answer = await client.get("/v1/ratings/latest", params={"target_url": "http://127.0.0.1:5000"})
    assert answer.json()["id"] == newest
    assert answer.headers["Content-Location"] == f"/v1/ratings/{newest}"


async def test_ratings_latest_for_an_unrated_target_is_404_and_starts_no_job(client):
    answer = await client.get("/v1/ratings/latest", params={"target_url": "http://nobody"})
    assert (answer.status_code, answer.json()["code"]) == (404, "no-rating")
    assert (await client.get("/v1/jobs")).json()["items"] == []


async def test_ratings_latest_for_an_unknown_attribute_suggests_the_nearest_known_attribute(client):
    answer = await client.get("/v1/ratings/latest", params={"target_url": "http://nobody", "attribute": "religon"})
    assert "no attribute 'religon'; did you mean 'religion'?" in answer.json()["errors"][1]["detail"]


async def test_ratings_latest_is_409_if_ratings_for_several_attributes_match(client, rated):
    gender, race = await rated(seed=1), await rated(seed=2, attribute="race")
    query = {"target_url": "http://127.0.0.1:5000"}
    answer = await client.get("/v1/ratings/latest", params=query)
    assert (answer.status_code, answer.json()["code"]) == (409, "ambiguous-rating")
    assert {one["href"] for one in answer.json()["candidates"]} == {f"/v1/ratings/{gender}", f"/v1/ratings/{race}"}
    chosen = await client.get("/v1/ratings/latest", params=query | {"attribute": "race"})
    assert chosen.json()["id"] == race


async def test_ratings_latest_requires_the_parameter_target_url(client):
    assert (await client.get("/v1/ratings/latest")).json()["errors"][0]["parameter"] == "target_url"


async def test_the_summary_of_a_report_is_shorter_and_names_the_rating(client, rated):
    rating = await rated()
    whole, short = [await client.get(f"/v1/ratings/{rating}/report.html{query}") for query in ("", "?summary=true")]
    assert short.status_code == 200
    assert rating in short.text
    assert "<table" not in short.text
    assert len(short.text) < len(whole.text)
    assert short.headers["Content-Security-Policy"] == whole.headers["Content-Security-Policy"]


async def test_an_html_report_may_load_nothing_from_the_network(client, rated):
    url = f"/v1/ratings/{await rated()}"
    page = await client.get(f"{url}/report.html")
    assert page.headers["Content-Type"].startswith("text/html")
    assert page.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert "DSBS" in page.text
    text = await client.get(f"{url}/report.md")
    assert text.headers["Content-Type"].startswith("text/markdown")
    assert "DSBS" in text.text


async def test_the_evidence_of_a_rating_is_downloaded_as_csv(client, rated):
    table = await client.get(f"/v1/ratings/{await rated()}/observations.csv")
    assert table.text.splitlines()[0].startswith("seq,unit,asks,ask,value,failure")
    assert "Él es enfermero." in table.text
    assert len(table.text.splitlines()) == 3


async def test_the_evidence_of_a_rating_as_parquet_has_the_rows_of_the_csv_download(client, rated):
    rating_id = await rated()
    file = await client.get(f"/v1/ratings/{rating_id}/observations.parquet")
    assert file.headers["content-type"] == "application/vnd.apache.parquet"
    table = parquet.read_table(io.BytesIO(file.content)).to_pylist()
    lines = list(csv.DictReader(io.StringIO((await client.get(f"/v1/ratings/{rating_id}/observations.csv")).text)))
    assert [row["seq"] for row in table] == [int(line["seq"]) for line in lines]
    assert [row["value"] or "" for row in table] == [line["value"].removeprefix("'") for line in lines]
    assert {row["copied"] for row in table} <= {True, False}


async def test_an_answer_with_half_of_a_surrogate_pair_is_escaped_in_parquet_and_csv(client, request_body, worker):
    job = (await client.post("/v1/jobs", json=request_body())).json()
    claim = worker.claim(job["id"])
    worker.record(claim, [("He is a nurse.", "Él \ud800")])
    address = f"/v1/ratings/{worker.finish(claim)}/observations"
    (row,) = parquet.read_table(io.BytesIO((await client.get(f"{address}.parquet")).content)).to_pylist()
    (line,) = csv.DictReader(io.StringIO((await client.get(f"{address}.csv")).text))
    assert (row["value"], line["value"]) == (r"Él \ud800", r"Él \ud800")


@pytest.mark.parametrize("path", ["", "/report.html", "/report.md", "/observations.csv"])
async def test_an_unknown_rating_is_404_at_every_address(client, path):
    assert (await client.get(f"/v1/ratings/rat_nope{path}")).status_code == 404


async def test_a_caller_without_a_key_reads_public_ratings_only(serve, guarded, worker, rated):
    client = await serve(guarded)
    headers = {"Authorization": f"Bearer {worker.make_key('mine')}"}
    seen = {}
    for seed, visibility in enumerate(("private", "unlisted", "public")):
        seen[visibility] = await rated(seed=seed, visibility=visibility, on=client, headers=headers)
    theirs = {"Authorization": f"Bearer {worker.make_key('theirs')}"}
    for anyone in ({}, theirs):
        listed = (await client.get("/v1/ratings", headers=anyone)).json()["items"]
        assert [one["id"] for one in listed] == [seen["public"]]
        assert (await client.get(f"/v1/ratings/{seen['private']}", headers=anyone)).status_code == 404
        assert (await client.get(f"/v1/ratings/{seen['private']}/observations.csv", headers=anyone)).status_code == 404
        assert (await client.get(f"/v1/ratings/{seen['unlisted']}", headers=anyone)).status_code == 200
    public = await client.get(f"/v1/ratings/{seen['public']}")
    assert public.headers["Cache-Control"].startswith("public")
    assert len((await client.get("/v1/ratings", headers=headers)).json()["items"]) == 3
