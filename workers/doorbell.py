"""Wakes a worker for a job. A lost ring costs seconds, never a job: the reconciler rings again."""

from __future__ import annotations

from celery import Celery

from workers.tasks import RUN_JOB


class Doorbell:
    """Rings through Celery."""

    def __init__(self, app: Celery) -> None:
        self._app = app

    def __call__(self, job_id: str) -> None:
        """Ask any worker to look at a job.

        May block for the broker's time-out (not for event loops), and raises whatever the broker's
        client raises when it is down, full or stalled: whoever rings counts that and goes on.
        """
        # what Celery shows of the arguments is given: working it out costs a tenth of the ring
        self._app.send_task(
            RUN_JOB, args=[job_id], retry=False, ignore_result=True, argsrepr=f"({job_id!r},)", kwargsrepr="{}"
        )

    def unheard(self) -> int:
        """Count the messages that wait for a worker. May block and raise as a ring does."""
        with self._app.producer_or_acquire() as producer:
            declared = producer.channel.queue_declare(queue=self._app.conf.task_default_queue, durable=True)
        return int(declared.message_count)
