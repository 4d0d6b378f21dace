"""Limits of a lane (all jobs of a tenant on one address share one), counted in this process and in a real Redis."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from assay.experiment import generator
from workers.calls.limits import Lane, LocalTraffic, TrafficOnRedis, lane_of
from workers.targets.adapter import Limits


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture(params=["here", "redis"])
def opened(request):
    """Return a function that opens the limits of lanes: in this process, or in Redis."""
    failures: list[int] = []
    if request.param == "here":
        here = LocalTraffic()
        return lambda: here
    url = request.getfixturevalue("redis_url")

    @asynccontextmanager
    async def on_redis():
        async with TrafficOnRedis(url, LocalTraffic(), lambda: failures.append(1)) as traffic:
            yield traffic
        assert failures == []

    return on_redis


def test_a_service_gets_at_most_as_many_concurrent_calls_as_its_limit(opened):
    async def work():
        async with opened() as traffic:
            taken = [await traffic.take_slot("lane", f"job:{i}", 3, 5) for i in range(5)]
            kept = await traffic.take_slot("lane", "job:0", 3, 5)
            other = await traffic.take_slot("other", "job:9", 1, 5)
            await traffic.release_slot("lane", "job:1")
            return taken, kept, other, await traffic.take_slot("lane", "job:4", 3, 5)

    assert asyncio.run(work()) == ([True, True, True, False, False], True, True, True)


def test_releasing_a_call_slot_reports_whether_another_job_waits_for_one(opened):
    async def work():
        async with opened() as traffic:
            await traffic.take_slot("lane", "a", 1, 5)
            await traffic.take_slot("quiet", "a", 1, 5)
            await traffic.take_slot("lane", "b", 1, 5)
            return await traffic.release_slot("lane", "a"), await traffic.release_slot("quiet", "a")

    assert asyncio.run(work()) == (True, False)


def test_the_call_slot_of_a_killed_worker_becomes_free_when_it_expires(opened):
    async def work():
        async with opened() as traffic:
            assert await traffic.take_slot("lane", "dead", 1, 0.2)
            assert not await traffic.take_slot("lane", "alive", 1, 5)
            await asyncio.sleep(0.25)
            return await traffic.take_slot("lane", "alive", 1, 5)

    assert asyncio.run(work())


def test_calls_to_a_service_with_a_rate_limit_start_at_equal_intervals(opened):
    async def work():
        async with opened() as traffic:
            return [await traffic.reserve("lane", 2) for _ in range(4)], await traffic.reserve("other", 2)

    waits, other = asyncio.run(work())
    assert waits == pytest.approx([0.0, 0.5, 1.0, 1.5], abs=0.2)
    assert waits == sorted(waits)
    assert other == pytest.approx(0.0, abs=0.01)


def test_rates_below_one_call_per_hour_are_possible(opened):
    async def work():
        async with opened() as traffic:
            return [await traffic.reserve("lane", 1 / 7200) for _ in range(3)]

    assert asyncio.run(work()) == pytest.approx([0, 7200, 14400], abs=1)


def test_a_pause_of_all_calls_to_a_service_ends_when_it_expires(opened):
    async def work():
        async with opened() as traffic:
            before = await traffic.cooldown_s("lane")
            await traffic.start_cooldown("lane", 0.3)
            during = await traffic.cooldown_s("lane")
            await asyncio.sleep(0.35)
            return before, during, await traffic.cooldown_s("lane")

    before, during, after = asyncio.run(work())
    assert before == after == 0
    assert 0 < during <= 0.3


def test_each_process_counts_its_own_calls_while_redis_is_unreachable(redis_server):
    failures: list[int] = []
    here = LocalTraffic()
    redis_server.stop()

    async def work():
        async with TrafficOnRedis(redis_server.url, here, lambda: failures.append(1)) as traffic:
            taken = [await traffic.take_slot("lane", f"job:{i}", 1, 5) for i in range(2)]
            await traffic.start_cooldown("lane", 5)
            return taken, await traffic.cooldown_s("lane"), await traffic.reserve("lane", 10)

    taken, rests, wait_s = asyncio.run(work())
    assert taken == [True, False]
    assert rests > 4
    assert wait_s == 0
    assert len(failures) == 1, "a Redis that failed is left alone for a while"


def test_jobs_that_call_the_same_service_together_never_exceed_its_concurrency(opened):
    running = most = calls = 0

    async def job(traffic, name: str) -> None:
        nonlocal running, most, calls
        lane = Lane("lane", name, Limits(concurrency=3), generator(len(name)), traffic)

        async def work() -> None:
            nonlocal running, most, calls
            async with lane.slot() as slot:
                for _ in range(5):
                    await slot.keep()
                    running += 1
                    most = max(most, running)
                    await asyncio.sleep(0.005)
                    running -= 1
                    calls += 1

        await asyncio.gather(*(work() for _ in range(3)))

    async def both():
        async with opened() as traffic:
            await asyncio.gather(job(traffic, "a"), job(traffic, "bb"))

    asyncio.run(both())
    assert calls == 30
    assert most == 3


def test_a_job_with_many_calls_gives_up_its_call_slot_to_a_waiting_job():
    clock = Clock()
    traffic = LocalTraffic(clock)
    order: list[str] = []

    async def work(name: str, seed: int) -> None:
        lane = Lane("lane", name, Limits(concurrency=1), generator(seed), traffic, pause, clock)
        async with lane.slot() as slot:
            for _ in range(30):
                await slot.keep()
                order.append(name)
                await pause(0.1)

    async def pause(seconds: float) -> None:
        until = clock.now + seconds
        while clock.now < until:
            await asyncio.sleep(0)
            clock.now += 0.002  # both tasks share this clock: each call advances it a little

    async def both():
        await asyncio.gather(work("a", 1), work("b", 2))

    asyncio.run(both())
    assert {"a", "b"} <= set(order[:30]), "the second job waits for no more than a share"


def test_call_limits_are_separate_for_each_tenant_and_address():
    assert lane_of("a", "http://x") == lane_of("a", "http://x")
    assert len({lane_of("a", "http://x"), lane_of("b", "http://x"), lane_of("a", "http://y")}) == 3
