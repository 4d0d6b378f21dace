"""Announcement of jobs to workers through Celery; the reconciler repeats lost messages."""

from __future__ import annotations

import threading

from celery import Celery
from kombu.messaging import Producer

from workers.engine.tasks import RUN_JOB


class Doorbell:
    """Sends Celery messages over one connection, which threads may share but processes must not."""

    def __init__(self, app: Celery) -> None:
        self._app, self._queue = app, str(app.conf.task_default_queue)
        self._lock = threading.Lock()
        self._producer: Producer | None = None

    def __call__(self, job_id: str) -> None:
        """Announce a job to one worker.

        May block until the broker's timeout; raises any exception of the broker's client.
        """
        with self._lock:
            try:
                self._app.send_task(RUN_JOB, args=(job_id,), producer=self._open(), retry=False)
            except BaseException:
                self._close()  # after an error, the next call opens a new connection
                raise

    def unheard(self) -> int:
        """Count the messages that wait for a worker. May block and raise."""
        with self._lock:
            try:
                declared = self._open().channel.queue_declare(queue=self._queue, durable=True)
            except BaseException:
                self._close()
                raise
        return int(declared.message_count)

    def close(self) -> None:
        """Close the connection; another call opens a new one."""
        with self._lock:
            self._close()

    def _open(self) -> Producer:
        if self._producer is None:
            self._producer = self._app.amqp.Producer(self._app.connection_for_write(), auto_declare=False)
        return self._producer

    def _close(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None and producer.connection is not None:
            producer.connection.collect()
