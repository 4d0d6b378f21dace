"""The author of a job: validation, storage without its key, and use in schedules."""

from __future__ import annotations

import pytest

from store.jobs import jobs
from store.targets import targets

pytestmark = pytest.mark.anyio

RATED = {
    "name": "rated",
    "kind": "language-model",
    "protocol": "openai-completions",
    "base_url": "http://rated.example/v1",
    "settings": {"model": "small"},
}
WRITER = {**RATED, "name": "writer", "base_url": "http://writer.example/v1"}
WRITES = {"method": "stereotype-score", "attribute": "gender", "writing": {"per_term": 2}}
PLAIN = {"method": "stereotype-score", "attribute": "gender"}


def body(experiment=WRITES, **more):
    return {"target": RATED, "experiment": experiment, **more}


async def pointer_of(client, sent):
    answer = await client.post("/v1/jobs", json=sent)
    assert answer.status_code == 422, answer.text
    return answer.json()["errors"][0]["pointer"], answer.json()["detail"]


async def test_a_job_stores_the_description_of_the_service_that_writes_its_sentences(client):
    answer = await client.post("/v1/jobs", json=body(author=WRITER))
    assert answer.status_code == 202, answer.text
    author = answer.json()["author"]
    assert (author["name"], author["base_url"]) == ("writer", "http://writer.example/v1")
    assert "secret" not in author


async def test_a_job_refers_to_a_saved_writing_service_by_id_and_does_not_store_its_secret(client, worker):
    saved = (await client.post("/v1/targets", json={**WRITER, "secret": "a-key-of-the-writer"})).json()
    job = (await client.post("/v1/jobs", json=body(author={"id": saved["id"]}))).json()
    assert job["author"]["id"] == saved["id"]
    assert "a-key-of-the-writer" not in str(job)
    with worker.database.read() as c:
        kept = jobs.find(c, job["id"], None)
        assert kept.author["base_url"] == WRITER["base_url"]
        assert kept.sealed_secret is None
        assert targets.find(c, saved["id"], kept.tenant).sealed_secret is not None


async def test_requests_with_different_writing_services_create_different_jobs(client):
    first = (await client.post("/v1/jobs", json=body(author=WRITER))).json()
    same = (await client.post("/v1/jobs", json=body(author=WRITER))).json()
    other = (await client.post("/v1/jobs", json=body(author={**WRITER, "base_url": "http://other.example/v1"}))).json()
    assert same["id"] == first["id"]
    assert other["id"] != first["id"]


@pytest.mark.parametrize(
    ("sent", "pointer", "says"),
    [
        (body(), "/author", "name the service that generates it"),
        (body(PLAIN, author=WRITER), "/author", "leave the author out"),
        (body(author={"id": "tgt_nobody"}), "/author/id", "POST /v1/targets"),
        (body(author={**WRITER, "secret": "a-key"}), "/author/secret", "saved target"),
        (body(author={**WRITER, "kind": "translator", "protocol": "libretranslate"}), "/author/kind", "language-model"),
        (body(author={**WRITER, "protocol": "unheard-of"}), "/author/protocol", "unheard-of"),
        (
            {**body(PLAIN), "target": {**RATED, "protocol": "openai-images"}},
            "/target/protocol",
            "openai-images",
        ),
    ],
    ids=["missing", "idle", "unknown", "with its key", "of another kind", "unheard of", "rated"],
)
async def test_a_service_that_cannot_write_sentences_is_refused_naming_the_invalid_field(client, sent, pointer, says):
    seen, detail = await pointer_of(client, sent)
    assert seen == pointer
    assert says in detail
    assert (await client.get("/v1/jobs")).json()["items"] == []


async def test_a_scheduled_run_uses_the_current_address_of_its_saved_writing_service(client, worker):
    saved = (await client.post("/v1/targets", json=WRITER)).json()
    rated = (await client.post("/v1/targets", json=RATED)).json()
    request = {"target": {"id": rated["id"]}, "experiment": WRITES, "author": {"id": saved["id"]}}
    made = await client.post("/v1/schedules", json={"name": "weekly", "interval_s": 604_800, "request": request})
    assert made.status_code == 201, made.text
    moved = await client.put(
        f"/v1/targets/{saved['id']}",
        json={**WRITER, "base_url": "http://moved.example/v1"},
        headers={"If-Match": (await client.get(f"/v1/targets/{saved['id']}")).headers["ETag"]},
    )
    assert moved.status_code == 200, moved.text
    ran = await client.post(f"/v1/schedules/{made.json()['id']}/run")
    assert ran.status_code in {200, 202}, ran.text
    job = (await client.get("/v1/jobs")).json()["items"][0]
    assert job["author"]["base_url"] == "http://moved.example/v1"
