"""New work that arrives together goes to the database together; nobody waits for ever, and nobody pays for others."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from service.intake import MOST_TOGETHER, Intake
from store import jobs
from store.arrivals import Arrival, add_new
from store.database import AsyncDatabase
from store.errors import StoreUnavailable
from store.job import NewJob

MOST = 1000


class Watched(AsyncDatabase):
    """A database that notes how many jobs each statement carries, and can be held up or gone."""

    def __init__(self, url):
        super().__init__(url)
        self.carried, self.open, self.gone = [], asyncio.Event(), False
        self.open.set()

    async def at_once(self, work, arrivals, most):
        assert work is add_new
        await self.open.wait()
        self.carried.append(len(arrivals))
        if self.gone:
            raise StoreUnavailable("gone", 1)
        return await super().at_once(work, arrivals, most)


def asking(number, **special):
    plain = {
        "tenant": "acme",
        "kind": "rating",
        "target_id": None,
        "target": {"name": "Mirror", "base_url": "http://mirror"},
        "sealed_secret": None,
        "experiment": {"method": "round-trip"},
        "request_digest": f"sha256:{number}",
        "seed": number,
        "visibility": "private",
        "callback_url": None,
        "max_calls": 100,
        "deadline_s": 3600,
        "expected": 240,
        "key_id": None,
    }
    return Arrival(NewJob(**{**plain, **special}))


@asynccontextmanager
async def an_intake(url, most=MOST):
    database, rung = Watched(url), []
    try:
        yield database, Intake(database, most, rung.append), rung
    finally:
        await database.close()


async def stored(database, tenant="acme"):
    return {job.id for job in await database.read(lambda c: jobs.page(c, tenant, limit=1000))}


def run(work):
    return asyncio.run(asyncio.wait_for(work, 60))


def test_what_arrives_while_the_database_is_busy_goes_in_one_statement(postgres_url):
    async def check():
        async with an_intake(postgres_url) as (database, intake, rung):
            database.open.clear()
            asked = [asyncio.create_task(intake.add(asking(number))) for number in range(MOST_TOGETHER + 30)]
            await asyncio.sleep(0)
            database.open.set()
            added = await asyncio.gather(*asked)
            assert database.carried == [MOST_TOGETHER, 30]
            assert {job.seed for job, _ in added} == set(range(MOST_TOGETHER + 30))
            assert {job.id for job, _ in added} == set(rung) == await stored(database)
            assert sorted(place for _, place in added) == list(range(1, MOST_TOGETHER + 31))

    run(check())


def test_one_by_one_nobody_is_left_waiting(postgres_url):
    async def check():
        async with an_intake(postgres_url) as (database, intake, rung):
            for number in range(30):
                assert await intake.add(asking(number)) is not None
            assert database.carried == [1] * 30
            assert len(rung) == 30

    run(check())


def test_equal_requests_of_one_moment_become_one_job(postgres_url):
    async def check():
        async with an_intake(postgres_url) as (database, intake, rung):
            added = await asyncio.gather(*(intake.add(asking(1)) for _ in range(5)), intake.add(asking(2)))
            assert sum(one is not None for one in added) == 2
            assert len(rung) == len(await stored(database)) == 2

    run(check())


def test_one_that_cannot_be_written_keeps_no_other_out(postgres_url):
    async def check():
        async with an_intake(postgres_url) as (database, intake, rung):
            database.open.clear()
            asked = [asyncio.create_task(intake.add(asking(number))) for number in range(4)]
            asked.insert(2, asyncio.create_task(intake.add(asking(99, seed=2**70))))  # no BIGINT
            await asyncio.sleep(0)
            database.open.set()
            *done, bad = [*await asyncio.gather(*asked[:2], *asked[3:]), (await asyncio.wait([asked[2]]))[0].pop()]
            assert all(done)
            assert bad.exception() is not None
            assert len(rung) == len(await stored(database)) == 4

    run(check())


def test_where_the_database_is_gone_everybody_is_told_and_the_next_are_served(postgres_url):
    async def check():
        async with an_intake(postgres_url) as (database, intake, rung):
            database.gone = True
            told = await asyncio.gather(*(intake.add(asking(number)) for number in range(7)), return_exceptions=True)
            assert [type(one) for one in told] == [StoreUnavailable] * 7
            assert rung == []
            database.gone = False
            assert await intake.add(asking(1)) is not None

    run(check())


def test_whoever_goes_away_before_it_is_written_orders_nothing_and_after_it_the_job_is_rung_for(postgres_url):
    async def check():
        async with an_intake(postgres_url) as (database, intake, rung):
            database.open.clear()
            under_way = asyncio.create_task(intake.add(asking(1)))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            waiting = asyncio.create_task(intake.add(asking(2)))
            await asyncio.sleep(0)
            for one in (under_way, waiting):
                one.cancel()
            await asyncio.wait([under_way, waiting])
            database.open.set()
            assert await intake.add(asking(3)) is not None
            seeds = {job.seed for job in await database.read(lambda c: jobs.page(c, "acme", limit=10))}
            assert seeds == {1, 3}
            assert set(rung) == await stored(database)

    run(check())


@pytest.mark.parametrize("most", [1, 5])
def test_a_crowd_gets_no_more_than_a_tenant_may_have(postgres_url, most):
    async def check():
        async with an_intake(postgres_url, most) as (database, intake, _):
            added = await asyncio.gather(*(intake.add(asking(number)) for number in range(12)))
            assert sum(one is not None for one in added) == most
            assert len(await stored(database)) == most

    run(check())
