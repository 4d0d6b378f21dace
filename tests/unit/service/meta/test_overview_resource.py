"""The overview over HTTP: `/v1/overview`."""

from __future__ import annotations

import pytest
from sqlalchemy import event, text

from service.overview import routes as overview_routes
from tests.unit.service.conftest import rating_document

pytestmark = pytest.mark.anyio


@pytest.fixture
def rated(client, request_body, worker):
    async def rated(name, letter="UCS", declared=True, seed=0, headers=None, on=client):
        job = (await on.post("/v1/jobs", json=request_body(seed=seed), headers=headers)).json()
        target = rating_document()["target"] | {"name": name, "digest": f"sha256:{name}"}
        return worker.rate(job["id"], letter=letter, declared=declared, target=target)

    return rated


async def overview(client, **options):
    answer = await client.get("/v1/overview", **options)
    assert answer.status_code == 200, answer.text
    return answer.json()


def codes(shown):
    return [(one["code"], one["text"].split()[0]) for one in shown["attention"] if one["code"] != "expires-soon"]


async def test_an_agency_without_ratings_has_an_empty_overview(client):
    shown = await overview(client)
    assert (shown["targets"], shown["attention"], shown["workers"]) == ([], [], {"busy": 0})
    assert shown["services"] == {}
    assert shown["queue"] == {"jobs": {}, "oldest_due_s": None}


async def test_the_overview_shows_the_newest_letter_of_each_target(client, rated):
    await rated("first", "BS", seed=1)
    newest = await rated("first", "UCS", seed=2)
    other = await rated("second", "DSBS", seed=3)
    shown = await overview(client)
    assert [(one["id"], one["letter"]) for one in shown["targets"]] == [(other, "DSBS"), (newest, "UCS")]
    assert codes(shown) == []


async def test_an_overview_counts_all_rated_services_and_lists_the_newest(client, rated, monkeypatch):
    monkeypatch.setattr(overview_routes, "MOST_TARGETS", 2)
    for seed, name in enumerate(("first", "second", "third", "third")):
        await rated(name, seed=seed)
    shown = await overview(client)
    assert shown["services"] == {"translator": 3}
    assert [row["target"]["name"] for row in shown["targets"]] == ["third", "second"]


async def test_the_attention_list_links_biased_inconclusive_and_unmeasured_targets_and_failed_jobs(
    client, rated, request_body, worker
):
    biased = await rated("biased", "BS", seed=1)
    await rated("open", "DSBS", declared=False, seed=2)
    await rated("silent", None, seed=3)
    failed = (await client.post("/v1/jobs", json=request_body(seed=4))).json()["id"]
    worker.fail(failed)
    shown = await overview(client)
    found = [("job-failed", "T"), ("not-measured", "silent"), ("inconclusive", "open"), ("biased", "biased")]
    assert codes(shown) == found
    hrefs = {one["code"]: one["href"] for one in shown["attention"]}
    assert (hrefs["biased"], hrefs["job-failed"]) == (f"/v1/ratings/{biased}", f"/v1/jobs/{failed}")


async def test_the_overview_lists_an_expired_rating_as_needing_attention(client, rated, worker):
    await rated("old")
    with worker.database.write() as c:
        c.execute(text("UPDATE ratings SET expires_at = 1"))
    assert codes(await overview(client)) == [("expired", "old")]


async def test_the_overview_counts_queued_and_running_jobs_and_busy_workers(client, request_body, worker):
    first = (await client.post("/v1/jobs", json=request_body(seed=1))).json()["id"]
    await client.post("/v1/jobs", json=request_body(seed=2))
    worker.claim(first)
    shown = await overview(client)
    assert shown["queue"]["jobs"] == {"queued": 1, "running": 1}
    assert shown["queue"]["oldest_due_s"] >= 0
    assert shown["workers"] == {"busy": 1}


async def test_the_overview_warns_of_a_waiting_job_that_no_worker_takes(client, request_body, worker):
    await client.post("/v1/jobs", json=request_body())
    with worker.database.write() as c:
        c.execute(text("UPDATE jobs SET next_run_at = next_run_at - 120000"))
    assert [one["code"] for one in (await overview(client))["attention"]] == ["no-worker"]


async def test_an_overview_shows_nothing_of_other_tenants(serve, guarded, worker, rated):
    client = await serve(guarded)
    mine, theirs = ({"Authorization": f"Bearer {worker.make_key(one)}"} for one in ("mine", "theirs"))
    await rated("mine", "BS", headers=mine, on=client)
    shown = await overview(client, headers=theirs)
    assert (shown["targets"], shown["attention"], shown["queue"]["jobs"]) == ([], [], {})
    assert (await client.get("/v1/overview")).status_code == 401


async def test_an_overview_of_ten_targets_needs_no_more_queries_than_that_of_one(rated, worker):
    def count():
        counted = []
        with worker.database.read() as c:
            event.listen(c, "before_cursor_execute", lambda *_: counted.append(1))
            newest = overview_routes._read_overview(c, "default")[0]
        return len(newest), len(counted)

    await rated("t0")
    one = count()
    for number in range(1, 10):
        await rated(f"t{number}", seed=number)
    assert (one[0], *count()) == (1, 10, one[1])
