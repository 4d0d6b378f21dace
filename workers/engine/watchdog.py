"""Ends a worker that has gone deaf, so that its supervisor starts a new one.

A Celery worker can stay alive after a broker's restart and never hear a message again (seen with
5.7.0). No one notices from outside: it answers its signals and its process runs. But it can find
out by itself: jobs were announced long ago, it has nothing to do, and it has heard nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog
from celery import Celery, signals
from celery.worker import state
from kombu.exceptions import OperationalError

from store.core.database import Database
from store.core.errors import StoreUnavailable
from store.jobs import jobs

EXIT_DEAF = 75
"""Exit code (EX_TEMPFAIL): start me again."""

STRIKES = 2
BROKER_PATIENCE_S = 3

log = structlog.get_logger()


class Watchdog:
    """Looks every two thirds of `age_s` seconds whether this worker is deaf.

    Parameters
    ----------
    database : Database
        Shows the jobs that were announced.
    ear : Ear
        Knows what this worker does.
    age_s : float
        For how long an announced job must have been due to be a sign.
    broker_answers : callable
        Whether the broker can be reached: while it cannot, silence says nothing about the worker.
    bite : callable
        Ends the process.
    """

    def __init__(
        self,
        database: Database,
        ear: Ear,
        age_s: float,
        *,
        broker_answers: Callable[[], bool],
        bite: Callable[[], object],
    ) -> None:
        self._database, self._ear, self._age_s = database, ear, age_s
        self._broker_answers, self._bite = broker_answers, bite
        self._heard = ear.heard()
        self._strikes = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """Stop looking."""
        self._done.set()
        self._thread.join(timeout=BROKER_PATIENCE_S + 2)

    def look(self) -> None:
        """Look once; bite at the second sign in a row."""
        heard, before = self._ear.heard(), self._heard
        self._heard = heard
        if heard != before or not self._ear.idle() or not self._stranded() or not self._broker_answers():
            self._strikes = 0
            return
        self._strikes += 1
        log.warning("worker may be deaf", strikes=self._strikes)
        if self._strikes >= STRIKES:
            log.error("worker is deaf and ends", exit_code=EXIT_DEAF)
            self._bite()

    def _stranded(self) -> int:
        try:
            with self._database.read() as connection:
                return jobs.count_stranded(connection, self._age_s)
        except StoreUnavailable:
            return 0

    def _run(self) -> None:
        while not self._done.wait(self._age_s * 2 / 3):
            self.look()


class Ear:
    """What this worker has heard from the broker."""

    def __init__(self) -> None:
        self._count = 0
        signals.task_received.connect(self._listen)

    def _listen(self, **_: object) -> None:
        self._count += 1

    def heard(self) -> int:
        """Messages heard so far."""
        return self._count

    def idle(self) -> bool:
        """Whether no job is being worked on, or waits in this worker."""
        return not state.active_requests and not state.reserved_requests


def broker_answers(app: Celery) -> bool:
    """Try to reach the broker, once."""
    with app.connection_for_read(connect_timeout=BROKER_PATIENCE_S) as connection:
        errors: tuple[type[Exception], ...] = (OperationalError, *connection.connection_errors)
        try:
            connection.ensure_connection(max_retries=1, timeout=BROKER_PATIENCE_S)
            # a connection to Redis is made when it is first used
            connection.default_channel.client.ping()
        except errors:
            return False
    return True
