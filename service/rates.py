"""How fast one caller may ask for new work (draft-ietf-httpapi-ratelimit-headers-11).

Counted in the broker's Redis when there is one, so that all API processes count together. While
that is out of reach each process counts for itself: a dead Redis must not stop a POST.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import structlog
from limits import parse
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from limits.errors import StorageError

from service.meter import Meter

if TYPE_CHECKING:
    from limits.aio.storage import RedisStorage
    from redis.asyncio import ConnectionPool

POLICY = "jobs"
"""Name of the one policy in the headers."""
STORAGE_PATIENCE_S = 0.5
STORAGE_REST_S = 10.0
"""How long a storage that failed is left alone."""
SEEN_FOR_S = 0.25
"""How long what a caller was told is told again without asking."""
MOST_SEEN = 4096

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Allowance:
    """What is left of a caller's limit: `remaining` new jobs, all of them again in `reset_s`."""

    allowed: bool
    limit: int
    window_s: int
    remaining: int
    reset_s: int

    @property
    def headers(self) -> dict[str, str]:
        """The two header fields of the draft."""
        return {
            "RateLimit-Policy": f'"{POLICY}";q={self.limit};w={self.window_s}',
            "RateLimit": f'"{POLICY}";r={self.remaining};t={self.reset_s}',
        }


@dataclass
class _Seen:
    """What a caller was told last, so that a burst need not count twice for each of its jobs."""

    until: float
    remaining: int
    reset_time: float


@dataclass
class _Together:
    """Those who take in the same moment: what each of them is told, in the order in which they came."""

    allowances: asyncio.Future[list[Allowance]]
    takers: int = 0


class Rates:
    """A sliding window for each caller, counted in two numbers however many jobs it allows.

    Parameters
    ----------
    rate : str
        Such as ``"60/minute"``.
    redis_url : str, optional
        Where to count; None counts in this process.
    meter : Meter
        Counts the failures of the storage.
    """

    def __init__(self, rate: str, redis_url: str | None, meter: Meter) -> None:
        self._item = parse(rate)
        self._here = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._connections: ConnectionPool | None = None
        self._shared = None
        if redis_url is not None:
            self._connections = _connections(redis_url)
            self._shared = SlidingWindowCounterRateLimiter(_redis(redis_url, self._connections))
        self._rest_until, self._meter = 0.0, meter
        self._seen: dict[str, _Seen] = {}
        self._taking: dict[str, _Together] = {}
        self._looking: dict[str, asyncio.Future[Allowance]] = {}

    async def take(self, caller: str) -> Allowance:
        """Use one of the caller's new jobs, if one is left. What is taken in the same moment is counted together."""
        together = self._taking.get(caller)
        if together is None:
            together = self._taking[caller] = _Together(asyncio.ensure_future(self._take_together(caller)))
        together.takers += 1
        place = together.takers - 1
        return (await asyncio.shield(together.allowances))[place]

    async def left(self, caller: str) -> Allowance:
        """Look at what is left without using it."""
        seen = self._seen.get(caller)
        if seen is not None and seen.until > time.monotonic() and seen.remaining > 1:
            return self._allowance(seen, allowed=True)
        looking = self._looking.get(caller)
        if looking is None:
            looking = self._looking[caller] = asyncio.ensure_future(self._look_together(caller))
        return await asyncio.shield(looking)

    async def close(self) -> None:
        """Close the connections to where it is counted."""
        if self._connections is not None:
            await self._connections.aclose()

    async def _take_together(self, caller: str) -> list[Allowance]:
        await asyncio.sleep(0)  # others whose job was written by the same statement take in this turn of the loop
        return await self._ask(caller, self._taking.pop(caller).takers)

    async def _look_together(self, caller: str) -> Allowance:
        try:
            return (await self._ask(caller, 0))[0]
        finally:
            del self._looking[caller]

    async def _ask(self, caller: str, takers: int) -> list[Allowance]:
        if self._shared is not None and time.monotonic() >= self._rest_until:
            try:
                return await self._count(self._shared, caller, takers)
            except (StorageError, OSError, TimeoutError) as error:
                self._rest_until = time.monotonic() + STORAGE_REST_S
                self._meter.rate_storage_failures.inc()
                log.warning("rate storage out of reach", why=type(error).__name__)
        return await self._count(self._here, caller, takers)

    async def _count(self, limiter: SlidingWindowCounterRateLimiter, caller: str, takers: int) -> list[Allowance]:
        """Take for so many, or look for one (0 takers)."""
        if takers == 0:
            return [await self._look(limiter, caller)]
        if not await limiter.hit(self._item, caller, cost=takers):
            # together they want more than is left; one by one, the first get it
            one_by_one = [await limiter.hit(self._item, caller) for _ in range(takers)] if takers > 1 else [False]
            return [replace(await self._look(limiter, caller), allowed=allowed) for allowed in one_by_one]
        seen = self._seen.get(caller)
        if seen is None or seen.until <= time.monotonic() or seen.remaining <= takers:
            last = replace(await self._look(limiter, caller), allowed=True)
            return [replace(last, remaining=last.remaining + behind) for behind in reversed(range(takers))]
        allowances = []
        for _ in range(takers):
            seen.remaining -= 1
            allowances.append(self._allowance(seen, allowed=True))
        return allowances

    async def _look(self, limiter: SlidingWindowCounterRateLimiter, caller: str) -> Allowance:
        """Look at what is left; it allows one more as long as that is anything."""
        window = await limiter.get_window_stats(self._item, caller)
        seen = _Seen(time.monotonic() + SEEN_FOR_S, max(0, window.remaining), window.reset_time)
        self._see(caller, seen)
        return self._allowance(seen, allowed=seen.remaining > 0)

    def _allowance(self, seen: _Seen, *, allowed: bool) -> Allowance:
        reset_s = max(0, round(seen.reset_time - time.time()))
        return Allowance(allowed, self._item.amount, self._item.get_expiry(), seen.remaining, reset_s)

    def _see(self, caller: str, seen: _Seen) -> None:
        self._seen[caller] = seen
        if len(self._seen) > MOST_SEEN:
            del self._seen[next(iter(self._seen))]


def _connections(url: str) -> ConnectionPool:
    # the doorbell's thread may be importing redis just now; `redis.asyncio` is there before `redis` has its
    # version, which limits then takes for 0.0.0. Importing the whole waits for the other thread.
    import redis  # noqa: F401
    from redis.asyncio import ConnectionPool

    return ConnectionPool.from_url(url, socket_timeout=STORAGE_PATIENCE_S, socket_connect_timeout=STORAGE_PATIENCE_S)


def _redis(url: str, connections: ConnectionPool) -> RedisStorage:
    from limits.aio.storage import RedisStorage

    # the pool is documented there, but not in the types
    given: Any = {"connection_pool": connections}
    return RedisStorage(f"async+{url}", implementation="redispy", wrap_exceptions=True, **given)
