"""Requests for ratings and their progress: `/v1/jobs`."""

from __future__ import annotations

import asyncio
import json

import pytest
from sqlalchemy import update

from store.jobs.tables import idempotency

pytestmark = pytest.mark.anyio


async def post(client, body, **headers):
    return await client.post("/v1/jobs", json=body, headers=headers)


async def test_equal_requests_that_arrive_at_the_same_time_create_one_job(serve, settings, postgres_url, request_body):
    on_postgres = settings.model_copy(update={"database_url": postgres_url})
    first, second = await serve(on_postgres), await serve(on_postgres)
    answers = await asyncio.gather(*(post(one, request_body()) for one in (first, second) for _ in range(5)))
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["id"] for answer in answers}) == 1


async def test_a_new_job_is_202_with_location_and_retry_after(client, request_body):
    answer = await post(client, request_body())
    assert answer.status_code == 202, answer.text
    job = answer.json()
    assert answer.headers["Location"] == f"/v1/jobs/{job['id']}"
    assert int(answer.headers["Retry-After"]) >= 1
    assert (job["status"], job["queue_position"], job["asked"], job["rating"], job["error"]) == (
        "queued",
        1,
        0,
        None,
        None,
    )
    assert job["expected"] == 120  # 3 blocks of 20 texts, each translated there and back
    assert job["experiment"]["confidence"] == 0.95


async def test_a_worker_is_notified_only_after_the_job_is_committed(client, request_body, rings, worker):
    job = (await post(client, request_body())).json()
    for _ in range(50):
        if rings.heard:
            break
        await asyncio.sleep(0.01)
    assert rings.heard == [job["id"]]
    assert worker.claim(job["id"]).job.id == job["id"]


async def test_a_failed_notification_is_counted_and_never_fails_a_request(client, request_body, rings):
    rings.broken = True
    assert (await post(client, request_body())).status_code == 202
    for _ in range(50):
        text = (await client.get("/metrics")).text
        if "assay_doorbell_failures_total 1.0" in text:
            break
        await asyncio.sleep(0.01)
    assert "assay_doorbell_failures_total 1.0" in text


async def test_a_job_can_be_followed_from_queued_to_rated(client, request_body, worker):
    job_id = (await post(client, request_body())).json()["id"]
    claim = worker.claim(job_id)
    worker.record(claim, [("He is a nurse.", "Él es enfermero.")] * 3)
    running = (await client.get(f"/v1/jobs/{job_id}")).json()
    assert (running["status"], running["stage"], running["asked"], running["queue_position"]) == (
        "running",
        "asking",
        3,
        None,
    )
    assert running["eta_seconds"] is not None
    assert running["heartbeat_at"].endswith("Z")
    rating_id = worker.finish(claim)
    done = await client.get(f"/v1/jobs/{job_id}")
    assert done.json()["rating"] == {
        "id": rating_id,
        "letter": "DSBS",
        "declared": True,
        "href": f"/v1/ratings/{rating_id}",
    }
    assert done.json()["eta_seconds"] == 0
    assert "Retry-After" not in done.headers
    assert "cancel" not in done.json()["links"]


async def test_a_failed_jobs_error_is_a_problem_with_an_absolute_type(client, request_body, worker):
    job_id = (await post(client, request_body())).json()["id"]
    worker.fail(job_id)
    error = (await client.get(f"/v1/jobs/{job_id}")).json()["error"]
    assert error["type"] == "http://assay.test/problems/target_refused"
    assert (await client.get(error["type"])).status_code == 200


