"""Finds jobs that nobody is working on and rings for them (RELIABILITY, "The job engine").

Runs in every API and worker process; an advisory lock lets one act at a time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog

from store import idempotency, jobs, migrate
from store.database import Database
from store.errors import StoreUnavailable
from store.settings import Settings
from workers.celery_app import make_celery
from workers.doorbell import Doorbell

log = structlog.get_logger()


BATCH = 100
"""Jobs that are announced in one transaction; as many transactions follow as there are due jobs."""

TIDY_EVERY_S = 3600


def reconcile(database: Database, ring: Callable[[str], None], settings: Settings) -> int:
    """Dispatch every due job once; return how many were announced."""
    announced = 0
    while True:
        with database.write() as connection:
            if not jobs.reconciler_lock(connection):
                return announced
            for job_id in jobs.bury_poison(connection, settings.attempt_cap):
                log.error("job buried after too many fruitless attempts", job=job_id)
            due = jobs.due(connection, BATCH, settings.redispatch_s)
            jobs.mark_dispatched(connection, due)
        for job_id in due:
            try:
                ring(job_id)
            except Exception as error:  # noqa: BLE001  whatever a broker's client raises, the jobs are safe
                log.warning("doorbell not heard", job=job_id, why=type(error).__name__)
                return announced  # they are announced again when `redispatch_s` have passed
            announced += 1
        if len(due) < BATCH:
            return announced


def tidy(database: Database, settings: Settings) -> int:
    """Forget answers that were kept for repeated requests and need be no longer; return how many."""
    with database.write() as connection:
        if not jobs.reconciler_lock(connection):
            return 0
        return idempotency.purge(connection, kept_h=settings.idempotency_h)


class Reconciler:
    """Reconciles every ``settings.reconcile_s`` seconds in a thread, until closed."""

    def __init__(self, database: Database, ring: Callable[[str], None], settings: Settings) -> None:
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
                reconcile(self._database, self._ring, self._settings)
                if time.monotonic() >= tidied:
                    tidied = time.monotonic() + TIDY_EVERY_S
                    tidy(self._database, self._settings)
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
