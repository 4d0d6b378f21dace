"""Single-flight cache: values are read once for all concurrent callers, kept briefly, and bounded in number."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MOST_KEPT = 2048


@dataclass(eq=False)
class _Kept(Generic[V]):
    """A value, when its last reading began, and the reading under way."""

    read_at: float = float("-inf")
    last: V | None = None
    reading: asyncio.Future[V] | None = None


class Moments(Generic[K, V]):
    """Keeps values for a short time, and lets those who ask meanwhile wait for one read.

    A value that is older than `keep_s` is read again; until that is done the old one is given, as long
    as it is younger than `stale_s`.

    Parameters
    ----------
    keep_s, stale_s : float
        Age in seconds above which a value is read again, and is not given any more; a `keep_s` of 0
        keeps nothing.
    count : callable
        Told ``hit`` or ``miss`` for each question and ``read`` for each reading.
    most : int
        Values kept; the one that nobody has asked for longest is forgotten first.
    clock : callable
        Seconds, growing steadily.
    """

    def __init__(
        self,
        keep_s: float,
        stale_s: float,
        count: Callable[[str], None] = lambda _: None,
        *,
        most: int = MOST_KEPT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keep_s, self._stale_s, self._count = keep_s, stale_s, count
        self._most, self._clock = most, clock
        self._kept: OrderedDict[K, _Kept[V]] = OrderedDict()

    async def get(self, key: K, read: Callable[[], Awaitable[V]]) -> V:
        """Return a value, read anew if there is none that is young enough.

        An error is raised for everyone who waited for the same reading, and not kept.
        """
        kept = self._kept.get(key)
        if kept is not None and kept.last is not None and (age_s := self._clock() - kept.read_at) <= self._stale_s:
            if age_s > self._keep_s:
                self._reading(key, kept, read)
            self._kept.move_to_end(key)
            self._count("hit")
            return kept.last
        self._count("miss")
        if self._keep_s <= 0:
            self._count("read")
            return await read()
        if kept is None:
            kept = self._kept[key] = _Kept()
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        # whoever began the reading may go away; those who wait for it must not suffer
        return await asyncio.shield(self._reading(key, kept, read))

    def clear(self) -> None:
        """Forget every value, also those of readings under way."""
        self._kept.clear()

    def _reading(self, key: K, kept: _Kept[V], read: Callable[[], Awaitable[V]]) -> asyncio.Future[V]:
        if kept.reading is None:
            began = self._clock()
            self._count("read")
            kept.reading = asyncio.ensure_future(read())

            def put(done: asyncio.Future[V]) -> None:
                kept.reading = None
                if done.cancelled() or done.exception() is not None:
                    kept.last = None
                    if self._kept.get(key) is kept:
                        del self._kept[key]
                else:
                    kept.last, kept.read_at = done.result(), began

            kept.reading.add_done_callback(put)
        return kept.reading
