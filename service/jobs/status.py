"""A job's status for many who ask at once: read once, shown for a quarter of a second.

Whoever polls asks again in a second at the soonest; an answer that is a quarter of a second old
serves them as well as a new one, and a thousand of them cost one read at a time.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from service.http.json import Answer
from service.http.swr_cache import Moments
from service.metrics import Meter

MOST_KEPT = 2048
STALE_S = 1.0
"""Age above which a status is not given any more, whatever the load."""


@dataclass(frozen=True)
class Status:
    """A job as it is shown.

    Attributes
    ----------
    answer : Answer
        The response to whoever asks for the job.
    finished : bool
        Whether there is nothing to wait for.
    """

    answer: Answer
    finished: bool


Key = tuple[str, str, str]
"""Tenant, job, and the address the service was asked under."""


Read = Callable[[], Awaitable[Status]]


class StatusCache(Moments[Key, Status]):
    """Statuses that may be `keep_s` old, and up to `STALE_S` while they are read again.

    When a thousand ask at once, a read takes its turn too; until it is done the old status is given.

    Parameters
    ----------
    keep_s : float
        How old a status may be before it is read again; 0 keeps nothing.
    meter : Meter
        Counts hits and misses.
    clock : callable
        Seconds, growing steadily.
    """

    def __init__(self, keep_s: float, meter: Meter, clock: Callable[[], float] = time.monotonic) -> None:
        def count(outcome: str) -> None:
            if outcome != "read":
                meter.status_asked(outcome)

        super().__init__(keep_s, STALE_S, count, most=MOST_KEPT, clock=clock)

    def forget(self, job_id: str) -> None:
        """Read a job anew next time: somebody here knows that it has changed."""
        for key in [key for key in self._kept if key[1] == job_id]:
            del self._kept[key]
