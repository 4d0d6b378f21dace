"""Values that may be a moment old: read once for all who ask meanwhile, kept briefly, and bounded in number."""

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
    """A value with the way to read it again; `read_at` is when its last reading began."""

    read: Callable[[], Awaitable[V]]
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
        count: Callable[[str], None],
        *,
        most: int = MOST_KEPT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keep_s, self._stale_s, self._count = keep_s, stale_s, count
        self._most, self._clock = most, clock
        self._kept: OrderedDict[K, _Kept[V]] = OrderedDict()

    async def get(self, key: K, read: Callable[[], Awaitable[V]]) -> V:
        """Give a value, read anew if there is none that is young enough.

        An error is given to everyone who waited for the same reading, and not kept.
        """
        if (value := self.at_hand(key)) is not None:
            return value
        self._count("miss")
        if self._keep_s <= 0:
            self._count("read")
            return await read()
        kept = self._kept.get(key)
        if kept is None:
            kept = self._keep(key, read)
        # whoever began the reading may go away; those who wait for it must not suffer
        return await asyncio.shield(self._reading(key, kept))

    def at_hand(self, key: K) -> V | None:
        """Give a value that is young enough; one that is not quite young is read again meanwhile."""
        kept = self._kept.get(key)
        if kept is None or kept.last is None:
            return None
        age_s = self._clock() - kept.read_at
        if age_s > self._stale_s:
            return None
        if age_s > self._keep_s:
            self._reading(key, kept)
        self._kept.move_to_end(key)
        self._count("hit")
        return kept.last

    def _keep(self, key: K, read: Callable[[], Awaitable[V]]) -> _Kept[V]:
        kept = self._kept[key] = _Kept(read)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return kept

    def _reading(self, key: K, kept: _Kept[V]) -> asyncio.Future[V]:
        if kept.reading is None:
            began = self._clock()
            self._count("read")
            kept.reading = asyncio.ensure_future(kept.read())

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
