"""API and workers over Postgres and a real RabbitMQ: quorum queue, confirmed messages, limits in Redis beside it.

Row 117 of docs/reliability.md: the client of RabbitMQ waits without end for a server that stalls.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from demo.server import DemoServer
from store.core.settings import Settings
from tests.support.counting_target import rating_request
from tests.support.rabbitmq import RabbitServer
from tests.support.scaled_agency import ScaledAgency, running_agency
from workers.engine.tasks import JobNotifier, make_celery
from workers.engine.watchdog import broker_answers

ONLY_MESSAGES = {"ASSAY_RECONCILE_S": "600", "ASSAY_WATCHDOG_S": "600", "ASSAY_JOB_RATE": "1000/minute"}
"""Settings with which a job that no message announces is not begun within a test."""

FLUSHED_S = 5
"""RabbitMQ 3.10 cannot use a quorum queue again if it is killed within about a second of the queue's declaration."""


@pytest.fixture(scope="module")
def agency(rabbit: RabbitServer) -> Iterator[ScaledAgency]:
    with running_agency(apis=1, workers=2, rabbit=rabbit, settings=ONLY_MESSAGES) as one:
        yield one


def test_jobs_reach_workers_through_messages_of_a_rabbitmq_quorum_queue_and_are_rated(agency, rabbit):
    with DemoServer() as services:
        ids = [agency.post(rating_request(services.url("always-he"), seed)) for seed in range(4)]
        ended = agency.finished(ids, 120)
    assert {job["status"] for job in ended} == {"succeeded"}
    assert {job["rating"]["letter"] for job in ended} == {"BS"}
    assert rabbit.queues()["celery"] == "quorum"
    assert b":0\r\n" not in agency.redis.command("DBSIZE"), "rates are not counted in Redis"
    assert "each process counts" not in agency.logs()


def test_a_message_waits_for_a_worker_and_outlasts_a_killed_rabbitmq(rabbit):
    app = make_celery(Settings(broker_url=rabbit.url))
    app.conf.task_default_queue = "nobody-listens"
    bell = JobNotifier(app)
    assert bell.count_waiting() == 0
    bell("job_1")
    assert bell.count_waiting() == 1
    assert broker_answers(app)
    time.sleep(FLUSHED_S)
    rabbit.stop()
    try:
        with pytest.raises(app.connection_for_write().connection_errors):
            bell("job_2")
        assert not broker_answers(app)
    finally:
        rabbit.start()
    bell("job_3")
    assert bell.count_waiting() == 2, "confirmed messages are on the disk of a quorum queue"


def test_a_frozen_rabbitmq_stops_no_caller_for_long(rabbit):
    app = make_celery(Settings(broker_url=rabbit.url))
    bell = JobNotifier(app)
    bell("job_1")
    rabbit.freeze()
    try:
        start = time.monotonic()
        with pytest.raises(TimeoutError):
            bell("job_2")
        assert not broker_answers(app)
        assert time.monotonic() - start < 60
    finally:
        rabbit.thaw()
    bell("job_3")
