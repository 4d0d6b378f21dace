"""Due schedules run once, in one process at a time, and their jobs are announced in the same round."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from store.core.database import Database
from store.core.settings import Settings
from store.jobs import jobs
from store.jobs.jobs import NewJob, try_reconciler_lock
from store.ratings import expiry
from store.suites import schedules
from store.suites.schedules import Orders, Recurrence, job_template
from store.suites.tables import schedules as table
from store.webhooks import outbox
from tests.support.jobs import new_job
from tests.support.new_ratings import new_rating
from workers.engine import reconciler as scheduler
from workers.engine.reconciler import Reconciler, announce_expiring_ratings, run_due

TARGET = {"name": "M", "kind": "translator", "protocol": "x", "base_url": "http://mirror", "settings": {}, "limits": {}}


@pytest.fixture
def database(database_url):
    one = Database(database_url)
    yield one
    one.close()


def acme_job() -> NewJob:
    return new_job(tenant="acme", target=TARGET, request_digest="")


def schedule(database: Database, *, due: bool = True) -> str:
    orders, recurrence = Orders({}, [job_template(acme_job())]), Recurrence(interval_s=3600)
    with database.write() as c:
        made = schedules.add(c, "acme", "often", orders, recurrence, paused=False, key_id=None)
        if due:
            c.execute(update(table).where(table.c.id == made.id).values(next_at=table.c.next_at - 3_600_001))
    return made.id


def made(database: Database) -> list[str]:
    with database.read() as c:
        return [job.id for job in jobs.page(c, "acme", limit=99)]


def test_every_due_schedule_runs_once_and_no_schedule_runs_early(database):
    for _ in range(3):
        schedule(database)
    schedule(database, due=False)
    assert run_due(database, Settings()) == 3
    assert run_due(database, Settings()) == 0
    assert len(made(database)) == 3


def test_a_schedule_that_cannot_create_its_job_does_not_stop_other_schedules(database):
    for _ in range(3):
        schedule(database)
    assert run_due(database, Settings(max_active_jobs=1)) == 3
    assert len(made(database)) == 1
    with database.read() as c:
        assert sum(one.last_failure is not None for one in schedules.page(c, "acme", limit=9)) == 2


def test_the_scheduler_starts_a_limited_number_of_runs_at_a_time(database, monkeypatch):
    monkeypatch.setattr(scheduler, "MOST_RUNS", 2)
    for _ in range(3):
        schedule(database)
    assert [run_due(database, Settings()) for _ in range(3)] == [2, 1, 0]


def test_no_schedule_runs_while_another_process_holds_the_lock_of_the_scheduler(postgres_url):
    database = Database(postgres_url)  # PostgreSQL, because SQLite allows only one writer at a time
    schedule(database)
    with database.write() as other:
        assert try_reconciler_lock(other)
        assert run_due(database, Settings()) == 0
        assert announce_expiring_ratings(database, Settings()) == 0
    assert run_due(database, Settings()) == 1
    database.close()


class Ringing:
    """Fake dispatcher that records the announced jobs."""

    def __init__(self, rung: list[str]) -> None:
        self._rung = rung

    def __call__(self, job_id: str) -> None:
        self._rung.append(job_id)

    def count_waiting(self) -> int:
        return 0


def test_due_schedules_are_run_and_workers_are_notified_of_their_jobs(database):
    rung: list[str] = []
    schedule(database)
    announce(database, Ringing(rung), rung)
    assert rung == made(database)


def test_an_unexpected_error_in_a_schedule_does_not_prevent_the_announcement_of_jobs(database):
    schedule_id = schedule(database)
    with database.write() as c:
        c.execute(update(table).where(table.c.id == schedule_id).values(request={"damaged": True}))
        jobs.add(c, acme_job())
    with pytest.raises((KeyError, TypeError)):
        run_due(database, Settings())
    rung: list[str] = []
    announce(database, Ringing(rung), rung)
    assert rung == made(database)


def announce(database: Database, notifier: Ringing, rung: list[str]) -> None:
    """Run the reconciler until it has announced a job."""
    reconciler = Reconciler(database, notifier, Settings(reconcile_s=60))
    reconciler.start()
    for _ in range(500):
        if rung:
            break
        reconciler._done.wait(0.01)
    reconciler.close()


def test_a_notice_about_each_expiring_rating_is_sent_even_if_they_exceed_a_batch(database, monkeypatch):
    monkeypatch.setattr(expiry, "BATCH", 2)
    for number in range(5):
        rate(database, f"http://{number}")
    assert announce_expiring_ratings(database, Settings()) == 5
    assert announce_expiring_ratings(database, Settings()) == 0
    with database.read() as c:
        assert sum(notice.kind == "rating.expiring" for notice in outbox.due(c)) == 5


def rate(database: Database, url: str) -> None:
    """Store a rating that is valid until tomorrow."""
    target = TARGET | {"url": url}
    with database.write() as c:
        claim = jobs.claim(c, jobs.add(c, acme_job()).id, "test")
        assert claim is not None
        rating = new_rating(
            tenant="acme",
            target_id=None,
            target=target,
            method="round-trip",
            attribute="gender",
            letter=None,
            declared=False,
            visibility="private",
            document={"letter": None},
            methodology_version="1",
            request_digest="",
            valid_for_s=86_400,
            description="default",
        )
        jobs.finish(c, claim, rating)
