"""The judge of a job: validation, storage without its key, and use in schedules."""

from __future__ import annotations

import pytest

from store.jobs import jobs
from store.targets import targets

pytestmark = pytest.mark.anyio

RATED = {
    "name": "rated",
    "kind": "language-model",
    "protocol": "openai-chat",
    "base_url": "http://rated.example/v1",
    "settings": {"model": "small"},
}
JUDGE = {
    "name": "judge",
    "kind": "classifier",
    "protocol": "mlflow",
    "base_url": "http://judge.example/v1",
}
WRITES = {"method": "free-text", "attribute": "gender"}
SCORES = {"method": "stereotype-score", "attribute": "gender"}


def body(experiment=WRITES, **more):
    return {"target": RATED, "experiment": experiment, **more}


async def test_a_job_stores_the_description_of_its_judge_service_and_whether_that_answers_with_labels(client):
    answer = await client.post("/v1/jobs", json=body(judge=JUDGE))
    assert answer.status_code == 202, answer.text
    job = answer.json()
    assert (job["judge"]["name"], job["judge"]["base_url"]) == ("judge", "http://judge.example/v1")
    assert job["author"] is None
    assert job["experiment"]["judge"] == "labels"


async def test_a_job_requested_without_a_judge_service_has_null_as_its_judge(client):
    job = (await client.post("/v1/jobs", json=body())).json()
    assert (job["judge"], job["experiment"]["judge"]) == (None, None)


async def test_a_job_refers_to_a_saved_judge_by_id_and_does_not_store_its_secret(client, worker):
    saved = (await client.post("/v1/targets", json={**JUDGE, "secret": "a-key-of-the-judge"})).json()
    job = (await client.post("/v1/jobs", json=body(judge={"id": saved["id"]}))).json()
    assert job["judge"]["id"] == saved["id"]
    assert "a-key-of-the-judge" not in str(job)
    with worker.database.read() as c:
        stored = jobs.find(c, job["id"], None)
        assert stored.sealed_secret is None
        assert "a-key-of-the-judge" not in str(stored)
        assert targets.find(c, saved["id"], stored.tenant).sealed_secret is not None


async def test_requests_with_different_judges_create_different_jobs(client):
    first = (await client.post("/v1/jobs", json=body(judge=JUDGE))).json()
    same = (await client.post("/v1/jobs", json=body(judge=JUDGE))).json()
    other = (await client.post("/v1/jobs", json=body(judge={**JUDGE, "base_url": "http://other.example/v1"}))).json()
    without = (await client.post("/v1/jobs", json=body())).json()
    assert same["id"] == first["id"]
    assert len({first["id"], other["id"], without["id"]}) == 3


@pytest.mark.parametrize(
    ("sent", "pointer", "says"),
    [
        (body({**WRITES, "judge": "labels"}), "/judge", "name the judge"),
        (body({**WRITES, "judge_label": "positive"}), "/judge", "name the judge"),
        (body(SCORES, judge=JUDGE), "/judge", "has no judge"),
        (body(judge=JUDGE, author=RATED), "/judge", "not both"),
        (body(author=RATED), "/author", "leave the author out"),
        (body(judge={"id": "tgt_nobody"}), "/judge/id", "POST /v1/targets"),
        (body(judge={**JUDGE, "secret": "a-key"}), "/judge/secret", "saved target"),
        (body(judge=RATED), "/judge/kind", "classifier or a regressor"),
        (body(judge={**JUDGE, "protocol": "unheard-of"}), "/judge/protocol", "unheard-of"),
        (body(judge={**JUDGE, "base_url": None}), "/judge/base_url", "base_url"),
        (body({**WRITES, "judge": "numbers"}, judge=JUDGE), "/judge", "answers labels"),
        (body({**WRITES, "texts": {"decision": "hiring"}}), "/experiment/texts/decision", "no decision"),
        (body({**WRITES, "repeats": 1}), "/experiment/repeats", ""),
    ],
    ids=[
        *("missing", "missing for its label", "idle", "beside an author", "an author", "unknown", "with its key"),
        *("of another kind", "unheard of", "without an address", "of other answers"),
        *("decision", "one text"),
    ],
)
async def test_an_unsuitable_judge_is_refused_naming_the_invalid_field(client, sent, pointer, says):
    answer = await client.post("/v1/jobs", json=sent)
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["pointer"] == pointer
    assert says in answer.json()["detail"]
    assert (await client.get("/v1/jobs")).json()["items"] == []


async def test_a_schedules_run_uses_the_current_address_of_its_saved_judge(client):
    saved = (await client.post("/v1/targets", json=JUDGE)).json()
    rated = (await client.post("/v1/targets", json=RATED)).json()
    request = {"target": {"id": rated["id"]}, "experiment": WRITES, "judge": {"id": saved["id"]}}
    made = await client.post("/v1/schedules", json={"name": "weekly", "interval_s": 604_800, "request": request})
    assert made.status_code == 201, made.text
    moved = await client.put(
        f"/v1/targets/{saved['id']}",
        json={**JUDGE, "base_url": "http://moved.example/v1"},
        headers={"If-Match": (await client.get(f"/v1/targets/{saved['id']}")).headers["ETag"]},
    )
    assert moved.status_code == 200, moved.text
    ran = await client.post(f"/v1/schedules/{made.json()['id']}/run")
    assert ran.status_code in {200, 202}, ran.text
    job = (await client.get("/v1/jobs")).json()["items"][0]
    assert job["judge"]["base_url"] == "http://moved.example/v1"


async def test_a_plan_counts_the_questions_to_the_judge(client):
    plans = [(await client.post("/v1/jobs/plan", json=body(**more))).json() for more in ({}, {"judge": JUDGE})]
    assert [plan["questions"] for plan in plans] == [480, 1440]
