"""Webhooks and their deliveries: `/v1/webhooks`."""

from __future__ import annotations

import base64
import json
from typing import get_args

import pytest
from jsonschema import Draft202012Validator
from sqlalchemy import delete, select, update

from service.http.openapi.document import EXAMPLES
from service.webhooks.schemas import WebhookDescription
from store.jobs import idempotency
from store.jobs.tables import idempotency as kept_answers
from store.security import signing
from store.security.secrets import Vault
from store.webhooks import deliveries, fan_out, tables, webhooks
from store.webhooks.deliveries import Next, Outcome

pytestmark = pytest.mark.anyio

HOOK = {"url": "http://127.0.0.1:9/hook?token=t", "description": "catalog", "events": ["job.succeeded"]}


async def create(client, **changes):
    answer = await client.post("/v1/webhooks", json=HOOK | changes)
    assert answer.status_code == 201, answer.text
    return answer


def attempt(worker, outcome=None, then=None):
    """Record an attempt with the given outcome (by default a success) for every due delivery."""
    with worker.database.write() as c:  # every endpoint has answered its challenge
        c.execute(delete(tables.deliveries).where(tables.deliveries.c.type == webhooks.CHALLENGE))
        c.execute(update(tables.webhooks).values(confirmed_at=1))
        fan_out.hand_over(c)
        claims = deliveries.claim(c, deliveries.choose(c, 50))
    for claimed in claims:
        with worker.database.write() as c:
            deliveries.record(c, claimed, outcome or Outcome(7, 204, None, "thanks"), then)
    return claims


# ---------------------------------------------------------------------------- endpoints
async def test_a_webhooks_secret_is_shown_once_and_stored_encrypted(client, settings, worker):
    made = await create(client)
    shown = made.json()
    secret = shown["secret"]
    assert (made.headers["Location"], made.headers["Cache-Control"]) == (f"/v1/webhooks/{shown['id']}", "no-store")
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32
    assert shown["secret_hint"] == f"…{secret[-4:]}"
    for answer in (await client.get(made.headers["Location"]), await client.get("/v1/webhooks")):
        assert "whsec_" not in answer.text
    with worker.database.read() as c:
        row = webhooks.find(c, shown["id"], "default")
    assert secret.encode() not in row.sealed_secret.ciphertext
    assert webhooks.reveal(Vault.from_settings(settings), row.sealed_secret, "default", row.id) == secret


async def test_a_webhook_shows_the_agencys_public_key(client, worker):
    shown = (await create(client)).json()
    with worker.database.read() as c:
        (key,) = signing.all_keys(c)
    assert shown["public_key"] == "whpk_" + base64.b64encode(key.public_key).decode()
    assert (shown["state"], shown["disabled_why"], shown["failing_since"]) == ("enabled", None, None)


async def test_a_repeated_request_with_one_idempotency_key_creates_one_webhook_with_one_secret(client, worker):
    headers = {"Idempotency-Key": "k-1"}
    first = await client.post("/v1/webhooks", json=HOOK, headers=headers)
    again = await client.post("/v1/webhooks", json=HOOK, headers=headers)
    assert (again.status_code, again.json(), again.headers["Idempotency-Replayed"]) == (201, first.json(), "true")
    assert len((await client.get("/v1/webhooks")).json()["items"]) == 1
    with worker.database.read() as c:
        kept = [bytes(body) for body in c.execute(select(kept_answers.c.body)).scalars()]
    assert kept
    assert all(first.json()["secret"].encode() not in body for body in kept), "no answer is kept with a secret"
    await client.post(f"{first.headers['Location']}/rotate")
    late = await client.post("/v1/webhooks", json=HOOK, headers=headers)
    assert (late.status_code, late.json()["secret"]) == (201, None)
    assert idempotency.KEPT_H == 24


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"url": "http://private.example/"}, "/url"),
        ({"url": "ftp://127.0.0.1/"}, "/url"),
        ({"url": "http://user:word@127.0.0.1/"}, "/url"),
        ({"events": ["job.exploded"]}, "/events/0"),
        ({"events": ["ping"]}, "/events/0"),
        ({"envelope": "soap"}, "/envelope"),
        ({"description": "x" * 201}, "/description"),
        ({"secret": "whsec_mine"}, "/secret"),
    ],
)
async def test_an_invalid_webhook_is_refused_naming_the_invalid_field(client, changes, pointer):
    answer = await client.post("/v1/webhooks", json=HOOK | changes)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)
    made = await create(client)
    answer = await client.put(made.headers["Location"], json=HOOK | changes)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)


async def test_a_tenant_has_a_maximum_number_of_webhooks(client, monkeypatch):
    monkeypatch.setattr(webhooks, "MOST_WEBHOOKS", 1)
    await create(client)
    answer = await client.post("/v1/webhooks", json=HOOK)
    assert (answer.status_code, answer.json()["code"]) == (409, "too-many-webhooks")


