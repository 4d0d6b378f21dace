"""Heartbeat of a claimed job: a thread that renews its lease, and stops the job when necessary.

Its thread and database connection are its own, so that slow targets and long computations cannot delay it. A job
stops when it was cancelled, its lease was lost, or the worker shuts down.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Self

import structlog

from store.core.database import Database
from store.core.errors import StoreUnavailable
from store.jobs import jobs
from store.jobs.jobs import Claim
from workers.engine.worker_context import Leaving

log = structlog.get_logger()


class Stopped(Exception):
    """The job must stop: `why` is ``"cancelled"``, ``"lease-lost"`` or ``"leaving"`` (this worker shuts down)."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Heartbeat:
    """Renews the lease every `every_s` seconds while the ``with`` block runs."""

    def __init__(
        self,
        database: Database,
        claim: Claim,
        *,
        lease_s: float,
        every_s: float,
        leaving: Leaving,
        on_missed: Callable[[], object] = lambda: None,
    ) -> None:
        self._database, self._claim = database, claim
        self._lease_s, self._every_s, self._leaving = lease_s, every_s, leaving
        self._on_missed = on_missed
        self._done = threading.Event()
        self._why: str | None = None
        self._stop: Callable[[], object] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._beat, name=f"heartbeat-{claim.job.id}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def on_stop(self, loop: asyncio.AbstractEventLoop, stop: Callable[[], object]) -> None:
        """Call `stop` in `loop` once, when the job must stop."""
        self._loop, self._stop = loop, stop
        if self._why is not None:
            stop()

    def raise_why(self) -> None:
        """Raise `Stopped` if the job must stop."""
        if self._why is not None:
            raise Stopped(self._why)

    def _beat(self) -> None:
        rested = 0.0
        tick_s = min(0.25, self._every_s)
        while not self._done.wait(tick_s):
            rested += tick_s
            if self._leaving.is_set():
                return self._stop_job("leaving")
            if rested < self._every_s:
                continue
            rested = 0.0
            if why := self._ask_database():
                return self._stop_job(why)
        return None

    def _ask_database(self) -> str | None:
        try:
            with self._database.write() as connection:
                beat = jobs.heartbeat(connection, self._claim, self._lease_s)
        except StoreUnavailable:
            self._on_missed()
            # not fatal, because the lease outlasts several missed heartbeats
            log.warning("heartbeat missed", job=self._claim.job.id)
            return None
        if not beat.held:
            return "lease-lost"
        return "cancelled" if beat.cancel_requested else None

    def _stop_job(self, why: str) -> None:
        self._why = why
        if self._loop is not None and self._stop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stop)
