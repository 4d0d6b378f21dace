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


# ---------------------------------------------------------------------------- database URLs
@pytest.mark.parametrize(
    "written",
    ["", "nonsense", "sqlite://", "sqlite:///:memory:", "mysql://host/assay", "postgresql://user:hunter2@host:x/"],
)
def test_invalid_database_url_is_refused_without_showing_the_password(written):
    with pytest.raises(ValueError) as refused:
        engines.database_url(written)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "written",
    ["postgres://h/assay", "postgresql://h/assay", "postgresql+psycopg://h/assay", "postgresql+asyncpg://h/assay"],
)
def test_driver_in_the_database_url_is_ignored(written):
    assert engines.database_url(written).drivername == "postgresql"


# ---------------------------------------------------------------------------- transactions
def test_failed_transaction_is_rolled_back(database, a_job):
    def fail_after_adding():
        with database.write() as c:
            jobs.add(c, a_job())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_after_adding()
    with database.read() as c:
        assert jobs.counts_by_status(c) == {}


def test_readers_see_committed_data_without_waiting_for_a_writer(database, a_job):
    with database.write() as writing:
        job = jobs.add(writing, a_job())
        with database.read() as reading:
            assert jobs.find(reading, job.id, None) is None
    with database.read() as reading:
        assert jobs.find(reading, job.id, None) == job


def test_event_of_an_unknown_job_is_refused(database):
    with pytest.raises(IntegrityError), database.write() as c:
        c.execute(text("INSERT INTO events (job_id, type, data, fence, at) VALUES ('nobody', 'x', '{}', 0, 0)"))


def test_running_job_without_a_lease_is_refused(database, queued):
    job = queued()
    with pytest.raises(IntegrityError), database.write() as c:
        c.execute(text("UPDATE jobs SET status = 'running' WHERE id = :id"), {"id": job.id})


def test_error_of_an_invalid_sql_statement_does_not_show_the_parameters(database):
    with pytest.raises(SQLAlchemyError) as defect, database.read() as c:
        c.execute(text("SELECT nothing FROM nowhere WHERE secret = :secret"), {"secret": "hunter2"})
    assert "hunter2" not in str(defect.value)


# ---------------------------------------------------------------------------- outages
def unavailable(reason):
    return pytest.raises(StoreUnavailable, match=rf"\({reason}\)")


def test_write_to_a_locked_file_waits_and_then_fails(sqlite_url, a_job):
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


def test_second_writer_of_a_process_waits_for_the_first(database, a_job):
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


def test_full_disk_raises_store_unavailable_and_rolls_back(sqlite_url, a_job):
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


def test_write_to_a_read_only_file_raises_store_unavailable(sqlite_url, a_job):
    with closing(Database(sqlite_url)) as database:
        with database.write() as c:
            c.exec_driver_sql("PRAGMA query_only = ON")
        with unavailable("read-only"), database.write() as c:
            jobs.add(c, a_job())


def test_missing_directory_raises_store_unavailable(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/gone/assay.db")
    with unavailable("unreachable"), database.read():
        pass
    database.close()


def test_file_that_is_not_a_database_raises_store_unavailable(tmp_path):
    (tmp_path / "assay.db").write_bytes(b"this is not a database" * 100)
    database = Database(f"sqlite:///{tmp_path}/assay.db")
    with unavailable("unreachable"), database.read() as c:
        jobs.counts_by_status(c)
    database.close()


# ---------------------------------------------------------------------------- AsyncDatabase
def test_async_database_runs_the_same_store_functions(database_url, a_job):
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
            assert await database.write(jobs.heartbeat, claim) == jobs.Beat(cancel_requested=False, lease_held=True)
        finally:
            await database.close()

    asyncio.run(use())


def test_concurrent_requests_can_all_write(database_url, a_job):
    async def use():
        database = AsyncDatabase(database_url)
        try:
            await asyncio.gather(*(database.write(jobs.add, a_job()) for _ in range(50)))
            assert await database.read(jobs.counts_by_status) == {"queued": 50}
        finally:
            await database.close()

    asyncio.run(use())


def test_cancelled_requests_leave_no_database_lock(database_url, a_job):
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


def test_a_cancelled_function_on_sqlite_uses_its_connection_until_it_ends(sqlite_url):
    async def use():
        database = AsyncDatabase(sqlite_url, pool_size=1, max_overflow=0, pool_timeout_s=0.2, lock_wait_s=0.2)
        begun, may_end = threading.Event(), threading.Event()

        def wait(_connection):
            begun.set()
            may_end.wait(30)

        cancelled = asyncio.create_task(database.write(wait))
        await asyncio.to_thread(begun.wait)
        cancelled.cancel()
        with pytest.raises(StoreUnavailable):
            await database.write(lambda _connection: None)
        may_end.set()
        await asyncio.sleep(0.1)
        await database.write(lambda _connection: None)
        await database.close()

    asyncio.run(use())


def test_request_without_a_free_connection_fails_after_the_timeout(database_url):
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


def test_async_reads_of_a_locked_file_succeed_while_writes_fail(sqlite_url, a_job):
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
        assert {str(error) for error in refused} == {str(StoreUnavailable("locked"))}
        await database.write(jobs.add, a_job())
        await database.close()

    began = time.monotonic()
    asyncio.run(use())
    assert time.monotonic() - began < 2


# ---------------------------------------------------------------------------- size
def test_recording_200_observations_takes_as_many_statements_as_recording_one(database, claimed, entry):
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
    assert counts == [6, 6]  # six statements: lock, look up, clock, upsert, count, event


@pytest.mark.slow
def test_20000_observations_are_read_with_constant_memory(database, claimed, entry):
    claim = claimed()
    for start in range(0, 20_000, 500):
        with database.write() as c:
            answers = [entry(f"u{n}", "hola " * 20) for n in range(start, start + 500)]
            jobs.record(c, claim, answers, calls=500, expected=20_000, stage="asking")
    tracemalloc.start()
    seen, peaks = 0, []
    with database.read() as c:
        while page := observations.page(c, claim.job.id, seen, 500):
            assert [row.seq for row in page] == list(range(seen + 1, seen + len(page) + 1))
            seen += len(page)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.reset_peak()
    tracemalloc.stop()
    assert seen == 20_000
    assert max(peaks[20:]) < 1.5 * max(peaks[2:6])
