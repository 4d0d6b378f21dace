"""Single-flight cache: values are read once for all concurrent callers, stored briefly, and bounded in number."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MAX_KEPT = 2048


@dataclass(eq=False)
class _Entry(Generic[V]):
    """A cached value, the time when it was last read, and the read in progress, if any."""

    read_at: float = float("-inf")
    value: V | None = None
    reading: asyncio.Future[V] | None = None


class SwrCache(Generic[K, V]):
    """Single-flight cache with stale-while-revalidate: concurrent callers share one read.

    A value older than `keep_s` is read again; meanwhile the old value is returned, unless it is older than `stale_s`.

    Parameters
    ----------
    keep_s, stale_s : float
        Age in seconds above which a value is read again, and above which it is no longer returned. A
        `keep_s` of 0 turns the cache off.
    count : callable
        Called with ``hit`` or ``miss`` for each look-up and ``read`` for each read.
    capacity : int
        Maximum number of values; the least recently used one is removed first.
    clock : callable
        Monotonic clock in seconds.
    """

    def __init__(
        self,
        keep_s: float,
        stale_s: float,
        count: Callable[[str], None] = lambda _: None,
        *,
        capacity: int = MAX_KEPT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keep_s, self._stale_s, self._count = keep_s, stale_s, count  # ages: to read again, to drop it
        self._capacity, self._clock = capacity, clock
        self._entries: OrderedDict[K, _Entry[V]] = OrderedDict()

    async def get(self, key: K, read_value: Callable[[], Awaitable[V]]) -> V:
        """Return the value of `key`; get it from `read_value` if it is missing or too old.

        An error of `read_value` is raised for every caller that waits for the same read, and is not stored.
        """
        entry = self._entries.get(key)
        if entry is not None and entry.value is not None and (age_s := self._clock() - entry.read_at) <= self._stale_s:
            if age_s > self._keep_s:  # the stale value is returned, and meanwhile read anew
                self._start_reading(key, entry, read_value)
            self._entries.move_to_end(key)
            self._count("hit")
            return entry.value
        self._count("miss")
        if self._keep_s <= 0:  # the cache is turned off
            self._count("read")
            return await read_value()
        if entry is None:
            entry = self._entries[key] = _Entry()
            if len(self._entries) > self._capacity:
                self._entries.popitem(last=False)
        # if the first caller is cancelled, the others still get the value
        return await asyncio.shield(self._start_reading(key, entry, read_value))

    def clear(self) -> None:
        """Remove every value; a value that is being read now is not kept either."""
        self._entries.clear()

    def _start_reading(self, key: K, entry: _Entry[V], read_value: Callable[[], Awaitable[V]]) -> asyncio.Future[V]:
        if entry.reading is None:  # otherwise the caller shares the reading in progress
            started_at = self._clock()
            self._count("read")
            entry.reading = asyncio.ensure_future(read_value())

            def store_value(reading: asyncio.Future[V]) -> None:
                entry.reading = None
                if reading.cancelled() or reading.exception() is not None:
                    entry.value = None
                    if self._entries.get(key) is entry:  # not removed or replaced meanwhile
                        del self._entries[key]
                else:
                    entry.value, entry.read_at = reading.result(), started_at  # as old as the read's start

            entry.reading.add_done_callback(store_value)
        return entry.reading
