"""API keys, scopes, tenants and rate limits."""

from __future__ import annotations

import time

import pytest

pytestmark = pytest.mark.anyio


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


@pytest.mark.parametrize(
    ("auth", "host", "broker_url", "needed"),
    [
        ("auto", "127.0.0.1", None, False),
        ("auto", "0.0.0.0", None, True),
        ("auto", "127.0.0.1", "redis://127.0.0.1:1", True),
        ("keys", "127.0.0.1", None, True),
        ("none", "0.0.0.0", None, False),
    ],
)
async def test_a_key_is_required_unless_the_service_listens_on_loopback(
    serve, settings, auth, host, broker_url, needed
):
    client = await serve(settings.model_copy(update={"auth": auth, "host": host, "broker_url": broker_url}))
    assert (await client.get("/v1/info")).json()["keys_needed"] is needed
    assert (await client.get("/v1/jobs")).status_code == (401 if needed else 200)


async def test_a_missing_key_is_401_with_a_challenge(serve, guarded):
    client = await serve(guarded)
    answer = await client.get("/v1/jobs")
    assert (answer.status_code, answer.json()["code"]) == (401, "key-missing")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    "header",
    [
        "Bearer",
        "Bearer ",
        "Bearer nonsense",
        "Basic YTpi",
        "Bearer assay_abcdefgh_x",
        "assay_x",
        "Bearer \u00e4",
        "Bearer a b",
    ],
)
async def test_an_invalid_key_is_401_even_if_no_key_is_required(serve, guarded, settings, header):
    for chosen in (guarded, settings):
        client = await serve(chosen)
        answer = await client.get("/v1/jobs", headers=[("Authorization", header.encode("latin-1"))])
        assert (answer.status_code, answer.json()["code"]) == (401, "key-invalid")
        assert 'error="invalid_token"' in answer.headers["WWW-Authenticate"]


async def test_an_expired_key_is_401(serve, guarded, worker):
    client = await serve(guarded)
    key = worker.make_key("default", "admin", expires_at=int(time.time() * 1000) - 1)
    assert (await client.get("/v1/jobs", headers=bearer(key))).status_code == 401


async def test_a_key_without_the_scope_is_403_naming_the_scope(serve, guarded, worker, request_body):
    client = await serve(guarded)
    reader = bearer(worker.make_key("default", "ratings:read"))
    assert (await client.get("/v1/jobs", headers=reader)).status_code == 200
    answer = await client.post("/v1/jobs", json=request_body(), headers=reader)
    assert (answer.status_code, answer.json()["code"], answer.json()["scope"]) == (403, "scope-missing", "jobs:write")
    assert (await client.get("/v1/keys", headers=reader)).json()["scope"] == "admin"
    writer = bearer(worker.make_key("default", "jobs:write"))
    assert (await client.get("/v1/jobs", headers=writer)).status_code == 403


async def test_a_key_is_shown_once_and_revoked_immediately(serve, guarded, worker):
    client = await serve(guarded)
    admin = bearer(worker.make_key())
    made = await client.post("/v1/keys", json={"name": "reader", "scopes": ["ratings:read"]}, headers=admin)
    assert made.status_code == 201
    assert made.headers["Cache-Control"] == "no-store"
    key = made.json()["key"]
    listed = await client.get("/v1/keys", headers=admin)
    assert key not in listed.text
    assert listed.json()["items"][0]["short"] in key
    assert (await client.get("/v1/jobs", headers=bearer(key))).status_code == 200
    assert (await client.delete(f"/v1/keys/{made.json()['id']}", headers=admin)).status_code == 204
    assert (await client.get("/v1/jobs", headers=bearer(key))).status_code == 401
    assert (await client.delete(f"/v1/keys/{made.json()['id']}", headers=admin)).status_code == 404


async def test_a_key_can_have_an_expiry_date(client):
    answer = await client.post("/v1/keys", json={"name": "k", "scopes": ["admin"], "expires_in_s": 60})
    made = answer.json()
    assert made["expires_at"] > made["created_at"]


