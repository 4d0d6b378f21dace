"""Ring a worker's doorbell without ever making a request wait for it, or fail with it."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence

import structlog

from service.meter import Meter

WAITING_RINGS = 256

GATHER_S = 0.002
"""How long a ring waits for others, to go out with them: nothing beside a job, and much beside a request."""

log = structlog.get_logger(__name__)


class Bell:
    """One thread that rings for committed jobs, in order, and for those that come together at a time.

    A ring that fails, or finds `WAITING_RINGS` before it because the broker stalls, is logged,
    counted and forgotten: the job is in the database, and the reconciler dispatches what was
    not heard.

    Parameters
    ----------
    doorbell : callable
        Wakes a worker for each of some job ids. It may block and it may raise.
    meter : Meter
        Counts the failures.
    """

    def __init__(self, doorbell: Callable[[Sequence[str]], None], meter: Meter) -> None:
        self._doorbell, self._meter = doorbell, meter
        self._waiting: queue.Queue[str | None] = queue.Queue(WAITING_RINGS)
        self._thread: threading.Thread | None = None

    def ring(self, job_id: str) -> None:
        """Ask for a ring and return at once."""
        if self._thread is None:
            # A daemon: a stalled broker must not keep the process from ending.
            self._thread = threading.Thread(target=self._ring_all, name="doorbell", daemon=True)
            self._thread.start()
        try:
            self._waiting.put_nowait(job_id)
        except queue.Full:
            self._failed(job_id, "too many rings are waiting")

    def close(self) -> None:
        """Stop after the rings that are waiting, if they take no longer than a second."""
        if self._thread is None:
            return
        try:
            self._waiting.put_nowait(None)
        except queue.Full:
            return
        self._thread.join(timeout=1)

    def _ring_all(self) -> None:
        going_on = True
        while going_on:
            job_ids = [self._waiting.get()]
            if job_ids != [None]:
                time.sleep(GATHER_S)
                job_ids += [self._waiting.get_nowait() for _ in range(self._waiting.qsize())]
            going_on = None not in job_ids
            if rung := [job_id for job_id in job_ids if job_id is not None]:
                self._ring(rung)

    def _ring(self, job_ids: Sequence[str]) -> None:
        try:
            self._doorbell(job_ids)
        except Exception as error:  # noqa: BLE001  whatever a broker's client raises, the jobs are safe
            for job_id in job_ids:
                self._failed(job_id, type(error).__name__)

    def _failed(self, job_id: str, why: str) -> None:
        self._meter.doorbell_failures.inc()
        log.warning("doorbell not rung", job=job_id, why=why)
