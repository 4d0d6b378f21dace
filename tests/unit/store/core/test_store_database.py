import asyncio
import sqlite3
import threading
import time
import tracemalloc
from contextlib import closing

import pytest
from sqlalchemy import event, text
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from store.core import engines
from store.core.database import READING_THREADS, AsyncDatabase, Database
from store.core.errors import StoreUnavailable
from store.jobs import jobs, observations


# ---------------------------------------------------------------------------- addresses
@pytest.mark.parametrize(
    "written",
    ["", "nonsense", "sqlite://", "sqlite:///:memory:", "mysql://host/assay", "postgresql://user:hunter2@host:x/"],
)
def test_an_address_that_cannot_serve_is_refused_without_repeating_it(written):
    with pytest.raises(ValueError) as refused:
        engines.database_url(written)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "written",
    ["postgres://h/assay", "postgresql://h/assay", "postgresql+psycopg://h/assay", "postgresql+asyncpg://h/assay"],
)
def test_the_driver_is_ours_to_choose(written):
    assert engines.database_url(written).drivername == "postgresql"


# ---------------------------------------------------------------------------- transactions
def test_a_transaction_is_all_or_nothing(database, a_job):
    def half_way():
        with database.write() as c:
            jobs.add(c, a_job())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half_way()
    with database.read() as c:
        assert jobs.counts_by_status(c) == {}


def test_readers_do_not_wait_for_a_writer_and_see_what_is_committed(database, a_job):
    with database.write() as writing:
        job = jobs.add(writing, a_job())
        with database.read() as reading:
            assert jobs.find(reading, job.id, None) is None
    with database.read() as reading:
        assert jobs.find(reading, job.id, None) == job


def test_an_observation_needs_its_job(database):
    with pytest.raises(IntegrityError), database.write() as c:
        c.execute(text("INSERT INTO events (job_id, type, data, fence, at) VALUES ('nobody', 'x', '{}', 0, 0)"))


def test_a_running_job_is_leased_and_no_other_is(database, queued):
    job = queued()
    with pytest.raises(IntegrityError), database.write() as c:
        c.execute(text("UPDATE jobs SET status = 'running' WHERE id = :id"), {"id": job.id})


def test_a_defect_is_not_taken_for_an_outage_and_shows_no_parameters(database):
    with pytest.raises(SQLAlchemyError) as defect, database.read() as c:
        c.execute(text("SELECT nothing FROM nowhere WHERE secret = :secret"), {"secret": "hunter2"})
    assert "hunter2" not in str(defect.value)


# ---------------------------------------------------------------------------- outages
def unavailable(reason):
    return pytest.raises(StoreUnavailable, match=rf"\({reason}\)")


def test_a_locked_file_is_waited_for_and_then_refused(sqlite_url, a_job):
    file = engines.database_url(sqlite_url).database
    with closing(Database(sqlite_url, lock_wait_s=0.3)) as database, closing(sqlite3.connect(file)) as other:
        other.isolation_level = None
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        with unavailable("locked") as refused, database.write():
            pass
        assert time.monotonic() - began >= 0.25
        assert refused.value.retry_after_s >= 1
        other.execute("ROLLBACK")
        with database.write() as c:
            jobs.add(c, a_job())


def test_a_second_writer_of_the_same_process_waits_its_turn(database, a_job):
    order = []

    def write():
        with database.write() as c:
            jobs.add(c, a_job())
            order.append("second")

    with database.write() as c:
        jobs.add(c, a_job())
        thread = threading.Thread(target=write)
        thread.start()
        time.sleep(0.05)
        order.append("first")
    thread.join()
    assert sorted(order) == ["first", "second"]
    with database.read() as c:
        assert jobs.counts_by_status(c) == {"queued": 2}


def test_a_full_disk_is_an_outage_and_leaves_nothing_half_written(sqlite_url, a_job):
    with closing(Database(sqlite_url)) as database:
        with database.write() as c:
            pages = c.exec_driver_sql("PRAGMA page_count").scalar_one()
            c.exec_driver_sql(f"PRAGMA max_page_count = {pages + 1}")
        with unavailable("full") as refused, database.write() as c:
            for _ in range(10):
                jobs.add(c, a_job(target={"base_url": "x" * 10_000}))
        assert "INSERT" not in str(refused.value)
        with database.read() as c:
            assert jobs.counts_by_status(c) == {}


def test_a_read_only_file_is_an_outage_for_writers(sqlite_url, a_job):
    with closing(Database(sqlite_url)) as database:
        with database.write() as c:
            c.exec_driver_sql("PRAGMA query_only = ON")
        with unavailable("read-only"), database.write() as c:
            jobs.add(c, a_job())


