"""The two doors to the database: `Database` for threads, `AsyncDatabase` for the service.

Everything behind them is written once, over a synchronous `Connection`. From the event loop, a
piece of work runs on Postgres over asyncpg, statement by statement, and on SQLite as a whole in a
thread: a file answers too fast for a hop to another thread at each statement (measured: 2.5 times
the reads and writes of aiosqlite).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncEngine

from store.core.engines import (
    LOCK_WAIT_S,
    RETRY_AFTER_S,
    connecting,
    database_url,
    pool,
    postgres,
    postgres_async,
    sqlite_reader,
    sqlite_writer,
    translated,
)
from store.core.errors import StoreUnavailable

P = ParamSpec("P")
T = TypeVar("T")

CONFLICT_PAUSES_S = (0.02, 0.04, 0.08)
"""Pauses before a transaction that lost a deadlock is run again."""

READING_THREADS = 4
"""More threads than this only wait for each other."""


class Database:
    """The database for code that runs in threads: workers and the command line.

    Parameters
    ----------
    url : str
        ``sqlite:////path/assay.db`` or ``postgresql://…``.
    pool_size, max_overflow : int
        Connections kept, and opened beyond that under load.
    pool_timeout_s : float
        How long to wait for a free connection before `StoreUnavailable`.
    lock_wait_s : float
        How long a write waits for another one before `StoreUnavailable`.

    Notes
    -----
    Make it after forking. A thread must not open `write` inside `write`.
    """

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 5,
        max_overflow: int = 10,
        pool_timeout_s: float = 5,
        lock_wait_s: float = LOCK_WAIT_S,
    ) -> None:
        target, kept = database_url(url), pool(pool_size, max_overflow, pool_timeout_s)
        if target.drivername == "sqlite":
            self._reader = sqlite_reader(target, lock_wait_s, **kept)
            self._writer = sqlite_writer(target, lock_wait_s, **pool(1, 0, lock_wait_s))
        else:
            self._writer = postgres(target, lock_wait_s, **kept)
            self._reader = self._writer.execution_options(isolation_level="AUTOCOMMIT")

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction: committed at the end of the block, rolled back on any exception.

        SQLite takes the write lock at once (``BEGIN IMMEDIATE``), Postgres reads what is committed.

        Raises
        ------
        StoreUnavailable
            If the database cannot serve now.
        """
        with ExitStack() as stack:
            stack.enter_context(translated())
            with connecting():
                connection = stack.enter_context(self._writer.connect())
                stack.enter_context(connection.begin())
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Reads, each statement seeing what is committed; never waits for a writer."""
        with ExitStack() as stack:
            stack.enter_context(translated())
            with connecting():
                connection = stack.enter_context(self._reader.connect())
            yield connection

    def close(self) -> None:
        """Close every pooled connection."""
        for engine in (self._reader, self._writer):
            engine.dispose()


class AsyncDatabase:
    """The database for the service: the same functions, run from an event loop.

    Parameters
    ----------
    url : str
        ``sqlite:////path/assay.db`` or ``postgresql://…``.
    pool_size, max_overflow : int
        Connections kept, and opened beyond that under load.
    pool_timeout_s : float
        How long a request waits for a free connection before `StoreUnavailable`.
    lock_wait_s : float
        How long a write waits for another one before `StoreUnavailable`.
    """

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 10,
        max_overflow: int = 10,
        pool_timeout_s: float = 2,
        lock_wait_s: float = LOCK_WAIT_S,
    ) -> None:
        target = database_url(url)
        if target.drivername == "sqlite":
            database = Database(url, pool_size=READING_THREADS, pool_timeout_s=pool_timeout_s, lock_wait_s=lock_wait_s)
            self._side: _Side = _InThreads(database, pool_timeout_s, lock_wait_s)
        else:
            kept = pool(pool_size, max_overflow, pool_timeout_s)
            self._side = _OnTheLoop(postgres_async(target, lock_wait_s, **kept))

    async def write(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run ``work(connection, *args, **kwargs)`` as one transaction.

        A transaction that loses a deadlock is run again, at most three times, so `work` must do
        nothing that is not undone by a rollback.

        Raises
        ------
        StoreUnavailable
            If the database cannot serve now.
        """

        def whole(connection: Connection) -> T:
            return work(connection, *args, **kwargs)

        for pause_s in CONFLICT_PAUSES_S:
            try:
                return await self._side.write(whole)
            except StoreUnavailable as error:
                if error.reason != "conflict":
                    raise
            await asyncio.sleep(pause_s)
        return await self._side.write(whole)

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run ``work(connection, *args, **kwargs)`` without a transaction, on what is committed.

        Raises
        ------
        StoreUnavailable
            If the database cannot serve now.
        """
        return await self._side.read(lambda connection: work(connection, *args, **kwargs))

    async def close(self) -> None:
        """Close every pooled connection."""
        await self._side.close()


class _Side(Protocol):
    """One way to run work from an event loop."""

    async def write(self, work: Callable[[Connection], T]) -> T: ...
    async def read(self, work: Callable[[Connection], T]) -> T: ...
    async def close(self) -> None: ...


class _OnTheLoop:
    """Postgres: the loop goes on while the server works."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._writer = engine
        self._reader = engine.execution_options(isolation_level="AUTOCOMMIT")

    async def write(self, work: Callable[[Connection], T]) -> T:
        async with AsyncExitStack() as stack:
            stack.enter_context(translated())
            with connecting():
                connection = await stack.enter_async_context(self._writer.connect())
                await stack.enter_async_context(connection.begin())
            return await connection.run_sync(work)

    async def read(self, work: Callable[[Connection], T]) -> T:
        async with AsyncExitStack() as stack:
            stack.enter_context(translated())
            with connecting():
                connection = await stack.enter_async_context(self._reader.connect())
            return await connection.run_sync(work)

    async def close(self) -> None:
        await self._writer.dispose()


class _InThreads:
    """SQLite: one thread writes and a few read, as many as are let in.

    Work whose requester has gone away is finished all the same.
    """

    def __init__(self, database: Database, read_wait_s: float, write_wait_s: float) -> None:
        self._database = database
        self._waits_s = read_wait_s, write_wait_s
        self._threads = ThreadPoolExecutor(READING_THREADS + 1, thread_name_prefix="store")
        self._readers, self._writers = asyncio.Semaphore(READING_THREADS), asyncio.Semaphore(1)

    async def write(self, work: Callable[[Connection], T]) -> T:
        def whole() -> T:
            with self._database.write() as connection:
                return work(connection)

        async with _admitted(self._writers, self._waits_s[1], "locked"):
            return await asyncio.get_running_loop().run_in_executor(self._threads, whole)

    async def read(self, work: Callable[[Connection], T]) -> T:
        def whole() -> T:
            with self._database.read() as connection:
                return work(connection)

        async with _admitted(self._readers, self._waits_s[0], "busy"):
            return await asyncio.get_running_loop().run_in_executor(self._threads, whole)

    async def close(self) -> None:
        await asyncio.to_thread(self._threads.shutdown)
        self._database.close()


@asynccontextmanager
async def _admitted(places: asyncio.Semaphore, wait_s: float, reason: str) -> AsyncIterator[None]:
    """Wait for a place, in the order of arrival, but not for ever."""
    try:
        async with asyncio.timeout(wait_s):
            await places.acquire()
    except TimeoutError:
        raise StoreUnavailable(reason, RETRY_AFTER_S[reason]) from None
    try:
        yield
    finally:
        places.release()
