"""Single-flight cache with stale-while-revalidate and a maximum size."""

from __future__ import annotations

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
    """A cached value and the function that reads it; `read_at` is the start of its last read."""

    read: Callable[[], Awaitable[V]]
    read_at: float = float("-inf")
    last: V | None = None
    reading: asyncio.Future[V] | None = None


class SwrCache(Generic[K, V]):
    """Single-flight cache with stale-while-revalidate: concurrent callers share one read.

    A value older than `keep_s` is read again; meanwhile the old value is returned, unless it is older
    than `stale_s`.

    Parameters
    ----------
    keep_s, stale_s : float
        Age in seconds above which a value is read again, and above which it is no longer returned. A
        `keep_s` of 0 turns the cache off.
    count : callable
        Called with ``hit`` or ``miss`` for each look-up and ``read`` for each read.
    most : int
        Maximum number of values; the least recently used one is removed first.
    clock : callable
        Monotonic clock in seconds.
    """

    def __init__(
        self,
        keep_s: float,
        stale_s: float,
        count: Callable[[str], None],
        *,
        most: int = MAX_KEPT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keep_s, self._stale_s, self._count = keep_s, stale_s, count
        self._most, self._clock = most, clock
        self._entries: OrderedDict[K, _Entry[V]] = OrderedDict()

    async def get(self, key: K, read: Callable[[], Awaitable[V]]) -> V:
        """Return a value, cached or read.

        An error is raised for every caller that waited for the same read, and is not cached.
        """
        if (value := self.at_hand(key)) is not None:
            return value
        self._count("miss")
        if self._keep_s <= 0:
            self._count("read")
            return await read()
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry(read)
            if len(self._entries) > self._most:
                self._entries.popitem(last=False)
        # the caller that started the read may be cancelled; the others still wait for it
        return await asyncio.shield(self._reading(key, entry))

    def at_hand(self, key: K) -> V | None:
        """Return a cached value that is younger than `stale_s`; one older than `keep_s` is read again meanwhile."""
        entry = self._entries.get(key)
        if entry is None or entry.last is None:
            return None
        age_s = self._clock() - entry.read_at
        if age_s > self._stale_s:
            return None
        if age_s > self._keep_s:
            self._reading(key, entry)
        self._entries.move_to_end(key)
        self._count("hit")
        return entry.last

    def _reading(self, key: K, entry: _Entry[V]) -> asyncio.Future[V]:
        if entry.reading is None:
            began = self._clock()
            self._count("read")
            entry.reading = asyncio.ensure_future(entry.read())

            def put(done: asyncio.Future[V]) -> None:
                entry.reading = None
                if done.cancelled() or done.exception() is not None:
                    entry.last = None
                    if self._entries.get(key) is entry:
                        del self._entries[key]
                else:
                    entry.last, entry.read_at = done.result(), began

            entry.reading.add_done_callback(put)
        return entry.reading
