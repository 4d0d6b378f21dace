"""Deliveries to a job's `callback_url`: `/v1/jobs/{id}/deliveries`.

Row 93 of docs/reliability.md: at ffe18d3c 120 requests made 6,000 posts to one host.
"""

from __future__ import annotations

import pytest
from sqlalchemy import delete, update

from store.webhooks import deliveries, fan_out, tables, webhooks
from store.webhooks.deliveries import Next, Outcome

pytestmark = pytest.mark.anyio

BACK = "http://127.0.0.1:9/back?token=t"


def attempt(worker, outcome, then=None):
    """Record an attempt with the given outcome for every due delivery."""
    with worker.database.write() as c:  # every endpoint has answered its challenge
        c.execute(delete(tables.deliveries).where(tables.deliveries.c.type == webhooks.CHALLENGE))
        c.execute(update(tables.webhooks).values(confirmed_at=1))
        fan_out.hand_over(c)
        claims = deliveries.claim(c, deliveries.choose(c, 50))
    for claimed in claims:
        with worker.database.write() as c:
            deliveries.record(c, claimed, outcome, then)


@pytest.fixture
def ended(client, request_body, worker):
    """Complete a job with a callback, record a failed delivery, and return the job's address."""

    async def ended(on=client, headers=None, **changes) -> str:
        body = request_body(callback_url=BACK, **changes)
        job = (await on.post("/v1/jobs", json=body, headers=headers)).json()
        worker.rate(job["id"])
        attempt(worker, Outcome(12, 500, "http-500: it answered HTTP 500", "oh"), Next(None))
        return job["links"]["self"]

    return ended


async def test_deliveries_to_a_callback_are_shown_with_their_attempts(client, ended):
    url = await ended()
    (line,) = (await client.get(f"{url}/deliveries")).json()["items"]
    assert (line["type"], line["state"], line["attempts"]) == ("job.succeeded", "given-up", 1)
    shown = (await client.get(line["href"])).json()
    assert line["href"] == f"{url}/deliveries/{line['id']}"
    assert shown["url"] == BACK
    assert f"/v1/jobs/{shown['payload']['data']['job_id']}" == url
    assert [(one["status"], one["response"]) for one in shown["tries"]] == [(500, "oh")]


async def test_a_callback_delivery_can_be_sent_again_with_the_same_id(client, worker, ended):
    url = await ended()
    (line,) = (await client.get(f"{url}/deliveries", params={"state": "given-up"})).json()["items"]
    again = await client.post(f"{line['href']}/redeliver", headers={"Idempotency-Key": '"once"'})
    assert (again.status_code, again.headers["Location"]) == (202, line["href"])
    assert (again.json()["id"], again.json()["state"], again.json()["url"]) == (line["id"], "waiting", BACK)
    attempt(worker, Outcome(12, 204, None, ""))
    shown = (await client.get(line["href"])).json()
    assert (shown["state"], [one["status"] for one in shown["tries"]]) == ("delivered", [500, 204])
    repeated = await client.post(f"{line['href']}/redeliver", headers={"Idempotency-Key": '"once"'})
    assert repeated.headers["Idempotency-Replayed"] == "true"
    assert (await client.get(line["href"])).json()["state"] == "delivered"


async def test_a_callback_gets_exactly_one_notice_when_its_job_ends(client, ended):
    # earlier, an address that nobody had confirmed also got the notices about the rating
    url = await ended(visibility="public")
    items = (await client.get(f"{url}/deliveries")).json()["items"]
    assert [delivery["type"] for delivery in items] == ["job.succeeded"]


async def test_a_callback_delivery_is_404_under_the_address_of_another_job(client, ended, request_body):
    url, other = await ended(), await ended(seed=99)
    (line,) = (await client.get(f"{url}/deliveries")).json()["items"]
    quiet = (await client.post("/v1/jobs", json=request_body(seed=98))).json()
    assert "deliveries" not in quiet["links"]
    assert (await client.get(f"/v1/jobs/{quiet['id']}/deliveries")).json()["items"] == []
    assert (await client.get(f"{other}/deliveries/{line['id']}")).status_code == 404
    assert (await client.post(f"{other}/deliveries/{line['id']}/redeliver")).status_code == 404


async def test_a_webhooks_deliveries_are_not_listed_for_the_callback(client, worker, ended):
    hook = (await client.post("/v1/webhooks", json={"url": "http://127.0.0.1:9/hook"})).json()["links"]["self"]
    url = await ended()
    (to_hook,) = (await client.get(f"{hook}/deliveries")).json()["items"]
    (to_back,) = (await client.get(f"{url}/deliveries")).json()["items"]
    assert to_hook["id"] != to_back["id"]
    assert (await client.get(f"{url}/deliveries/{to_hook['id']}")).status_code == 404
    assert (await client.get(f"{hook}/deliveries/{to_back['id']}")).status_code == 404


async def test_callback_deliveries_require_the_owner_and_the_scope(serve, guarded, worker, ended):
    client = await serve(guarded)
    keys = {
        name: {"Authorization": f"Bearer {worker.make_key(tenant, *scopes)}"}
        for name, tenant, scopes in (
            ("asker", "mine", ("jobs:write", "ratings:read")),
            ("sender", "mine", ("webhooks:write",)),
            ("stranger", "theirs", ()),
        )
    }
    url = await ended(on=client, headers=keys["asker"])
    (line,) = (await client.get(f"{url}/deliveries", headers=keys["asker"])).json()["items"]
    expected = {
        ("GET", f"{url}/deliveries"): (200, 403, 404, 401),
        ("GET", line["href"]): (200, 403, 404, 401),
        ("POST", f"{line['href']}/redeliver"): (403, 202, 404, 401),
    }
    for (method, path), statuses in expected.items():
        for headers, status in zip((*keys.values(), None), statuses, strict=True):
            answer = await client.request(method, path, headers=headers)
            assert answer.status_code == status, (method, path, headers)
