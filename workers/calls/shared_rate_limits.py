"""Shared limits of all jobs on one target: rate, concurrent calls, and suspension after too many failures.

Jobs of one tenant on one address share a *lane*, whichever process runs them. Redis holds its counts; without
Redis, or while it is unreachable, each process counts its own calls. All counts expire, so that a killed worker
blocks no slot.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

import structlog

if TYPE_CHECKING:
    from redis.asyncio import Redis

T = TypeVar("T")

PATIENCE_S = 1.0
"""Timeout of Redis in seconds."""

REST_S = 10.0
"""Seconds after a failure of Redis in which Redis gets no requests."""

PREFIX = "assay:lane:"

ENTER = """
local now = redis.call('TIME')
now = now[1] * 1000 + math.floor(now[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZSCORE', KEYS[1], ARGV[1]) or redis.call('ZCARD', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[3] * 2)
  return 1
end
redis.call('SET', KEYS[2], 1, 'PX', 1000)
return 0
"""

BOOK = """
local now = redis.call('TIME')
now = now[1] * 1000000 + now[2]
local start = math.max(now, tonumber(redis.call('GET', KEYS[1]) or 0))
redis.call('SET', KEYS[1], string.format('%.0f', start + ARGV[1]), 'PX', math.ceil((start + ARGV[1] - now) / 1000) + 1)
return start - now
"""
"""Generic cell rate algorithm without bursts: calls start at equal intervals (microseconds)."""


class Pace:
    """Generic cell rate algorithm without bursts: calls start at equal intervals."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._next = clock, 0.0

    def wait_s(self, per_second: float) -> float:
        """Reserve the start of the next call, and return the seconds until then."""
        now = self._clock()
        start = max(now, self._next)
        self._next = start + 1.0 / per_second
        return start - now


class LocalTraffic:
    """Rate, slots and suspension of each lane, kept in this process for all its threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._places: dict[str, dict[str, float]] = {}
        self._waited: dict[str, float] = {}
        self._paces: dict[str, Pace] = {}
        self._resting: dict[str, float] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def enter(self, lane: str, token: str, limit: int, keep_s: float) -> bool:
        """Take (or keep) one of a lane's `limit` slots for at most `keep_s` seconds, if one is free."""
        with self._lock:
            now = self._clock()
            places = {holder: until for holder, until in self._places.get(lane, {}).items() if until > now}
            free = token in places or len(places) < limit
            if free:
                places[token] = now + keep_s
            else:
                self._waited[lane] = now + 1
            self._put(lane, places)
            return free

    async def leave(self, lane: str, token: str) -> bool:
        """Release a slot, and return whether another job waits for one."""
        with self._lock:
            places = self._places.get(lane, {})
            places.pop(token, None)
            self._put(lane, places)
            return self._left(self._waited, lane) > 0

    async def book(self, lane: str, per_second: float) -> float:
        """Reserve the start of the lane's next call, and return the seconds until then."""
        with self._lock:
            return self._paces.setdefault(lane, Pace(self._clock)).wait_s(per_second)

    async def rest(self, lane: str, seconds: float) -> None:
        """Suspend the calls of all jobs of a lane for some seconds."""
        with self._lock:
            self._resting[lane] = self._clock() + seconds

    async def rests(self, lane: str) -> float:
        """Return the seconds for which the lane is still suspended."""
        with self._lock:
            return self._left(self._resting, lane)

    def _left(self, until: dict[str, float], lane: str) -> float:
        remaining_s = until.get(lane, 0.0) - self._clock()
        if remaining_s <= 0:
            until.pop(lane, None)
        return max(0.0, remaining_s)

    def _put(self, lane: str, taken: dict[str, float]) -> None:
        """Store the slots of a lane; remove a lane without slots, because there is one lane per target."""
        if taken:
            self._places[lane] = taken
        else:
            self._places.pop(lane, None)


class TrafficOnRedis:
    """Rate, slots and suspension of each lane, in Redis for all workers; while Redis is unreachable, in `local`."""

    def __init__(self, url: str, local: LocalTraffic, on_failure: Callable[[], None]) -> None:
        self._url, self._here, self._on_failure = url, local, on_failure
        self._until = 0.0
        self._redis: Redis | None = None

    async def __aenter__(self) -> Self:
        """Create a client for this event loop; it connects when it is first used."""
        from redis.asyncio import Redis

        self._redis = Redis.from_url(self._url, socket_timeout=PATIENCE_S, socket_connect_timeout=PATIENCE_S)
        self._enter, self._book = self._redis.register_script(ENTER), self._redis.register_script(BOOK)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._redis is not None:
            await self._redis.aclose()

    async def enter(self, lane: str, token: str, limit: int, keep_s: float) -> bool:
        """Take or keep a slot."""
        keys = [f"{PREFIX}{lane}:places", f"{PREFIX}{lane}:waited"]
        return await self._ask(
            lambda _: self._enter(keys, [token, limit, round(keep_s * 1000)]),
            bool,
            lambda: self._here.enter(lane, token, limit, keep_s),
        )

    async def leave(self, lane: str, token: str) -> bool:
        """Release a slot."""

        async def on_redis(redis: Redis) -> Any:
            async with redis.pipeline(transaction=False) as pipeline:
                pipeline.zrem(f"{PREFIX}{lane}:places", token)
                pipeline.exists(f"{PREFIX}{lane}:waited")
                return (await pipeline.execute())[1]

        return await self._ask(on_redis, bool, lambda: self._here.leave(lane, token))

    async def book(self, lane: str, per_second: float) -> float:
        """Reserve the start of the next call."""
        keys, args = [f"{PREFIX}{lane}:next"], [round(1e6 / per_second)]
        return await self._ask(
            lambda _: self._book(keys, args), lambda us: int(us) / 1e6, lambda: self._here.book(lane, per_second)
        )

    async def rest(self, lane: str, seconds: float) -> None:
        """Suspend the lane."""
        await self._ask(
            lambda redis: redis.set(f"{PREFIX}{lane}:rests", 1, px=max(1, round(seconds * 1000))),
            lambda _: None,
            lambda: self._here.rest(lane, seconds),
        )

    async def rests(self, lane: str) -> float:
        """Return the seconds for which the lane is still suspended."""
        return await self._ask(
            lambda redis: redis.pttl(f"{PREFIX}{lane}:rests"),
            lambda ms: max(0, int(ms)) / 1000,
            lambda: self._here.rests(lane),
        )

    async def _ask(
        self, remote: Callable[[Redis], Awaitable[Any]], read: Callable[[Any], T], local: Callable[[], Awaitable[T]]
    ) -> T:
        from redis.exceptions import RedisError

        if self._redis is not None and time.monotonic() >= self._until:
            try:
                return read(await remote(self._redis))
            except (RedisError, OSError, TimeoutError) as error:
                self._until = time.monotonic() + REST_S
                self._on_failure()
                structlog.get_logger().warning("traffic counted in this process", why=type(error).__name__)
        return await local()


Traffic: TypeAlias = LocalTraffic | TrafficOnRedis
"""Rate, slots and suspension of each lane, shared by all jobs."""


def lane_of(tenant: str, address: str) -> str:
    """Return the name of the lane of a tenant's jobs on one address (or one protocol with fixed addresses)."""
    return sha256(f"{tenant}\n{address}".encode()).hexdigest()[:24]
