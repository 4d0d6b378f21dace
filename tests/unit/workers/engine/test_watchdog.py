"""The watchdog ends a worker that receives no messages, but not one that is busy or has no broker."""

from dataclasses import dataclass

import pytest

from store.core.database import Database
from store.jobs import jobs
from tests.support.jobs import new_job
from workers.engine.celery_app import make_celery
from workers.engine.watchdog import Watchdog, broker_answers


@dataclass
class Ear:
    """Message counter of a worker, set by the test."""

    count: int = 0
    resting: bool = True

    def heard(self) -> int:
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


def watch(database: Database, ear: Ear, *, age_s: float = 0, broker: bool = True) -> tuple[Watchdog, list[int]]:
    bites: list[int] = []
    return Watchdog(database, ear, age_s, broker_answers=lambda: broker, bite=lambda: bites.append(1)), bites


def test_two_signs_in_a_row_end_the_worker(database):
    post(database)
    dog, bites = watch(database, Ear())
    dog.look()
    assert bites == []
    dog.look()
    assert bites == [1]


def test_received_message_resets_the_watchdog(database):
    post(database)
    ear = Ear()
    dog, bites = watch(database, ear)
    for _ in range(4):
        dog.look()
        ear.count += 1
        dog.look()
    assert bites == []


@pytest.mark.parametrize(
    ("ear", "broker", "told", "age_s"),
    [(Ear(resting=False), True, True, 0), (Ear(), False, True, 0), (Ear(), True, False, 0), (Ear(), True, True, 60)],
    ids=["busy", "no broker", "nobody was told", "too young"],
)
def test_silence_for_another_reason_is_no_sign(database, ear, broker, told, age_s):
    post(database, told=told)
    dog, bites = watch(database, ear, broker=broker, age_s=age_s)
    for _ in range(4):
        dog.look()
    assert bites == []


def test_claimed_job_is_no_sign(database):
    job_id = post(database)
    with database.write() as connection:
        assert jobs.claim(connection, job_id, "another", 30)
    dog, bites = watch(database, Ear())
    for _ in range(4):
        dog.look()
    assert bites == []


def test_watchdog_checks_the_broker_before_it_ends_the_worker(redis_url, redis_server):
    from store.core.settings import Settings

    app = make_celery(Settings(broker_url=redis_url))
    assert broker_answers(app)
    redis_server.stop()
    assert not broker_answers(app)
