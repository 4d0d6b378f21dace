"""RabbitMQ as the broker: it is killed again and again, and every job is rated exactly once.

Row 116 of docs/reliability.md: until 1.0.0 only Redis could announce jobs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import pytest

from tests.support.counting_target import CountingTarget, rating_request
from tests.support.rabbitmq import NOT_INSTALLED, RabbitServer
from tests.support.scaled_agency import ScaledAgency, running_agency

KILLS, JOBS = 10, 60
IMPATIENT = "-rabbit consumer_timeout 4000 -rabbit channel_tick_interval 1000"
"""RabbitMQ takes a message back after 4 s (usually 30 minutes), and looks every second (usually every minute)."""


@pytest.fixture(scope="module")
def agency(target: CountingTarget, rabbit: RabbitServer) -> Iterator[ScaledAgency]:
    with running_agency(apis=2, workers=2, rabbit=rabbit) as one:
        yield one


@pytest.mark.skipif(NOT_INSTALLED is not None, reason=str(NOT_INSTALLED))
def test_a_job_longer_than_rabbitmq_waits_for_its_message_runs_once(target):
    target.delay_s = 0.25  # 15 s for a job of 120 calls, two at a time
    with (
        RabbitServer.running(IMPATIENT) as impatient,
        running_agency(workers=1, concurrency=1, rabbit=impatient, settings={"ASSAY_LEASE_S": "20"}) as agency,
    ):
        job_id = agency.post(rating_request(target.url("long"), 1))
        (job,) = agency.finished([job_id], 120)
        log = agency.workers[0].log.read_text()
        exits = list(agency.workers[0].exits)
    assert (job["status"], job["attempt"], exits) == ("succeeded", 1, [])
    assert "delivery acknowledgement on channel" in log, "no message was taken back, so the test shows nothing"


def wait_until_started(agency: ScaledAgency, job_id: str, seconds: float) -> None:
    until = time.monotonic() + seconds
    while agency.job(job_id)["attempt"] == 0 and time.monotonic() < until:
        time.sleep(0.2)


def test_every_job_is_rated_once_although_rabbitmq_is_killed_again_and_again(agency, prepare, rabbit):
    batch, start = prepare(JOBS), time.monotonic()
    batch.target.delay_s = 0.02
    requests = iter(batch.requests)

    def post(jobs: int) -> None:
        batch.ids += [agency.post(next(requests)) for _ in range(jobs)]

    for number in range(1, KILLS + 1):
        post(JOBS // KILLS // 2)
        rabbit.stop()
        post(JOBS // KILLS // 2)  # nobody is told of these before RabbitMQ is back
        rabbit.start()
        wait_until_started(
            agency, batch.ids[-1], 20
        )  # a worker that lost its broker waits up to 14 s before each attempt
        print(f"fault {number} of {KILLS} at {time.monotonic() - start:.0f} s", file=sys.stderr)
    batch.survived(seconds=600)
    exits = {one.name: one.exits for one in agency.processes}
    print(f"all ended at {time.monotonic() - start:.0f} s; processes that ended: {exits}", file=sys.stderr)
    assert rabbit.queues()["celery"] == "quorum"
