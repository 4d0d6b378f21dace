"""The Celery application, which announces jobs; the database stores them."""

from __future__ import annotations

from celery import Celery

from store.core.settings import Settings

MEMORY = "memory://localhost/"
"""In-process broker of the embedded worker."""


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
        task_time_limit=settings.longest_deadline_s + 60,
        worker_prefetch_multiplier=1,
        worker_enable_remote_control=True,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_hijack_root_logger=False,
        worker_soft_shutdown_timeout=20,
        worker_max_tasks_per_child=200,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options=_transport_options(broker),
    )
    return app


def _transport_options(broker: str) -> dict[str, object]:
    if broker.startswith(MEMORY):
        return {"polling_interval": 0.02}
    return {
        "visibility_timeout": 3600,
        "socket_timeout": 10,
        "socket_connect_timeout": 5,
        "socket_keepalive": True,
        "health_check_interval": 10,
    }
