"""Jobs that arrive together are written as each alone would be, or not at all."""

from contextlib import closing
from dataclasses import fields, replace

import pytest
from sqlalchemy import text

from store import jobs, registry
from store.arrivals import Arrival, add_new
from store.database import Database
from store.jobs import Job
from store.secrets import SealedSecret

HOUR_S = 3600


@pytest.fixture
def database(postgres_url):
    with closing(Database(postgres_url)) as database:
        yield database


def arrive(database, *arrivals, most=100):
    with database.read() as c:
        return add_new(c, arrivals, most)


def test_each_becomes_a_job_with_its_event_and_its_place(database, a_job):
    first, second = a_job(request_digest="sha256:a"), a_job(request_digest="sha256:b", tenant="other")
    added = arrive(database, Arrival(first), Arrival(second))
    assert [job.id for job, _ in added] == [first.id, second.id]
    assert sorted(place for _, place in added) == [1, 2]
    with database.read() as c:
        for job, _ in added:
            assert jobs.find(c, job.id, job.tenant) == job
            (event,) = jobs.events(c, job.id, 0, 10)
            assert (event.type, event.data, event.at) == ("queued", {"expected": 240}, job.created_at)
    ((third, place),) = arrive(database, Arrival(a_job(request_digest="sha256:c")))
    assert place == 3
    assert third.status == "queued"


def test_whatever_it_holds_the_row_is_the_one_that_a_job_alone_gets(database, a_job):
    """The statement reads rows as JSON; no text, number or byte may be changed by that."""
    special = a_job(
        request_digest="sha256:odd",
        tenant='NUL \0, half a pair \ud800, quote " \\ and ü',
        target={
            "name": "\0\ud800 é",
            "base_url": "http://x/\U0001f600",
            "settings": {"n": 1e-300, "deep": [None, True]},
        },
        experiment=None,
        sealed_secret=SealedSecret(bytes(range(256)), b"\0" * 12, "key-1", "ab\0d"),
        seed=2**63 - 1,
        callback_url="http://x/?a=\\x41",
        max_calls=2**31 - 1,
        key_id="key_1",
        target_id="tgt_1",
    )
    ((ours, _),) = arrive(database, Arrival(special))
    with database.write() as c:
        alone = jobs.add(c, replace(special, id="job_alone"))
        stored = jobs.find(c, ours.id, None)
    times = {"id", "created_at", "next_run_at", "deadline_at"}
    for each in fields(Job):
        if each.name not in times:
            assert getattr(stored, each.name) == getattr(alone, each.name), each.name
    assert stored.deadline_at - stored.created_at == HOUR_S * 1000


def test_what_is_known_already_is_left_to_others(database, a_job, published):
    running = a_job(request_digest="sha256:runs")
    arrive(database, Arrival(running))
    published(request_digest="sha256:rated")
    fresh = a_job(request_digest="sha256:new")
    twin, answered = a_job(request_digest="sha256:runs"), a_job(request_digest="sha256:rated")
    none, nothing, added = arrive(database, Arrival(twin), Arrival(answered, HOUR_S), Arrival(fresh, HOUR_S))
    assert (none, nothing) == (None, None)
    assert added[0].id == fresh.id
    # an older rating than was asked for answers nothing, and neither does another tenant's
    ((again, _),) = arrive(database, Arrival(answered, 0))
    assert again.id == answered.id
    ((elsewhere, _),) = arrive(database, Arrival(a_job(request_digest="sha256:runs", tenant="other")))
    assert elsewhere.tenant == "other"


def test_a_twin_that_is_being_cancelled_answers_nothing(database, a_job):
    first = a_job()
    arrive(database, Arrival(first))
    with database.write() as c:
        c.execute(text("UPDATE jobs SET cancel_requested = true"))
    ((job, _),) = arrive(database, Arrival(a_job()))
    assert job.id != first.id


def test_no_tenant_gets_more_unfinished_jobs_than_it_may_have(database, a_job):
    def some(tenant, count, start=0):
        return [Arrival(a_job(tenant=tenant, request_digest=f"sha256:{n}")) for n in range(start, start + count)]

    added = arrive(database, *some("one", 3), *some("two", 7), most=5)
    assert [job is not None for job in added] == [True] * 8 + [False] * 2
    added = arrive(database, *some("one", 4, start=10), *some("two", 1, start=10), most=5)
    assert [job is not None for job in added] == [True, True, False, False, False]


def test_a_rating_that_was_withdrawn_answers_nothing(database, a_job, published):
    rating_id = published(request_digest="sha256:rated")
    asked = Arrival(a_job(request_digest="sha256:rated"), HOUR_S)
    assert arrive(database, asked) == [None]
    with database.write() as c:
        registry.withdraw(c, rating_id, "acme", "mistaken")
        assert jobs.standing(c, "acme", "sha256:rated", HOUR_S, 100).rating_id is None
    ((job, _),) = arrive(database, asked)
    assert job.id == asked.new.id
