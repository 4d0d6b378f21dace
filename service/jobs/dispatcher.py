"""Queue of job notifications: a request neither waits for the broker nor fails because of it."""

import queue
import threading
from collections.abc import Callable
from contextlib import suppress

import structlog

from service.http.metrics import Meter

MAX_QUEUED_RINGS = 256

log = structlog.get_logger(__name__)


class Dispatcher:
    """A thread that notifies workers of committed jobs, in order.

    A notification that fails, or finds the queue full because the broker stalls, is logged, counted and
    dropped: the job is in the database, and the reconciler dispatches it.

    `doorbell` wakes a worker for a job id; it may block until the broker's timeout, and it may raise.
    """

    def __init__(self, doorbell: Callable[[str], None], meter: Meter) -> None:
        self._doorbell, self._meter = doorbell, meter
        self._job_ids: queue.Queue[str | None] = queue.Queue(MAX_QUEUED_RINGS)
        self._thread: threading.Thread | None = None

    def ring(self, job_id: str) -> None:
        """Queue the notification about a job, and return at once."""
        if self._thread is None:
            # a daemon thread, so that a stalled broker cannot keep the process from ending
            self._thread = threading.Thread(target=self._ring_queued_jobs, name="doorbell", daemon=True)
            self._thread.start()
        try:
            self._job_ids.put_nowait(job_id)
        except queue.Full:
            self._note_failure(job_id, "the queue is full")

    def close(self) -> None:
        """Stop the thread after the queued notifications, but after one second at the latest."""
        if self._thread is not None:
            with suppress(queue.Full):
                self._job_ids.put_nowait(None)  # ends the thread's loop
                self._thread.join(timeout=1)

    def _ring_queued_jobs(self) -> None:
        while (job_id := self._job_ids.get()) is not None:
            try:
                self._doorbell(job_id)
            except Exception as error:  # noqa: BLE001  any exception of the broker's client
                self._note_failure(job_id, type(error).__name__)

    def _note_failure(self, job_id: str, reason: str) -> None:
        self._meter.doorbell_failures.inc()
        log.warning("doorbell not rung", job=job_id, why=reason)