async def test_a_replaced_webhook_keeps_its_secret(client):
    made = await create(client)
    url = made.headers["Location"]
    changed = await client.put(url, json={"url": "http://127.0.0.1:10/", "envelope": "cloudevents"})
    shown = changed.json()
    assert (shown["events"], shown["envelope"], shown["description"]) == ([], "cloudevents", "")
    assert shown["secret_hint"] == made.json()["secret_hint"]
    assert changed.headers["ETag"] != made.headers["ETag"]


async def test_an_unchanged_webhook_is_304(client):
    url = (await create(client)).headers["Location"]
    held = {"If-None-Match": (await client.get(url)).headers["ETag"]}
    assert (await client.get(url, headers=held)).status_code == 304
    await client.post(f"{url}/rotate")
    assert (await client.get(url, headers=held)).status_code == 200


async def test_a_removed_webhook_is_404(client):
    url = (await create(client)).headers["Location"]
    assert (await client.delete(url)).status_code == 204
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/ping"), ("POST", "/rotate"), ("POST", "/enable")):
        assert (await client.request(method, url + path)).status_code == 404
    assert (await client.put(url, json=HOOK)).status_code == 404


async def test_webhooks_are_paged(client):
    made = [(await create(client)).json()["id"] for _ in range(3)]
    page = await client.get("/v1/webhooks", params={"limit": 2})
    rest = await client.get(page.links["next"]["url"])
    assert [one["id"] for one in page.json()["items"] + rest.json()["items"]] == made[::-1]


async def test_rotating_a_secret_shows_the_new_secret_and_the_expiry_of_the_old_secret(client):
    made = await create(client)
    url, headers = made.headers["Location"], {"Idempotency-Key": "r-1"}
    first = await client.post(f"{url}/rotate", headers=headers)
    again = await client.post(f"{url}/rotate", headers=headers)
    assert (first.status_code, first.headers["Cache-Control"]) == (200, "no-store")
    assert first.json()["secret"] not in {None, made.json()["secret"]}
    assert again.json() == first.json(), "asked twice, rotated once"
    assert first.json()["previous_secret_until"] is not None
    assert "whsec_" not in (await client.get(url)).text


# ---------------------------------------------------------------------------- deliveries
async def test_a_test_ping_of_a_webhook_is_shown_as_a_delivery_with_its_attempts(client, worker):
    url = (await create(client)).headers["Location"]
    pinged = await client.post(f"{url}/ping")
    assert (pinged.status_code, pinged.json()["state"], pinged.json()["tries"]) == (202, "waiting", [])
    attempt(worker)
    shown = (await client.get(pinged.headers["Location"])).json()
    assert (shown["type"], shown["state"], shown["attempts"], shown["next_attempt_at"]) == (
        "ping",
        "delivered",
        1,
        None,
    )
    assert shown["payload"]["data"] == {"webhook_id": url.rpartition("/")[2]}
    (tried,) = shown["tries"]
    assert (tried["number"], tried["status"], tried["failure"], tried["response"]) == (1, 204, None, "thanks")


async def test_the_delivery_for_a_finished_job_is_listed(client, worker, request_body):
    url = (await create(client)).headers["Location"]
    job = (await client.post("/v1/jobs", json=request_body(callback_url="http://127.0.0.1:9/own"))).json()
    worker.rate(job["id"])
    assert len(attempt(worker)) == 2
    (line,) = (await client.get(f"{url}/deliveries")).json()["items"]
    assert (line["type"], line["state"]) == ("job.succeeded", "delivered")
    shown = (await client.get(line["href"])).json()
    assert shown["payload"]["data"]["job_id"] == job["id"]


async def test_deliveries_are_paged_and_filtered(client, worker):
    url = (await create(client)).headers["Location"]
    attempt(worker)
    ids = [(await client.post(f"{url}/ping")).json()["id"] for _ in range(3)]
    page = await client.get(f"{url}/deliveries", params={"limit": 2})
    rest = await client.get(page.links["next"]["url"])
    assert [one["id"] for one in page.json()["items"] + rest.json()["items"]] == ids[::-1]
    other = (await create(client)).headers["Location"]
    cursor = page.json()["next_cursor"]
    assert (await client.get(f"{other}/deliveries", params={"cursor": cursor})).json()["code"] == "bad-cursor"
    attempt(worker)
    found = (await client.get(f"{url}/deliveries", params={"state": "delivered"})).json()["items"]
    assert len(found) == 2, "two at once, the third waits its turn"
    assert (await client.get(f"{url}/deliveries", params={"state": "lost"})).status_code == 422


