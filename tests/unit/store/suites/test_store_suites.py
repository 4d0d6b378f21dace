"""Tests of suites, their progress, and adding several jobs together."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import event

from store.jobs import jobs
from store.ratings import ratings
from store.suites import suites
from store.suites.suites import Cell, NewSuite
from store.webhooks import outbox


@pytest.fixture
def suite_of(database):
    """Factory of suites over existing jobs."""

    def make(job_ids, tenant="acme"):
        cells = [(Cell("round-trip", "gender", f"l{place}"), job_id) for place, job_id in enumerate(job_ids)]
        new = NewSuite(
            tenant=tenant,
            target={"name": "Mirror", "kind": "translator", "base_url": "http://mirror"},
            request={"asked": {}, "omitted": [], "joined": []},
            callback_url=None,
            visibility="private",
            cells=cells,
        )
        with database.write() as c:
            return suites.add(c, new)

    return make


def test_jobs_added_in_one_call_equal_jobs_added_one_by_one(database, a_job, published):
    rating_id = published()
    with database.read() as c:
        rating = ratings.find(c, rating_id, "acme")
    with database.write() as c:
        alone = [jobs.add(c, a_job(request_digest="a")), jobs.add(c, a_job(request_digest="b"), rating)]
        news = [a_job(request_digest="a"), a_job(request_digest="b"), a_job(request_digest="c")]
        together = jobs.add_all(c, [(news[0], None), (news[1], rating), (news[2], None)])
        assert [job.id for job in together] == [new.id for new in news]
        for one, other in zip(alone, together, strict=False):
            times = ("id", "created_at", "next_run_at", "deadline_at", "finished_at")
            assert replace(one, **{name: getattr(other, name) for name in times}) == other
            events = [[(each.type, each.data) for each in jobs.events(c, job.id, 0)] for job in (one, other)]
            assert events[0] == events[1]
        notices = {notice.job_id: (notice.kind, notice.data) for notice in outbox.due(c)}
        kind, data = notices[alone[1].id]
        assert notices[together[1].id] == (kind, data | {"job_id": together[1].id})
        assert together[0].id not in notices


def test_adding_no_jobs_returns_an_empty_list(database):
    with database.write() as c:
        assert jobs.add_all(c, []) == []


def test_adding_50_jobs_needs_as_many_sql_statements_as_adding_two(database, a_job):
    def statements(count: int) -> int:
        seen: list[str] = []
        with database.write() as c:
            listen = lambda *args: seen.append(args[2])  # noqa: E731
            event.listen(c, "before_cursor_execute", listen)
            jobs.add_all(c, [(a_job(), None) for _ in range(count)])
            event.remove(c, "before_cursor_execute", listen)
        return len(seen)

    assert statements(50) == statements(2) <= 4


def test_a_suite_lists_its_jobs_and_their_ratings_in_the_order_of_its_request(database, queued, published, suite_of):
    rating_id = published(letter="BS")
    with database.read() as c:
        rated = next(job for job in jobs.page(c, "acme", limit=9) if job.rating_id == rating_id)
    waiting = queued()
    suite = suite_of([waiting.id, rated.id])
    with database.read() as c:
        assert suites.find(c, suite.id, "acme") == suite
        assert suites.find(c, suite.id, "rival") is None
        first, second = suites.cells(c, suite.id)
        assert suites.rating_documents(c, [rating_id])[rating_id].letter == "BS"
    assert (first.job_id, first.finished, first.letter, first.rated_at) == (waiting.id, False, None, None)
    assert (second.rating_id, second.finished, second.letter, second.declared) == (rating_id, True, "BS", True)
    assert second.expires_at > second.rated_at


def test_ratings_of_a_suite_are_read_with_the_reasons_of_their_components(database, published):
    parts = [{"name": "es", "reasons": [{"code": "may-be-chance"}]}, {"name": "fr"}]
    rating_id = published(document={"letter": "UCS", "components": parts})
    with database.read() as c:
        rating = suites.rating_documents(c, [rating_id])[rating_id]
    assert [part.reason_codes for part in rating.components] == [("may-be-chance",), ()]


def test_suite_ends_with_its_last_job(database, claimed, queued, suite_of):
    one, two = claimed(), queued()
    suite = suite_of([one.job.id, two.id])
    with database.write() as c:
        jobs.request_cancel(c, two.id, "acme")
        half = suites.tallies(c, [suite.id])[suite.id]
        assert (half.by_status, half.ended_at) == ({"running": 1, "cancelled": 1}, None)
        jobs.fail(c, one, {"type": "about:blank", "title": "No", "detail": "It broke.", "code": "x"})
        over = suites.tallies(c, [suite.id])[suite.id]
        assert over.by_status == {"failed": 1, "cancelled": 1}
        assert over.ended_at == jobs.find(c, one.job.id, None).finished_at
        assert suites.tally(suites.cells(c, suite.id)) == over
        assert suites.tallies(c, []) == {}


def test_pages_of_suites_are_newest_first(database, queued, suite_of):
    job = queued()
    made = [suite_of([job.id]).id for _ in range(3)]
    suite_of([job.id], tenant="rival")
    with database.read() as c:
        first = suites.page(c, "acme", limit=2)
        rest = suites.page(c, "acme", before=(first[-1].created_at, first[-1].id), limit=2)
    seen = [*first, *rest]
    assert {one.id for one in seen} == set(made)
    assert seen == sorted(seen, key=lambda one: (one.created_at, one.id), reverse=True)


def test_a_suite_finds_the_fresh_rating_or_the_running_job_of_an_equal_earlier_request(
    database, queued, published, a_job
):
    published(request_digest="rated")
    newest = published(request_digest="rated")
    running = queued(request_digest="running", callback_url="http://told")
    with database.read() as c:
        known = suites.reusable_work(c, a_job(), {"rated", "running", "neither"}, 60)
        assert known["rated"].rating_id == newest
        assert known["running"].twin_id == running.id
        assert known["neither"] == suites.ReusableWork()
        assert suites.reusable_work(c, a_job(), {"rated"}, 0)["rated"].rating_id is None
        assert suites.reusable_work(c, a_job(tenant="rival"), {"rated"}, 60)["rated"] == suites.ReusableWork()
