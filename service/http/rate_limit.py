"""How fast one caller may ask for new work (draft-ietf-httpapi-ratelimit-headers-11).

Counted in the broker's Redis when there is one, so that all API processes count together. While
that is out of reach each process counts for itself: a dead Redis must not stop a POST.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog
from limits import parse
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from limits.errors import StorageError

from service.metrics import Meter

if TYPE_CHECKING:
    from limits.aio.storage import RedisStorage
    from redis.asyncio import ConnectionPool

POLICY = "jobs"
"""Name of the one policy in the headers."""
STORAGE_PATIENCE_S = 0.5
STORAGE_REST_S = 10.0
"""How long a storage that failed is left alone."""

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

    async def take(self, caller: str, count: int = 1) -> Allowance:
        """Use so many of the caller's new jobs, or none if fewer are left."""
        return await self._ask(caller, count)

    async def left(self, caller: str) -> Allowance:
        """Read what is left without using it."""
        return await self._ask(caller, 0)

    async def close(self) -> None:
        """Close the connections to the storage."""
        if self._connections is not None:
            await self._connections.aclose()

    async def _ask(self, caller: str, count: int) -> Allowance:
        if self._shared is not None and time.monotonic() >= self._rest_until:
            try:
                return await self._count(self._shared, caller, count)
            except (StorageError, OSError, TimeoutError) as error:
                self._rest_until = time.monotonic() + STORAGE_REST_S
                self._meter.rate_storage_failures.inc()
                log.warning("rate storage out of reach", why=type(error).__name__)
        return await self._count(self._here, caller, count)

    async def _count(self, limiter: SlidingWindowCounterRateLimiter, caller: str, count: int) -> Allowance:
        taken = count > 0 and await limiter.hit(self._item, caller, cost=count)
        window = await limiter.get_window_stats(self._item, caller)
        remaining, reset_s = max(0, window.remaining), max(0, round(window.reset_time - time.time()))
        allowed = taken if count else remaining > 0
        return Allowance(allowed, self._item.amount, self._item.get_expiry(), remaining, reset_s)


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
