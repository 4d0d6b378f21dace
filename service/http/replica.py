"""Reads of public data from a replica of the database (docs/scaling.md)."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Concatenate, Literal, ParamSpec, TypeVar

import structlog

from service.http.swr_cache import SwrCache
from store.core import migrate
from store.core.database import AsyncDatabase, Connection
from store.core.errors import SchemaMismatch, StoreUnavailable
from store.ratings import log

P = ParamSpec("P")
T = TypeVar("T")

ReplicaState = Literal["current", "late", "outdated", "unreachable"]
"""State of the replica; `late` if it lacks recent data, `outdated` if its schema is older than this code needs."""

CHECK_S, OLDEST_CHECK_S, CHECK_WAIT_S = 5.0, 30.0, 5.0
"""In seconds: age at which a replica's state is read again; its maximum age; maximum duration of reading it."""

logger = structlog.get_logger(__name__)


class ReplicaReader:
    """Reads from a replica, or from the primary while the replica is late. It cannot write.

    A replica is late if it lacks a publication or withdrawal that is older than `max_lag_s` seconds. `count_fallback`
    is called for each read that the primary serves.
    """

    def __init__(
        self,
        primary: AsyncDatabase,
        replica: AsyncDatabase,
        replica_url: str,
        max_lag_s: float,
        count_fallback: Callable[[], None],
    ) -> None:
        self._primary, self._replica, self._max_lag_s = primary, replica, max_lag_s
        self._check_schema = partial(migrate.check, replica_url, or_newer=True)
        self._count_fallback = count_fallback
        self._last_state: ReplicaState = "current"  # so that only another state is logged
        self._states: SwrCache[str, ReplicaState] = SwrCache(keep_s=CHECK_S, stale_s=OLDEST_CHECK_S)

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run ``work(connection, *args, **kwargs)`` without a transaction, on committed data.

        Raise `StoreUnavailable` if the replica is busy, so that its load does not stop the primary; or if neither
        database can serve.
        """
        if await self.state() == "current":
            try:
                return await self._replica.read(work, *args, **kwargs)
            except StoreUnavailable as error:
                if error.reason == "unreachable":
                    self._states.clear()
                elif error.reason != "conflict":  # a replica aborts reads of rows that it must remove
                    raise
        self._count_fallback()
        return await self._primary.read(work, *args, **kwargs)

    async def state(self) -> ReplicaState:
        """Return the state of the replica, such as ``current``, as it was at most `OLDEST_CHECK_S` seconds ago."""
        return await self._states.get("replica", self._read_state)

    async def _read_state(self) -> ReplicaState:
        if (state := await self._check_replica()) != self._last_state:
            logger.warning("state of the replica changed", state=state)
            self._last_state = state
        return state

    async def _check_replica(self) -> ReplicaState:
        try:
            async with asyncio.timeout(CHECK_WAIT_S):
                await asyncio.to_thread(self._check_schema)
                replica_size = await self._replica.read(log.size)
        except SchemaMismatch:
            return "outdated"
        except (StoreUnavailable, TimeoutError):
            return "unreachable"
        try:
            # the position of the first entry that the replica lacks, if any, is the number of entries that it has
            lag_s = await self._primary.read(log.age_s, position=replica_size)
            return "late" if lag_s > self._max_lag_s else "current"
        except StoreUnavailable:  # without the primary nothing is published, and the replica can still be read
            return "current"

    async def close(self) -> None:
        """Close the connections to the replica."""
        await self._replica.close()


PublicDatabase = AsyncDatabase | ReplicaReader
"""Database from which public data can be read."""
