"""The watchdog ends a worker that receives no messages, but not one that is busy or has no broker."""

from dataclasses import dataclass

import pytest

from store.core.database import Database
from store.jobs import jobs
from tests.support.jobs import new_job
from workers.engine.tasks import make_celery
from workers.engine.watchdog import Watchdog, broker_answers


@dataclass
class MessageCounter:
    """Message counter of a worker, set by the test."""

    count: int = 0
    resting: bool = True

    def received(self) -> int:
        return self.count

    def idle(self) -> bool:
        return self.resting


@pytest.fixture
def database(database_url):
    one = Database(database_url)
    yield one
    one.close()


def post(database: Database, *, told: bool = True) -> str:
    new = new_job(request_digest="x")
    with database.write() as connection:
        job = jobs.add(connection, new)
        if told:
            jobs.mark_dispatched(connection, [job.id])
    return job.id


def watch(
    database: Database, messages: MessageCounter, *, age_s: float = 0, broker: bool = True
) -> tuple[Watchdog, list[int]]:
    ended: list[int] = []
    return Watchdog(
        database, messages, age_s, broker_answers=lambda: broker, end_process=lambda: ended.append(1)
    ), ended


def test_a_worker_exits_after_two_checks_in_a_row_with_waiting_jobs_but_no_queue_message(database):
    post(database)
    dog, ended = watch(database, MessageCounter())
    dog.check()
    assert ended == []
    dog.check()
    assert ended == [1]


def test_a_worker_that_receives_a_queue_message_between_checks_is_not_stopped_by_its_watchdog(database):
    post(database)
    messages = MessageCounter()
    dog, ended = watch(database, messages)
    for _ in range(4):
        dog.check()
        messages.count += 1
        dog.check()
    assert ended == []


@pytest.mark.parametrize(
    ("messages", "broker", "told", "age_s"),
    [
        (MessageCounter(resting=False), True, True, 0),
        (MessageCounter(), False, True, 0),
        (MessageCounter(), True, False, 0),
        (MessageCounter(), True, True, 60),
    ],
    ids=["busy", "no broker", "nobody was told", "too young"],
)
def test_the_watchdog_spares_a_worker_with_another_reason_for_no_messages(database, messages, broker, told, age_s):
    post(database, told=told)
    dog, ended = watch(database, messages, broker=broker, age_s=age_s)
    for _ in range(4):
        dog.check()
    assert ended == []


def test_the_watchdog_does_not_stop_a_worker_if_another_worker_has_the_waiting_job(database):
    job_id = post(database)
    with database.write() as connection:
        assert jobs.claim(connection, job_id, "another", 30)
    dog, ended = watch(database, MessageCounter())
    for _ in range(4):
        dog.check()
    assert ended == []


def test_watchdog_checks_the_broker_before_it_stops_the_worker(redis_url, redis_server):
    from store.core.settings import Settings

    app = make_celery(Settings(broker_url=redis_url))
    assert broker_answers(app)
    redis_server.stop()
    assert not broker_answers(app)
