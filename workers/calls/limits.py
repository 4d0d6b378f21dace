"""Limits of a job on its target: concurrency, rate, retries, circuit breaker and budget.

A *lane* is all jobs of one tenant on one address, in any process; they share these limits. Redis holds the counts;
without Redis, or while it is unreachable, each process counts its calls. Counts expire: a killed worker blocks no slot.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

import numpy as np
import structlog

from workers.egress import RETRY_AFTER_CAP_S, CallFailed
from workers.targets.adapter import Limits

if TYPE_CHECKING:
    from redis.asyncio import Redis

T = TypeVar("T")

REDIS_TIMEOUT_S = 1.0
"""Timeout of Redis in seconds."""

REDIS_PAUSE_S = 10.0
"""Seconds after a failure of Redis during which Redis is not used."""

KEY_PREFIX = "assay:lane:"

TAKE_SLOT = """
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
"""Redis script: takes or extends a slot, else notes that a job waits.

Keys: slots by expiry, note; arguments: token, limit, milliseconds to keep the slot.
"""

RESERVE = """
local now = redis.call('TIME')
now = now[1] * 1000000 + now[2]
local start = math.max(now, tonumber(redis.call('GET', KEYS[1]) or 0))
redis.call('SET', KEYS[1], string.format('%.0f', start + ARGV[1]), 'PX', math.ceil((start + ARGV[1] - now) / 1000) + 1)
return start - now
"""
"""Redis script: reserves a call's start and returns the microseconds until it; argument: microseconds between calls."""


class LocalTraffic:
    """Call rate, slots and suspension of each lane (all jobs of a tenant on one address), in this process only."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        # by lane (all jobs of a tenant on one address); times of the clock; `_slots` has each holder's expiry
        self._slots: dict[str, dict[str, float]] = {}
        self._waiting_until: dict[str, float] = {}
        self._next_starts: dict[str, float] = {}
        self._cooldown_until: dict[str, float] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def take_slot(self, lane: str, token: str, limit: int, keep_s: float) -> bool:
        """Take or extend one of a lane's `limit` slots for the holder `token`; false if all are taken.

        A lane is all jobs of a tenant on one address; a slot, kept for `keep_s` seconds, permits one call at a time.
        """
        with self._lock:
            now = self._clock()
            slots = {holder: expiry for holder, expiry in self._slots.get(lane, {}).items() if expiry > now}
            may_take = token in slots or len(slots) < limit
            if may_take:
                slots[token] = now + keep_s
            else:
                self._waiting_until[lane] = now + 1  # for 1 s, `release_slot` reports that a job waits
            self._store_slots(lane, slots)
            return may_take

    async def release_slot(self, lane: str, token: str) -> bool:
        """Release the slot of the holder `token`; return whether another job of the lane (tenant, address) waits."""
        with self._lock:
            slots = self._slots.get(lane, {})
            slots.pop(token, None)
            self._store_slots(lane, slots)
            return self._remaining_s(self._waiting_until, lane) > 0

    async def reserve(self, lane: str, per_second: float) -> float:
        """Reserve the next call of a lane (tenant, address), 1 / `per_second` s after the last; return the wait (s)."""
        with self._lock:
            now = self._clock()
            start = max(now, self._next_starts.get(lane, now))
            self._next_starts[lane] = start + 1.0 / per_second
            return start - now

    async def start_cooldown(self, lane: str, seconds: float) -> None:
        """Suspend the calls of a lane (all jobs of a tenant on one address) for some seconds."""
        with self._lock:
            self._cooldown_until[lane] = self._clock() + seconds

    async def cooldown_s(self, lane: str) -> float:
        """Return the seconds until the lane's calls are allowed again; 0 if they are not suspended."""
        with self._lock:
            return self._remaining_s(self._cooldown_until, lane)

    def _remaining_s(self, end_times: dict[str, float], lane: str) -> float:
        """Return the seconds until a lane's (tenant, address) time in `end_times`; remove a time that has passed."""
        remaining_s = end_times.get(lane, 0.0) - self._clock()
        if remaining_s <= 0:
            end_times.pop(lane, None)
        return max(0.0, remaining_s)

    def _store_slots(self, lane: str, expiries: dict[str, float]) -> None:
        """Store the slots of a lane; forget a lane without slots, so that lanes of former targets take no memory."""
        if expiries:
            self._slots[lane] = expiries
        else:
            self._slots.pop(lane, None)


