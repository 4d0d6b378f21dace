"""Rate limit of new jobs per caller (draft-ietf-httpapi-ratelimit-headers-11).

The counts are in the broker's Redis if there is one, so that all API processes share them. While Redis
is unreachable, each process counts for itself: a dead Redis must not stop a POST.
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
"""Name of the policy in the headers."""
STORAGE_PATIENCE_S = 0.5
STORAGE_REST_S = 10.0
"""Seconds without a request to a storage that failed."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Allowance:
    """Rest of a caller's limit: `remaining` new jobs; the full limit again in `reset_s` seconds."""

    allowed: bool
    limit: int
    window_s: int
    remaining: int
    reset_s: int

    @property
    def headers(self) -> dict[str, str]:
        """The header fields of the draft."""
        return {
            "RateLimit-Policy": f'"{POLICY}";q={self.limit};w={self.window_s}',
            "RateLimit": f'"{POLICY}";r={self.remaining};t={self.reset_s}',
        }


class RateLimiter:
    """Rate limiter with a sliding window per caller.

    The `rate` is written as ``"60/minute"``. The counts are in Redis, or without `redis_url` in the
    memory of this process; `meter` counts the failures of Redis.
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
        """Take `count` new jobs from the caller's limit, or none if fewer are left."""
        return await self._ask(caller, count)

    async def left(self, caller: str) -> Allowance:
        """Return the rest of the caller's limit without taking from it."""
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
                log.warning("rate storage unreachable", why=type(error).__name__)
        return await self._count(self._here, caller, count)

    async def _count(self, limiter: SlidingWindowCounterRateLimiter, caller: str, count: int) -> Allowance:
        taken = count > 0 and await limiter.hit(self._item, caller, cost=count)
        window = await limiter.get_window_stats(self._item, caller)
        remaining, reset_s = max(0, window.remaining), max(0, round(window.reset_time - time.time()))
        allowed = taken if count else remaining > 0
        return Allowance(allowed, self._item.amount, self._item.get_expiry(), remaining, reset_s)


def _connections(url: str) -> ConnectionPool:
    # another thread may be importing redis. While it does, `redis.asyncio` exists and the version of `redis`
    # does not, which `limits` takes for 0.0.0. Importing `redis` waits for the other thread.
    import redis  # noqa: F401
    from redis.asyncio import ConnectionPool

    return ConnectionPool.from_url(url, socket_timeout=STORAGE_PATIENCE_S, socket_connect_timeout=STORAGE_PATIENCE_S)


def _redis(url: str, connections: ConnectionPool) -> RedisStorage:
    from limits.aio.storage import RedisStorage

    # documented by `limits`, but missing in its types
    given: Any = {"connection_pool": connections}
    return RedisStorage(f"async+{url}", implementation="redispy", wrap_exceptions=True, **given)
