"""Refusals of ratings over HTTP. Earlier, neither a host nor its owner could refuse to be rated.

Row 73 of docs/reliability.md: at c37b512 the calls of several tenants to one host added up, and no host could refuse.
"""

from __future__ import annotations

import pytest

from store.jobs import jobs
from store.targets import domains

pytestmark = pytest.mark.anyio

HOST, URL = "127.0.0.1:5000", "http://127.0.0.1:5000"
NO, YES = {"ratings": "refused"}, {"ratings": "allowed"}


def prove(worker, tenant, host=HOST) -> str:
    """Record a successful verification of a host; return the URL path of its domain."""
    with worker.database.write() as c:
        added, _ = domains.add(c, tenant, host)
        domains.record_check(c, added.id, None)
    return f"/v1/domains/{added.id}"


@pytest.fixture
async def agency(serve, guarded):
    return await serve(guarded)


@pytest.fixture
def key(worker):
    return lambda tenant: {"Authorization": f"Bearer {worker.make_key(tenant)}"}


async def test_jobs_of_other_tenants_are_409_if_the_verified_owner_refuses_ratings(agency, key, worker, request_body):
    address, owner, other = prove(worker, "owner"), key("owner"), key("other")
    before = await agency.get(address, headers=owner)
    changed = await agency.patch(address, json=NO, headers=owner)
    assert (changed.status_code, changed.json()) == (200, before.json() | NO)
    assert changed.headers["ETag"] != before.headers["ETag"]
    refused = await agency.post("/v1/jobs", json=request_body(), headers=other)
    said = refused.json()
    assert (refused.status_code, said["code"], said["host"], said["said_by"]) == (409, "ratings_refused", HOST, "owner")
    assert "verified owner" in said["detail"]
    assert (await agency.get("/v1/jobs", headers=other)).json()["items"] == []
    assert (await agency.post("/v1/jobs", json=request_body(), headers=owner)).status_code == 202
    await agency.patch(address, json=YES, headers=owner)
    assert (await agency.post("/v1/jobs", json=request_body(), headers=other)).status_code == 202


async def test_suites_and_probes_are_409_if_the_host_refuses_ratings(agency, key, worker, request_body):
    other = key("other")
    target = request_body()["target"]
    saved = (await agency.post("/v1/targets", json=target, headers=other)).json()
    await agency.patch(prove(worker, "owner"), json=NO, headers=key("owner"))
    suite = {"target": target, "methods": ["round-trip"], "attributes": ["gender"], "languages": ["es"]}
    for path, body in (("/v1/suites", suite), (f"/v1/targets/{saved['id']}/probe", None)):
        refused = await agency.post(path, json=body, headers=other)
        assert (refused.status_code, refused.json()["code"]) == (409, "ratings_refused"), refused.text


async def test_a_job_for_a_host_with_a_recently_read_refusal_file_is_refused_at_once(agency, key, worker, request_body):
    with worker.database.write() as c:
        domains.keep(c, domains.file_of(URL), True)
    refused = await agency.post("/v1/jobs", json=request_body(), headers=key("other"))
    assert (refused.status_code, refused.json()["said_by"]) == (409, "file")
    assert f"{URL}/.well-known/assay.txt" in refused.json()["detail"]


async def test_an_earlier_rating_is_still_reused_after_its_host_refused_ratings(client, worker, request_body):
    rating_id = worker.rate((await client.post("/v1/jobs", json=request_body())).json()["id"])
    with worker.database.write() as c:
        domains.keep(c, domains.file_of(URL), True)
    again = await client.post("/v1/jobs", json=request_body(max_age_s=3600))
    assert (again.status_code, again.json()["rating"]["id"]) == (202, rating_id)


@pytest.mark.parametrize("body", [{}, {"ratings": "no"}, {"ratings": None}, {"host": "b.example"}])
async def test_an_invalid_change_of_a_domain_is_422(client, worker, body):
    assert (await client.patch(prove(worker, "default"), json=body)).status_code == 422


async def test_only_a_verified_owner_can_refuse_ratings(agency, key, worker):
    waiting = (await agency.post("/v1/domains", json={"host": "a.example"}, headers=key("owner"))).json()
    assert waiting["ratings"] == "allowed"
    refused = await agency.patch(f"/v1/domains/{waiting['id']}", json=NO, headers=key("owner"))
    assert (refused.status_code, refused.json()["code"]) == (403, "not-the-owner")
    assert (await agency.patch(prove(worker, "owner"), json=NO, headers=key("other"))).status_code == 404


async def test_a_waiting_jobs_status_has_the_reason_and_the_time_until_which_it_waits(client, worker, request_body):
    # earlier, a job that waits for its host to rest looked like a job that waits for a worker
    job_id = (await client.post("/v1/jobs", json=request_body())).json()["id"]
    assert (await client.get(f"/v1/jobs/{job_id}")).json()["waits"] is None
    with worker.database.write() as c:
        jobs.release(c, jobs.claim(c, job_id, "a worker"), delay_s=600, charge_attempt=False, reason="The host rests.")
    shown = (await client.get("/v1/jobs")).json()["items"][0]
    assert (shown["status"], shown["waits"]["why"]) == ("queued", "The host rests.")
    assert shown["waits"]["until"] > shown["created_at"]
