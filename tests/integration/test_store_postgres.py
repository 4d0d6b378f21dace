"""Tests on a Postgres server: locks between sessions, restarts and errors."""

import asyncio
from contextlib import ExitStack, closing

import pytest
from sqlalchemy import text

from store.core import migrate
from store.core.database import AsyncDatabase, Database
from store.core.errors import StoreUnavailable
from store.jobs import jobs
from tests.support.concurrency import run_concurrently
from tests.support.jobs import new_job


@pytest.fixture
def database(postgres_url):
    with closing(Database(postgres_url)) as database:
        yield database


def unavailable(reason):
    return pytest.raises(StoreUnavailable, match=rf"\({reason}\)")


def test_only_one_of_two_reconcilers_gets_the_lock(database):
    with database.write() as first, database.write() as second:
        assert jobs.try_reconciler_lock(first)
        assert not jobs.try_reconciler_lock(second)
    with database.write() as again:
        assert jobs.try_reconciler_lock(again)


def test_row_lock_of_a_job_blocks_heartbeats_but_not_new_events(database, postgres_url):
    """The lock is FOR NO KEY UPDATE, so inserts with a foreign key to the job do not wait for it."""
    with database.write() as c:
        claim = jobs.claim(c, jobs.add(c, new_job()).id, "worker")
    with ExitStack() as stack, database.write() as holding, database.write() as other:
        jobs.hold(holding, claim)
        insert = "INSERT INTO events (job_id, type, data, fence, at) VALUES (:id, 'progress', '{}', 0, 0)"
        other.execute(text("SET LOCAL lock_timeout = '100ms'"))
        other.execute(text(insert), {"id": claim.job.id})
        second = stack.enter_context(closing(Database(postgres_url, lock_wait_s=0.1)))
        with unavailable("locked"), second.write() as c:
            jobs.heartbeat(c, claim)


def test_one_of_several_concurrent_claims_of_an_expired_lease_succeeds(database):
    with database.write() as c:
        job = jobs.add(c, new_job())
        jobs.claim(c, job.id, "frozen worker", lease_s=0)

    def claim(number):
        with database.write() as c:
            return jobs.claim(c, job.id, f"worker {number}")

    claims = run_concurrently(8, claim)
    assert [claim.fence for claim in claims if claim is not None] == [2]


def test_transaction_that_loses_a_deadlock_is_retried(postgres_url):
    async def use():
        database = AsyncDatabase(postgres_url)
        first, second = [(await database.write(jobs.add, new_job())).id for _ in range(2)]
        runs = []

        def lock_in_order(c, one, other):
            runs.append(one)
            c.execute(text("SELECT 1 FROM jobs WHERE id = :id FOR UPDATE"), {"id": one})
            c.execute(text("SELECT pg_sleep(0.1)"))
            c.execute(text("SELECT 1 FROM jobs WHERE id = :id FOR UPDATE"), {"id": other})

        await asyncio.gather(database.write(lock_in_order, first, second), database.write(lock_in_order, second, first))
        await database.close()
        return runs

    assert len(asyncio.run(use())) >= 3


@pytest.mark.parametrize(
    ("state", "reason"),
    [("53100", "full"), ("53300", "busy"), ("25006", "read-only"), ("57P01", "unreachable"), ("40P01", "conflict")],
)
def test_errors_of_the_postgres_server_are_reported_as_outages_with_a_reason(database, postgres_url, state, reason):
    refusal = text(f"DO $$ BEGIN RAISE EXCEPTION 'hunter2' USING ERRCODE = '{state}'; END $$")
    with unavailable(reason) as refused, database.write() as c:
        c.execute(refusal)
    assert "hunter2" not in str(refused.value)

    async def use():
        service = AsyncDatabase(postgres_url)
        with unavailable(reason):
            await service.write(lambda c: c.execute(refusal))
        await service.close()

    asyncio.run(use())


def test_connections_recover_after_a_server_restart(postgres_server, database, postgres_url):
    with database.write() as c:
        claim = jobs.claim(c, jobs.add(c, new_job()).id, "worker")

    async def use():
        service = AsyncDatabase(postgres_url)
        await service.read(jobs.counts_by_status)
        await service.write(jobs.heartbeat, claim)
        postgres_server.stop(immediately=True)
        try:
            with unavailable("unreachable"):
                await service.read(jobs.counts_by_status)
            with unavailable("unreachable"):
                await service.write(jobs.heartbeat, claim)
            with unavailable("unreachable"), database.read() as c:
                jobs.counts_by_status(c)
            with unavailable("unreachable"), database.write() as c:
                jobs.heartbeat(c, claim)
        finally:
            postgres_server.start()
        assert (await service.write(jobs.heartbeat, claim)).lease_held
        assert await service.read(jobs.counts_by_status) == {"running": 1}
        await service.close()

    asyncio.run(use())
    with database.write() as c:
        assert jobs.heartbeat(c, claim).lease_held


def test_closed_idle_connections_cause_at_most_one_failed_request(postgres_server, postgres_url):
    async def use():
        service = AsyncDatabase(postgres_url, pool_size=3)
        await asyncio.gather(*(service.read(jobs.counts_by_status) for _ in range(3)))
        postgres_server.stop()
        postgres_server.start()
        refusals = 0
        for _ in range(6):
            try:
                await service.read(jobs.counts_by_status)
            except StoreUnavailable:
                refusals += 1
        await service.close()
        return refusals

    assert asyncio.run(use()) <= 1


def test_closing_the_database_waits_for_functions_that_still_use_it(postgres_url):
    """Otherwise their connections stay open until the garbage collector warns about them."""

    async def use():
        service = AsyncDatabase(postgres_url, pool_size=3)
        waiting = asyncio.create_task(
            service.read(lambda c: c.execute(text("SELECT 7 FROM pg_sleep(0.3)")).scalar_one())
        )
        await asyncio.sleep(0)  # it connects
        await service.close()
        assert waiting.done()
        return waiting.result()

    assert asyncio.run(use()) == 7
    with closing(Database(postgres_url)) as others, others.read() as c:
        sessions = c.execute(text("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT 7%'")).scalar_one()
    assert sessions == 0


def test_a_missing_postgres_server_is_reported_as_unreachable(short_dir):
    url = f"postgresql://postgres@/assay?host={short_dir}"
    with closing(Database(url)) as database, unavailable("unreachable"), database.read():
        pass
    with unavailable("unreachable"):
        migrate.check(url)

    async def use():
        service = AsyncDatabase(url)
        with unavailable("unreachable"):
            await service.read(jobs.counts_by_status)
        await service.close()

    asyncio.run(use())


def test_concurrent_migrations_of_an_empty_database_succeed(postgres_server):
    postgres_server.execute("CREATE DATABASE empty")
    url = postgres_server.url("empty")
    try:
        run_concurrently(3, lambda _: migrate.upgrade(url))
        migrate.check(url)
    finally:
        postgres_server.execute("DROP DATABASE empty WITH (FORCE)")
