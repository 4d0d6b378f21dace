"""Cache of job statuses: one read for all pollers, maximum age, and access control."""

import asyncio

import pytest
from sqlalchemy import update

from service.http.json import Answer
from service.http.metrics import Meter
from service.http.swr_cache import MAX_KEPT
from service.jobs.status import STALE_S, Status, StatusCache
from store.security.tables import api_keys

pytestmark = pytest.mark.anyio

KEY = ("acme", "job_1", "http://x")


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Reader:
    """A reader that returns the number of its calls, and can wait or fail."""

    def __init__(self) -> None:
        self.reads = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.broken = False

    async def __call__(self) -> Status:
        self.reads += 1
        mine = self.reads
        await self.gate.wait()
        if self.broken:
            raise LookupError("gone")
        return Status(Answer(200, str(mine).encode()), finished=False)


def cache(keep_s: float = 0.25) -> tuple[StatusCache, Reader, Clock]:
    clock = Clock()
    return StatusCache(keep_s, Meter(), clock), Reader(), clock


async def body(statuses: StatusCache, read: Reader) -> int:
    return int((await statuses.get(KEY, read)).answer.body)


async def test_a_thousand_concurrent_requests_share_one_status_read():
    statuses, read, _ = cache()
    read.gate.clear()
    asked = [asyncio.create_task(body(statuses, read)) for _ in range(1000)]
    await asyncio.sleep(0)
    read.gate.set()
    assert set(await asyncio.gather(*asked)) == {1}
    assert read.reads == 1


async def test_a_status_is_read_again_when_it_is_a_quarter_of_a_second_old():
    statuses, read, clock = cache()
    assert await body(statuses, read) == 1
    clock.now += 0.25
    assert await body(statuses, read) == 1
    clock.now += 0.01
    assert await body(statuses, read) == 1, "the old one is given while it is read again"
    await asyncio.sleep(0.01)
    assert (await body(statuses, read), read.reads) == (2, 2)


async def test_a_status_older_than_a_second_is_not_returned():
    statuses, read, clock = cache()
    await body(statuses, read)
    clock.now += STALE_S + 0.01
    assert await body(statuses, read) == 2


async def test_a_status_error_reaches_every_waiting_request_and_is_not_cached():
    statuses, read, _ = cache()
    read.broken = True
    read.gate.clear()
    asked = [asyncio.create_task(body(statuses, read)) for _ in range(3)]
    await asyncio.sleep(0)
    read.gate.set()
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(one) for one in answers] == [LookupError] * 3
    read.broken = False
    assert await body(statuses, read) == 2


async def test_a_failed_read_removes_the_old_status_from_the_cache():
    statuses, read, clock = cache()
    await body(statuses, read)
    clock.now += 0.3
    read.broken = True
    assert await body(statuses, read) == 1
    await asyncio.sleep(0.01)
    with pytest.raises(LookupError):
        await body(statuses, read)


