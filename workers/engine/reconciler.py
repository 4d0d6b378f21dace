"""Reconciler: announces jobs that no worker has claimed (docs/reliability.md, "The job engine").

It runs in every API and worker process; an advisory lock lets one act at a time. It also submits the jobs of due
schedules.
"""

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial

import structlog

from store.core import migrate
from store.core.database import Database
from store.core.errors import StoreUnavailable
from store.core.settings import Settings
from store.jobs import fair_order, idempotency, jobs
from store.jobs.fair_order import Share
from store.jobs.jobs import try_reconciler_lock
from store.ratings import expiry
from store.suites import schedules
from store.suites.schedules import Bounds
from workers.engine.tasks import JobNotifier, make_celery
from workers.engine.worker_context import BackgroundThread

log = structlog.get_logger()

BATCH = 100
"""Maximum number of jobs announced in one transaction."""

MOST_MESSAGES = 1000
"""Maximum number of messages at the broker; without it, a job that waits for an hour is announced 240 times."""

TIDY_EVERY_S = 3600


def reconcile(database: Database, notifier: JobNotifier, settings: Settings) -> int:
    """Announce each due job once, up to `MOST_MESSAGES` messages at the broker; return the number of announced jobs."""
    announced_count, free_messages = 0, _free_messages(notifier)
    while True:
        with database.write() as connection:
            if not jobs.try_reconciler_lock(connection):  # another process announces them
                return announced_count
            for job_id in jobs.fail_poison_jobs(connection, settings.attempt_cap):
                log.error("job buried after too many fruitless attempts", job=job_id)
            limit = min(BATCH, free_messages - announced_count)
            job_ids = jobs.due(connection, limit, settings.redispatch_s, Share.of(settings))
            jobs.mark_dispatched(connection, job_ids)
        try:
            for job_id in job_ids:
                notifier(job_id)
        except Exception as error:  # noqa: BLE001  any exception of the broker's client; the jobs are safe
            log.warning("jobs not announced", jobs=len(job_ids), first=job_ids[0], why=type(error).__name__)
            return announced_count  # the unannounced jobs are announced again after `redispatch_s`
        announced_count += len(job_ids)
        if len(job_ids) < BATCH:
            return announced_count


def _free_messages(notifier: JobNotifier) -> int:
    """Return the number of messages that the broker may still get; 0 while it is unreachable."""
    try:
        return max(0, MOST_MESSAGES - notifier.count_waiting())
    except Exception as error:  # noqa: BLE001  any exception of the broker's client
        log.warning("broker unreachable", why=type(error).__name__)
        return 0


def purge_responses(database: Database, settings: Settings) -> int:
    """Delete expired responses of idempotent requests; return their number."""
    with database.write() as connection:
        if not jobs.try_reconciler_lock(connection):  # another process deletes them
            return 0
        return idempotency.purge(connection, kept_h=settings.idempotency_h)


class Reconciler(BackgroundThread):
    """Thread that submits due schedules and announces unclaimed jobs; registers the `slots` of a separate worker."""

    name = "reconciler"
    join_s = 5.0

    def __init__(self, database: Database, notifier: JobNotifier, settings: Settings, slots: int = 0) -> None:
        super().__init__()
        self._database, self._notifier, self._settings, self._slots = database, notifier, settings, slots
        self._next_cleanup_s = 0.0

    def run(self) -> None:
        """Until closed, regularly submit due schedules, announce unclaimed jobs and delete expired responses."""
        tasks: tuple[Callable[[], object], ...] = (
            self._register_slots,
            partial(run_due, self._database, self._settings),
            partial(reconcile, self._database, self._notifier, self._settings),
            self._clean_up,
        )
        while True:
            for task in tasks:
                try:
                    task()
                except StoreUnavailable as unavailable:
                    log.warning("reconciler waits for the database", why=str(unavailable))
                    break
                except Exception:  # an error must not end the thread, nor prevent the other tasks
                    log.exception("reconciler failed")
            if self._done.wait(self._settings.reconcile_s):
                return

    def _clean_up(self) -> None:
        if time.monotonic() >= self._next_cleanup_s:
            self._next_cleanup_s = time.monotonic() + TIDY_EVERY_S
            purge_responses(self._database, self._settings)
            announce_expiring_ratings(self._database, self._settings)

    def _register_slots(self) -> None:
        if self._slots:
            worker = f"{socket.gethostname()}:{os.getpid()}"
            with self._database.write() as connection:
                fair_order.register(connection, worker, self._slots, MISSED_ROUNDS * self._settings.reconcile_s)


MISSED_ROUNDS = 6
"""Rounds of the reconciler after which the slots of a worker that stopped registering no longer count."""


@contextmanager
def reconciling(settings: Settings, slots: int = 0) -> Iterator[JobNotifier]:
    """Run the reconciler while the block runs; yield the notifier that announces jobs to separate workers.

    `slots` is the number of jobs that this process runs at once if it is a separate worker; 0 registers none.

    Raises `SchemaMismatch` if the database has another version.
    """
    migrate.check(settings.resolved_database_url)
    if settings.redis_url is None:
        log.warning("each process counts rates and calls by itself", set="ASSAY_LIMITS_URL=redis://…")
    notifier = JobNotifier(make_celery(settings))
    with closing(Database(settings.resolved_database_url)) as database, Reconciler(database, notifier, settings, slots):
        yield notifier


MOST_RUNS = 50
"""Maximum number of schedules that are run in a round, so that jobs are announced again within seconds."""

DAY_S = 86_400


def run_due(database: Database, settings: Settings) -> int:
    """Run every schedule that is due, each in a transaction of its own; return the number of schedules run."""
    with database.read() as connection:
        if not schedules.any_due(connection):  # usually nothing is due; this check takes no lock
            return 0
    bounds = Bounds(max_active=settings.max_active_jobs, cooldown_s=settings.cooldown_s)
    for run_count in range(MOST_RUNS):
        with database.write() as connection:
            due_run = schedules.run_due(connection, bounds) if try_reconciler_lock(connection) else None
        if due_run is None:
            return run_count
        schedule, run = due_run
        if run.made_id is None:
            log.warning("schedule made nothing", schedule=schedule.id, why=run.code)
        else:
            log.info("schedule run", schedule=schedule.id, made=run.made_id, jobs=len(run.job_ids))
    return MOST_RUNS


def announce_expiring_ratings(database: Database, settings: Settings) -> int:
    """Announce each rating that expires soon, once; return the number of ratings."""
    announced_count, within_s = 0, settings.expiring_days * DAY_S
    while True:
        with database.read() as connection:
            if not expiry.expiring(connection, within_s, limit=1):  # usually there is none; this takes no lock
                return announced_count
        with database.write() as connection:
            if not try_reconciler_lock(connection):  # another process announces them
                return announced_count
            expiring_ratings = expiry.expiring(connection, within_s, expiry.BATCH)
            expiry.announce_expiring(connection, expiring_ratings)
        announced_count += len(expiring_ratings)
