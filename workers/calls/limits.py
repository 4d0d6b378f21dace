"""Limits of a job on its target: concurrency, rate, retries, circuit breaker and budget.

All jobs on the same target share its concurrency and rate (`workers.calls.shared_rate_limits`).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import numpy as np

from workers.calls.shared_rate_limits import LocalTraffic, Traffic
from workers.egress import RETRY_AFTER_CAP_S, CallFailed
from workers.targets.adapter import Limits

SHARE_S = 1.0
"""Seconds for which a slot is kept before other jobs may take it; asking for a slot per call would be too slow."""

MARGIN_S = 5.0
"""Seconds added to a call's deadline and `SHARE_S` to get the lifetime of a slot, in case its worker is killed."""

KNOCK_S = (0.05, 0.2)
"""Minimum and maximum seconds between two attempts to get a slot."""

MAKE_ROOM_S = (0.2, 0.4)
"""Minimum and maximum pause in seconds after a slot was released for others: longer than their pauses, `KNOCK_S`."""


class TargetResting(Exception):
    """Another job found the target unavailable; the target gets no calls for another `rest_s` seconds."""

    def __init__(self, rest_s: float) -> None:
        super().__init__(f"the target is left alone for {rest_s:.0f} s")
        self.rest_s = rest_s


@dataclass
class Lane:
    """Shared limits of all jobs on one target (`workers.calls.shared_rate_limits.lane_of`), as used by one job.

    Parameters
    ----------
    holder : str
        Name of the job as a holder of slots.
    limits : Limits
        Limits of the job's target; calls of other jobs in the lane count towards these limits.
    rng : Generator
        For the pauses; it does not affect the rating.
    """

    name: str
    holder: str
    limits: Limits
    rng: np.random.Generator
    traffic: Traffic = field(default_factory=LocalTraffic)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._places = 0

    @asynccontextmanager
    async def place(self) -> AsyncIterator[Slot]:
        """Provide a slot, which is taken by `Slot.keep` and released when the block ends."""
        self._places += 1
        slot = Slot(self, f"{self.holder}:{self._places}")
        try:
            yield slot
        finally:
            await slot.give_up()

    async def wait_for_turn(self) -> None:
        """Wait until the target's rate allows another call."""
        if self.limits.requests_per_second is None:
            return
        wait_s = await self.traffic.book(self.name, self.limits.requests_per_second)
        if wait_s > 0:
            await self.sleep(wait_s)

    async def rest(self, seconds: float) -> None:
        """Suspend the calls of all jobs of the lane for some seconds."""
        await self.traffic.rest(self.name, seconds)

    async def rests(self) -> float:
        """Return the seconds for which calls are still suspended."""
        return await self.traffic.rests(self.name)

    async def check_rest(self, delay_s: float) -> None:
        """Raise `TargetResting` while calls are suspended, with jitter so that jobs return at different times."""
        if (rest_s := await self.rests()) > 0:
            raise TargetResting(rest_s + float(self.rng.uniform(0, delay_s / 10)))


class Slot:
    """Slot for one of the concurrent calls to a target."""

    def __init__(self, lane: Lane, token: str) -> None:
        self._lane, self._token = lane, token
        self._until: float | None = None

    async def keep(self) -> None:
        """Hold the slot for another call; after `SHARE_S` seconds, let waiting jobs go first."""
        lane = self._lane
        if self._until is not None and lane.clock() < self._until:
            return
        if self._until is not None and await self._leave():
            await lane.sleep(float(lane.rng.uniform(*MAKE_ROOM_S)))
        limits = lane.limits
        while not await lane.traffic.enter(
            lane.name, self._token, limits.concurrency, limits.timeout_s + SHARE_S + MARGIN_S
        ):
            await lane.sleep(float(lane.rng.uniform(*KNOCK_S)))
        self._until = lane.clock() + SHARE_S

    async def give_up(self) -> None:
        """Release the slot, for example before a long pause."""
        if self._until is not None:
            await self._leave()

    async def _leave(self) -> bool:
        self._until = None
        return await self._lane.traffic.leave(self._lane.name, self._token)


class Breaker:
    """Circuit breaker: opens after `consecutive` failed calls, or if over half of the last `window` calls failed."""

    def __init__(self, consecutive: int = 20, window: int = 50) -> None:
        self._consecutive, self._window = consecutive, window
        self._streak = 0
        self._recent: deque[bool] = deque(maxlen=window)

    def lost(self) -> bool:
        """Count a call that failed after all retries; return whether to give up."""
        self._streak += 1
        self._recent.append(True)
        full = len(self._recent) == self._window
        return self._streak >= self._consecutive or (full and 2 * sum(self._recent) > self._window)

    def answered(self) -> None:
        """Count a call that was answered."""
        self._streak = 0
        self._recent.append(False)


@dataclass
class Budget:
    """Maximum and current number of calls of a job, with retries."""

    max_calls: int
    spent: int = 0

    def take(self) -> bool:
        """Count one call, and return whether it is allowed."""
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

    def delay_s(self, failed: CallFailed, attempt: int, rng: np.random.Generator) -> float:
        """Return the pause in seconds after the given attempt (the first is 1)."""
        if failed.retry_after_s is not None:
            return min(failed.retry_after_s, RETRY_AFTER_CAP_S)
        return float(rng.uniform(0, min(self.cap_s, self.backoff_s * 2**attempt)))
