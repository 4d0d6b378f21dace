"""Rate limits per tenant and kind of work (draft-ietf-httpapi-ratelimit-headers-11).

The counts are in the broker's Redis if there is one, so that all API processes share them. While Redis
is unreachable, each process counts for itself: a dead Redis must not stop a POST. Long waits (``Prefer: wait=N``,
RFC 7240) and event streams stay open for minutes; `OpenStreams` limits them in each process.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import structlog
from fastapi import Depends, Header, Request, Response
from limits import parse
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from limits.errors import StorageError

from service.http.metrics import Meter
from service.http.problems import Problem

T = TypeVar("T")

RETRY_AFTER_S = 5

LONGEST_WAIT_S = 30

_WAIT = re.compile(r'^\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:;.*)?$', re.IGNORECASE)


class OpenStreams:
    """Counts open event streams and waits: together at most `limit` for a tenant, and half as many for an API key."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._open: Counter[tuple[str, str | None]] = Counter()

    @contextmanager
    def count_stream(self, tenant: str, key_id: str | None) -> Iterator[None]:
        """Count a stream while the block runs; raise ``too-many-streams`` above the limit of the tenant or API key."""
        limits: dict[tuple[str, str | None], int] = {(tenant, None): self._limit}
        if key_id is not None:
            limits[tenant, key_id] = max(1, self._limit // 2)
        for holder, limit in limits.items():
            if self._open[holder] >= limit:
                whose = "your tenant has" if holder == (tenant, None) else "this key has"
                detail = f"{whose} {limit} event streams and long waits open, the maximum"
                raise Problem("too-many-streams", detail, headers={"Retry-After": str(RETRY_AFTER_S)})
        self._open.update(limits.keys())
        try:
            yield
        finally:
            self._open.subtract(limits.keys())
            self._open += Counter()  # removes the entries without open streams


async def preferred_wait(
    request: Request,
    response: Response,
    prefer: Annotated[  # noqa: ARG001  declared for the documentation; there may be several such headers
        str | None,
        Header(
            description="`wait=N` answers when the job has ended, or after N seconds (at most 30).",
            examples=["wait=10"],
        ),
    ] = None,
) -> int | None:
    """Return the seconds of the first ``wait`` preference, and confirm it in the header ``Preference-Applied``.

    Return ``None`` without such a preference. RFC 7240 (section 2) requires that an invalid preference is ignored.
    """
    for preference in ",".join(request.headers.getlist("prefer")).split(","):
        if match := _WAIT.match(preference):
            seconds = min(int(match[1]), LONGEST_WAIT_S)
            response.headers["Preference-Applied"] = f"wait={seconds}"
            response.headers["Vary"] = "Prefer"
            return seconds
    return None


Wait = Annotated[int | None, Depends(preferred_wait)]


if TYPE_CHECKING:
    from limits.aio.storage import RedisStorage
    from redis.asyncio import ConnectionPool

JOBS, UPLOADS, CALLS, WRITES = "jobs", "uploads", "calls", "writes"
VISITS, SIGN_INS, DOWNLOADS = "visits", "sign-ins", "downloads"
"""Kinds of work, which are also the names of the policies in the headers ``RateLimit``.

Visits, sign-ins and downloads are counted per IP address. A form that a page sends counts as a write, in addition to
the requests that the page sends to the API for it.
"""

WORK_OF_OPERATION: Mapping[str, str] = {
    "POST /v1/uploads": UPLOADS,
    "POST /v1/corpora/{corpus_id}/images": UPLOADS,
    "POST /v1/targets/probe": CALLS,
    "POST /v1/targets/{target_id}/probe": CALLS,
    "POST /v1/domains/{domain_id}/verify": CALLS,
    "POST /v1/webhooks": CALLS,  # these three send a challenge
    "PUT /v1/webhooks/{webhook_id}": CALLS,
    "POST /v1/webhooks/{webhook_id}/enable": CALLS,
    "POST /v1/webhooks/{webhook_id}/ping": CALLS,
    "POST /v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver": CALLS,
    "POST /v1/jobs/{job_id}/deliveries/{delivery_id}/redeliver": CALLS,
    "POST /v1/jobs": "",
}
"""Kind of work by operation; others that write are `WRITES`. Empty: counted by `service.jobs` if a job is new."""
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
STORAGE_PATIENCE_S = 0.5
STORAGE_REST_S = 10.0
"""Seconds for which the counts in Redis are not used after Redis has failed."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Allowance:
    """What is left of a tenant's rate limit: `remaining` requests now, and the full `limit` in `reset_s` seconds."""

    work: str
    limit: int
    window_s: int
    remaining: int
    reset_s: int

    @property
    def headers(self) -> dict[str, str]:
        """The headers ``RateLimit-Policy`` and ``RateLimit``, as the IETF's draft standard defines them."""
        return {
            "RateLimit-Policy": f'"{self.work}";q={self.limit};w={self.window_s}',
            "RateLimit": f'"{self.work}";r={self.remaining};t={self.reset_s}',
        }

    def refusal(self) -> Problem:
        """Return the problem ``rate-limited`` for a request that needs more than `remaining`."""
        requests = "new jobs" if self.work == JOBS else f"requests of the kind {self.work!r}"
        headers = {"Retry-After": str(max(1, self.reset_s)), **self.headers}
        return Problem("rate-limited", f"{self.limit} {requests} are allowed in {self.window_s} s", headers=headers)


def address_of(request: Request) -> str:
    """Return the IP address by which requests without a key are counted; for IPv6, its /64 network."""
    try:
        address = ip_address(request.client.host if request.client else "")
    except ValueError:
        return "unknown"
    address = getattr(address, "ipv4_mapped", None) or address
    return str(ip_network((address, 64), strict=False) if address.version == 6 else address)


class RateLimiter:
    """Rate limiter with a sliding window per tenant and kind of work.

    `rates` maps kinds of work to limits such as ``"60/minute"``. The counts are in the Redis at `redis_url`, or without
    it in the memory of this process. `meter` counts the failures of Redis.
    """

    def __init__(self, rates: Mapping[str, str], redis_url: str | None, meter: Meter) -> None:
        self._rates = {work: parse(rate) for work, rate in rates.items()}
        self._local_limiter = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._connections: ConnectionPool | None = None
        self._shared_limiter = None
        if redis_url is not None:
            self._connections, storage = _redis_storage(redis_url)
            self._shared_limiter = SlidingWindowCounterRateLimiter(storage)
        self._meter = meter
        self._redis_rests_until = 0.0  # monotonic time

    async def take(self, tenant: str, count: int = 1, work: str = JOBS) -> None:
        """Take `count` requests from a tenant's limit for `work`, or none if fewer are left: raise ``rate-limited``."""
        rate = self._rates[work]
        if not await self._ask(lambda limiter: limiter.hit(rate, work, tenant, cost=count)):
            raise (await self.remainder(tenant, work)).refusal()

    async def remainder(self, tenant: str, work: str = JOBS) -> Allowance:
        """Return what is left of the tenant's limit for a kind of work, without counting a request."""
        rate = self._rates[work]
        window = await self._ask(lambda limiter: limiter.get_window_stats(rate, work, tenant))
        remaining, reset_s = max(0, window.remaining), max(0, round(window.reset_time - time.time()))
        return Allowance(work, rate.amount, rate.get_expiry(), remaining, reset_s)

    async def admit(self, method: str, path: str, tenant: str) -> None:
        """Count a request that writes, by its kind of work; raise ``rate-limited`` if the kind's limit is used up."""
        work = WORK_OF_OPERATION.get(f"{method} {path}", WRITES)
        if work and method not in SAFE:
            await self.take(tenant, work=work)

    async def close(self) -> None:
        """Close the connections to the storage."""
        if self._connections is not None:
            await self._connections.aclose()

    async def _ask(self, ask: Callable[[SlidingWindowCounterRateLimiter], Awaitable[T]]) -> T:
        """Call `ask` with the limiter that uses Redis; without Redis, or after it failed, with the process's own."""
        if self._shared_limiter is not None and time.monotonic() >= self._redis_rests_until:
            try:
                return await ask(self._shared_limiter)
            except (StorageError, OSError, TimeoutError) as error:
                self._redis_rests_until = time.monotonic() + STORAGE_REST_S
                self._meter.rate_storage_failures.inc()
                log.warning("rate storage unreachable", why=type(error).__name__)
        return await ask(self._local_limiter)


def _redis_storage(url: str) -> tuple[ConnectionPool, RedisStorage]:
    # another thread may be importing redis: meanwhile `redis.asyncio` exists but the version of `redis` does not,
    # and `limits` would assume version 0.0.0. Importing `redis` waits for the other thread.
    import redis  # noqa: F401
    from limits.aio.storage import RedisStorage
    from redis.asyncio import ConnectionPool

    patience = {"socket_timeout": STORAGE_PATIENCE_S, "socket_connect_timeout": STORAGE_PATIENCE_S}
    connections = ConnectionPool.from_url(url, **patience)
    # `limits` documents this argument, but its type hints lack it
    options: Any = {"connection_pool": connections}
    return connections, RedisStorage(f"async+{url}", implementation="redispy", wrap_exceptions=True, **options)
