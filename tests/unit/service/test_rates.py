"""What is left of a rate: exact for each caller, also where many take in the same moment."""

import asyncio
from contextlib import asynccontextmanager, closing

import pytest
from redis import Redis

from service.meter import Meter
from service.rates import Rates


@pytest.fixture(params=["in this process", "in Redis"])
def storage(request):
    return None if request.param == "in this process" else request.getfixturevalue("redis_url")


@asynccontextmanager
async def counting(rate, storage):
    rates = Rates(rate, storage, Meter())
    try:
        yield rates
    finally:
        await rates.close()


def told(allowances):
    return [(one.allowed, one.remaining) for one in allowances]


def test_one_after_the_other_counts_down_and_is_refused_at_the_end(storage):
    async def check():
        async with counting("3/hour", storage) as rates:
            taken = [await rates.take("anna") for _ in range(5)]
            assert told(taken) == [(True, 2), (True, 1), (True, 0), (False, 0), (False, 0)]
            assert (await rates.take("bert")).remaining == 2

    asyncio.run(check())


def test_those_who_take_together_count_as_many_and_each_sees_its_own_rest(storage):
    async def check():
        async with counting("10/hour", storage) as rates:
            assert told(await asyncio.gather(*(rates.take("anna") for _ in range(4)))) == [
                (True, 9),
                (True, 8),
                (True, 7),
                (True, 6),
            ]
            assert told([await rates.take("anna")]) == [(True, 5)]
            assert (await rates.left("anna")).remaining == 5

    asyncio.run(check())


def test_together_they_get_what_is_left_and_no_more(storage):
    async def check():
        async with counting("5/hour", storage) as rates:
            await asyncio.gather(*(rates.take("anna") for _ in range(3)))
            taken = await asyncio.gather(*(rates.take("anna") for _ in range(4)))
            assert [one.allowed for one in taken] == [True, True, False, False]
            assert {one.remaining for one in taken} == {0}
            assert not (await rates.left("anna")).allowed

    asyncio.run(check())


def test_a_taker_that_goes_away_does_not_take_the_answer_from_others(storage):
    async def check():
        async with counting("5/hour", storage) as rates:
            first, second = (asyncio.create_task(rates.take("anna")) for _ in range(2))
            await asyncio.sleep(0)
            first.cancel()
            assert (await second).allowed
            assert (await rates.left("anna")).remaining == 3

    asyncio.run(check())


def test_those_who_look_in_the_same_moment_ask_redis_once(redis_url):
    async def check():
        async with counting("5/hour", redis_url) as rates:
            await rates.take("anna")
            scripts = scripts_run(redis_url)
            looks = await asyncio.gather(*(rates.left("bert") for _ in range(8)))
            assert told(looks) == [(True, 5)] * 8
            assert scripts_run(redis_url) == scripts + 1

    asyncio.run(check())


def test_a_looker_that_goes_away_does_not_take_the_answer_from_others(storage):
    async def check():
        async with counting("5/hour", storage) as rates:
            first, second = (asyncio.create_task(rates.left("anna")) for _ in range(2))
            await asyncio.sleep(0)
            first.cancel()
            assert (await second).remaining == 5

    asyncio.run(check())


def scripts_run(redis_url):
    with closing(Redis.from_url(redis_url)) as redis:
        return redis.info("commandstats").get("cmdstat_evalsha", {}).get("calls", 0)
