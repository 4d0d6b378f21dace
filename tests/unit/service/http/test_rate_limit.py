"""Rate limits: exact per caller, also for concurrent requests."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from starlette.requests import Request

from service.http.metrics import Meter
from service.http.problems import Problem
from service.http.rate_limit import JOBS, UPLOADS, RateLimiter, address_of


@pytest.fixture(params=["in this process", "in Redis"])
def storage(request):
    return None if request.param == "in this process" else request.getfixturevalue("redis_url")


@asynccontextmanager
async def counting(rate, storage):
    rates = RateLimiter({JOBS: rate, UPLOADS: rate}, storage, Meter())
    try:
        yield rates
    finally:
        await rates.close()


async def take(rates, tenant, count=1, work=JOBS):
    """Return whether the requests were taken, and how many are left after them."""
    try:
        await rates.take(tenant, count, work)
    except Problem:
        return False, (await rates.remainder(tenant, work)).remaining
    return True, (await rates.remainder(tenant, work)).remaining


def test_sequential_requests_are_refused_when_the_limit_is_used_up(storage):
    async def check():
        async with counting("3/hour", storage) as rates:
            taken = [await take(rates, "anna") for _ in range(5)]
            assert taken == [(True, 2), (True, 1), (True, 0), (False, 0), (False, 0)]
            assert await take(rates, "bert") == (True, 2)

    asyncio.run(check())


def test_concurrent_requests_are_all_counted(storage):
    async def check():
        async with counting("10/hour", storage) as rates:
            taken = await asyncio.gather(*(take(rates, "anna") for _ in range(4)))
            assert all(was_taken for was_taken, _ in taken)
            assert {remaining for _, remaining in taken} <= {6, 7, 8, 9}
            assert await take(rates, "anna") == (True, 5)
            assert (await rates.remainder("anna")).remaining == 5

    asyncio.run(check())


def test_concurrent_requests_cannot_exceed_the_limit(storage):
    async def check():
        async with counting("5/hour", storage) as rates:
            await asyncio.gather(*(take(rates, "anna") for _ in range(3)))
            taken = await asyncio.gather(*(take(rates, "anna") for _ in range(4)))
            assert sum(was_taken for was_taken, _ in taken) == 2
            assert (await rates.remainder("anna")).remaining == 0

    asyncio.run(check())


def test_a_request_for_several_jobs_takes_all_of_them_from_the_rate_limit_or_none(storage):
    async def check():
        async with counting("5/hour", storage) as rates:
            taken = [await take(rates, "anna", count) for count in (3, 3, 2)]
            assert taken == [(True, 2), (False, 2), (True, 0)]
            assert await take(rates, "bert", 6) == (False, 5)

    asyncio.run(check())


def test_each_kind_of_work_has_its_own_rate_limit(storage):
    async def check():
        async with counting("1/hour", storage) as rates:
            assert await take(rates, "anna", work=UPLOADS) == (True, 0)
            assert await take(rates, "anna", work=UPLOADS) == (False, 0)
            assert await take(rates, "anna", work=JOBS) == (True, 0)

    asyncio.run(check())


def test_a_request_above_the_rate_limit_is_refused_with_the_limit_and_the_time_until_it_resets(storage):
    async def check():
        async with counting("2/minute", storage) as rates:
            with pytest.raises(Problem, match="2 new jobs are allowed in 60 s") as refused:
                await rates.take("anna", 3)
            assert refused.value.headers["RateLimit-Policy"] == '"jobs";q=2;w=60'
            assert refused.value.headers["RateLimit"].startswith('"jobs";r=2;t=')
            assert 1 <= int(refused.value.headers["Retry-After"]) <= 60

    asyncio.run(check())


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("::ffff:203.0.113.1", "::ffff:203.0.113.2", False),
        ("::ffff:203.0.113.1", "203.0.113.1", True),
        ("2001:db8::1", "2001:db8::2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
    ],
)
def test_visitors_are_counted_by_ipv4_address_or_ipv6_network(first, second, same):
    counted = [address_of(Request({"type": "http", "client": (host, 1)})) for host in (first, second)]
    assert (counted[0] == counted[1]) is same
