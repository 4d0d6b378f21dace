"""Embedded worker: Celery in a thread of the service's process, with a broker in memory.

`assay serve` runs it by default. One process owns the SQLite file, so interrupted jobs are resumed at the start,
without waiting for leases.
"""

import threading

import structlog
from celery import Celery

from store.core.errors import StoreUnavailable
from store.jobs import jobs
from workers.engine.reconciler import Reconciler
from workers.engine.tasks import JobNotifier, add_tasks
from workers.engine.worker_context import WorkerContext
from workers.maintenance.signing_worker import SigningWorker
from workers.webhooks.delivery_loop import WebhookWorker

log = structlog.get_logger()


class EmbeddedWorker:
    """Runs jobs in threads of this process between `start` and `close`."""

    def __init__(self, app: Celery, context: WorkerContext, *, concurrency: int) -> None:
        add_tasks(app, lambda: context)
        self._context = context
        # no other worker shares the broker in memory, so this one neither looks for others nor sends them heartbeats
        self._controller = app.WorkController(
            pool="threads", concurrency=concurrency, loglevel="WARNING", without_heartbeat=True, without_mingle=True
        )
        self._thread = threading.Thread(target=self._controller.start, name="celery", daemon=True)
        self.notifier = JobNotifier(app)
        self._background_threads = (
            Reconciler(context.database, self.notifier, context.settings),
            WebhookWorker(context),
            SigningWorker(context),
        )

    def start(self) -> None:
        """Resume interrupted jobs, and start the threads."""
        try:
            with self._context.database.write() as connection:
                orphan_count = jobs.release_orphans(connection)
        except StoreUnavailable as unavailable:  # the jobs resume when their leases have expired
            log.warning("jobs not resumed", why=str(unavailable))
        else:
            log.info("resuming jobs", count=orphan_count)
        self._thread.start()
        for thread in self._background_threads:
            thread.start()

    def close(self) -> None:
        """Return running jobs to the queue, and stop the threads."""
        for thread in self._background_threads:
            thread.close()
        self._context.leaving.set()
        self._controller.stop()
        self._thread.join(timeout=20)