async def test_a_delivery_can_be_sent_again_with_the_same_id(client, worker):
    url = (await create(client)).headers["Location"]
    pinged = await client.post(f"{url}/ping")
    attempt(worker, Outcome(7, None, "timeout: no whole answer within 15 s", None), Next(None))
    assert (await client.get(pinged.headers["Location"])).json()["state"] == "given-up"
    again = await client.post(f"{pinged.headers['Location']}/redeliver")
    assert (again.status_code, again.json()["id"], again.json()["state"]) == (202, pinged.json()["id"], "waiting")
    assert again.headers["Location"] == pinged.headers["Location"]
    attempt(worker)
    shown = (await client.get(pinged.headers["Location"])).json()
    assert [one["status"] for one in shown["tries"]] == [None, 204]


async def test_a_disabled_webhook_shows_its_reason_and_can_be_enabled(client, worker):
    url = (await create(client)).headers["Location"]
    pinged = await client.post(f"{url}/ping")
    attempt(worker, Outcome(7, 410, "gone", ""), Next(None, gone=True))
    shown = (await client.get(url)).json()
    assert (shown["state"], shown["disabled_why"]) == ("disabled", "gone")
    for path in (f"{url}/ping", f"{pinged.headers['Location']}/redeliver"):
        refused = await client.post(path)
        assert (refused.status_code, refused.json()["code"]) == (409, "webhook-disabled")
    enabled = (await client.post(f"{url}/enable")).json()
    assert (enabled["state"], enabled["disabled_why"], enabled["failing_since"]) == ("enabled", None, None)
    assert (await client.post(f"{url}/ping")).status_code == 202


async def test_another_tenants_webhook_is_404(serve, guarded, worker):
    client = await serve(guarded)
    mine = {"Authorization": f"Bearer {worker.make_key('mine', 'webhooks:write')}"}
    theirs = {"Authorization": f"Bearer {worker.make_key('theirs')}"}
    reader = {"Authorization": f"Bearer {worker.make_key('mine', 'ratings:read')}"}
    url = (await client.post("/v1/webhooks", json=HOOK, headers=mine)).headers["Location"]
    delivery = (await client.post(f"{url}/ping", headers=mine)).headers["Location"]
    ways = [("GET", url), ("PUT", url), ("DELETE", url), ("GET", f"{url}/deliveries"), ("GET", delivery)]
    ways += [("POST", f"{url}/{verb}") for verb in ("rotate", "enable", "ping")] + [("POST", f"{delivery}/redeliver")]
    for method, path in ways:
        body = {"json": HOOK} if method == "PUT" else {}
        assert (await client.request(method, path, headers=theirs, **body)).status_code == 404, (method, path)
        assert (await client.request(method, path, headers=reader, **body)).status_code == 403, (method, path)
        assert (await client.request(method, path, **body)).status_code == 401, (method, path)
    assert (await client.get("/v1/webhooks", headers=theirs)).json()["items"] == []
    second = (await client.post("/v1/webhooks", json=HOOK, headers=mine)).headers["Location"]
    crossed = f"{second}/deliveries/{delivery.rpartition('/')[2]}"
    assert (await client.get(crossed, headers=mine)).status_code == 404


async def test_a_failing_webhook_shows_the_time_of_its_first_failure(client, worker):
    url = (await create(client)).headers["Location"]
    before = (await client.get(url)).headers["ETag"]
    await client.post(f"{url}/ping")
    attempt(worker, Outcome(7, 500, "http-500", ""), Next(5))
    shown = await client.get(url)
    assert shown.json()["failing_since"] is not None
    assert shown.headers["ETag"] != before
    with worker.database.write() as c:
        c.execute(update(tables.deliveries).values(next_attempt_at=1))
    attempt(worker)
    assert (await client.get(url)).json()["failing_since"] is None


# ---------------------------------------------------------------------------- the OpenAPI document
async def test_every_webhook_event_type_is_documented_with_a_valid_example(client):
    document = (await client.get("/openapi.json")).json()
    assert set(document["webhooks"]) == {*get_args(webhooks.EventType), webhooks.PING, webhooks.CHALLENGE}
    names = [one["post"]["operationId"] for one in document["webhooks"].values()]
    paths = [one["operationId"] for path in document["paths"].values() for one in path.values()]
    assert len({*names, *paths}) == len(names) + len(paths)
    for one in document["webhooks"].values():
        for content in one["post"]["requestBody"]["content"].values():
            schema = document["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]
            Draft202012Validator(schema).validate(content["example"])
            assert len(json.dumps(content["example"])) < 20_000


@pytest.mark.parametrize("name", EXAMPLES["WebhookDescription"])
def test_every_documented_webhook_example_is_a_valid_request(name):
    assert WebhookDescription.model_validate(EXAMPLES["WebhookDescription"][name]["value"]).url