class TrafficOnRedis:
    """Call rate, slots and suspension of each lane, in Redis for all workers; in `local` while Redis is unreachable."""

    def __init__(self, url: str, local: LocalTraffic, on_failure: Callable[[], None]) -> None:
        self._url, self._local, self._on_failure = url, local, on_failure
        self._paused_until = 0.0
        self._redis: Redis | None = None

    async def __aenter__(self) -> Self:
        """Create a client for this event loop; it connects when it is first used."""
        from redis.asyncio import Redis

        self._redis = Redis.from_url(self._url, socket_timeout=REDIS_TIMEOUT_S, socket_connect_timeout=REDIS_TIMEOUT_S)
        self._take_slot_script = self._redis.register_script(TAKE_SLOT)
        self._reserve_script = self._redis.register_script(RESERVE)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._redis is not None:
            await self._redis.aclose()

    async def take_slot(self, lane: str, token: str, limit: int, keep_s: float) -> bool:
        """Take or extend a slot, and return whether that succeeded, as `LocalTraffic.take_slot` does."""
        keys = [f"{KEY_PREFIX}{lane}:places", f"{KEY_PREFIX}{lane}:waited"]
        return await self._ask_redis_or_local(
            remote=lambda _: self._take_slot_script(keys, [token, limit, round(keep_s * 1000)]),
            parse=bool,
            local=lambda: self._local.take_slot(lane, token, limit, keep_s),
        )

    async def release_slot(self, lane: str, token: str) -> bool:
        """Release the slot of the holder `token`; return whether another job of the lane (tenant, address) waits."""

        async def on_redis(redis: Redis) -> Any:
            async with redis.pipeline(transaction=False) as pipeline:
                pipeline.zrem(f"{KEY_PREFIX}{lane}:places", token)
                pipeline.exists(f"{KEY_PREFIX}{lane}:waited")
                _, is_awaited = await pipeline.execute()
                return is_awaited

        return await self._ask_redis_or_local(on_redis, bool, lambda: self._local.release_slot(lane, token))

    async def reserve(self, lane: str, per_second: float) -> float:
        """Reserve the start of the next call in a lane (tenant, address); return the seconds until then."""
        keys, interval_us = [f"{KEY_PREFIX}{lane}:next"], round(1e6 / per_second)
        return await self._ask_redis_or_local(
            remote=lambda _: self._reserve_script(keys, [interval_us]),
            parse=lambda wait_us: int(wait_us) / 1e6,
            local=lambda: self._local.reserve(lane, per_second),
        )

    async def start_cooldown(self, lane: str, seconds: float) -> None:
        """Suspend the calls of a lane (all jobs of a tenant on one address) for some seconds."""
        await self._ask_redis_or_local(
            remote=lambda redis: redis.set(f"{KEY_PREFIX}{lane}:rests", 1, px=max(1, round(seconds * 1000))),
            parse=lambda _: None,
            local=lambda: self._local.start_cooldown(lane, seconds),
        )

    async def cooldown_s(self, lane: str) -> float:
        """Return the seconds until the lane's calls are allowed again; 0 if they are not suspended."""
        return await self._ask_redis_or_local(
            remote=lambda redis: redis.pttl(f"{KEY_PREFIX}{lane}:rests"),
            parse=lambda remaining_ms: max(0, int(remaining_ms)) / 1000,
            local=lambda: self._local.cooldown_s(lane),
        )

    async def _ask_redis_or_local(
        self, remote: Callable[[Redis], Awaitable[Any]], parse: Callable[[Any], T], local: Callable[[], Awaitable[T]]
    ) -> T:
        """Return the parsed answer of Redis (`remote`); if Redis fails now or failed a moment ago, that of `local`."""
        from redis.exceptions import RedisError

        if self._redis is not None and time.monotonic() >= self._paused_until:
            try:
                return parse(await remote(self._redis))
            except (RedisError, OSError, TimeoutError) as error:
                self._paused_until = time.monotonic() + REDIS_PAUSE_S
                self._on_failure()
                structlog.get_logger().warning("traffic counted in this process", why=type(error).__name__)
        return await local()


Traffic: TypeAlias = LocalTraffic | TrafficOnRedis
"""Store of the call rate, slots and suspension of each lane, shared by all jobs."""


def lane_of(tenant: str, address: str) -> str:
    """Return the name of a lane: all jobs of a tenant on one address (a base URL, or a protocol that needs none)."""
    return sha256(f"{tenant}\n{address}".encode()).hexdigest()[:24]


KEEP_SLOT_S = 1.0
"""Seconds for which a slot is kept before other jobs may take it; asking for a slot per call would be too slow."""

MARGIN_S = 5.0
"""Seconds added to a call's deadline and `KEEP_SLOT_S` to get the lifetime of a slot, in case its worker is killed."""

RETRY_SLOT_S = (0.05, 0.2)
"""Minimum and maximum seconds between two attempts to get a slot."""

YIELD_SLOT_S = (0.2, 0.4)
"""Minimum and maximum pause in seconds after a slot was released for others: longer than `RETRY_SLOT_S`."""


class TargetCoolingDown(Exception):
    """Another job found the target unavailable; the target gets no calls for another `cooldown_s` seconds."""

    def __init__(self, cooldown_s: float) -> None:
        super().__init__(f"the target is left alone for {cooldown_s:.0f} s")
        self.cooldown_s = cooldown_s


