"""The Celery application, which announces jobs; the database stores them."""

from __future__ import annotations

from celery import Celery
from kombu.connection import Connection
from kombu.transport import pyamqp

from store.core.settings import Settings

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
    """Count the messages that wait for a worker. May block until the broker's timeout, and raise."""
    queue = app.amqp.queues[app.conf.task_default_queue]
    return int(queue.bind(connection.default_channel).queue_declare().message_count)


def _limit_answer_wait(connection: pyamqp.Connection) -> None:
    """Limit the wait for each answer of RabbitMQ; `read_timeout` of the client does not."""
    connection.transport.sock.settimeout(BROKER_TIMEOUT_S)


def _broker_options(broker: str) -> dict[str, object]:
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