async def test_cancelling_the_first_request_does_not_cancel_the_status_read():
    statuses, read, _ = cache()
    read.gate.clear()
    first, second = (asyncio.create_task(body(statuses, read)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    read.gate.set()
    assert await second == 1


async def test_a_status_invalidated_during_a_read_is_read_again():
    statuses, read, _ = cache()
    read.gate.clear()
    early = asyncio.create_task(body(statuses, read))
    await asyncio.sleep(0)
    statuses.forget("job_1")
    read.gate.set()
    assert await early == 1
    assert await body(statuses, read) == 2


async def test_a_cache_time_of_0_turns_the_status_cache_off():
    statuses, read, _ = cache(0)
    assert [await body(statuses, read) for _ in range(3)] == [1, 2, 3]


async def test_the_oldest_statuses_are_removed_first():
    statuses, read, _ = cache()
    for number in range(MAX_KEPT + 1):
        await statuses.get(("acme", f"job_{number}", "x"), read)
    await statuses.get(("acme", f"job_{MAX_KEPT}", "x"), read)
    assert read.reads == MAX_KEPT + 1
    await statuses.get(("acme", "job_0", "x"), read)
    assert read.reads == MAX_KEPT + 2


# ---------------------------------------------------------------------------- in the service
@pytest.fixture
async def cached(serve, settings):
    return await serve(settings.model_copy(update={"status_cache_s": 0.25}))


async def test_a_cached_status_gives_the_same_answer_as_a_new_one(cached, request_body):
    job_id = (await cached.post("/v1/jobs", json=request_body())).json()["id"]
    read, given = [await cached.get(f"/v1/jobs/{job_id}") for _ in range(2)]
    varying = {"x-request-id"}
    assert given.content == read.content
    assert {n: v for n, v in given.headers.items() if n not in varying} == {
        n: v for n, v in read.headers.items() if n not in varying
    }
    metrics = (await cached.get("/metrics")).text
    assert 'assay_status_cache_total{outcome="hit"} 1.0' in metrics
    assert 'route="/v1/jobs/{job_id}",status="200"} 2.0' in metrics


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"If-None-Match": "*"}, 304), ({"Authorization": "Bearer nonsense"}, 401), ({"Prefer": "wait=0"}, 200)],
)
async def test_a_cached_status_does_not_bypass_the_checks_of_a_request(cached, request_body, headers, status):
    job_id = (await cached.post("/v1/jobs", json=request_body())).json()["id"]
    await cached.get(f"/v1/jobs/{job_id}")
    assert (await cached.get(f"/v1/jobs/{job_id}", headers=headers)).status_code == status


async def test_a_cached_status_is_returned_to_its_owner_only(serve, guarded, worker, request_body):
    client = await serve(guarded.model_copy(update={"status_cache_s": 5}))
    mine, theirs = ({"Authorization": f"Bearer {worker.make_key(tenant)}"} for tenant in ("acme", "rival"))
    job_id = (await client.post("/v1/jobs", json=request_body(), headers=mine)).json()["id"]
    for _ in range(2):
        assert (await client.get(f"/v1/jobs/{job_id}", headers=mine)).status_code == 200
        assert (await client.get(f"/v1/jobs/{job_id}", headers=theirs)).status_code == 404
        assert (await client.get(f"/v1/jobs/{job_id}")).status_code == 401


async def test_a_cancelled_job_is_shown_as_cancelled_at_once_despite_the_cache(cached, request_body):
    job_id = (await cached.post("/v1/jobs", json=request_body())).json()["id"]
    await cached.get(f"/v1/jobs/{job_id}")
    await cached.post(f"/v1/jobs/{job_id}/cancel")
    assert (await cached.get(f"/v1/jobs/{job_id}")).json()["status"] == "cancelled"


async def test_a_key_revoked_by_another_process_can_only_read_cached_statuses(serve, guarded, worker, request_body):
    client = await serve(guarded.model_copy(update={"status_cache_s": 60}))
    key = {"Authorization": f"Bearer {worker.make_key('acme')}"}
    job = "/v1/jobs/" + (await client.post("/v1/jobs", json=request_body(), headers=key)).json()["id"]
    assert (await client.get(job, headers=key)).status_code == 200
    with worker.database.write() as c:
        c.execute(update(api_keys).values(revoked_at=1))
    assert (await client.get(job, headers=key)).status_code == 200
    assert (await client.get("/v1/jobs", headers=key)).status_code == 401
    assert (await client.post(f"{job}/cancel", headers=key)).status_code == 401


async def test_a_key_revoked_by_the_same_process_cannot_read_cached_statuses(serve, guarded, worker, request_body):
    client = await serve(guarded.model_copy(update={"status_cache_s": 60}))
    plain = worker.make_key("acme")
    admin, key = ({"Authorization": f"Bearer {one}"} for one in (worker.make_key("acme"), plain))
    job = "/v1/jobs/" + (await client.post("/v1/jobs", json=request_body(), headers=key)).json()["id"]
    assert (await client.get(job, headers=key)).status_code == 200
    listed = (await client.get("/v1/keys", headers=admin)).json()["items"]
    (key_id,) = (one["id"] for one in listed if one["short"] == plain.split("_")[1])
    assert (await client.delete(f"/v1/keys/{key_id}", headers=admin)).status_code == 204
    assert (await client.get(job, headers=key)).status_code == 401
