from dataclasses import replace
from functools import partial

import pytest

from store.core.errors import AlreadyFinished
from store.jobs import jobs
from store.ratings import ratings
from store.suites import suites
from store.webhooks import outbox
from tests.support.concurrency import run_concurrently
from tests.support.jobs import new_job


def test_a_new_job_is_queued_and_waits_for_a_worker(database, queued):
    job = queued(deadline_s=60)
    assert (job.status, job.version, job.fence, job.target_url) == ("queued", 1, 0, "http://mirror")
    assert job.deadline_at - job.created_at == 60_000
    with database.read() as c:
        assert jobs.find(c, job.id, "acme") == job
        assert jobs.due(c) == [job.id]
        assert [event.type for event in jobs.events(c, job.id, 0)] == ["queued"]


def test_job_can_be_read_by_workers_but_not_by_another_tenant(database, queued):
    job = queued()
    with database.read() as c:
        assert jobs.find(c, job.id, "rival") is None
        assert jobs.find(c, job.id, None) == job


def test_job_answered_by_an_existing_rating_is_stored_as_succeeded_and_announced_like_a_measured_one(
    database, claimed, a_rating, a_job
):
    measured = claimed()
    with database.write() as c:
        rating_id = jobs.finish(c, measured, replace(a_rating(), because="It follows its input."))
    with database.write() as c:
        job = jobs.add(c, a_job(), ratings.find(c, rating_id, "acme"))
    with database.read() as c:
        assert (job.status, job.rating_id, jobs.due(c)) == ("succeeded", rating_id, [])
        (event,) = jobs.events(c, job.id, 0)
        assert (event.type, event.data) == ("succeeded", jobs.events(c, measured.job.id, 0)[-1].data)
        first, second = (notice for notice in outbox.due(c) if notice.kind == "job.succeeded")
        assert second.data == first.data | {"job_id": job.id}
        assert (second.data["letter"], second.data["because"]) == ("DSBS", "It follows its input.")


def test_an_answer_of_the_wanted_visibility_is_found_behind_a_newer_one_of_another(database, queued, published):
    wanted = published(request_digest="sha256:rated")
    published(request_digest="sha256:rated", visibility="public")
    twin = queued(request_digest="sha256:running", callback_url="http://told")
    queued(request_digest="sha256:running", visibility="public")
    with database.read() as c:
        for find in (partial(jobs.existing_work, max_active=9), _in_a_suite):
            assert find(c, new_job(tenant="acme", request_digest="sha256:rated"), 60).rating_id == wanted
            assert (
                find(c, new_job(tenant="acme", request_digest="sha256:rated", visibility="unlisted"), 60).rating_id
                is None
            )
            for callback_url, twin_id in ((None, twin.id), ("http://told", twin.id), ("http://other", None)):
                work = find(c, new_job(tenant="acme", request_digest="sha256:running", callback_url=callback_url), 0)
                assert work.twin_id == twin_id


def _in_a_suite(c, job, max_age_s):
    return suites.reusable_work(c, job, {job.request_digest}, max_age_s)[job.request_digest]


def test_pages_of_jobs_are_newest_first_and_ignore_jobs_added_later(database, queued):
    old = [queued().id for _ in range(5)]
    with database.read() as c:
        first = jobs.page(c, "acme", limit=2)
        queued(), queued(tenant="rival")
        second = jobs.page(c, "acme", limit=2, before=(first[-1].created_at, first[-1].id))
        third = jobs.page(c, "acme", limit=2, before=(second[-1].created_at, second[-1].id))
    seen = first + second + third
    assert {job.id for job in seen} == set(old)
    assert [(job.created_at, job.id) for job in seen] == sorted(((j.created_at, j.id) for j in seen), reverse=True)


def test_jobs_can_be_filtered_by_status_and_target(database, queued, claimed):
    running = claimed().job
    elsewhere = queued(target={"base_url": "http://elsewhere"})
    with database.read() as c:
        assert [job.id for job in jobs.page(c, "acme", status="running", limit=9)] == [running.id]
        assert [job.id for job in jobs.page(c, "acme", target_url="http://elsewhere", limit=9)] == [elsewhere.id]
        assert jobs.page(c, "acme", target_url="http://else\0where", limit=9) == []


