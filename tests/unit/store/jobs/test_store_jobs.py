import threading

import pytest

from store.core.errors import AlreadyFinished
from store.jobs import jobs
from store.webhooks import outbox


def test_a_new_job_is_queued_and_due(database, queued):
    job = queued(deadline_s=60)
    assert (job.status, job.version, job.fence, job.target_url) == ("queued", 1, 0, "http://mirror")
    assert job.deadline_at - job.created_at == 60_000
    with database.read() as c:
        assert jobs.find(c, job.id, "acme") == job
        assert jobs.due(c) == [job.id]
        assert [event.type for event in jobs.events(c, job.id, 0)] == ["queued"]


def test_another_tenant_does_not_find_a_job_and_a_worker_does(database, queued):
    job = queued()
    with database.read() as c:
        assert jobs.find(c, job.id, "rival") is None
        assert jobs.find(c, job.id, None) == job


def test_a_job_that_a_fresh_rating_answers_is_born_succeeded_and_announced(database, a_job):
    with database.write() as c:
        job = jobs.add_finished(c, a_job(), "rat_1")
    with database.read() as c:
        assert (job.status, job.rating_id, jobs.due(c)) == ("succeeded", "rat_1", [])
        assert [event.type for event in jobs.events(c, job.id, 0)] == ["succeeded"]
        assert [notice.kind for notice in outbox.due(c)] == ["job.succeeded"]


def test_pages_are_newest_first_and_do_not_shift_when_jobs_are_added(database, queued):
    old = [queued().id for _ in range(5)]
    with database.read() as c:
        first = jobs.page(c, "acme", limit=2)
        queued(), queued(tenant="rival")
        second = jobs.page(c, "acme", limit=2, before=(first[-1].created_at, first[-1].id))
        third = jobs.page(c, "acme", limit=2, before=(second[-1].created_at, second[-1].id))
    seen = first + second + third
    assert {job.id for job in seen} == set(old)
    assert [(job.created_at, job.id) for job in seen] == sorted(((j.created_at, j.id) for j in seen), reverse=True)


def test_pages_can_be_narrowed_to_a_status_and_a_target(database, queued, claimed):
    running = claimed().job
    elsewhere = queued(target={"base_url": "http://elsewhere"})
    with database.read() as c:
        assert [job.id for job in jobs.page(c, "acme", status="running", limit=9)] == [running.id]
        assert [job.id for job in jobs.page(c, "acme", target_url="http://elsewhere", limit=9)] == [elsewhere.id]
        assert jobs.page(c, "acme", target_url="http://else\0where", limit=9) == []


def test_a_twin_is_an_unfinished_job_with_the_same_request_of_the_same_tenant(database, queued):
    job = queued(request_digest="sha256:same")
    with database.write() as c:
        assert jobs.standing(c, "acme", "sha256:same", 0, 9).twin_id == job.id
        assert jobs.standing(c, "rival", "sha256:same", 0, 9).twin_id is None
        assert jobs.standing(c, "acme", "sha256:other", 0, 9).twin_id is None
        jobs.request_cancel(c, job.id, "acme")
        assert jobs.standing(c, "acme", "sha256:same", 0, 9).twin_id is None


def test_a_tenant_s_unfinished_jobs_are_counted(database, queued, claimed, published):
    queued(), claimed(), published(), queued(tenant="rival")
    with database.read() as c:
        assert jobs.count_unfinished(c, "acme") == 2
        assert jobs.standing(c, "acme", "sha256:none", 0, 9).active == 2
        assert jobs.standing(c, "acme", "sha256:none", 0, 1).active == 1, "nothing is counted beyond what matters"


def test_the_queue_is_counted_across_tenants_and_running_jobs_are_not_in_it(database, queued, claimed):
    claim = claimed()
    first, second = sorted((queued(tenant="rival"), queued()), key=lambda job: (job.next_run_at, job.id))
    with database.read() as c:
        assert jobs.queue_position(c, claim.job) is None
        assert [jobs.queue_position(c, job) for job in (first, second)] == [1, 2]


def test_cancelling_a_queued_job_ends_it_at_once(database, queued):
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


def test_cancelling_a_running_job_is_told_to_its_worker(database, claimed):
    claim = claimed()
    with database.write() as c:
        assert jobs.heartbeat(c, claim) == jobs.Beat(cancel_requested=False, held=True)
        once = jobs.request_cancel(c, claim.job.id, "acme")
        assert jobs.request_cancel(c, claim.job.id, "acme") == once
        assert jobs.heartbeat(c, claim) == jobs.Beat(cancel_requested=True, held=True)
        jobs.cancel(c, claim)
    with database.read() as c:
        assert jobs.find(c, claim.job.id, "acme").status == "cancelled"


def test_cancelling_a_finished_job_is_refused(database, claimed):
    claim = claimed()
    with database.write() as c:
        jobs.fail(c, claim, {"type": "about:blank", "title": "No", "detail": "It broke.", "code": "target_unavailable"})
        with pytest.raises(AlreadyFinished, match="already failed"):
            jobs.request_cancel(c, claim.job.id, "acme")


def test_cancelling_what_another_tenant_owns_finds_nothing(database, queued):
    job = queued()
    with database.write() as c:
        assert jobs.request_cancel(c, job.id, "rival") is None
        assert jobs.find(c, job.id, "acme").status == "queued"


def test_events_are_replayed_from_any_point(database, claimed):
    claim = claimed()
    with database.write() as c:
        jobs.stage(c, claim, "asking")
        jobs.stage(c, claim, "asking")  # no change, no event
    with database.read() as c:
        everything = jobs.events(c, claim.job.id, 0)
        assert [event.type for event in everything] == ["queued", "claimed", "stage"]
        assert jobs.events(c, claim.job.id, everything[0].id) == everything[1:]
        assert jobs.events(c, claim.job.id, 0, limit=1) == everything[:1]
        assert everything[1].data == {"attempt": 1}


def test_every_change_of_a_job_is_a_new_version(database, queued, entry):
    job = queued()
    versions = [job.version]

    def see(c):
        versions.append(jobs.find(c, job.id, None).version)

    with database.write() as c:
        claim = jobs.claim(c, job.id, "worker")
        see(c)
        jobs.stage(c, claim, "asking")
        see(c)
        jobs.record(c, claim, [entry("u1", "hola")], calls=1, expected=240, stage="asking")
        see(c)
        jobs.heartbeat(c, claim)
        see(c)
        jobs.release(c, claim, charge_attempt=False)
        see(c)
    assert versions == sorted(set(versions))


def test_of_many_workers_that_want_one_job_one_gets_it(database, queued):
    job = queued()
    claims, ready = [], threading.Barrier(6)

    def want(name):
        ready.wait()
        with database.write() as c:
            claims.append(jobs.claim(c, job.id, name))

    workers = [threading.Thread(target=want, args=(f"worker {n}",)) for n in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    won = [claim for claim in claims if claim is not None]
    assert (len(claims), len(won), won[0].fence) == (6, 1, 1)
