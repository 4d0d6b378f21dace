"""Repeated ratings and suites: `/v1/schedules`; and the cool-down of targets."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from sqlalchemy import update

from assay.rating.sentinels import SentinelRun
from store.jobs import jobs as stored_jobs
from store.suites import schedules, sentinels
from store.suites.schedules import Bounds
from store.suites.tables import sentinel_runs

pytestmark = pytest.mark.anyio

TRANSLATOR = {"name": "T", "kind": "translator", "protocol": "libretranslate", "base_url": "http://127.0.0.1:5000"}
EXPERIMENT = {"method": "round-trip", "attribute": "gender"}


def schedule(**changes: Any) -> dict[str, Any]:
    """Return a request for a rating every Monday."""
    request = {"target": TRANSLATOR, "experiment": EXPERIMENT}
    return {"name": "weekly", "request": request, "cron": "0 3 * * 1"} | changes


async def post(client, **changes):
    return await client.post("/v1/schedules", json=schedule(**changes))


async def made(client, **changes) -> str:
    answer = await post(client, **changes)
    assert answer.status_code == 201, answer.text
    return answer.headers["Location"]


async def saved_target(client) -> str:
    return (await client.post("/v1/targets", json=TRANSLATOR | {"secret": "sesame-street"})).json()["id"]


async def test_a_new_schedule_shows_its_next_runs(client):
    answer = await post(client)
    assert answer.status_code == 201, answer.text
    shown = answer.json()
    assert (shown["cron"], shown["interval_s"], shown["paused"]) == ("0 3 * * 1", None, False)
    assert shown["next_at"].endswith("T03:00:00.000Z")
    days = [datetime.fromisoformat(time) for time in shown["next_runs"]]
    assert shown["next_runs"][0] == shown["next_at"]
    assert [later - earlier for earlier, later in pairwise(days)] == [timedelta(days=7)] * 4
    assert (shown["last_at"], shown["last_made"], shown["last_failure"]) == (None, None, None)
    assert shown["request"]["experiment"]["attribute"] == "gender"
    again = await client.get(answer.headers["Location"])
    assert again.json() == shown
    unchanged = await client.get(answer.headers["Location"], headers={"If-None-Match": again.headers["ETag"]})
    assert unchanged.status_code == 304


async def test_running_a_schedule_creates_a_job_with_its_own_seed(client, worker):
    address = await made(client)
    first, second = [await client.post(address + "/run") for _ in range(2)]
    assert first.status_code == 202, first.text
    assert first.json()["last_made"]["href"] == first.headers["Location"]
    assert first.json()["next_at"] == second.json()["next_at"]
    jobs = [(await client.get(answer.headers["Location"])).json() for answer in (first, second)]
    assert jobs[0]["id"] != jobs[1]["id"]
    assert jobs[0]["commitment"] != jobs[1]["commitment"]
    assert jobs[0]["experiment"] == jobs[1]["experiment"]
    worker.rate(jobs[0]["id"])


async def test_a_request_with_the_seed_of_a_scheduled_run_joins_the_job_of_that_run(client, request_body, worker):
    address = await made(client)
    run = await client.post(address + "/run")
    job = (await client.get(run.headers["Location"])).json()
    assert job["seed"] is None
    with worker.database.read() as c:
        seed = stored_jobs.find(c, job["id"], "default").seed
    body = {"target": TRANSLATOR, "experiment": EXPERIMENT, "seed": seed}
    assert (await client.post("/v1/jobs", json=body)).json()["id"] == job["id"]


async def test_running_a_schedule_of_a_suite_creates_a_suite(client):
    address = await made(client, request={"target": TRANSLATOR, "methods": ["round-trip"], "attributes": ["gender"]})
    run = await client.post(address + "/run")
    assert run.json()["last_made"]["kind"] == "suite"
    profile = (await client.get(run.headers["Location"])).json()
    assert (profile["progress"]["queued"], profile["rows"][0]["method"]) == (1, "round-trip")


async def test_a_run_uses_the_current_description_of_its_saved_target(client, worker):
    target_id = await saved_target(client)
    address = await made(client, request={"target": {"id": target_id}, "experiment": EXPERIMENT})
    moved = TRANSLATOR | {"base_url": "http://127.0.0.1:5999", "secret": "sesame-street"}
    assert (await client.put(f"/v1/targets/{target_id}", json=moved)).status_code == 200
    run = await client.post(address + "/run")
    job = (await client.get(run.headers["Location"])).json()
    assert (job["target"]["base_url"], job["target_id"]) == ("http://127.0.0.1:5999", target_id)


async def test_a_run_whose_target_was_removed_is_409(client, worker):
    target_id = await saved_target(client)
    address = await made(
        client, request={"target": {"id": target_id}, "experiment": EXPERIMENT}, interval_s=3600, cron=None
    )
    await client.delete(f"/v1/targets/{target_id}")
    refused = await client.post(address + "/run")
    assert (refused.status_code, refused.json()["code"]) == (409, "schedule-unfit")
    assert target_id in refused.json()["detail"]


async def test_a_repeated_run_with_one_idempotency_key_runs_once(client):
    address = await made(client)
    headers = {"Idempotency-Key": "one"}
    first = await client.post(address + "/run", headers=headers)
    again = await client.post(address + "/run", headers=headers)
    assert again.headers["Location"] == first.headers["Location"]
    assert len((await client.get("/v1/jobs")).json()["items"]) == 1


async def test_a_schedule_can_be_paused_changed_and_resumed(client):
    address = await made(client)
    paused = (await client.patch(address, json={"paused": True})).json()
    assert (paused["paused"], paused["next_at"], paused["name"]) == (True, None, "weekly")
    changed = (await client.patch(address, json={"interval_s": 7200, "name": "often"})).json()
    assert (changed["cron"], changed["interval_s"], changed["name"], changed["paused"]) == (None, 7200, "often", True)
    resumed = (await client.patch(address, json={"paused": False})).json()
    assert resumed["next_at"] is not None
    other = {"target": TRANSLATOR, "experiment": EXPERIMENT | {"attribute": "race"}}
    assert (await client.patch(address, json={"request": other})).json()["request"]["experiment"]["attribute"] == "race"


async def test_removing_a_schedule_keeps_its_jobs(client):
    address = await made(client)
    job = (await client.post(address + "/run")).headers["Location"]
    assert (await client.delete(address)).status_code == 204
    for gone in (client.get(address), client.delete(address), client.post(address + "/run")):
        assert (await gone).status_code == 404
    assert (await client.patch(address, json={"paused": True})).status_code == 404
    assert (await client.get(job)).status_code == 200


async def test_schedules_are_listed_newest_first_in_pages(client):
    addresses = [await made(client, name=name) for name in ("one", "two", "three")]
    page = await client.get("/v1/schedules", params={"limit": 2})
    assert [one["links"]["self"] for one in page.json()["items"]] == addresses[:0:-1]
    rest = await client.get(page.headers["Link"].split(";")[0].strip("<>"))
    assert [one["links"]["self"] for one in rest.json()["items"]] == addresses[:1]


async def test_a_run_that_exceeds_the_job_limit_creates_no_job(serve, settings):
    one = await serve(settings.model_copy(update={"max_active_jobs": 1}))
    address = await made(one)
    assert (await one.post(address + "/run")).status_code == 202
    refused = await one.post(address + "/run")
    assert (refused.status_code, refused.json()["code"]) == (429, "too-many-jobs")


async def test_another_tenants_schedule_is_404(serve, guarded, worker):
    client = await serve(guarded)
    mine = {"Authorization": f"Bearer {worker.make_key('acme')}"}
    other = {"Authorization": f"Bearer {worker.make_key('rival')}"}
    address = (await client.post("/v1/schedules", json=schedule(), headers=mine)).headers["Location"]
    assert (await client.get(address, headers=mine)).status_code == 200
    for hidden in (
        client.get(address, headers=other),
        client.patch(address, json={"paused": True}, headers=other),
        client.delete(address, headers=other),
        client.post(address + "/run", headers=other),
    ):
        assert (await hidden).status_code == 404
    assert (await client.get("/v1/schedules", headers=other)).json()["items"] == []


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"cron": "* * * * *"}, "/cron"),
        ({"cron": "0 3 * *"}, "/cron"),
        ({"cron": "0 3 * * * *"}, "/cron"),
        ({"cron": "0 25 * * 1"}, "/cron"),
        ({"cron": "0 0 30 2 *"}, "/cron"),
        ({"cron": None, "interval_s": 60}, "/interval_s"),
        ({"interval_s": 7200}, "/cron"),
        ({"cron": None}, "/cron"),
        ({"request": {"target": TRANSLATOR, "experiment": {"method": "guess"}}}, "/request/experiment/method"),
        (
            {"request": {"target": TRANSLATOR | {"protocol": "pigeon"}, "experiment": EXPERIMENT}},
            "/request/target/protocol",
        ),
        ({"request": {"target": {"id": "tgt_nobody"}, "experiment": EXPERIMENT}}, "/request/target/id"),
        (
            {"request": {"target": TRANSLATOR | {"secret": "s3cret-s3cret"}, "experiment": EXPERIMENT}},
            "/request/target/secret",
        ),
        ({"request": {"target": TRANSLATOR | {"secret": "s3cret-s3cret"}}}, "/request/target/secret"),
        ({"request": {"target": TRANSLATOR, "methods": ["association"]}}, "/request/methods/0"),
        (
            {"request": {"target": TRANSLATOR, "experiment": EXPERIMENT, "callback_url": "http://private.test/"}},
            "/request/callback_url",
        ),
        ({"name": ""}, "/name"),
        ({"colour": "red"}, "/colour"),
    ],
)
async def test_an_invalid_schedule_is_refused_naming_the_invalid_field(client, changes, pointer):
    answer = await post(client, **changes)
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["pointer"] == pointer
    assert "s3cret" not in answer.text
    assert (await client.get("/v1/schedules")).json()["items"] == []


# ---------------------------------------------------------------------------- cool-down of targets
async def test_only_new_jobs_are_refused_during_the_cool_down_of_a_target(serve, settings, request_body, worker):
    client = await serve(settings.model_copy(update={"cooldown_s": 600}))
    first = (await client.post("/v1/jobs", json=request_body())).json()["id"]
    assert (await client.post("/v1/jobs", json=request_body(seed=8))).status_code == 202  # no job has ended yet
    worker.rate(first)
    refused = await client.post("/v1/jobs", json=request_body(seed=9))
    assert (refused.status_code, refused.json()["code"]) == (429, "cooling-down")
    assert 590 <= int(refused.headers["Retry-After"]) <= 600
    assert (await client.post("/v1/jobs", json=request_body(max_age_s=None))).json()["status"] == "succeeded"
    assert (
        await client.post("/v1/jobs", json=request_body(seed=8))
    ).status_code == 202  # the identical job is queued already
    elsewhere = request_body()["target"] | {"base_url": "http://127.0.0.1:5999"}
    assert (await client.post("/v1/jobs", json=request_body(target=elsewhere))).status_code == 202
    suite = await client.post("/v1/suites", json={"target": request_body()["target"], "methods": ["round-trip"]})
    assert (suite.status_code, suite.json()["code"]) == (429, "cooling-down")


async def test_a_run_during_the_cool_down_of_its_target_is_429(serve, settings, request_body, worker):
    client = await serve(settings.model_copy(update={"cooldown_s": 600}))
    worker.rate((await client.post("/v1/jobs", json=request_body())).json()["id"])
    refused = await client.post(await made(client) + "/run")
    assert (refused.status_code, refused.json()["code"]) == (429, "cooling-down")
    assert refused.headers["Retry-After"]


async def test_a_schedule_shows_its_last_automatic_run(client, worker):
    address = await made(client, cron=None, interval_s=3600)
    with worker.database.write() as c:
        c.exec_driver_sql("UPDATE schedules SET next_at = next_at - 3600001")
        ran = schedules.run_due(c, Bounds(9, 0))
    assert ran is not None
    shown = (await client.get(address)).json()
    assert shown["last_made"]["id"] == ran[1].made_id
    assert shown["last_at"] is not None


# ---------------------------------------------------------------------------- watches
async def rated(client, worker, document: dict[str, Any] | None = None, **changes: Any) -> str:
    """Rate the translator, with some fields of the rating's document; return the rating's id."""
    body = {"target": TRANSLATOR, "experiment": EXPERIMENT, "max_age_s": 0} | changes
    return worker.rate((await client.post("/v1/jobs", json=body)).json()["id"], **(document or {}))


async def test_a_schedule_that_watches_a_rating_for_silent_changes_runs_private_jobs_on_that_rating(client, worker):
    rating_id = await rated(client, worker)
    answer = await post(client, request={"rating": rating_id}, cron=None, interval_s=86_400)
    assert answer.status_code == 201, answer.text
    shown = answer.json()
    assert (shown["kind"], shown["request"]) == ("watch", {"rating": rating_id, "cases": 40})
    run = await client.post(f"/v1/schedules/{shown['id']}/run")
    job = (await client.get(run.headers["Location"])).json()
    facts = (job["kind"], job["visibility"], job["target"]["base_url"], job["experiment"]["rating"])
    assert facts == ("watch", "private", TRANSLATOR["base_url"], rating_id)
    changed = await client.patch(f"/v1/schedules/{shown['id']}", json={"request": {"rating": rating_id, "cases": 20}})
    assert changed.json()["request"]["cases"] == 20


async def changed_watch(client, worker, target: dict[str, Any]) -> tuple[str, str]:
    """Rate a target and watch it until it changes; return the ids of the schedule and of the rating."""
    saved = (await client.get(f"/v1/targets/{target['id']}")).json()
    document = {"target": {name: saved[name] for name in ("name", "kind", "protocol", "digest")}}
    rating_id = await rated(client, worker, document, target=target)
    schedule_id = (await post(client, request={"rating": rating_id}, cron=None, interval_s=86_400)).json()["id"]
    for day in range(13):
        run = await client.post(f"/v1/schedules/{schedule_id}/run")
        assert run.status_code == 202, run.text
        claim = worker.claim(run.json()["last_made"]["id"])
        outcomes = {f"case {number:02}": float(day == 12) for number in range(40)}
        with worker.database.write() as c:
            sentinels.finish(c, claim, SentinelRun(claim.job.seed, outcomes))
            c.execute(update(sentinel_runs).values(ran_at=sentinel_runs.c.ran_at - 3_600_000))
    return schedule_id, rating_id


async def test_a_tenant_can_have_only_one_schedule_that_watches_a_rating_for_silent_changes(client, worker):
    rating_id, other_id = await rated(client, worker), await rated(client, worker)
    request = {"request": {"rating": rating_id}, "cron": None, "interval_s": 86_400}
    answers = await asyncio.gather(*(post(client, **request) for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409]
    watch = next(answer.json() for answer in answers if answer.status_code == 201)
    refused = next(answer.json() for answer in answers if answer.status_code == 409)
    assert refused["detail"].startswith(f"the schedule {watch['id']} watches {rating_id} already")
    other = (await post(client, **request | {"request": {"rating": other_id}})).json()
    answer = await client.patch(f"/v1/schedules/{other['id']}", json={"request": {"rating": rating_id}})
    assert (answer.status_code, answer.json()["code"]) == (409, "schedule-unfit")
    assert (await client.delete(f"/v1/schedules/{watch['id']}")).status_code == 204
    assert (await post(client, **request)).status_code == 201


async def test_a_check_for_silent_changes_cannot_be_run_while_another_is_unfinished_or_twice_in_an_hour(client, worker):
    rating_id = await rated(client, worker)
    watch = (await post(client, request={"rating": rating_id}, cron=None, interval_s=86_400)).json()
    address = f"/v1/schedules/{watch['id']}/run"
    answers = await asyncio.gather(*(client.post(address) for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [202, 409, 409, 409]
    job_id = (await client.get(f"/v1/schedules/{watch['id']}")).json()["last_made"]["id"]
    assert {answer.json()["detail"] for answer in answers if answer.status_code == 409} == {
        f"the last run (job {job_id}) has not ended; wait for it"
    }
    claim = worker.claim(job_id)
    with worker.database.write() as c:
        sentinels.finish(c, claim, SentinelRun(claim.job.seed, {f"case {number:02}": 0.0 for number in range(40)}))
    refused = (await client.post(address)).json()
    assert (refused["code"], "less than 3600 s ago" in refused["detail"]) == ("schedule-unfit", True)
    with worker.database.write() as c:
        c.execute(update(sentinel_runs).values(ran_at=sentinel_runs.c.ran_at - 3_600_000))
    assert (await client.post(address)).status_code == 202


async def test_a_schedule_that_watches_a_rating_shows_a_detected_change_and_the_job_that_rates_again(client, worker):
    target_id = await saved_target(client)
    schedule_id, rating_id = await changed_watch(client, worker, {"id": target_id})
    address = f"/v1/schedules/{schedule_id}"
    shown = await client.get(address)
    watch, rating = shown.json()["watch"], (await client.get(f"/v1/ratings/{rating_id}")).json()
    assert (watch["target_id"], watch["digest"]) == (
        target_id,
        (await client.get(f"/v1/targets/{target_id}")).json()["digest"],
    )
    change = watch["change"]
    facts = (change["rating"], change["since"], change["rerating_status"])
    assert facts == (rating_id, rating["standing"]["changed_since"], "queued")
    worker.fail(change["rerating_job"])
    after = await client.get(address, headers={"If-None-Match": shown.headers["ETag"]})
    assert after.json()["watch"]["change"] == change | {"rerating_status": "failed"}
    assert (await client.get("/v1/schedules")).json()["items"] == [after.json()]
    again = (await client.post(f"{address}/run")).json()
    assert again["watch"]["change"] == change | {"rerating_job": again["last_made"]["id"]}
    assert again["last_made"]["id"] != change["rerating_job"]
    assert (await client.patch(address, json={"name": "x"})).json()["watch"] == again["watch"]


async def test_the_page_of_a_service_shows_a_detected_silent_change_and_the_new_rating_that_follows(serve, worker):
    client = await serve(pages=True)
    target_id = await saved_target(client)
    schedule_id, rating_id = await changed_watch(client, worker, {"id": target_id})
    other_id = (await client.post("/v1/targets", json=TRANSLATOR | {"base_url": "http://127.0.0.1:6000"})).json()["id"]
    job_id = (await client.get(f"/v1/schedules/{schedule_id}")).json()["watch"]["change"]["rerating_job"]
    for path in (f"/services/{target_id}", f"/services/{rating_id}", "/schedules"):
        page = (await client.get(path)).text
        assert f"h-{schedule_id}" in page
        assert f'Changed since</b> <a href="/ratings/{rating_id}">' in page
        assert f'It is being rated again: <a href="/jobs/{job_id}">' in page
    assert schedule_id not in (await client.get(f"/services/{other_id}")).text
    worker.fail(job_id)
    page = (await client.get(f"/services/{target_id}")).text
    assert f'The new rating failed. The watch tries again at its next run. <a href="/jobs/{job_id}">' in page
    again = (await client.post(f"/v1/schedules/{schedule_id}/run")).json()["last_made"]["id"]
    new = worker.rate(again)
    page = (await client.get(f"/services/{target_id}")).text
    assert f'It was rated again: <a href="/jobs/{again}">' in page
    assert f"/ratings/{new}" in page


async def test_a_schedule_that_requests_ratings_has_null_in_the_field_watch(client):
    assert (await post(client)).json()["watch"] is None


async def test_the_kind_of_a_schedule_is_rating_suite_or_watch(client, worker):
    suite = {"target": TRANSLATOR, "methods": ["round-trip"], "attributes": ["gender"]}
    requests = [schedule()["request"], suite, {"rating": await rated(client, worker)}]
    kinds = [(await post(client, request=request)).json()["kind"] for request in requests]
    assert kinds == ["rating", "suite", "watch"]


@pytest.mark.parametrize("cases", [19, 51])
async def test_watching_a_rating_for_silent_changes_with_under_20_or_over_50_cases_is_refused(client, worker, cases):
    request = {"rating": await rated(client, worker), "cases": cases}
    answer = await post(client, request=request)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/request/cases")


async def test_a_schedule_that_watches_an_unsuitable_rating_for_changes_is_refused_with_the_reason(client, worker):
    secret = {"target": TRANSLATOR | {"secret": "sesame-street"}}
    refused = {
        "rat_unknown": "you have no rating",
        await rated(client, worker, **secret): "secret was sent with the request",
        await rated(client, worker, {"method": "association", "components": []}): "asked again one by one",
    }
    for rating_id, reason in refused.items():
        answer = await post(client, request={"rating": rating_id})
        assert answer.status_code == 422, answer.text
        (error,) = answer.json()["errors"]
        assert (error["pointer"], reason in error["detail"]) == ("/request/rating", True)
