"""A job's way to its target: it keeps to the target's limits together with every other job there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import numpy as np

from workers.calls.shared_rate_limits import Traffic, TrafficHere
from workers.targets.adapter import Limits

SHARE_S = 1.0
"""How long a place is kept before others get a chance: asking for each call would cost as much as the call."""

MARGIN_S = 5.0
"""Added to the time a place may be held by a worker that was killed."""

KNOCK_S = (0.05, 0.2)
"""Least and most seconds between two attempts to get a place."""

MAKE_ROOM_S = (0.2, 0.4)
"""Pause of someone who gave up a place for others: longer than they wait between knocks."""


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
