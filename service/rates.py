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
from limits.aio.strategies import MovingWindowRateLimiter
from limits.errors import StorageError
from limits.storage import storage_from_string

from service.meter import Meter

if TYPE_CHECKING:
    from limits.aio.storage import Storage

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
    """A moving window for each caller.

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
        self._here = MovingWindowRateLimiter(MemoryStorage())
        self._shared = None if redis_url is None else MovingWindowRateLimiter(_redis(redis_url))
        self._rest_until, self._meter = 0.0, meter

    async def take(self, caller: str) -> Allowance:
        """Use one of the caller's new jobs, if one is left."""
        return await self._ask(caller, use=True)

    async def left(self, caller: str) -> Allowance:
        """Look at what is left without using it."""
        return await self._ask(caller, use=False)

    async def _ask(self, caller: str, *, use: bool) -> Allowance:
        if self._shared is not None and time.monotonic() >= self._rest_until:
            try:
                return await self._count(self._shared, caller, use=use)
            except (StorageError, OSError, TimeoutError) as error:
                self._rest_until = time.monotonic() + STORAGE_REST_S
                self._meter.rate_storage_failures.inc()
                log.warning("rate storage out of reach", why=type(error).__name__)
        return await self._count(self._here, caller, use=use)

    async def _count(self, limiter: MovingWindowRateLimiter, caller: str, *, use: bool) -> Allowance:
        allowed = await limiter.hit(self._item, caller) if use else await limiter.test(self._item, caller)
        window = await limiter.get_window_stats(self._item, caller)
        reset_s = max(0, round(window.reset_time - time.time()))
        return Allowance(allowed, self._item.amount, self._item.get_expiry(), max(0, window.remaining), reset_s)


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
