"""Limits on what a request can cost (rows 63, 66, 67, 72 and 75 of docs/reliability.md)."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from functools import partial

import httpx
import pytest

from service.http.json import MAX_KEYS, read_json
from service.http.problem_mapping import MAX_ERRORS
from service.http.problems import Problem
from service.jobs import service as submission
from store.core import rows

pytestmark = pytest.mark.anyio

UPLOAD = {"params": {"purpose": "table", "name": "t"}, "headers": {"Content-Type": "text/csv"}}


class Unread(httpx.AsyncByteStream):
    """A request body that records whether the service began to read it."""

    def __init__(self) -> None:
        self.asked = False

    async def __aiter__(self):
        self.asked = True
        yield b"{"


# Row 66 of docs/reliability.md: at c37b512 a body of 1 MB without a key was read and parsed, which blocked the
# event loop for a second.
@pytest.mark.parametrize("key", [None, "assay_wrong", "reader"])
@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/targets", "/v1/uploads?purpose=table&name=t", "/v1/compositions"])
async def test_the_body_of_a_caller_without_a_valid_key_is_not_read(serve, guarded, worker, key, path):
    # guards against eb55f1e, where 1 MB was read and parsed first
    client, body = await serve(guarded), Unread()
    if key == "reader":
        key = worker.make_key("mine", "ratings:read")
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    refused = await client.post(path, content=body, headers=headers)
    assert refused.status_code in {401, 403}
    assert not body.asked


async def test_unknown_fields_are_reported_up_to_a_maximum_number(client):
    fields = {f"unknown_{number}": number for number in range(MAX_KEYS - 10)}
    refused = await client.post("/v1/targets", json=fields)
    assert refused.status_code == 422
    assert len(refused.json()["errors"]) == MAX_ERRORS
    assert f"the first {MAX_ERRORS}" in refused.json()["detail"]
    assert len(refused.content) < 20_000


# Row 67 of docs/reliability.md: at c37b512 80,000 unknown fields were answered with 5.2 MB.
async def test_an_object_with_80000_fields_is_refused_with_one_error(client):
    refused = await client.post("/v1/targets", json={f"f{number}": 1 for number in range(80_000)})
    assert (refused.status_code, len(refused.json()["errors"])) == (422, 1)
    assert f"at most {MAX_KEYS:,}" in refused.json()["detail"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    {
        "a long key above many items": json.dumps({"k" * 500_000: [0] * 200_000}).encode(),
        "many empty lists": b"[" + b"[]," * 300_000 + b"[]]",
        "many objects": b"[" + b"{}," * 300_000 + b"{}]",
        "long text": json.dumps("\u00e9" * 160_000).encode(),
    }.items(),
    ids=lambda item: item[0],
)
def test_parsing_1_mb_of_json_needs_at_most_100_mb_of_memory(body):
    tracemalloc.start()
    read_json(body[1])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000_000


def test_json_that_is_nested_too_deeply_is_refused_with_its_path():
    deep = json.dumps({"a": [0, eval("[" * 40 + "]" * 40)]}).encode()
    with pytest.raises(Problem) as refused:
        read_json(deep)
    assert refused.value.errors[0]["pointer"].startswith("/a/1/0/0")


# Row 72 of docs/reliability.md: at c37b512 a tenant could reset its rate limit with a new key.
async def test_rate_limits_apply_to_the_tenant_and_not_to_each_key(serve, guarded, worker):
    client = await serve(guarded.model_copy(update={"upload_rate": "2/hour"}))
    for expected in (201, 201, 429):
        headers = {"Authorization": f"Bearer {worker.make_key('mine')}", "Content-Type": "text/csv"}
        sent = await client.post("/v1/uploads", params=UPLOAD["params"], content=f"a\n{expected}\n", headers=headers)
        assert sent.status_code in {expected, 200}, sent.text
    assert sent.json()["code"] == "rate-limited"
    assert int(sent.headers["Retry-After"]) >= 1
    headers["Authorization"] = f"Bearer {worker.make_key('another')}"
    sent = await client.post("/v1/uploads", params=UPLOAD["params"], content="a\n1\n", headers=headers)
    assert sent.status_code == 201


# Row 75 of docs/reliability.md: at c37b512 an Idempotency-Key was valid for one API key only.
async def test_an_idempotency_key_belongs_to_the_tenant_and_not_to_one_api_key(serve, guarded, worker):
    client = await serve(guarded)
    target = {"name": "t", "kind": "translator", "protocol": "libretranslate", "base_url": "http://127.0.0.1:1"}
    made = []
    for _ in range(2):
        headers = {"Authorization": f"Bearer {worker.make_key('mine')}", "Idempotency-Key": "the-same"}
        made.append((await client.post("/v1/targets", json=target, headers=headers)).json()["id"])
    assert made[0] == made[1]


class Slow(httpx.AsyncByteStream):
    """A file whose upload pauses until `go_on` is set."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()

    async def __aiter__(self):
        yield b"a\n"
        await self.go_on.wait()
        yield b"1\n"