@pytest.mark.parametrize(
    "body", [{"name": "k", "scopes": []}, {"name": "k", "scopes": ["root"]}, {"name": "", "scopes": ["admin"]}, {}]
)
async def test_an_invalid_request_for_a_key_is_refused(client, body):
    assert (await client.post("/v1/keys", json=body)).status_code == 422


async def test_a_tenant_can_list_and_revoke_only_its_own_keys(serve, guarded, worker):
    client = await serve(guarded)
    mine, theirs = bearer(worker.make_key("mine")), bearer(worker.make_key("theirs"))
    key_id = (await client.get("/v1/keys", headers=mine)).json()["items"][0]["id"]
    assert (await client.delete(f"/v1/keys/{key_id}", headers=theirs)).status_code == 404


# ---------------------------------------------------------------------------- limits on new work
async def test_a_new_job_above_the_rate_limit_is_429_and_reads_are_still_answered(serve, settings, request_body):
    client = await serve(settings.model_copy(update={"job_rate": "2/hour"}))
    first = await client.post("/v1/jobs", json=request_body(seed=1))
    assert first.headers["RateLimit-Policy"] == '"jobs";q=2;w=3600'
    assert first.headers["RateLimit"].startswith('"jobs";r=1;t=')
    await client.post("/v1/jobs", json=request_body(seed=2))
    refused = await client.post("/v1/jobs", json=request_body(seed=3))
    assert (refused.status_code, refused.json()["code"]) == (429, "rate-limited")
    assert 1 <= int(refused.headers["Retry-After"]) <= 3600
    assert refused.headers["RateLimit"].startswith('"jobs";r=0;')
    assert (await client.get("/v1/jobs")).status_code == 200


async def test_joined_jobs_and_reused_ratings_do_not_count_towards_the_rate_limit(
    serve, settings, request_body, worker
):
    client = await serve(settings.model_copy(update={"job_rate": "1/minute"}))
    first = await client.post("/v1/jobs", json=request_body(), headers={"Idempotency-Key": "abc"})
    twin = await client.post("/v1/jobs", json=request_body())
    replay = await client.post("/v1/jobs", json=request_body(), headers={"Idempotency-Key": "abc"})
    worker.rate(first.json()["id"])
    fresh = await client.post("/v1/jobs", json=request_body(max_age_s=60))
    assert [one.status_code for one in (first, twin, replay, fresh)] == [202] * 4


async def test_a_tenant_has_a_maximum_number_of_unfinished_jobs(serve, settings, request_body, worker):
    client = await serve(settings.model_copy(update={"max_active_jobs": 2}))
    jobs = [(await client.post("/v1/jobs", json=request_body(seed=seed))).json()["id"] for seed in range(2)]
    refused = await client.post("/v1/jobs", json=request_body(seed=3))
    assert (refused.status_code, refused.json()["code"]) == (429, "too-many-jobs")
    assert refused.headers["Retry-After"]
    assert (await client.get("/v1/limits")).json()["active_jobs"] == {"limit": 2, "used": 2}
    worker.rate(jobs[0])
    assert (await client.post("/v1/jobs", json=request_body(seed=3))).status_code == 202


async def test_jobs_are_accepted_while_the_storage_of_rate_limits_is_unreachable(serve, settings, request_body):
    client = await serve(settings.model_copy(update={"broker_url": "redis://127.0.0.1:1/0"}))
    answer = await client.post("/v1/jobs", json=request_body())
    assert answer.status_code == 202
    assert answer.headers["RateLimit"]
    assert "assay_rate_storage_failures_total 1.0" in (await client.get("/metrics")).text


async def test_a_deadline_above_the_operators_limit_is_refused(serve, settings, request_body):
    client = await serve(settings.model_copy(update={"longest_deadline_s": 60}))
    answer = await client.post("/v1/jobs", json=request_body(deadline_s=61))
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/deadline_s")
