"""How fast, how often and how long a target is asked: pace, patience, breaker and budget."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from workers.egress import RETRY_AFTER_CAP_S, CallFailed


class Pace:
    """A generic cell rate: calls start a gap apart, with no burst."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._next = clock, 0.0

    def wait_s(self, per_second: float) -> float:
        """Book the next place and say how long to wait for it."""
        now = self._clock()
        start = max(now, self._next)
        self._next = start + 1.0 / per_second
        return start - now


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
