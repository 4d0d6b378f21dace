"""Live events of jobs, read from the database.

The event table is polled by one poller per followed job, regardless of the number of followers.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing

import structlog

from store.core.errors import StoreUnavailable
from store.jobs.jobs import Event

POLL_S = 0.25
BATCH = 500
MAX_WAITING = 10_000
ENDINGS = frozenset({"succeeded", "failed", "cancelled"})
"""Events after which a job has no further events."""

ReadEvents = Callable[[str, int, int], Awaitable[Sequence[Event]]]
"""Function that reads a job's events after an id, oldest first, up to a maximum number."""

log = structlog.get_logger(__name__)


class _Follower:
    """A follower of a job: the id of its newest event, and the queue of its unread events."""

    def __init__(self, cursor: int) -> None:
        self.cursor = cursor
        self.waiting: asyncio.Queue[Event | None] = asyncio.Queue()

    def hand(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.id > self.cursor:
                self.cursor = event.id
                self.waiting.put_nowait(event)


class EventStream:
    """Distributes the events of jobs to their followers.

    `on_end` is called with the id of a finished job, before its followers get the last event.
    """

    def __init__(self, read: ReadEvents, on_end: Callable[[str], object] = lambda _: None) -> None:
        self._read, self._on_end = read, on_end
        self._followers: dict[str, set[_Follower]] = {}
        self._pollers: dict[str, asyncio.Task[None]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self.stopping = False

    def stop_waiting(self) -> None:
        """End every wait and every stream, as if the job had no more events; for any thread or signal handler."""
        self.stopping = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._release)

    def _release(self) -> None:
        for followers in self._followers.values():
            for follower in followers:
                follower.waiting.put_nowait(None)

    async def follow(self, job_id: str, after: int = 0) -> AsyncGenerator[Event, None]:
        """Yield every event with an id above `after`, past and future, until the job ends.

        A follower with `MAX_WAITING` unread events is disconnected, and so are all when the service stops. A follower
        can continue after the last event that it read.
        """
        self._loop = asyncio.get_running_loop()
        follower = _Follower(after)
        followers = self._followers.setdefault(job_id, set())
        followers.add(follower)
        if job_id not in self._pollers:
            self._pollers[job_id] = asyncio.create_task(self._poll(job_id), name=f"events of {job_id}")
        try:
            while follower.waiting.qsize() < MAX_WAITING and not self.stopping:
                event = await follower.waiting.get()
                if event is None:
                    return
                yield event
                if event.type in ENDINGS:
                    return
        finally:
            followers.discard(follower)
            if not followers and self._followers.get(job_id) is followers:
                del self._followers[job_id]
                self._pollers.pop(job_id).cancel()

    async def ended(self, job_id: str, within_s: float) -> bool:
        """Wait until the job has ended, at most `within_s` seconds; return whether it has ended."""
        try:
            async with asyncio.timeout(within_s), aclosing(self.follow(job_id)) as events:
                async for event in events:
                    if event.type in ENDINGS:
                        return True
        except TimeoutError:
            return False
        return False

    async def close(self) -> None:
        """Stop every poller."""
        pollers = list(self._pollers.values())
        for poller in pollers:
            poller.cancel()
        await asyncio.gather(*pollers, return_exceptions=True)

    async def _poll(self, job_id: str) -> None:
        followers = self._followers[job_id]
        while followers:
            try:
                events = await self._read(job_id, min(follower.cursor for follower in followers), BATCH)
            except StoreUnavailable as error:
                log.warning("events not read", job=job_id, why=error.reason)
                events = ()
            if events and events[-1].type in ENDINGS:
                self._on_end(job_id)
            for follower in followers:
                follower.hand(events)
            if len(events) < BATCH:
                await asyncio.sleep(POLL_S)
