"""Finds jobs that nobody is working on and rings for them (RELIABILITY, "The job engine").

Runs in every API and worker process; an advisory lock lets one act at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog

from store import jobs, migrate
from store.database import Database
from store.errors import StoreUnavailable
from store.settings import Settings
from workers.celery_app import make_celery
from workers.doorbell import Doorbell

log = structlog.get_logger()


def reconcile(database: Database, ring: Callable[[str], None], settings: Settings) -> int:
    """Dispatch every due job once; return how many."""
    with database.write() as connection:
        if not jobs.reconciler_lock(connection):
            return 0
        for job_id in jobs.bury_poison(connection, settings.attempt_cap):
            log.error("job buried after too many fruitless attempts", job=job_id)
        due = jobs.due(connection, redispatch_s=settings.redispatch_s)
        jobs.mark_dispatched(connection, due)
    for place, job_id in enumerate(due):
        try:
            ring(job_id)
        except Exception as error:  # noqa: BLE001  whatever a broker's client raises, the jobs are safe
            log.warning("doorbell not heard", jobs=len(due) - place, why=type(error).__name__)
            return place  # the others are announced again when `redispatch_s` have passed
    return len(due)


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
        while True:
            try:
                reconcile(self._database, self._ring, self._settings)
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
