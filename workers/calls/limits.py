"""Limits of a job on its target: calls at a time, pace, repetitions, losses and budget.

Every job on the same target counts towards its calls at a time and its pace, see `workers.calls.shared_rate_limits`.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import numpy as np

from workers.calls.shared_rate_limits import Traffic, TrafficHere
from workers.egress import RETRY_AFTER_CAP_S, CallFailed
from workers.targets.adapter import Limits

SHARE_S = 1.0
"""How long a place is kept before others get a chance: asking for each call would cost as much as the call."""

MARGIN_S = 5.0
"""Added to the time a place may be held by a worker that was killed."""

KNOCK_S = (0.05, 0.2)
"""Least and most seconds between two attempts to get a place."""

MAKE_ROOM_S = (0.2, 0.4)
"""Pause of someone who gave up a place for others: longer than they wait between knocks."""


class TargetResting(Exception):
    """Another job found the target unavailable a moment ago; it is left alone for `rest_s` seconds more."""

    def __init__(self, rest_s: float) -> None:
        super().__init__(f"the target is left alone for {rest_s:.0f} s")
        self.rest_s = rest_s


@dataclass
class Lane:
    """The way to one target.

    Parameters
    ----------
    name : str
        The lane, see `workers.calls.shared_rate_limits.lane_of`.
    who : str
        The job; places are held in its name.
    limits : Limits
        What the job's target allows; calls of other jobs in the lane count towards it.
    traffic : Traffic
        Where it is counted.
    rng : Generator
        For the pauses; without influence on the rating.
    """

    name: str
    who: str
    limits: Limits
    rng: np.random.Generator
    traffic: Traffic = field(default_factory=TrafficHere)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._places = 0

    @asynccontextmanager
    async def place(self) -> AsyncIterator[Place]:
        """Wait for one of the target's places, and hold it while the block runs."""
        self._places += 1
        place = Place(self, f"{self.who}:{self._places}")
        try:
            yield place
        finally:
            await place.give_up()

    async def wait_for_turn(self) -> None:
        """Wait until the target's pace allows another call."""
        if self.limits.requests_per_second is None:
            return
        wait_s = await self.traffic.book(self.name, self.limits.requests_per_second)
        if wait_s > 0:
            await self.sleep(wait_s)

    async def rest(self, seconds: float) -> None:
        """Ask all jobs of the lane to leave the target alone."""
        await self.traffic.rest(self.name, seconds)

    async def rests(self) -> float:
        """Seconds for which the target is to be left alone."""
        return await self.traffic.rests(self.name)

    async def check_rest(self, delay_s: float) -> None:
        """Raise `TargetResting` while the target is left alone; the jobs that wait for it come back one by one."""
        if (rest_s := await self.rests()) > 0:
            raise TargetResting(rest_s + float(self.rng.uniform(0, delay_s / 10)))


class Place:
    """One of the calls that a target takes at a time."""

    def __init__(self, lane: Lane, token: str) -> None:
        self._lane, self._token = lane, token
        self._until: float | None = None

    async def keep(self) -> None:
        """Hold the place for another call; now and then let others go first."""
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
        """Let go of the place, as before a long pause."""
        if self._until is not None:
            await self._leave()

    async def _leave(self) -> bool:
        self._until = None
        return await self._lane.traffic.leave(self._lane.name, self._token)


class Breaker:
    """Opens after `consecutive` lost calls, or when more than half of the last `window` were lost."""

    def __init__(self, consecutive: int = 20, window: int = 50) -> None:
        self._consecutive, self._window = consecutive, window
        self._streak = 0
        self._recent: deque[bool] = deque(maxlen=window)

    def lost(self) -> bool:
        """Count a call that failed for good after its retries; return whether to give up."""
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
    """Calls a job may still make, retries included."""

    max_calls: int
    spent: int = 0

    def take(self) -> bool:
        """Spend one call, if there is one left."""
        if self.spent >= self.max_calls:
            return False
        self.spent += 1
        return True


@dataclass(frozen=True)
class Patience:
    """How often one question is asked, and how long is waited in between (full jitter).

    Before retry n a call waits between 0 and ``min(cap_s, backoff_s * 2**n)`` seconds, or as long as
    the target asks, but never longer than `RETRY_AFTER_CAP_S`.
    """

    attempts: int = 6
    backoff_s: float = 0.5
    cap_s: float = 60.0

    def delay_s(self, failed: CallFailed, attempt: int, rng: np.random.Generator) -> float:
        """Choose the pause after the given attempt (the first is 1)."""
        if failed.retry_after_s is not None:
            return min(failed.retry_after_s, RETRY_AFTER_CAP_S)
        return float(rng.uniform(0, min(self.cap_s, self.backoff_s * 2**attempt)))
