"""How fast one caller may ask for new work (draft-ietf-httpapi-ratelimit-headers-11).

Counted in the broker's Redis when there is one, so that all API processes count together. While
that is out of reach each process counts for itself: a dead Redis must not stop a POST.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog
from limits import parse
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from limits.errors import StorageError
from limits.storage import storage_from_string

from service.meter import Meter

if TYPE_CHECKING:
    from limits.aio.storage import Storage

POLICY = "jobs"
"""Name of the one policy in the headers."""
STORAGE_PATIENCE_S = 0.5
STORAGE_REST_S = 10.0
SEEN_FOR_S = 0.25
MOST_SEEN = 4096
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


@dataclass
class _Seen:
    """What a caller was told last, so that a burst need not count twice for each of its jobs."""

    until: float
    remaining: int
    reset_time: float


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
        self._shared = None if redis_url is None else SlidingWindowCounterRateLimiter(_redis(redis_url))
        self._rest_until, self._meter = 0.0, meter
        self._seen: dict[str, _Seen] = {}

    async def take(self, caller: str) -> Allowance:
        """Use one of the caller's new jobs, if one is left."""
        return await self._ask(caller, use=True)

    async def left(self, caller: str) -> Allowance:
        """Look at what is left without using it."""
        return await self._ask(caller, use=False)

    async def _ask(self, caller: str, *, use: bool) -> Allowance:
        seen = self._seen.get(caller)
        if not use and seen is not None and seen.until > time.monotonic() and seen.remaining > 1:
            return self._allowance(seen, allowed=True)
        if self._shared is not None and time.monotonic() >= self._rest_until:
            try:
                return await self._count(self._shared, caller, use=use)
            except (StorageError, OSError, TimeoutError) as error:
                self._rest_until = time.monotonic() + STORAGE_REST_S
                self._meter.rate_storage_failures.inc()
                log.warning("rate storage out of reach", why=type(error).__name__)
        return await self._count(self._here, caller, use=use)

    async def _count(self, limiter: SlidingWindowCounterRateLimiter, caller: str, *, use: bool) -> Allowance:
        allowed = await limiter.hit(self._item, caller) if use else await limiter.test(self._item, caller)
        seen = self._seen.get(caller)
        if not allowed or not use or seen is None or seen.until <= time.monotonic() or seen.remaining <= 1:
            window = await limiter.get_window_stats(self._item, caller)
            seen = _Seen(time.monotonic() + SEEN_FOR_S, max(0, window.remaining), window.reset_time)
            self._see(caller, seen)
        else:
            seen.remaining -= 1
        return self._allowance(seen, allowed=allowed)

    def _allowance(self, seen: _Seen, *, allowed: bool) -> Allowance:
        reset_s = max(0, round(seen.reset_time - time.time()))
        return Allowance(allowed, self._item.amount, self._item.get_expiry(), seen.remaining, reset_s)

    def _see(self, caller: str, seen: _Seen) -> None:
        self._seen[caller] = seen
        if len(self._seen) > MOST_SEEN:
            del self._seen[next(iter(self._seen))]


def _redis(url: str) -> Storage:
    storage = storage_from_string(
        f"async+{url}",
        implementation="redispy",
        wrap_exceptions=True,
        socket_timeout=STORAGE_PATIENCE_S,
        socket_connect_timeout=STORAGE_PATIENCE_S,
    )
    assert isinstance(storage, _storage_type())  # noqa: S101  the scheme chose an asynchronous one
    return storage


def _storage_type() -> type[Storage]:
    from limits.aio.storage import Storage

    return Storage
