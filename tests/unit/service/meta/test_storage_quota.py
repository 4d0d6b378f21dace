"""Everything that a tenant stores counts towards one quota, also in concurrent requests.

Row 94 of docs/reliability.md: at ffe18d3c a tenant could store 34 GB an hour.
Row 102 of docs/reliability.md: at ffe18d3c concurrent uploads stored 1.44 MB of 1.0 MB.
"""

from __future__ import annotations

import asyncio

import pytest

pytestmark = pytest.mark.anyio


async def test_concurrent_uploads_stay_within_their_quota(serve, settings):
    client = await serve(settings.model_copy(update={"upload_quota_bytes": 100_000}))

    async def send(number: int) -> int:
        table = "age,sex\n" + f"{number},female\n" * 1500
        headers = {"Content-Type": "text/csv"}
        query = {"purpose": "table", "name": "census"}
        return (await client.post("/v1/uploads", params=query, content=table, headers=headers)).status_code

    statuses = [status for start in (10, 14) for status in await asyncio.gather(*map(send, range(start, start + 4)))]
    stored = (await client.get("/v1/uploads")).json()["items"]
    assert sorted(statuses) == [201] * len(stored) + [409] * (8 - len(stored))
    assert 60_000 < sum(upload["bytes"] for upload in stored) <= 100_000


async def test_a_tenant_at_its_storage_quota_gets_409_with_the_bytes_by_kind_and_can_delete_something(serve, settings):
    client = await serve(settings.model_copy(update={"storage_quota_bytes": 20_000}))
    made = []
    while (answer := await client.post("/v1/corpora", json=corpus(len(made)))).status_code == 201:
        made.append(answer.json()["id"])
    assert (answer.status_code, answer.json()["code"]) == (409, "storage-quota")
    assert answer.json()["quota"] == 20_000 < answer.json()["used"]
    assert list(answer.json()["by_kind"]) == ["corpora"]
    limits = (await client.get("/v1/limits")).json()["storage_bytes"]
    assert limits["limit"] == 20_000 >= limits["used"] == sum(limits["by_kind"].values())
    assert (await client.delete(f"/v1/corpora/{made[0]}")).status_code == 204
    assert (await client.post("/v1/corpora", json=corpus(99))).status_code == 201


def corpus(number: int) -> dict[str, object]:
    return {
        "name": f"c{number}",
        "kind": "sentences",
        "language": "en",
        "attribute": "gender",
        "description": "x" * 1000,
    }
