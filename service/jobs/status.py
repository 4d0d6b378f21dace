"""Cache of job statuses.

Clients poll at most once a second, so an answer that is 0.25 s old is good enough, and a thousand clients cost
one read at a time.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from service.http.json import Answer
from service.http.metrics import Meter
from service.http.swr_cache import SwrCache

STALE_S = 1.0
"""Age in seconds above which a status is never returned, even under load."""


@dataclass(frozen=True)
class Status:
    """The response that shows a job, and whether the job has ended."""

    answer: Answer
    finished: bool


Key = tuple[str, str, str]
"""Key of a cached status: tenant, job id, and the address under which the service was called."""


class StatusCache(SwrCache[Key, Status]):
    """Cache of job statuses; see `SwrCache` for `keep_s` and `clock`. `meter` counts hits, misses and reads."""

    def __init__(self, keep_s: float, meter: Meter, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(keep_s, STALE_S, meter.count_status, clock=clock)

    def forget(self, job_id: str) -> None:
        """Remove the cached statuses of a job that has changed."""
        for key in list(self._entries):
            _, cached_job_id, _ = key
            if cached_job_id == job_id:
                del self._entries[key]
