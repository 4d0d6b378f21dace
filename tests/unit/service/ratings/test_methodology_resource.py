"""The methodology over HTTP: frozen documents, letters by version, and previews of the next version."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from sqlalchemy import event

from assay.methods import rating_of
from assay.rating.methodology import Methodologies, shipped
from service.app import create_app
from service.ratings.service import read_annotations
from store.ratings import ratings, rerated

pytestmark = pytest.mark.anyio

NEXT = replace(shipped().current, version="2.0.0", digest="sha256:2", status="next", summary="The next one.")
WITH_NEXT = Methodologies((*shipped().versions, NEXT))
NO_PREVIEW = {"version": None, "letter": None}


@pytest.fixture
def rated(client, worker, request_body):
    """Make a rating of the tenant and return its id."""

    async def rated(**changes) -> str:
        job = (await client.post("/v1/jobs", json=request_body(**changes))).json()
        return worker.rate(job["id"])

    return rated


def keep(worker, rating_id, letter="UCS", version="2.0.0"):
    document = {
        "letter": letter,
        "declared": True,
        "probabilities": {"UCS": 1.0},
        "methodology": {"version": version, "digest": "d"},
    }
    with worker.database.write() as c:
        rerated.keep(c, rating_id, rating_of(document))


async def test_every_methodology_version_is_listed_newest_first_with_its_changes(serve, settings):
    listed = (await (await serve(settings, methodologies=WITH_NEXT)).get("/v1/methodology")).json()
    assert [one["version"] for one in listed["items"]] == ["2.0.0", "1.3.0"]
    assert (listed["current"], listed["next"]) == ("1.3.0", "2.0.0")
    assert [one["status"] for one in listed["items"]] == ["next", "current"]
    assert all(one["changes"] and one["methods"] for one in listed["items"])


@pytest.mark.parametrize("version", ["1.3.0", "current"])
async def test_the_digest_of_a_methodology_is_the_sha256_of_its_text(client, version):
    shown = (await client.get(f"/v1/methodology/{version}")).json()
    text = await client.get(f"/v1/methodology/{version}.md")
    assert text.headers["content-type"] == "text/markdown; charset=utf-8"
    assert "sha256:" + hashlib.sha256(text.content).hexdigest() == shown["digest"]
    assert shown["text"] == text.text
    info = (await client.get("/v1/info")).json()["methodology"]
    assert info["digest"] == shown["digest"]


@pytest.mark.parametrize("address", ["/v1/methodology", "/v1/methodology/current", "/v1/methodology/1.3.0.md"])
async def test_an_unchanged_methodology_is_304(client, address):
    etag = (await client.get(address)).headers["ETag"]
    again = await client.get(address, headers={"If-None-Match": etag})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("address", ["1.2.0", "9.9.9", "9.9.9.md", "current.txt", "%00"])
async def test_an_unknown_methodology_version_is_404_with_the_known_versions(client, address):
    missing = await client.get(f"/v1/methodology/{address}")
    assert (missing.status_code, missing.json()["code"]) == (404, "not-found")
    assert "1.3.0" in missing.json()["detail"]


async def test_a_methodology_is_readable_without_a_key(serve, guarded):
    assert (await (await serve(guarded)).get("/v1/methodology/current")).status_code == 200


# ---------------------------------------------------------------------------- re-rating
async def test_a_re_rating_is_a_job_that_names_the_rating_and_the_methodology_version(client, rated):
    rating_id = await rated()
    asked = await client.post(f"/v1/ratings/{rating_id}/rerate", json={"version": "1.3.0"})
    assert asked.status_code == 202, asked.text
    job = (await client.get(asked.headers["Location"])).json()
    assert (job["kind"], job["status"]) == ("rerate", "queued")
    assert job["experiment"] == {"rating": rating_id, "version": "1.3.0"}
    again = await client.post(f"/v1/ratings/{rating_id}/rerate", json={"version": "1.3.0"})
    assert again.json()["id"] == job["id"], "the one that is queued is joined"


async def test_re_rating_by_the_version_named_current_uses_the_current_methodology_version(client, rated):
    job = (await client.post(f"/v1/ratings/{await rated()}/rerate", json={"version": "current"})).json()
    assert job["experiment"]["version"] == shipped().current.version


async def test_a_repeated_re_rating_with_one_idempotency_key_creates_one_job(client, rated):
    address, key = f"/v1/ratings/{await rated()}/rerate", {"Idempotency-Key": "k"}
    first, second = [await client.post(address, json={"version": "1.3.0"}, headers=key) for _ in range(2)]
    assert (second.content, second.headers["Idempotency-Replayed"]) == (first.content, "true")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [({"version": "9.9.9"}, "/version"), ({}, "/version"), ({"version": "1.3.0", "x": 1}, "/x"), ([], "")],
)
async def test_an_invalid_re_rating_is_refused_naming_the_invalid_field(client, rated, body, pointer):
    refused = await client.post(f"/v1/ratings/{await rated()}/rerate", json=body)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == pointer


async def test_a_re_rating_by_a_methodology_version_without_the_method_is_refused(
    serve, settings, worker, request_body
):
    limited = replace(NEXT, methods=("round-trip",))
    client = await serve(settings, methodologies=Methodologies((*shipped().versions, limited)))
    job = (await client.post("/v1/jobs", json=request_body())).json()
    rating_id = worker.rate(job["id"], method="association")
    refused = await client.post(f"/v1/ratings/{rating_id}/rerate", json={"version": "2.0.0"})
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (422, "method-unknown-then")


async def test_a_rating_by_a_removed_methodology_version_is_readable_and_not_re_rated(client, worker, request_body):
    job = (await client.post("/v1/jobs", json=request_body())).json()
    removed = {"version": "1.2.0", "digest": "sha256:12"}
    rating_id = worker.rate(job["id"], methodology=removed)
    address = f"/v1/ratings/{rating_id}"
    for form in ("", "/report.html", "/report.md", "/badge.svg", "/attestation.json", "/methodologies"):
        assert (await client.get(address + form)).status_code == 200, form
    assert (await client.get(address)).json()["methodology"] == removed
    refused = await client.post(f"{address}/rerate", json={"version": "current"})
    assert refused.status_code == 422
    assert "made under methodology 1.2.0" in refused.text
    export = await client.get(f"{address}/export.jsonl")
    assert (export.status_code, export.json()["code"]) == (409, "evidence-out-of-order")
    assert "made under methodology 1.2.0" in export.json()["detail"]


async def test_only_its_owner_can_re_rate_a_rating(serve, guarded, worker, request_body):
    client = await serve(guarded)
    mine, other = (worker.make_key(tenant, "jobs:write", "ratings:read") for tenant in ("acme", "other"))
    keys = {name: {"Authorization": f"Bearer {key}"} for name, key in (("mine", mine), ("other", other))}
    job = await client.post("/v1/jobs", json=request_body(visibility="public"), headers=keys["mine"])
    rating_id = worker.rate(job.json()["id"])
    address = f"/v1/ratings/{rating_id}/rerate"
    answers = {
        who: (await client.post(address, json={"version": "1.3.0"}, headers=key)).status_code
        for who, key in {**keys, "nobody": {}}.items()
    }
    assert answers == {"mine": 202, "other": 404, "nobody": 401}
    assert (await client.get(f"/v1/ratings/{rating_id}/methodologies")).status_code == 200


async def test_the_letters_of_a_rating_under_each_methodology_version_are_listed_original_first(client, rated, worker):
    rating_id = await rated()
    keep(worker, rating_id)
    listed = await client.get(f"/v1/ratings/{rating_id}/methodologies")
    shown = [(one["version"], one["letter"], one["given"]) for one in listed.json()["items"]]
    assert shown == [("1.3.0", "DSBS", True), ("2.0.0", "UCS", False)]
    etag = {"If-None-Match": listed.headers["ETag"]}
    assert (await client.get(f"/v1/ratings/{rating_id}/methodologies", headers=etag)).status_code == 304
    assert (await client.get("/v1/ratings/rat_none/methodologies")).status_code == 404


# ---------------------------------------------------------------------------- the preview
async def test_a_rating_shows_no_letter_under_a_next_methodology_version_if_none_is_announced(client, rated, worker):
    rating_id = await rated()
    keep(worker, rating_id)
    shown = (await client.get(f"/v1/ratings/{rating_id}")).json()
    assert (shown["next_methodology"], shown["reply"]) == (NO_PREVIEW, None)


async def test_a_re_rated_rating_shows_its_letter_under_the_next_methodology_version(serve, settings, rated, worker):
    first, second = await rated(seed=1), await rated(seed=2)
    keep(worker, first)
    keep(worker, second, letter="BS", version="1.1.0")
    client = await serve(settings, methodologies=WITH_NEXT)
    wanted = {first: {"version": "2.0.0", "letter": "UCS"}, second: {"version": "2.0.0", "letter": None}}
    for rating_id, preview in wanted.items():
        shown = (await client.get(f"/v1/ratings/{rating_id}")).json()
        assert (shown["next_methodology"], shown["letter"]) == (preview, "DSBS")
    listed = (await client.get("/v1/ratings?fields=full")).json()["items"]
    assert {one["id"]: one["next_methodology"] for one in listed} == wanted
    assert (await client.get("/v1/methodology")).json()["next"] == "2.0.0"


async def test_a_letter_under_the_next_methodology_version_changes_the_etag_of_a_rating(serve, settings, rated, worker):
    rating_id = await rated()
    client = await serve(settings, methodologies=WITH_NEXT)
    before = (await client.get(f"/v1/ratings/{rating_id}")).headers["ETag"]
    keep(worker, rating_id)
    after = await client.get(f"/v1/ratings/{rating_id}", headers={"If-None-Match": before})
    assert (after.status_code, after.headers["ETag"] == before) == (200, False)


async def test_by_default_the_agency_uses_the_methodology_versions_included_in_the_package(settings, rings):
    app = create_app(settings, validator=None, doorbell=rings)
    assert app.state.service.methodologies is shipped()


async def test_annotations_of_a_list_of_ratings_are_read_in_four_sql_statements_whatever_its_length(rated, worker):
    ids = [await rated(seed=seed) for seed in range(4)]
    with worker.database.read() as c:
        page, counts = ratings.page(c, "default", limit=10), []
        event.listen(c, "before_cursor_execute", lambda *_: counts.append(1))
        assert set(read_annotations(c, page, NEXT)) == set(ids)
        assert len(counts) == 4
        read_annotations(c, [], NEXT)
        assert len(counts) == 4
