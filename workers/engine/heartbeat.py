"""Heartbeat of a claimed job: a thread that renews its lease, and stops the job when necessary.

It has a separate thread and database connection, so that slow targets and long computations cannot delay it. A job
stops when it was cancelled, its lease was lost, or the worker shuts down. A job whose own code does not return is
ended after its deadline: by an exception in its thread, or if even that cannot be raised, with its process.
"""

import asyncio
import ctypes
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self

import structlog

from store.core.database import Database
from store.core.errors import StoreUnavailable
from store.jobs import jobs
from store.jobs.jobs import Claim
from workers.engine.worker_context import LeavingFlag

OVERDUE_S = 5.0
"""A job that has not ended is interrupted in its thread this number of seconds after its deadline."""

AGAIN_S = 2.0
"""Seconds after which a job that has not ended on an interruption is interrupted again."""

ALARM_S = 20.0
"""The process of an uninterruptible job ends this number of seconds after the deadline; another fails the job."""

log = structlog.get_logger()


class Overdue(Exception):
    """The deadline has passed, and the job's own code has not returned."""


class Stopped(Exception):
    """The job must stop: `why` is ``"cancelled"``, ``"lease-lost"`` or ``"leaving"`` (this worker shuts down)."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.why = reason


class Heartbeat:
    """Renews the lease of a claimed job every `every_s` seconds while the ``with`` block runs.

    The lease is renewed until the block has ended, even after the job was told to stop, because its thread still
    works until then. `ends_in_s` seconds after the block began, `Overdue` interrupts the thread that entered the block.
    """

    def __init__(
        self,
        database: Database,
        claim: Claim,
        *,
        lease_s: float,
        every_s: float,  # time between two renewals of the lease
        leaving: LeavingFlag | threading.Event,  # set when the worker shuts down
        ends_in_s: float = threading.TIMEOUT_MAX,  # then the job is interrupted
        on_missed: Callable[[], object] = lambda: None,  # called after a renewal that failed
    ) -> None:
        self._database, self._claim = database, claim
        self._lease_s, self._every_s, self._leaving = lease_s, every_s, leaving
        self._on_missed = on_missed
        self._overdue_at = time.monotonic() + ends_in_s
        self._working_thread_id, self._interrupted = 0, False
        self._done = threading.Event()
        self._stop_reason: str | None = None
        self._stop_callback: Callable[[], object] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run_heartbeat, name=f"heartbeat-{claim.job.id}", daemon=True)

    def __enter__(self) -> Self:
        self._working_thread_id = threading.get_ident()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        while True:
            try:
                self._done.set()
                self._thread.join()
                if self._interrupted:
                    time.sleep(0.01)  # a pending interruption is raised here
            except Overdue:  # an interruption must neither leave the heartbeat running nor reach the thread's next job
                continue
            return

    def on_stop(self, loop: asyncio.AbstractEventLoop, stop: Callable[[], object]) -> None:
        """Register `stop`, which `loop` calls when the job must stop; if it must stop already, call `stop` at once."""
        self._loop, self._stop_callback = loop, stop
        if self._stop_reason is not None:
            stop()

    def raise_if_stopped(self) -> None:
        """Raise `Stopped` if the job must stop."""
        if self._stop_reason is not None:
            raise Stopped(self._stop_reason)

    def _run_heartbeat(self) -> None:
        """Renew the lease regularly, and stop the job at a shutdown, its deadline, a cancellation or a lost lease."""
        since_renewal_s = 0.0
        tick_s = min(0.25, self._every_s)  # a shutdown and the deadline are noticed before the next renewal
        while not self._done.wait(tick_s):
            since_renewal_s += tick_s
            if self._leaving.is_set():
                self._stop_job("leaving")
            if time.monotonic() >= self._overdue_at:
                log.error("job interrupted after its deadline", job=self._claim.job.id)
                self._interrupted = True
                self._overdue_at = time.monotonic() + AGAIN_S  # then it is interrupted again
                thread_id, error_class = ctypes.c_ulong(self._working_thread_id), ctypes.py_object(Overdue)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread_id, error_class)  # raised at the thread's next step
            if since_renewal_s < self._every_s:
                continue
            since_renewal_s = 0.0
            if reason := self._renew_lease():
                self._stop_job(reason)
            if self._stop_reason == "lease-lost":
                return

    def _renew_lease(self) -> str | None:
        """Renew the lease; return the reason why the job must stop, or ``None``."""
        try:
            with self._database.write() as connection:
                lease_state = jobs.heartbeat(connection, self._claim, self._lease_s)
        except StoreUnavailable:
            self._on_missed()
            # not fatal, because the lease outlasts several missed heartbeats
            log.warning("heartbeat missed", job=self._claim.job.id)
            return None
        if not lease_state.lease_held:
            return "lease-lost"
        return "cancelled" if lease_state.cancel_requested else None

    def _stop_job(self, reason: str) -> None:
        """Note the first reason to stop, and call the registered callback in its event loop."""
        if self._stop_reason is not None:
            return
        self._stop_reason = reason
        if self._loop is not None and self._stop_callback is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stop_callback)


@contextmanager
def process_alarm(after_s: float) -> Iterator[None]:
    """End this process after `after_s` seconds unless the block ends before; does nothing outside the main thread.

    A job in the main thread has a process of its own (Celery's prefork). The kernel ends the process even if the
    job's code never returns to the interpreter.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler_before = signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, after_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler_before)
