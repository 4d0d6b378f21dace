"""Watchdog: ends a worker that receives no messages, so that its supervisor starts a new one.

A Celery worker (5.7.0) can lose its subscription in a restart of the broker while its process runs on. The watchdog
detects this: jobs were announced long ago, but the worker is idle and has received no message.
"""

from collections.abc import Callable

import structlog
from celery import Celery, signals
from celery.worker import state
from kombu.exceptions import OperationalError

from store.core.database import Database
from store.core.errors import StoreUnavailable
from store.jobs import jobs
from store.jobs.fair_order import UNLIMITED, Share
from workers.engine.tasks import waiting_messages
from workers.engine.worker_context import BackgroundThread

EXIT_DEAF = 75
"""Exit code EX_TEMPFAIL: the supervisor should restart the worker."""

STRIKES = 2
BROKER_PATIENCE_S = 3

log = structlog.get_logger()


class Watchdog(BackgroundThread):
    """Thread that checks every two thirds of `age_s` seconds whether this worker still receives messages.

    Parameters
    ----------
    age_s : float
        An announced job that no worker has taken after so many seconds indicates lost messages.
    share : Share
        Maximum number of running jobs of a tenant; jobs that wait for this reason indicate nothing.
    broker_answers : callable
        Whether the broker is reachable; if not, missing messages indicate nothing.
    end_process : callable
        Ends the process; called after two checks in a row that indicate lost messages.
    """

    name = "watchdog"
    join_s = BROKER_PATIENCE_S + 2.0

    def __init__(
        self,
        database: Database,
        messages: "MessageCounter",
        age_s: float,  # after which an announced job without a worker indicates lost messages
        *,
        share: Share = UNLIMITED,
        broker_answers: Callable[[], bool],
        end_process: Callable[[], object],
    ) -> None:
        super().__init__()
        self._database, self._messages, self._age_s, self._share = database, messages, age_s, share
        self._broker_answers, self._end_process = broker_answers, end_process
        self._received_count = messages.received()
        self._strikes = 0  # number of checks in a row that found lost messages

    def check(self) -> None:
        """Check whether the worker still gets the broker's messages; end the process if two checks in a row deny it."""
        received_before, self._received_count = self._received_count, self._messages.received()
        may_miss_some = self._received_count == received_before and self._messages.idle() and self._count_stranded()
        if not may_miss_some or not self._broker_answers():
            self._strikes = 0
            return
        self._strikes += 1
        log.warning("worker may receive no messages", strikes=self._strikes)
        if self._strikes >= STRIKES:
            log.error("worker receives no messages and ends", exit_code=EXIT_DEAF)
            self._end_process()

    def _count_stranded(self) -> int:
        """Count the jobs that were announced long ago and have no worker; 0 if the database is unavailable."""
        try:
            with self._database.read() as connection:
                return jobs.count_stranded(connection, self._age_s, self._share)
        except StoreUnavailable:
            return 0

    def run(self) -> None:
        """Check regularly until the thread is closed."""
        while not self._done.wait(self._age_s * 2 / 3):
            self.check()


class MessageCounter:
    """Counter of the messages that this worker has received."""

    def __init__(self) -> None:
        self._count = 0
        signals.task_received.connect(self._count_message)

    def _count_message(self, **_: object) -> None:
        self._count += 1

    def received(self) -> int:
        """Return the number of messages received so far."""
        return self._count

    def idle(self) -> bool:
        """Whether no job is running or waiting in this worker."""
        return not state.active_requests and not state.reserved_requests


def broker_answers(app: Celery) -> bool:
    """Whether the broker is reachable; tries once."""
    with app.connection_for_read(connect_timeout=BROKER_PATIENCE_S) as connection:
        try:
            connection.ensure_connection(max_retries=1, timeout=BROKER_PATIENCE_S)
            # makes a request, because the client connects to Redis only when it is first used
            waiting_messages(app, connection)
        except (OperationalError, *connection.connection_errors):
            return False
    return True