def test_a_directory_that_is_gone_is_an_outage(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/gone/assay.db")
    with unavailable("unreachable"), database.read():
        pass
    database.close()


def test_a_file_that_is_no_database_is_an_outage(tmp_path):
    (tmp_path / "assay.db").write_bytes(b"this is not a database" * 100)
    database = Database(f"sqlite:///{tmp_path}/assay.db")
    with unavailable("unreachable"), database.read() as c:
        jobs.counts_by_status(c)
    database.close()


# ---------------------------------------------------------------------------- from the event loop
def test_the_service_s_door_does_what_the_workers_does(database_url, a_job):
    async def use():
        database = AsyncDatabase(database_url)
        try:
            job = await database.write(jobs.add, a_job())
            with pytest.raises(ZeroDivisionError):
                await database.write(lambda c: (jobs.add(c, a_job()), 1 / 0))
            assert await database.read(jobs.find, job.id, tenant="acme") == job
            assert await database.read(jobs.counts_by_status) == {"queued": 1}
            claim = await database.write(jobs.claim, job.id, "worker")
            assert await database.write(jobs.claim, job.id, "worker") is None
            assert await database.write(jobs.heartbeat, claim) == jobs.Beat(cancel_requested=False, held=True)
        finally:
            await database.close()

    asyncio.run(use())


def test_many_requests_at_once_all_write(database_url, a_job):
    async def use():
        database = AsyncDatabase(database_url)
        try:
            await asyncio.gather(*(database.write(jobs.add, a_job()) for _ in range(50)))
            assert await database.read(jobs.counts_by_status) == {"queued": 50}
        finally:
            await database.close()

    asyncio.run(use())


def test_a_request_that_is_given_up_writes_nothing_and_holds_nothing(database_url, a_job):
    async def use():
        database = AsyncDatabase(database_url, lock_wait_s=1)
        try:
            for _ in range(5):
                slow = asyncio.create_task(database.write(lambda c: (jobs.add(c, a_job()), time.sleep(0.05))))
                await asyncio.sleep(0.001)
                slow.cancel()
                await asyncio.gather(slow, return_exceptions=True)
            await database.write(jobs.add, a_job())
            assert (await database.read(jobs.counts_by_status))["queued"] >= 1
        finally:
            await database.close()

    asyncio.run(use())


def test_without_a_free_connection_a_request_is_refused_in_time(database_url):
    def slow(c):
        if c.dialect.name == "sqlite":
            time.sleep(0.6)
        else:
            c.execute(text("SELECT pg_sleep(0.6)"))

    async def use():
        database = AsyncDatabase(database_url, pool_size=1, max_overflow=0, pool_timeout_s=0.2)
        occupied = [asyncio.create_task(database.read(slow)) for _ in range(READING_THREADS)]
        await asyncio.sleep(0.05)
        began = time.monotonic()
        with unavailable("busy"):
            await database.read(jobs.counts_by_status)
        assert time.monotonic() - began < 0.5
        await asyncio.gather(*occupied, return_exceptions=True)
        assert await database.read(jobs.counts_by_status) == {}
        await database.close()

    asyncio.run(use())


def test_a_locked_file_does_not_keep_the_service_from_reading(sqlite_url, a_job):
    async def use():
        database = AsyncDatabase(sqlite_url, lock_wait_s=0.3)
        with closing(sqlite3.connect(engines.database_url(sqlite_url).database)) as other:
            other.isolation_level = None
            other.execute("BEGIN IMMEDIATE")
            writing = [asyncio.create_task(database.write(jobs.add, a_job())) for _ in range(20)]
            for _ in range(20):
                assert await database.read(jobs.counts_by_status) == {}
            refused = await asyncio.gather(*writing, return_exceptions=True)
            other.execute("ROLLBACK")
        assert {str(error) for error in refused} == {str(StoreUnavailable("locked", 1))}
        await database.write(jobs.add, a_job())
        await database.close()

    began = time.monotonic()
    asyncio.run(use())
    assert time.monotonic() - began < 2


# ---------------------------------------------------------------------------- size
def test_the_number_of_statements_does_not_grow_with_what_is_recorded(database, claimed, entry):
    statements = []
    event.listen(database._writer, "after_cursor_execute", lambda *args: statements.append(args[2]))
    claim = claimed()
    counts = []
    for size in (1, 200):
        statements.clear()
        with database.write() as c:
            answers = [entry(f"{size}-{n}", "hola") for n in range(size)]
            jobs.record(c, claim, answers, calls=size, expected=201, stage="asking")
        counts.append(len([each for each in statements if "BEGIN" not in each]))
    assert counts == [6, 6]  # hold, look up, clock, upsert, count, event


@pytest.mark.slow
def test_twenty_thousand_observations_are_streamed_in_flat_memory(database, claimed, entry):
    claim = claimed()
    for start in range(0, 20_000, 500):
        with database.write() as c:
            answers = [entry(f"u{n}", "hola " * 20) for n in range(start, start + 500)]
            jobs.record(c, claim, answers, calls=500, expected=20_000, stage="asking")
    tracemalloc.start()
    seen, peaks = 0, []
    with database.read() as c:
        while page := observations.page(c, claim.job.id, seen, 500):
            assert [kept.seq for kept in page] == list(range(seen + 1, seen + len(page) + 1))
            seen += len(page)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.reset_peak()
    tracemalloc.stop()
    assert seen == 20_000
    assert max(peaks[20:]) < 1.5 * max(peaks[2:6])
