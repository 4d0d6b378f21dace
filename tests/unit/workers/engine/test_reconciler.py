"""The reconciler announces all due jobs even if the broker fails, and deletes expired responses."""

from __future__ import annotations

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from sqlalchemy import update

from store.core.database import Database
from store.core.settings import Settings
from store.jobs import idempotency, jobs
from store.jobs.tables import jobs as jobs_table
from tests.support.jobs import new_job
from tests.support.redis import RedisServer
from workers.engine.reconciler import BATCH, purge_responses, reconcile
from workers.engine.tasks import JobNotifier, make_celery


@pytest.fixture
def database(database_url):
    one = Database(database_url)
    yield one
    one.close()


def post(database: Database, count: int) -> list[str]:
    ids = []
    with database.write() as connection:
        for number in range(count):
            new = new_job(tenant="acme", request_digest=f"sha256:{number}")
            ids.append(jobs.add(connection, new).id)
    return ids


def time_passes(database: Database) -> None:
    with database.write() as connection:
        connection.execute(update(jobs_table).values(dispatched_at=jobs_table.c.dispatched_at - 16_000))


class Rung(list[str]):
    """Fake dispatcher of job messages that no worker receives."""

    def __init__(self, *, broken_after: float = float("inf")) -> None:
        super().__init__()
        self.broken_after = broken_after

    def __call__(self, job_id: str) -> None:
        if len(self) >= self.broken_after:
            raise ConnectionError("no broker")
        self.append(job_id)

    def count_waiting(self) -> int:
        if len(self) >= self.broken_after:
            raise ConnectionError("no broker")
        return len(self)


def test_each_of_very_many_waiting_jobs_gets_exactly_one_queue_message(database):
    ids, rung = post(database, 2 * BATCH + 7), Rung()
    assert reconcile(database, rung, Settings()) == len(ids)
    assert sorted(rung) == sorted(ids)
    assert reconcile(database, rung, Settings()) == 0
    time_passes(database)
    assert reconcile(database, rung, Settings()) == len(ids)


def test_if_the_broker_fails_while_queue_messages_are_sent_every_job_gets_one_later(database):
    ids, rung = post(database, BATCH + 5), Rung()
    broken = Rung(broken_after=BATCH + 2)
    assert reconcile(database, broken, Settings()) == BATCH
    time_passes(database)
    assert reconcile(database, rung, Settings()) == BATCH + 5
    assert set(rung) == set(ids)


def test_jobs_whose_queue_message_could_not_be_sent_get_one_when_the_broker_is_reachable(database):
    ids, rung = post(database, 3), Rung()
    assert reconcile(database, Rung(broken_after=0), Settings()) == 0
    assert reconcile(database, rung, Settings()) == 3
    assert set(rung) == set(ids)


def test_the_number_of_job_messages_waiting_at_the_broker_is_limited(database, monkeypatch):
    monkeypatch.setattr("workers.engine.reconciler.MOST_MESSAGES", 8)
    rung = Rung()
    post(database, 10)
    assert reconcile(database, rung, Settings()) == 8
    for _ in range(3):
        time_passes(database)
        assert reconcile(database, rung, Settings()) == 0
    del rung[:5]  # workers have received five of the messages
    assert reconcile(database, rung, Settings()) == 5


def test_the_messages_at_the_broker_that_no_worker_has_received_are_counted():
    app = make_celery(Settings())
    bell = JobNotifier(app)
    assert bell.count_waiting() == 0
    bell("job_1")
    assert bell.count_waiting() == 1
    bell("job_2")
    assert bell.count_waiting() == 2
    app.control.purge()
    assert bell.count_waiting() == 0


@pytest.mark.slow
def test_after_redis_was_restarted_workers_can_be_notified_of_jobs_again():
    with RedisServer.running() as redis:
        bell = JobNotifier(make_celery(Settings(broker_url=redis.url)))
        bell("job_1")
        assert bell.count_waiting() == 1
        redis.stop()
        with pytest.raises(RedisConnectionError):
            bell("job_2")
        redis.start()
        bell("job_3")
        assert bell.count_waiting() == 1  # Redis lost the first message; the second was never sent


def test_stored_responses_of_idempotent_requests_expire(database):
    with database.write() as connection:
        idempotency.begin(connection, "scope", "key", "digest")
        idempotency.complete(connection, "scope", "key", 202, b"{}", {})
    assert purge_responses(database, Settings()) == 0
    with database.write() as connection:
        assert idempotency.purge(connection, kept_h=0) == 1
