"""Celery tasks, each with a job id as argument, and the resources of a worker process."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable

import structlog
from celery import Celery
from celery.utils import uuid

from store.core.database import Database
from store.core.settings import Settings
from store.jobs import jobs
from store.jobs.fair_order import NO_LIMIT, Share
from store.security.secrets import Vault
from workers.engine.celery_app import waiting_messages
from workers.engine.worker_context import LeavingFlag, WorkerContext, import_job_libraries
from workers.maintenance.signing_worker import sign_due
from workers.run_job import run_job

log = structlog.get_logger()

RUN_JOB = "assay.run_job"
"""Name of the task that runs a job."""


def add_tasks(app: Celery, open_context: Callable[[], WorkerContext]) -> None:
    """Register the tasks; `open_context` is called in the worker, so that a forked child opens its own connections."""

    @app.task(name=RUN_JOB)  # type: ignore[untyped-decorator] # Celery has no types
    def run(job_id: str) -> None:
        context = open_context()
        import_job_libraries()
        run_job(job_id, context, owner())
        _announce_next(context, lambda next_job_id: run.apply_async(args=[next_job_id], retry=False))
        sign_due(context.database, context.vault)  # signs finished ratings at once; failed signatures are retried later


def _announce_next(context: WorkerContext, announce: Callable[[str], object]) -> None:
    """Announce the next job in the fair order, if tenants have a share of slots; errors are left to the reconciler."""
    share = Share.of(context.settings)
    if share.max_jobs == NO_LIMIT or context.leaving.is_set():
        return
    try:
        with context.database.write() as connection:
            job_id = jobs.announce_next(connection, share, context.settings.attempt_cap)
        if job_id is not None:
            announce(job_id)
    except Exception as error:  # noqa: BLE001  any exception of the broker's client, or an unavailable database
        log.warning("next job not announced", why=type(error).__name__)


class WorkerContexts:
    """Factory of one context per process: a forked child never uses its parent's database connections."""

    def __init__(self, settings: Settings, leaving: LeavingFlag) -> None:
        self._settings, self._leaving = settings, leaving
        self._lock = threading.Lock()
        self._pid = 0
        self._context: WorkerContext | None = None

    def __call__(self) -> WorkerContext:
        """Return this process's context, created on first use."""
        with self._lock:
            if self._context is None or self._pid != os.getpid():
                self._context = open_context(self._settings, self._leaving)
                self._pid = os.getpid()
            return self._context


def open_context(settings: Settings, leaving: LeavingFlag | None = None) -> WorkerContext:
    """Open the database and the vault of a worker."""
    database = Database(settings.resolved_database_url)
    return WorkerContext(database, Vault.from_settings(settings), settings, leaving=leaving or threading.Event())


def owner() -> str:
    """Return the name of this worker for leases: host, process and thread."""
    return f"{socket.gethostname()}:{os.getpid()}:{threading.get_ident()}"


# ------------------------------------------------------------------------------- announcements
class JobNotifier:
    """Sends Celery messages over Celery's pool of connections, which threads and forked processes may use.

    It publishes with kombu directly, because `Celery.send_task` takes a third of the processor time of a whole POST.
    """

    def __init__(self, app: Celery) -> None:
        self._app, self._queue = app, str(app.conf.task_default_queue)

    def __call__(self, job_id: str) -> None:
        """Announce a job to one worker.

        May block until the broker's timeout; raises any exception of the broker's client.
        """
        message = self._app.amqp.as_task_v2(
            uuid(), RUN_JOB, args=[job_id], ignore_result=True, argsrepr=f"({job_id!r},)", kwargsrepr="{}"
        )
        with self._app.producer_or_acquire() as producer:
            producer.publish(
                message.body,
                exchange="",
                routing_key=self._queue,
                serializer="json",
                headers=message.headers,
                delivery_mode="persistent",
                retry=False,
                **message.properties,
            )

    def count_waiting(self) -> int:
        """Count the messages that wait for a worker. May block and raise."""
        with self._app.connection_for_write() as connection:
            return waiting_messages(self._app, connection)
