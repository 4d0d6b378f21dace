"""Due jobs are announced, all of them, whatever the broker does; what need not be kept is forgotten."""

from __future__ import annotations

import pytest

from store import idempotency, jobs
from store.database import Database
from store.jobs import NewJob
from store.settings import Settings
from workers.reconciler import BATCH, reconcile, tidy


@pytest.fixture
def database(database_url):
    one = Database(database_url)
    yield one
    one.close()


def post(database: Database, count: int) -> list[str]:
    ids = []
    with database.write() as connection:
        for number in range(count):
            new = NewJob(
                tenant="acme",
                kind="rating",
                target_id=None,
                target={"name": "x", "base_url": "http://127.0.0.1:1"},
                sealed_secret=None,
                experiment={},
                request_digest=f"sha256:{number}",
                seed=0,
                visibility="private",
                callback_url=None,
                max_calls=1,
                deadline_s=60,
                expected=1,
                key_id=None,
            )
            ids.append(jobs.add(connection, new).id)
    return ids


def test_more_jobs_than_fit_a_batch_are_announced_at_once_and_each_once(database):
    ids, rung = post(database, 2 * BATCH + 7), []
    assert reconcile(database, rung.append, Settings()) == len(ids)
    assert sorted(rung) == sorted(ids)
    assert reconcile(database, rung.append, Settings()) == 0
    assert reconcile(database, rung.append, Settings(redispatch_s=1e-9)) == len(ids)


def test_a_broker_that_is_down_ends_the_round_and_loses_nothing(database):
    ids, rung = post(database, 5), []

    def broken(job_id: str) -> None:
        if len(rung) == 2:
            raise ConnectionError("no broker")
        rung.append(job_id)

    assert reconcile(database, broken, Settings()) == 2
    assert reconcile(database, rung.append, Settings(redispatch_s=1e-9)) == 5
    assert set(rung) == set(ids)


def test_answers_kept_for_repeated_requests_are_forgotten_after_their_hours(database):
    with database.write() as connection:
        idempotency.begin(connection, "scope", "key", "digest")
        idempotency.complete(connection, "scope", "key", 202, b"{}", {})
    assert tidy(database, Settings()) == 0
    with database.write() as connection:
        assert idempotency.purge(connection, kept_h=0) == 1
