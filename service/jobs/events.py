"""Live events of jobs, read from the database.

The event table is read a few times a second for each followed job, regardless of the number of followers.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from functools import partial

import structlog

from service.http.swr_cache import SwrCache
from store.core.errors import StoreUnavailable
from store.jobs.jobs import Event

POLL_S = 0.25
BATCH = 500
ENDINGS = frozenset({"succeeded", "failed", "cancelled"})
"""Events after which a job has no further events."""

ReadEvents = Callable[[str, int, int], Awaitable[Sequence[Event]]]
"""Function that reads a job's events after an id, oldest first, up to a maximum number."""

log = structlog.get_logger(__name__)


class EventStream:
    """Distributes the events of jobs to followers (waits and event streams), which share reads of the database.

    `on_end` is called with the id of a finished job, before its followers get the last event.
    """

    def __init__(self, read: ReadEvents, on_end: Callable[[str], object] = lambda _: None) -> None:
        self._read, self._on_end = read, on_end
        # kept for less than a poll, so that each poll of a follower gets newer events
        self._new_events: SwrCache[tuple[str, int], Sequence[Event]] = SwrCache(keep_s=POLL_S / 2, stale_s=POLL_S / 2)
        self.stopping = False

    def stop_waiting(self) -> None:
        """End every wait and every stream, as if jobs had no more events; safe in any thread or signal handler."""
        self.stopping = True

    async def follow(self, job_id: str, after: int = 0) -> AsyncGenerator[Event, None]:
        """Yield every event with an id above `after`, past and future, until the job ends or the service stops."""
        while not self.stopping:
            events = await self._new_events.get((job_id, after), partial(self._read_new, job_id, after))
            for event in events:
                after = event.id  # the next read begins here
                yield event
                if event.type in ENDINGS:
                    return
            if len(events) < BATCH:  # after a full batch, more events are there already
                await asyncio.sleep(POLL_S)

    async def wait_for_end(self, job_id: str, within_s: float) -> None:
        """Wait until the job has ended, at most `within_s` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s), aclosing(self.follow(job_id)) as events:
                async for _ in events:
                    pass

    async def _read_new(self, job_id: str, after: int) -> Sequence[Event]:
        try:
            events = await self._read(job_id, after, BATCH)
        except StoreUnavailable as error:
            log.warning("events not read", job=job_id, why=error.reason)
            return ()
        if events and events[-1].type in ENDINGS:
            self._on_end(job_id)
        return events
