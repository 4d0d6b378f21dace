"""Fixtures: a service with one resource of every kind."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from store.core.database import Database
from store.targets import domains
from store.webhooks import fan_out
from tests.support.documented_operations import World, operations_of

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABAQAAAAA3bvkkAAAACklEQVR42mNgAAAAAgAB5Sfe/AAAAABJRU5ErkJggg=="
"""A picture of one black pixel."""


@pytest.fixture(scope="module")
def documents():
    """The OpenAPI documents with and without required keys; built once, because that is slow."""
    return {}


@pytest.fixture
async def build(serve, settings, worker, request_body, documents):
    """Create a service with one resource of every kind."""

    async def build(changes: dict[str, Any] | None = None, **headers: str) -> World:
        chosen = settings.model_copy(update=changes or {})
        client = await serve(chosen)
        client.headers.update(headers)
        target = (await client.post("/v1/targets", json=World.BODIES["saveTarget"])).json()
        asked = request_body(callback_url="http://127.0.0.1:9/hook")
        job = (await client.post("/v1/jobs", json=asked)).json()
        with closing(Database(chosen.resolved_database_url)) as database:
            rating_id = type(worker)(database).rate(job["id"])
            with database.write() as c:
                fan_out.hand_over(c)
        (delivery,) = (await client.get(f"/v1/jobs/{job['id']}/deliveries")).json()["items"]
        key = (await client.post("/v1/keys", json=World.BODIES["createKey"])).json()
        ids = {
            "job_id": job["id"],
            "callback_delivery_id": delivery["id"],
            "rating_id": rating_id,
            "service_name": rating_id,
            "target_id": target["id"],
            "key_id": key["id"],
        }
        specification = (await client.post("/v1/specifications", json=World.BODIES["createSpecification"])).json()
        table = {"purpose": "table", "name": "T"}
        csv = {"Content-Type": "text/csv"}
        upload = (await client.post("/v1/uploads", params=table, content=b"age\n41\n", headers=csv)).json()
        ids["seq"] = "1"  # number of an observation
        ids |= {"upload_id": upload["id"], "specification_name": specification["name"], "version": "1"}
        webhook = (await client.post("/v1/webhooks", json=World.BODIES["createWebhook"])).json()
        ping = (await client.post(f"{webhook['links']['self']}/ping")).json()
        ids |= {"webhook_id": webhook["id"], "delivery_id": ping["id"]}
        suite = (await client.post("/v1/suites", json=World.BODIES["requestSuite"] | {"seed": 1})).json()
        schedule = (await client.post("/v1/schedules", json=World.BODIES["createSchedule"])).json()
        chain = {"chain": [{"rating": rating_id}] * 2}
        composition = (await client.post("/v1/compositions", json=chain)).json()
        domain = (await client.post("/v1/domains", json={"host": "127.0.0.1:5000"})).json()
        with closing(Database(chosen.resolved_database_url)) as database, database.write() as c:
            domains.record_check(c, domain["id"], None)
        replied = await client.put(f"/v1/ratings/{rating_id}/reply", json=World.BODIES["putReply"])
        assert replied.status_code == 201, replied.text
        corpus = (await client.post("/v1/corpora", json=World.BODIES["createCorpus"])).json()
        item = (await client.post(corpus["links"]["items"], json={"items": [{"text": "Somebody came."}]})).json()
        pictures = {"name": "P", "kind": "images", "attribute": "gender"}
        album = (await client.post("/v1/corpora", json=pictures)).json()
        picture = (
            await client.post(album["links"]["items"], json={"items": [{"image_b64": PNG, "term": "nurse"}]})
        ).json()
        ids |= {"corpus_id": corpus["id"], "item_id": item["items"][0]["id"], "digest": picture["items"][0]["image"]}
        ids |= {"suite_id": suite["id"], "schedule_id": schedule["id"]}
        ids |= {"composition_id": composition["id"], "domain_id": domain["id"]}
        if chosen.auth not in documents:
            documents[chosen.auth] = (await client.get("/openapi.json")).json()
        document = documents[chosen.auth]
        return World(client, operations_of(document), document, ids | {"name": "round-trip", "code": "not-found"})

    return build


@pytest.fixture
async def world(build):
    return await build()
