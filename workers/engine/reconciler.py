"""Finds jobs that nobody is working on and rings for them (RELIABILITY, "The job engine").

Runs in every API and worker process; an advisory lock lets one act at a time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import structlog

from store.core import migrate
from store.core.database import Database
from store.core.errors import StoreUnavailable
from store.core.settings import Settings
from store.jobs import idempotency, jobs
from workers.engine.celery_app import make_celery
from workers.engine.celery_dispatcher import Doorbell
from workers.engine.due_schedules import run_due, tell_expiring

log = structlog.get_logger()


BATCH = 100
"""Jobs that are announced in one transaction; as many transactions follow as there are due jobs."""

MOST_MESSAGES = 1000
"""Messages at the broker beyond which none is added. Workers that are busy need no more of them, and a queue
that waits for an hour would be announced 240 times."""

TIDY_EVERY_S = 3600


class Bell(Protocol):
    """Rings for a job, and knows how many rings have not been heard."""

    def __call__(self, job_id: str) -> None:
        """Ring for a job. May block, and raise."""

    def unheard(self) -> int:
        """Count the rings that wait for a worker. May block, and raise."""
        ...


def reconcile(database: Database, ring: Bell, settings: Settings) -> int:
    """Announce every due job once, as far as there is room at the broker; return how many were announced."""
    announced, room = 0, _room(ring)
    while True:
        with database.write() as connection:
            if not jobs.reconciler_lock(connection):
                return announced
            for job_id in jobs.fail_poison_jobs(connection, settings.attempt_cap):
                log.error("job buried after too many fruitless attempts", job=job_id)
            due = jobs.due(connection, min(BATCH, room - announced), settings.redispatch_s)
            jobs.mark_dispatched(connection, due)
        try:
            for job_id in due:
                ring(job_id)
        except Exception as error:  # noqa: BLE001  whatever a broker's client raises, the jobs are safe
            log.warning("doorbell not heard", jobs=len(due), first=due[0], why=type(error).__name__)
            return announced  # they are announced again when `redispatch_s` have passed
        announced += len(due)
        if len(due) < BATCH:
            return announced


def _room(ring: Bell) -> int:
    """Count the messages that may be added: none while the broker cannot be reached."""
    try:
        return max(0, MOST_MESSAGES - ring.unheard())
    except Exception as error:  # noqa: BLE001  as above
        log.warning("broker out of reach", why=type(error).__name__)
        return 0


def tidy(database: Database, settings: Settings) -> int:
    """Forget answers that were kept for repeated requests and need be no longer; return how many."""
    with database.write() as connection:
        if not jobs.reconciler_lock(connection):
            return 0
        return idempotency.purge(connection, kept_h=settings.idempotency_h)


class Reconciler:
    """Reconciles every ``settings.reconcile_s`` seconds in a thread, until closed."""

    def __init__(self, database: Database, ring: Bell, settings: Settings) -> None:
        self._database, self._ring, self._settings = database, ring, settings
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reconciler", daemon=True)

    def start(self) -> None:
        """Begin, with a first round at once."""
        self._thread.start()

    def close(self) -> None:
        """Stop after the present round."""
        self._done.set()
        self._thread.join(timeout=5)

    def _run(self) -> None:
        tidied = 0.0
        while True:
            try:
                run_due(self._database, self._settings)
                reconcile(self._database, self._ring, self._settings)
                if time.monotonic() >= tidied:
                    tidied = time.monotonic() + TIDY_EVERY_S
                    tidy(self._database, self._settings)
                    tell_expiring(self._database, self._settings)
            except StoreUnavailable as unavailable:
                log.warning("reconciler waits for the database", why=str(unavailable))
            if self._done.wait(self._settings.reconcile_s):
                return


@contextmanager
def reconciling(settings: Settings) -> Iterator[Doorbell]:
    """Ring for separate workers, and look after jobs nobody works on, while the block runs.

    Raises
    ------
    SchemaMismatch
        If the database is not of this version.
    """
    migrate.check(settings.resolved_database_url)
    ring = Doorbell(make_celery(settings))
    database = Database(settings.resolved_database_url)
    reconciler = Reconciler(database, ring, settings)
    reconciler.start()
    try:
        yield ring
    finally:
        reconciler.close()
        database.close()
