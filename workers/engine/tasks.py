"""The Celery application, which announces jobs stored in the database, its task, and the resources of a worker."""

import os
import socket
import threading
from collections.abc import Callable

import structlog
from celery import Celery
from celery.utils import uuid
from kombu.connection import Connection
from kombu.transport import pyamqp

from store.core.database import Database
from store.core.settings import Settings
from store.jobs import jobs
from store.jobs.fair_order import NO_LIMIT, Share
from store.security.secrets import Vault
from workers.engine.worker_context import LeavingFlag, WorkerContext, import_job_libraries
from workers.maintenance.signing_worker import sign_due
from workers.run_job import run_job

log = structlog.get_logger()

RUN_JOB = "assay.run_job"
"""Name of the task that runs a job."""

MEMORY = "memory://localhost/"
"""In-process broker of the embedded worker."""

RABBITMQ = ("amqp://", "amqps://")
BROKER_TIMEOUT_S = 10


def make_celery(settings: Settings) -> Celery:
    """Configure Celery for this process; without a `broker_url`, the broker is in memory."""
    broker = settings.broker_url or MEMORY
    app = Celery("assay", broker=broker, include=[])
    app.conf.update(
        accept_content=["json"],
        task_serializer="json",
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_ignore_result=True,
        task_time_limit=settings.longest_deadline_s + 60,  # after the alarm of a job (`workers.engine.heartbeat`)
        worker_prefetch_multiplier=1,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_hijack_root_logger=False,
        worker_soft_shutdown_timeout=20,
        worker_max_tasks_per_child=200,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        **_broker_options(broker),
    )
    return app


def waiting_messages(app: Celery, connection: Connection) -> int:
    """Count the messages that wait for a worker; may block until the broker's timeout, or raise its client's errors."""
    queue = app.amqp.queues[app.conf.task_default_queue]
    return int(queue.bind(connection.default_channel).queue_declare().message_count)


def _limit_answer_wait(connection: pyamqp.Connection) -> None:
    """Limit the wait for each answer of RabbitMQ, which the client's option `read_timeout` does not limit."""
    connection.transport.sock.settimeout(BROKER_TIMEOUT_S)


def _broker_options(broker: str) -> dict[str, object]:
    """Return Celery's options for the kind of broker: in memory, RabbitMQ or Redis."""
    if broker.startswith(MEMORY):
        return {"broker_transport_options": {"polling_interval": 0.02}}  # kombu's default is 1 s
    if broker.startswith(RABBITMQ):
        return {
            "task_default_queue_type": "quorum",
            # for messages with a delay, which Assay never sends, Celery makes 28 queues and wants a topic exchange
            "task_default_exchange_type": "topic",
            "broker_native_delayed_delivery_queue_type": "classic",
            "worker_enable_remote_control": False,  # its queue admits one worker on each host
            "broker_channel_error_retry": True,  # RabbitMQ closes the channel of a job longer than its consumer_timeout
            "broker_heartbeat": 2 * BROKER_TIMEOUT_S,
            "broker_transport_options": {"confirm_publish": True, "on_open": _limit_answer_wait},
        }
    timeouts = {"visibility_timeout": 3600, "socket_timeout": BROKER_TIMEOUT_S, "socket_connect_timeout": 5}
    return {"broker_transport_options": {**timeouts, "socket_keepalive": True, "health_check_interval": 10}}


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
    """If tenants have limited slots, announce the next job in the fair order; after an error, the reconciler does."""
    share = Share.of(context.settings)  # how many jobs of a tenant may run at once
    if share.max_jobs == NO_LIMIT or context.leaving.is_set():
        return
    try:
        with context.database.write() as connection:
            job_id = jobs.announce_next(connection, share, context.settings.attempt_cap)
        if job_id is not None:
            announce(job_id)
    except Exception as error:  # noqa: BLE001  any exception of the broker's client, or an unavailable database
        log.warning("next job not announced", why=type(error).__name__)


def open_context(settings: Settings, leaving: LeavingFlag | None = None) -> WorkerContext:
    """Open the database and the vault of a worker."""
    database = Database(settings.resolved_database_url)
    return WorkerContext(database, Vault.from_settings(settings), settings, leaving=leaving or threading.Event())


def owner() -> str:
    """Return the name of this worker for leases: host, process and thread."""
    return f"{socket.gethostname()}:{os.getpid()}:{threading.get_ident()}"


class JobNotifier:
    """Sends Celery messages over Celery's pool of connections, which threads and forked processes may use.

    It publishes with kombu directly, because `Celery.send_task` takes a third of the processor time of a whole POST.
    """

    def __init__(self, app: Celery) -> None:
        self._app, self._queue = app, str(app.conf.task_default_queue)

    def __call__(self, job_id: str) -> None:
        """Announce a job to one worker; may block until the broker's timeout, and raise any exception of its client."""
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
        """Count the messages that wait for a worker; may block until the broker's timeout, or raise its errors."""
        with self._app.connection_for_write() as connection:
            return waiting_messages(self._app, connection)