async def test_polling_an_unchanged_job_answers_304(client, request_body, worker):
    job_id = (await post(client, request_body())).json()["id"]
    first = await client.get(f"/v1/jobs/{job_id}")
    again = await client.get(f"/v1/jobs/{job_id}", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["Retry-After"]
    worker.claim(job_id)
    changed = await client.get(f"/v1/jobs/{job_id}", headers={"If-None-Match": first.headers["ETag"]})
    assert changed.status_code == 200


async def test_prefer_wait_answers_when_the_job_has_ended(client, request_body, worker, first_job):
    async def work():
        job_id = await first_job()
        await asyncio.to_thread(worker.rate, job_id)

    working = asyncio.create_task(work())
    answer = await post(client, request_body(), Prefer="respond-async, wait=10")
    await working
    assert (answer.status_code, answer.json()["status"]) == (202, "succeeded")
    assert answer.headers["Preference-Applied"] == "wait=10"


async def test_a_repeated_text_in_the_settings_of_a_target_does_not_make_an_unfinished_job_look_finished(client):
    target = {"name": "x", "kind": "translator", "protocol": "own-interface", "base_url": "http://127.0.0.1:5000"}
    body = target | {"settings": {"body": {"status": "succeeded"}}}
    answer = await client.post("/v1/targets/probe", json=body, headers={"Prefer": "wait=1"})
    assert (answer.status_code, answer.json()["status"]) == (202, "queued")


async def test_prefer_wait_answers_202_when_the_time_is_over(client, request_body):
    answer = await post(client, request_body(), Prefer="wait=1")
    assert (answer.status_code, answer.json()["status"]) == (202, "queued")


@pytest.mark.parametrize(("sent", "applied"), [("wait=999", "wait=30"), ("wait=soon", None), ("handling=strict", None)])
async def test_a_long_prefer_wait_is_capped_and_a_malformed_preference_is_ignored(
    client, request_body, worker, sent, applied
):
    job_id = (await post(client, request_body())).json()["id"]
    worker.rate(job_id)
    answer = await client.get(f"/v1/jobs/{job_id}", headers={"Prefer": sent})
    assert answer.headers.get("Preference-Applied") == applied


async def test_a_queued_job_is_cancelled_at_once_and_cancelling_it_again_is_409(client, request_body):
    job_id = (await post(client, request_body())).json()["id"]
    cancelled = await client.post(f"/v1/jobs/{job_id}/cancel")
    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
    again = await client.post(f"/v1/jobs/{job_id}/cancel")
    assert (again.status_code, again.json()["code"]) == (409, "already-finished")


async def test_cancelling_a_running_job_sets_cancel_requested(client, request_body, worker):
    job_id = (await post(client, request_body())).json()["id"]
    worker.claim(job_id)
    answer = (await client.post(f"/v1/jobs/{job_id}/cancel")).json()
    assert (answer["status"], answer["cancel_requested"]) == ("running", True)


# ---------------------------------------------------------------------------- the same request twice
async def test_an_identical_request_joins_the_running_job(client, request_body, worker, rings):
    first = (await post(client, request_body())).json()
    worker.claim(first["id"])
    second = await post(client, request_body())
    assert (second.status_code, second.json()["id"]) == (202, first["id"])
    assert second.headers["Location"] == f"/v1/jobs/{first['id']}"


@pytest.mark.parametrize("change", [{"seed": 8}, {"visibility": "public"}, {"callback_url": "https://hooks.example/1"}])
async def test_a_request_with_another_seed_visibility_or_callback_creates_another_job(client, request_body, change):
    first = (await post(client, request_body())).json()
    assert (await post(client, request_body(**change))).json()["id"] != first["id"]


async def test_a_request_with_a_fresh_rating_gets_a_succeeded_job_at_once(client, request_body, worker, rings):
    first = (await post(client, request_body())).json()
    rating_id = worker.rate(first["id"])
    answer = await post(client, request_body(max_age_s=3600))
    job = answer.json()
    assert (answer.status_code, job["status"], job["rating"]["id"]) == (202, "succeeded", rating_id)
    assert job["id"] != first["id"]
    assert answer.headers["Retry-After"] == "0"
    assert job["id"] not in rings.heard


async def test_a_request_without_an_age_limit_reuses_any_rating_that_has_not_expired(client, request_body, worker):
    worker.rate((await post(client, request_body())).json()["id"])
    assert (await post(client, request_body(max_age_s=None))).json()["status"] == "succeeded"


async def test_a_maximum_age_of_0_starts_a_new_measurement(client, request_body, worker):
    worker.rate((await post(client, request_body())).json()["id"])
    assert (await post(client, request_body(max_age_s=0))).json()["status"] == "queued"


async def test_a_private_rating_is_not_reused_for_a_request_for_a_public_rating(client, request_body, worker):
    worker.rate((await post(client, request_body())).json()["id"])
    assert (await post(client, request_body(max_age_s=3600, visibility="public"))).json()["status"] == "queued"


async def test_a_private_rating_answers_a_request_although_a_public_one_is_newer(client, request_body, worker):
    ratings = {}
    for visibility in ("private", "public"):
        job = (await post(client, request_body(visibility=visibility))).json()
        ratings[visibility] = await asyncio.to_thread(worker.rate, job["id"])
    for visibility in ("private", "public"):
        answer = (await post(client, request_body(max_age_s=3600, visibility=visibility))).json()
        assert (answer["status"], (answer["rating"] or {}).get("id")) == ("succeeded", ratings[visibility])


async def test_an_idempotency_key_replays_status_body_and_location(client, request_body, worker):
    first = await post(client, request_body(), **{"Idempotency-Key": "abc"})
    worker.rate(first.json()["id"])
    again = await post(client, request_body(), **{"Idempotency-Key": "abc"})
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again.headers["Location"] == first.headers["Location"]
    assert again.headers["Idempotency-Replayed"] == "true"


async def test_an_idempotency_key_with_another_payload_is_refused(client, request_body):
    await post(client, request_body(), **{"Idempotency-Key": "abc"})
    other = await post(client, request_body(seed=8), **{"Idempotency-Key": "abc"})
    assert (other.status_code, other.json()["code"]) == (422, "idempotency-mismatch")


async def test_a_repeated_idempotency_key_is_409_while_the_first_request_still_waits(
    client, request_body, worker, first_job
):
    waiting = asyncio.create_task(post(client, request_body(), Prefer="wait=10", **{"Idempotency-Key": "abc"}))
    job_id = await first_job()
    meanwhile = await post(client, request_body(), **{"Idempotency-Key": "abc"})
    assert (meanwhile.status_code, meanwhile.json()["code"]) == (409, "idempotency-in-flight")
    assert meanwhile.headers["Retry-After"]
    await asyncio.to_thread(worker.rate, job_id)
    first = await waiting
    replayed = await post(client, request_body(), **{"Idempotency-Key": "abc"})
    assert (replayed.content, replayed.json()["status"]) == (first.content, "succeeded")


async def test_a_repeated_request_gets_its_first_answer_although_it_would_now_be_refused(serve, settings, request_body):
    client, key = await serve(), {"Idempotency-Key": "abc"}
    target = (await client.post("/v1/targets", json=request_body()["target"])).json()
    body = request_body(target={"id": target["id"]})
    first = await post(client, body, **key)
    probe = await client.post(f"/v1/targets/{target['id']}/probe", headers=key)
    assert (first.status_code, probe.status_code) == (202, 202)
    await client.delete(f"/v1/targets/{target['id']}")
    for now in (client, await serve(settings.model_copy(update={"longest_deadline_s": 60}))):
        again = await post(now, body, **key)
        assert (again.status_code, again.content) == (first.status_code, first.content), again.text
        assert again.headers["Location"] == first.headers["Location"]
        assert again.headers["Idempotency-Replayed"] == "true"
        assert again.headers["RateLimit"]
        probe_again = await now.post(f"/v1/targets/{target['id']}/probe", headers=key)
        assert (probe_again.status_code, probe_again.content) == (202, probe.content)
        other = await post(now, request_body(seed=8, deadline_s=61), **key)
        assert (other.status_code, other.json()["code"]) == (422, "idempotency-mismatch")


async def test_a_repeated_request_gets_its_first_job_if_the_process_was_lost_while_it_waited(
    client, request_body, worker, first_job
):
    key = {"Idempotency-Key": "abc"}
    waiting = asyncio.create_task(post(client, request_body(), Prefer="wait=10", **key))
    job_id = await first_job()
    waiting.cancel()
    await asyncio.wait([waiting])
    worker.rate(job_id)
    assert (await post(client, request_body(), **key)).status_code == 409
    with worker.database.write() as c:
        c.execute(update(idempotency).values(began_at=idempotency.c.began_at - 121_000))
    for prefer in ("wait=1", "respond-async"):
        again = await post(client, request_body(), Prefer=prefer, **key)
        assert (again.status_code, again.json()["id"]) == (202, job_id), again.text
        assert again.headers["Location"] == f"/v1/jobs/{job_id}"


async def test_a_refused_request_does_not_consume_its_idempotency_key(client, request_body):
    refused = await post(client, request_body(seed=-1), **{"Idempotency-Key": "abc"})
    assert refused.status_code == 422
    assert (await post(client, request_body(), **{"Idempotency-Key": "abc"})).status_code == 202


@pytest.mark.parametrize("key", ["", " ", "ä", "x" * 256])
async def test_an_idempotency_key_is_1_to_255_visible_characters(client, request_body, key):
    answer = await client.post("/v1/jobs", json=request_body(), headers=[("Idempotency-Key", key.encode())])
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["header"] == "idempotency-key"


# ---------------------------------------------------------------------------- lists and observations
async def test_pages_neither_skip_nor_repeat_jobs_while_new_jobs_arrive(client, request_body):
    made = [(await post(client, request_body(seed=seed))).json()["id"] for seed in range(5)]
    first = await client.get("/v1/jobs", params={"limit": 2})
    await post(client, request_body(seed=99))
    seen, link = [job["id"] for job in first.json()["items"]], first.links.get("next")
    while link:
        page = await client.get(link["url"])
        seen += [job["id"] for job in page.json()["items"]]
        link = page.links.get("next")
    assert seen == made[::-1]


async def test_jobs_are_listed_by_status_and_target(client, request_body, worker):
    rated = (await post(client, request_body())).json()["id"]
    worker.rate(rated)
    await post(client, request_body(seed=8))
    found = (await client.get("/v1/jobs", params={"status": "succeeded", "target_url": "http://127.0.0.1:5000"})).json()
    assert [(job["id"], job["rating"]["letter"]) for job in found["items"]] == [(rated, "DSBS")]
    assert (await client.get("/v1/jobs", params={"target_url": "http://elsewhere"})).json()["items"] == []
    for rating, expected in ((found["items"][0]["rating"]["id"], [rated]), ("rat_unknown", [])):
        made = (await client.get("/v1/jobs", params={"made": rating})).json()["items"]
        assert [job["id"] for job in made] == expected


async def test_observations_are_paged_in_the_order_they_were_recorded(client, request_body, worker):
    job_id = (await post(client, request_body())).json()["id"]
    worker.record(worker.claim(job_id), [(f"text {n}", f"texto {n}") for n in range(5)])
    seen, url = [], f"/v1/jobs/{job_id}/observations?limit=2"
    while url:
        page = await client.get(url)
        seen += page.json()["items"]
        url = page.links.get("next", {}).get("url")
    assert [one["value"] for one in seen] == [f"texto {n}" for n in range(5)]
    assert seen[0]["ask"] == {"asks": "translate", "text": "text 0", "source": "en", "target": "es"}


async def test_a_cursor_of_one_list_is_refused_by_another(client, request_body):
    for seed in range(2):
        await post(client, request_body(seed=seed))
    cursor = (await client.get("/v1/jobs", params={"limit": 1})).json()["next_cursor"]
    for url in ("/v1/ratings", "/v1/targets", "/v1/jobs?status=queued"):
        answer = await client.get(url, params={"cursor": cursor} | ({"status": "queued"} if "status" in url else {}))
        assert (answer.status_code, answer.json()["code"]) == (422, "bad-cursor")


@pytest.mark.parametrize(
    "cursor", ["x", "!!", "W10", "bnVsbA", "e30", "WzEsIngiLCJ5Il0", "W0luZmluaXR5LCJ4IiwieSJd", "WzFlOTk5LCJ4IiwieSJd"]
)
async def test_a_cursor_that_the_service_did_not_make_is_refused(client, cursor):
    answer = await client.get("/v1/jobs", params={"cursor": cursor})
    assert (answer.status_code, answer.json()["code"]) == (422, "bad-cursor")


@pytest.mark.parametrize("limit", ["0", "201", "1000000000", "-1", "many", "1e2"])
async def test_a_page_size_outside_1_to_200_is_refused(client, limit):
    answer = await client.get("/v1/jobs", params={"limit": limit})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["parameter"] == "limit"


async def test_a_misspelt_filter_is_refused_rather_than_ignored(client):
    answer = await client.get("/v1/jobs", params={"statuss": "queued"})
    assert answer.json()["errors"][0]["parameter"] == "statuss"


async def test_observations_are_escaped_for_spreadsheets_in_csv_but_not_in_json_lines(client, request_body, worker):
    job_id = (await post(client, request_body())).json()["id"]
    worker.record(worker.claim(job_id), [("a", "=HYPERLINK(1)"), ("b", None), ("c", "half \ud83d")])
    table = await client.get(f"/v1/jobs/{job_id}/observations.csv")
    assert table.headers["Content-Type"].startswith("text/csv")
    assert "'=HYPERLINK(1)" in table.text
    assert table.text.splitlines()[2].split(",")[-5] == "timeout"
    lines = [json.loads(line) for line in (await client.get(f"/v1/jobs/{job_id}/observations.jsonl")).text.splitlines()]
    assert [line["value"] for line in lines] == ["=HYPERLINK(1)", None, "half \ud83d"]
    assert (await client.get(f"/v1/jobs/{job_id}/observations")).json()["items"][2]["value"] == "half \ud83d"


@pytest.mark.parametrize("path", ["", "/events", "/observations", "/observations.csv", "/observations.jsonl"])
async def test_an_unknown_job_is_404_at_every_address(client, path):
    answer = await client.get(f"/v1/jobs/job_nope%00{path}")
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")


async def test_only_its_owner_can_read_a_job(serve, guarded, worker, request_body):
    client = await serve(guarded)
    mine = {"Authorization": f"Bearer {worker.make_key('mine')}"}
    theirs = {"Authorization": f"Bearer {worker.make_key('theirs')}"}
    job_id = (await client.post("/v1/jobs", json=request_body(), headers=mine)).json()["id"]
    assert (await client.get(f"/v1/jobs/{job_id}", headers=mine)).status_code == 200
    for method, path in (("GET", ""), ("GET", "/events"), ("GET", "/observations.csv"), ("POST", "/cancel")):
        answer = await client.request(method, f"/v1/jobs/{job_id}{path}", headers=theirs)
        assert answer.status_code == 404
    assert (await client.get("/v1/jobs", headers=theirs)).json()["items"] == []
    twin = await client.post("/v1/jobs", json=request_body(), headers=theirs)
    assert twin.json()["id"] != job_id
