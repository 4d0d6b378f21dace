"""Single-flight cache: ages of values, shared reads, and eviction."""

import asyncio
from collections import Counter

import pytest

from service.http.swr_cache import SwrCache

pytestmark = pytest.mark.anyio


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

    async def __call__(self) -> int:
        self.reads += 1
        mine = self.reads
        await self.gate.wait()
        if self.broken:
            raise LookupError("gone")
        return mine


def made(keep_s=0.5, most=10):
    clock, counted = Clock(), Counter()
    return (
        SwrCache(keep_s, 1.0, lambda outcome: counted.update([outcome]), capacity=most, clock=clock),
        Reader(),
        clock,
        counted,
    )


async def turn():
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_thousand_concurrent_callers_of_a_cache_share_one_read():
    cache, read, _, counted = made()
    read.gate.clear()
    asked = [asyncio.create_task(cache.get("a", read)) for _ in range(1000)]
    await turn()
    read.gate.set()
    assert set(await asyncio.gather(*asked)) == {1}
    assert (read.reads, counted["read"]) == (1, 1)


async def test_a_stale_cached_value_is_returned_while_it_is_read_again():
    cache, read, clock, counted = made()
    assert await cache.get("a", read) == 1
    clock.now += 0.5
    assert await cache.get("a", read) == 1
    assert read.reads == 1
    clock.now += 0.2
    assert await cache.get("a", read) == 1  # the stale value, while the second read begins
    await turn()
    assert await cache.get("a", read) == 2
    assert counted == {"miss": 1, "hit": 3, "read": 2}


async def test_a_cached_value_older_than_the_limit_stale_s_is_read_again():
    cache, read, clock, _ = made()
    assert await cache.get("a", read) == 1
    clock.now += 1.01
    assert await cache.get("a", read) == 2


async def test_an_error_reaches_every_waiting_caller_and_is_not_cached():
    cache, read, _, _ = made()
    read.broken = True
    for answer in await asyncio.gather(*(cache.get("a", read) for _ in range(3)), return_exceptions=True):
        assert isinstance(answer, LookupError)
    read.broken = False
    assert await cache.get("a", read) == 2


async def test_cancelling_the_caller_that_began_a_cached_read_does_not_cancel_it_for_other_callers():
    cache, read, _, _ = made()
    read.gate.clear()
    first = asyncio.create_task(cache.get("a", read))
    await turn()
    second = asyncio.create_task(cache.get("a", read))
    await turn()
    first.cancel()
    read.gate.set()
    assert await second == 1


async def test_the_least_recently_used_value_is_removed_from_the_cache_first():
    moments, read, _, counted = made(most=2)
    await moments.get("popular", read)
    for place in range(9):
        await moments.get(f"once {place}", read)
        await moments.get("popular", read)
    assert (read.reads, counted["hit"]) == (10, 9)
    await moments.get("once 7", read)
    assert read.reads == 11


async def test_a_cache_with_a_keep_time_of_0_stores_nothing():
    cache, read, _, counted = made(keep_s=0)
    assert [await cache.get("a", read) for _ in range(3)] == [1, 2, 3]
    assert counted == {"miss": 3, "read": 3}
