"""A job's status for many who ask at once: read once, shown for a quarter of a second.

Whoever polls asks again in a second at the soonest; an answer that is a quarter of a second old
serves them as well as a new one, and a thousand of them cost one read at a time.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property

from service.answer import Answer
from service.meter import Meter

MOST_KEPT = 2048
STALE_S = 1.0
"""Age above which a status is not given any more, whatever the load."""


@dataclass(frozen=True)
class Status:
    """A job as it is shown.

    Attributes
    ----------
    answer : Answer
        The response to whoever asks for the job.
    finished : bool
        Whether there is nothing to wait for.
    """

    answer: Answer
    finished: bool

    @cached_property
    def raw_headers(self) -> list[tuple[bytes, bytes]]:
        """The response's headers as they go out, written once for all who ask."""
        return self.answer.response().raw_headers


Key = tuple[str, str, str]
"""Tenant, job, and the address the service was asked under."""


Read = Callable[[], Awaitable[Status]]


@dataclass(eq=False)
class _Kept:
    """A status with the way to read it again; `read_at` is when its last reading began."""

    read: Read
    read_at: float = float("-inf")
    last: Status | None = None
    reading: asyncio.Future[Status] | None = None


class StatusCache:
    """Keeps statuses for a short time, and lets those who ask meanwhile wait for one read.

    A status that is older than `keep_s` is read again; until that is done, the old one is given, as
    long as it is younger than `STALE_S`: when a thousand ask at once, a read takes its turn too.

    Parameters
    ----------
    keep_s : float
        How old a status may be before it is read again; 0 keeps nothing.
    meter : Meter
        Counts hits and misses.
    clock : callable
        Seconds, growing steadily.
    """

    def __init__(self, keep_s: float, meter: Meter, clock: Callable[[], float] = time.monotonic) -> None:
        self._keep_s, self._meter, self._clock = keep_s, meter, clock
        self._kept: OrderedDict[Key, _Kept] = OrderedDict()

    async def get(self, key: Key, read: Read) -> Status:
        """Give a status, read anew if there is none that is young enough.

        An error is given to everyone who waited for the same read, and not kept.
        """
        if (status := self.at_hand(key)) is not None:
            return status
        self._meter.status_asked("miss")
        if self._keep_s <= 0:
            return await read()
        kept = self._kept.get(key)
        if kept is None:
            kept = self._keep(key, read)
        # whoever began the read may go away; those who wait for it must not suffer
        return await asyncio.shield(self._reading(key, kept))

    def at_hand(self, key: Key) -> Status | None:
        """Give a status that is young enough; one that is not quite young is read again meanwhile."""
        kept = self._kept.get(key)
        if kept is None or kept.last is None:
            return None
        age_s = self._clock() - kept.read_at
        if age_s > STALE_S:
            return None
        if age_s > self._keep_s:
            self._reading(key, kept)
        self._meter.status_asked("hit")
        return kept.last

    def forget(self, job_id: str) -> None:
        """Read a job anew next time: somebody here knows that it has changed."""
        for key in [key for key in self._kept if key[1] == job_id]:
            del self._kept[key]

    def _keep(self, key: Key, read: Read) -> _Kept:
        kept = self._kept[key] = _Kept(read)
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return kept

    def _reading(self, key: Key, kept: _Kept) -> asyncio.Future[Status]:
        if kept.reading is None:
            began = self._clock()
            kept.reading = asyncio.ensure_future(kept.read())

            def put(done: asyncio.Future[Status]) -> None:
                kept.reading = None
                if done.cancelled() or done.exception() is not None:
                    kept.last = None
                    if self._kept.get(key) is kept:
                        del self._kept[key]
                else:
                    kept.last, kept.read_at = done.result(), began

            kept.reading.add_done_callback(put)
        return kept.reading
