"""Wakes a worker for a job. A lost ring costs seconds, never a job: the reconciler rings again."""

from __future__ import annotations

import structlog
from celery import Celery
from kombu.exceptions import OperationalError

from workers.tasks import RUN_JOB

log = structlog.get_logger()


class Doorbell:
    """Rings through Celery; a broker that is down is logged and otherwise ignored."""

    def __init__(self, app: Celery) -> None:
        self._app = app

    def __call__(self, job_id: str) -> None:
        """Ask any worker to look at a job. May block for the broker's time-out: not for event loops."""
        try:
            self._app.send_task(RUN_JOB, args=[job_id], retry=False, ignore_result=True)
        except (OperationalError, OSError) as down:
            log.warning("doorbell not heard", job=job_id, why=type(down).__name__)