@dataclass
class Lane:
    """Shared limits of all jobs on one target (`lane_of`), as used by one job."""

    name: str
    holder: str
    """Name of the job as a holder of slots."""
    limits: Limits
    """Limits of the job's target; calls of other jobs in the lane count towards these limits."""
    rng: np.random.Generator
    """For the length of pauses; it does not affect the rating."""
    traffic: Traffic = field(default_factory=LocalTraffic)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._slots_provided = 0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[Slot]:
        """Provide a slot (permission for one call at a time): `Slot.keep` takes it, and the block's end releases it."""
        self._slots_provided += 1
        slot = Slot(self, f"{self.holder}:{self._slots_provided}")
        try:
            yield slot
        finally:
            await slot.release()

    async def wait_for_rate(self) -> None:
        """Wait until the target's rate allows another call."""
        if self.limits.requests_per_second is None:
            return
        wait_s = await self.traffic.reserve(self.name, self.limits.requests_per_second)
        if wait_s > 0:
            await self.sleep(wait_s)

    async def start_cooldown(self, seconds: float) -> None:
        """Suspend the calls of all the tenant's jobs on this address for some seconds."""
        await self.traffic.start_cooldown(self.name, seconds)

    async def check_cooldown(self, delay_s: float) -> None:
        """Raise `TargetCoolingDown` while calls are suspended; a random part of `delay_s` / 10 is added to its time."""
        if (cooldown_s := await self.traffic.cooldown_s(self.name)) > 0:
            raise TargetCoolingDown(cooldown_s + float(self.rng.uniform(0, delay_s / 10)))


class Slot:
    """Permission for one of the concurrent calls to a target; not taken before the first `keep`."""

    def __init__(self, lane: Lane, token: str) -> None:
        self._lane, self._token = lane, token
        self._kept_until: float | None = None

    async def keep(self) -> None:
        """Take the slot (permission to call), or keep it for a call; after `KEEP_SLOT_S`, let waiting jobs go first."""
        lane = self._lane
        if self._kept_until is not None and lane.clock() < self._kept_until:
            return
        if self._kept_until is not None and await self._release_slot():  # another job waits: let it go first
            await lane.sleep(float(lane.rng.uniform(*YIELD_SLOT_S)))
        keep_s = lane.limits.timeout_s + KEEP_SLOT_S + MARGIN_S
        while not await lane.traffic.take_slot(lane.name, self._token, lane.limits.concurrency, keep_s):
            await lane.sleep(float(lane.rng.uniform(*RETRY_SLOT_S)))
        self._kept_until = lane.clock() + KEEP_SLOT_S

    async def release(self) -> None:
        """Release the slot, for example before a long pause."""
        if self._kept_until is not None:
            await self._release_slot()

    async def _release_slot(self) -> bool:
        """Release the slot, and return whether another job waits for a slot."""
        self._kept_until = None
        return await self._lane.traffic.release_slot(self._lane.name, self._token)


class Breaker:
    """Circuit breaker: opens after `consecutive` failed calls, or if over half of the last `window` calls failed."""

    def __init__(self, consecutive: int = 20, window: int = 50) -> None:
        self._consecutive, self._window = consecutive, window
        self._streak = 0
        self._recent_failures: deque[bool] = deque(maxlen=window)

    def count_failure(self) -> bool:
        """Count a call that failed after all retries; return whether too many in a row, or most recent ones, failed."""
        self._streak += 1
        self._recent_failures.append(True)
        window_is_full = len(self._recent_failures) == self._window
        return self._streak >= self._consecutive or (window_is_full and 2 * sum(self._recent_failures) > self._window)

    def count_answer(self) -> None:
        """Count an answered call; it ends the streak of failures."""
        self._streak = 0
        self._recent_failures.append(False)


@dataclass
class Budget:
    """Maximum and current number of calls of a job; retries count as calls."""

    max_calls: int
    spent: int = 0

    def take(self) -> bool:
        """Count one call if the budget allows it; return whether it does."""
        if self.spent >= self.max_calls:
            return False
        self.spent += 1
        return True


@dataclass(frozen=True)
class Patience:
    """Retry policy with full jitter: retry n waits between 0 and ``min(cap_s, backoff_s * 2**n)`` seconds.

    If the target requests a pause, a retry waits that long, but never longer than `RETRY_AFTER_CAP_S`.
    """

    attempts: int = 6
    backoff_s: float = 0.5
    cap_s: float = 60.0

    def delay_s(self, failure: CallFailed, attempt: int, rng: np.random.Generator) -> float:
        """Return the pause in seconds after the given attempt (the first is 1)."""
        if failure.retry_after_s is not None:
            return min(failure.retry_after_s, RETRY_AFTER_CAP_S)
        return float(rng.uniform(0, min(self.cap_s, self.backoff_s * 2**attempt)))