# Row 63 of docs/reliability.md: at c37b512 neither the simultaneous uploads nor their total size were limited.
async def test_a_tenant_can_send_at_most_four_uploads_at_a_time(client):
    files, send = [Slow() for _ in range(4)], partial(client.post, "/v1/uploads", **UPLOAD)
    arriving = [asyncio.create_task(send(content=file)) for file in files]
    await asyncio.sleep(0.2)
    fifth = await send(content=b"a\n2\n")
    assert (fifth.status_code, fifth.json()["code"], fifth.headers["Retry-After"]) == (429, "rate-limited", "5")
    for file in files:
        file.go_on.set()
    assert {(await each).status_code for each in arriving} <= {200, 201}
    assert (await send(content=b"a\n2\n")).status_code == 201


async def test_a_tenants_uploads_have_a_maximum_total_size(serve, settings):
    client = await serve(settings.model_copy(update={"upload_quota_bytes": 10}))
    assert (await client.post("/v1/uploads", content=b"a\n1\n2\n", **UPLOAD)).status_code == 201
    refused = await client.post("/v1/uploads", content=b"a\n1\n3\n", **UPLOAD)
    assert (refused.status_code, refused.json()["code"]) == (409, "upload-quota")
    again = await client.post("/v1/uploads", content=b"a\n1\n2\n", **UPLOAD)
    assert again.status_code == 200, "what is stored already takes no more space"
    assert (await client.delete(f"/v1/uploads/{again.json()['id']}")).status_code == 204
    assert (await client.post("/v1/uploads", content=b"a\n1\n3\n", **UPLOAD)).status_code == 201


@pytest.fixture
async def large_jobs(client, worker):
    """Eight jobs, each with an experiment of 600 kB."""
    table = [{"sex": number % 2, "age": number, "note": number} for number in range(15_000)]
    target = {"name": "t", "kind": "classifier", "protocol": "mlflow", "base_url": "http://127.0.0.1:1"}
    experiment = {"method": "alternation", "attribute": "gender"}
    experiment["records"] = {"column": "sex", "values": [0, 1], "rows": table}
    for seed in range(8):
        made = await client.post("/v1/jobs", json={"target": target, "experiment": experiment, "seed": seed})
        assert made.status_code == 202, made.text


async def listed(client, path):
    """Return the lengths of the pages of a list, and the ids on them."""
    lengths, ids = [], []
    while path:
        page = (answer := await client.get(path)).json()
        lengths.append(len(page["items"]))
        ids += [one["id"] for one in page["items"]]
        path = answer.links.get("next", {}).get("url")
        assert (path is None) == (page["next_cursor"] is None)
    return lengths, ids


async def test_a_page_of_large_jobs_is_shorter_and_no_job_is_left_out(client, large_jobs, monkeypatch):
    # guards against 06d1ba2, where GET /v1/jobs?limit=200 read 200 MB of experiments into 700 MB
    _, every = await listed(client, "/v1/jobs?limit=1")
    monkeypatch.setattr(rows, "MOST_WEIGHT", 2_500_000)
    lengths, ids = await listed(client, "/v1/jobs?limit=200")
    assert ids == every
    assert max(lengths) < 4
    monkeypatch.setattr(rows, "ROWS_A_QUERY", 3)
    assert (await listed(client, "/v1/jobs?limit=200"))[1] == every
    monkeypatch.undo()
    assert (await listed(client, "/v1/jobs?limit=200&fields=full"))[1] == every


async def test_a_page_of_large_observations_is_shorter_and_no_observation_is_left_out(
    client, worker, request_body, monkeypatch
):
    job = (await client.post("/v1/jobs", json=request_body())).json()["id"]
    worker.record(claim := worker.claim(job), [(f"{number}", "x" * 1000) for number in range(20)])
    rating = worker.finish(claim)
    monkeypatch.setattr(rows, "MOST_WEIGHT", 5_000)
    for path in (f"/v1/jobs/{job}/observations?limit=200", f"/v1/ratings/{rating}/observations?limit=200&q=x"):
        units = []
        while path:
            page = (answer := await client.get(path)).json()
            assert len(page["items"]) < 7
            units += [one["seq"] for one in page["items"]]
            path = answer.links.get("next", {}).get("url")
        assert units == list(range(1, 21))
    for name in ("observations.csv", "observations.jsonl"):
        content = (await client.get(f"/v1/jobs/{job}/{name}")).text
        assert content.count("x" * 1000) == 20


async def test_the_size_limit_of_an_experiment_includes_its_uploaded_table(client, monkeypatch):
    # guards against 06d1ba2, where a table of 28 MB took 600 MB in the API, and its job was answered with 44 MB
    sent = await client.post("/v1/uploads", content="a,b\n" + "0,x\n1,y\n" * 100, **UPLOAD)
    target = {"name": "t", "kind": "classifier", "protocol": "mlflow", "base_url": "http://127.0.0.1:1"}
    records = {"column": "a", "values": [0, 1], "upload": sent.json()["id"]}
    body = {"target": target, "experiment": {"method": "alternation", "attribute": "gender", "records": records}}
    monkeypatch.setattr(submission, "MAX_EXPERIMENT_BYTES", 2_000)
    for path in ("/v1/jobs/plan", "/v1/jobs"):
        refused = await client.post(path, json=body)
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/experiment")
        assert "2,000 are allowed" in refused.json()["detail"]
    monkeypatch.undo()
    assert (await client.post("/v1/jobs", json=body)).status_code == 202
