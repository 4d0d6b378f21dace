"""Database access: `Database` for threads, `AsyncDatabase` for an event loop.

All store functions take a synchronous `Connection`. `AsyncDatabase` runs them on Postgres over asyncpg, one statement
at a time: threads that compete with the event loop for the interpreter cost more (docs/decisions/0131-asyncpg.md). On
SQLite it runs a whole function in a thread, because a file answers too fast to switch threads at each statement.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import ColumnElement, Connection, select

from store.core.engines import (
    LOCK_WAIT_S,
    database_url,
    pool_options_of,
    postgres,
    postgres_async,
    sqlite_reader,
    sqlite_writer,
    translate_connection_errors,
    translate_errors,
)
from store.core.errors import StoreUnavailable

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

__all__ = ["AsyncDatabase", "Connection", "Database"]

P = ParamSpec("P")
T = TypeVar("T")

CONFLICT_PAUSES_S = (0.02, 0.04, 0.08)
"""Pauses in seconds before each retry of a transaction that the database aborted in a deadlock."""

READING_THREADS = 4
"""Threads that read from SQLite; more threads would only wait for each other."""


class Database:
    """Synchronous database access for workers and the command line.

    `url` is ``sqlite:////path/assay.db`` or ``postgresql://…``. `pool_size` connections are kept open, `max_overflow`
    more under load. `pool_timeout_s` and `lock_wait_s` are the seconds to wait for a free connection, and for a lock
    of another transaction, before `StoreUnavailable` is raised. `quota` is the number of bytes that each tenant may
    store (`store.quota.quota`); by default, bytes are counted but not limited.

    Create a `Database` after forking, not before. A thread must not open `write` inside `write`.
    """

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 5,
        max_overflow: int = 10,
        pool_timeout_s: float = 5,
        lock_wait_s: float = LOCK_WAIT_S,
        quota: int | None = None,
    ) -> None:
        parsed_url, pool_options = database_url(url), pool_options_of(pool_size, max_overflow, pool_timeout_s)
        if parsed_url.drivername == "sqlite":
            self._reader = sqlite_reader(parsed_url, lock_wait_s, **pool_options)
            one_writer = pool_options_of(size=1, overflow=0, timeout_s=lock_wait_s)  # SQLite allows a single writer
            self._writer = sqlite_writer(parsed_url, lock_wait_s, **one_writer)
        else:
            self._writer = postgres(parsed_url, lock_wait_s, **pool_options)
            self._reader = self._writer.execution_options(isolation_level="AUTOCOMMIT")
        self._writer = self._writer.execution_options(tenant_quota=quota)  # enforced by `store.quota.quota.check`

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open a transaction: committed at the end of the block, rolled back on any exception.

        SQLite takes the write lock at once (``BEGIN IMMEDIATE``); Postgres uses READ COMMITTED.
        Raise `StoreUnavailable` if the database cannot serve now.
        """
        with translate_errors(), self._writer.begin() as connection:
            yield connection

    def value_of(self, expression: ColumnElement[T]) -> T:
        """Read the value of one SQL expression."""
        with self.read() as connection:
            return connection.execute(select(expression)).scalar_one()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a connection for reading: each statement sees committed data and never waits for a writer."""
        with translate_errors(), self._reader.connect() as connection:
            yield connection

    def close(self) -> None:
        """Close every connection of the pools."""
        for engine in (self._reader, self._writer):
            engine.dispose()


class AsyncDatabase:
    """Asynchronous database access for the service; parameters as for `Database`.

    With `read_only`, a Postgres server refuses every write.
    """

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 10,
        max_overflow: int = 10,
        pool_timeout_s: float = 2,
        lock_wait_s: float = LOCK_WAIT_S,
        quota: int | None = None,
        read_only: bool = False,
    ) -> None:
        parsed_url = database_url(url)
        if parsed_url.drivername == "sqlite":
            reader_options: Any = {"pool_size": READING_THREADS, "max_overflow": 0, "pool_timeout_s": pool_timeout_s}
            database = Database(url, **reader_options, lock_wait_s=lock_wait_s, quota=quota)
            self._backend: _SqliteBackend | _PostgresBackend = _SqliteBackend(
                database, read_wait_s=pool_timeout_s, write_wait_s=lock_wait_s
            )
        else:
            pool_options = pool_options_of(pool_size, max_overflow, pool_timeout_s)
            engine = postgres_async(parsed_url, lock_wait_s, read_only=read_only, **pool_options)
            self._backend = _PostgresBackend(engine.execution_options(tenant_quota=quota))

    async def write(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run ``work(connection, *args, **kwargs)`` as one transaction.

        A transaction that loses a deadlock is retried, at most three times, so `work` must have no
        effect that a rollback does not undo. Raise `StoreUnavailable` if the database cannot serve now.
        """

        def call(connection: Connection) -> T:
            return work(connection, *args, **kwargs)

        for pause_s in CONFLICT_PAUSES_S:
            try:
                return await self._backend.write(call)
            except StoreUnavailable as error:
                if error.reason != "conflict":
                    raise
            await asyncio.sleep(pause_s)
        return await self._backend.write(call)  # the last attempt

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run ``work(connection, *args, **kwargs)`` without a transaction, on committed data.

        Raise `StoreUnavailable` if the database cannot serve now.
        """
        return await self._backend.read(lambda connection: work(connection, *args, **kwargs))

    async def close(self) -> None:
        """Wait until the functions that still run have ended, then close every connection."""
        await self._backend.close()


class _PostgresBackend:
    """Runs functions on Postgres (asyncpg); a function is rolled back if the task that waits for it is cancelled."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._writer = engine
        self._reader = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._connections_in_use = 0
        self._all_returned = asyncio.Event()
        self._all_returned.set()  # no connection is in use yet

    async def write(self, work: Callable[[Connection], T]) -> T:
        async with self._open_connection(self._writer) as connection, connection.begin():
            return await connection.run_sync(work)

    async def read(self, work: Callable[[Connection], T]) -> T:
        async with self._open_connection(self._reader) as connection:
            return await connection.run_sync(work)

    @asynccontextmanager
    async def _open_connection(self, engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
        """Open a connection; it is counted, so that `close` can wait until all connections are returned."""
        self._connections_in_use += 1
        self._all_returned.clear()
        try:
            with translate_errors():
                with translate_connection_errors():
                    connection = await engine.connect().start()
                try:
                    yield connection
                finally:
                    await connection.close()
        finally:
            self._connections_in_use -= 1
            if not self._connections_in_use:
                self._all_returned.set()

    async def close(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(LOCK_WAIT_S):
                await self._all_returned.wait()  # a pool closes only the connections that have been returned to it
        await self._writer.dispose()


class _SqliteBackend:
    """Runs functions on SQLite: `READING_THREADS` threads read, one writes; a running function is never cancelled."""

    def __init__(self, database: Database, read_wait_s: float, write_wait_s: float) -> None:
        self._database = database
        self._read_slots = _Slots(READING_THREADS, read_wait_s, reason="busy")
        self._write_slots = _Slots(1, write_wait_s, reason="locked")
        self._threads = ThreadPoolExecutor(READING_THREADS + 1, thread_name_prefix="store")  # one more, which writes

    async def write(self, work: Callable[[Connection], T]) -> T:
        return await self._run_in_thread(self._database.write, self._write_slots, work)

    async def read(self, work: Callable[[Connection], T]) -> T:
        return await self._run_in_thread(self._database.read, self._read_slots, work)

    async def _run_in_thread(
        self, connect: Callable[[], AbstractContextManager[Connection]], slots: _Slots, work: Callable[[Connection], T]
    ) -> T:
        """Run a function with a connection in a thread, as soon as a slot is free."""

        def call() -> T:
            with connect() as connection:
                return work(connection)

        await slots.take()
        # runs in a copy of the context, as in `asyncio.to_thread`; the slot is released only when the thread is free
        future = asyncio.get_running_loop().run_in_executor(self._threads, copy_context().run, call)
        future.add_done_callback(slots.release)
        return await asyncio.shield(future)

    async def close(self) -> None:
        await asyncio.to_thread(self._threads.shutdown)
        self._database.close()


class _Slots:
    """Limits how many functions use a connection at once; further functions wait, and fail after `wait_s` seconds."""

    def __init__(self, count: int, wait_s: float, reason: str) -> None:
        self._free_slots, self._wait_s, self._reason = asyncio.Semaphore(count), wait_s, reason

    async def take(self) -> None:
        """Take a slot, the right to use a connection; raise `StoreUnavailable` if none becomes free in time."""
        try:
            async with asyncio.timeout(self._wait_s):
                await self._free_slots.acquire()
        except TimeoutError:
            raise StoreUnavailable(self._reason) from None

    def release(self, future: asyncio.Future[Any]) -> None:
        """Free the slot of a function that used a connection and has ended."""
        self._free_slots.release()
        if not future.cancelled():
            future.exception()  # otherwise asyncio logs the error of a function whose caller was cancelled