def test_unfinished_job_with_an_equal_request_is_found(database, queued):
    job = queued(request_digest="sha256:same")
    with database.write() as c:
        assert jobs.existing_work(c, new_job(tenant="acme", request_digest="sha256:same"), 0, 9).twin_id == job.id
        assert jobs.existing_work(c, new_job(tenant="rival", request_digest="sha256:same"), 0, 9).twin_id is None
        assert jobs.existing_work(c, new_job(tenant="acme", request_digest="sha256:other"), 0, 9).twin_id is None
        jobs.request_cancel(c, job.id, "acme")
        assert jobs.existing_work(c, new_job(tenant="acme", request_digest="sha256:same"), 0, 9).twin_id is None


def test_unfinished_jobs_of_a_tenant_are_counted(database, queued, claimed, published):
    queued(), claimed(), published(), queued(tenant="rival")
    with database.read() as c:
        assert jobs.count_unfinished(c, "acme") == 2
        assert jobs.existing_work(c, new_job(tenant="acme", request_digest="sha256:none"), 0, 9).active == 2
        assert jobs.existing_work(c, new_job(tenant="acme", request_digest="sha256:none"), 0, 1).active == 1, (
            "counting stops at the given maximum"
        )


def test_queued_job_is_cancelled_at_once(database, queued):
    job = queued()
    with database.write() as c:
        cancelled = jobs.request_cancel(c, job.id, "acme")
    assert (cancelled.status, cancelled.version) == ("cancelled", 2)
    assert cancelled.finished_at is not None
    with database.read() as c:
        assert [event.type for event in jobs.events(c, job.id, 0)] == ["queued", "cancelled"]
        assert [notice.kind for notice in outbox.due(c)] == ["job.cancelled"]
    with database.write() as c:
        assert jobs.claim(c, job.id, "worker") is None


def test_worker_learns_of_a_cancellation_by_its_heartbeat(database, claimed):
    claim = claimed()
    with database.write() as c:
        assert jobs.heartbeat(c, claim) == jobs.Beat(cancel_requested=False, lease_held=True)
        once = jobs.request_cancel(c, claim.job.id, "acme")
        assert jobs.request_cancel(c, claim.job.id, "acme") == once
        assert jobs.heartbeat(c, claim) == jobs.Beat(cancel_requested=True, lease_held=True)
        jobs.cancel(c, claim)
    with database.read() as c:
        assert jobs.find(c, claim.job.id, "acme").status == "cancelled"


def test_finished_job_cannot_be_cancelled(database, claimed):
    claim = claimed()
    with database.write() as c:
        jobs.fail(c, claim, {"type": "about:blank", "title": "No", "detail": "It broke.", "code": "target_unavailable"})
        with pytest.raises(AlreadyFinished, match="already failed"):
            jobs.request_cancel(c, claim.job.id, "acme")


def test_job_of_another_tenant_cannot_be_cancelled(database, queued):
    job = queued()
    with database.write() as c:
        assert jobs.request_cancel(c, job.id, "rival") is None
        assert jobs.find(c, job.id, "acme").status == "queued"


def test_events_can_be_replayed_after_any_event(database, claimed):
    claim = claimed()
    with database.write() as c:
        jobs.stage(c, claim, "asking")
        jobs.stage(c, claim, "asking")  # the stage is unchanged, so there is no event
    with database.read() as c:
        everything = jobs.events(c, claim.job.id, 0)
        assert [event.type for event in everything] == ["queued", "claimed", "stage"]
        assert jobs.events(c, claim.job.id, everything[0].id) == everything[1:]
        assert jobs.events(c, claim.job.id, 0, limit=1) == everything[:1]
        assert everything[1].data == {"attempt": 1}


def test_every_change_of_a_job_increments_its_version(database, queued, entry):
    job = queued()
    versions = [job.version]

    def note_version(c):
        versions.append(jobs.find(c, job.id, None).version)

    with database.write() as c:
        claim = jobs.claim(c, job.id, "worker")
        note_version(c)
        jobs.stage(c, claim, "asking")
        note_version(c)
        jobs.record(c, claim, [entry("u1", "hola")], calls=1, expected=240, stage="asking")
        note_version(c)
        jobs.heartbeat(c, claim)
        note_version(c)
        jobs.release(c, claim, charge_attempt=False)
        note_version(c)
    assert versions == sorted(set(versions))


def test_only_one_of_several_concurrent_claims_of_a_job_succeeds(database, queued):
    job = queued()

    def claim(number):
        with database.write() as c:
            return jobs.claim(c, job.id, f"worker {number}")

    claims = run_concurrently(6, claim)
    assert [each.fence for each in claims if each is not None] == [1]
