import time

from store.jobs import jobs
from store.ratings import ratings
from store.webhooks import outbox


def test_a_job_sent_to_the_queue_is_sent_again_only_after_a_delay(database, queued):
    job = queued()
    with database.write() as c:
        jobs.mark_dispatched(c, jobs.due(c))
    with database.read() as c:
        assert jobs.due(c) == []
        time.sleep(0.06)
        assert jobs.due(c, redispatch_s=0.05) == [job.id]


def test_marking_no_jobs_as_dispatched_changes_nothing(database, queued):
    job = queued()
    with database.write() as c:
        jobs.mark_dispatched(c, [])
        assert jobs.find(c, job.id, None) == job


def test_longest_waiting_jobs_are_dispatched_first(database, queued):
    waiting = [queued() for _ in range(4)]
    order = [job.id for job in sorted(waiting, key=lambda job: (job.next_run_at, job.id))]
    with database.read() as c:
        assert jobs.due(c) == order
        assert jobs.due(c, limit=2) == order[:2]


def test_a_job_whose_worker_let_its_lease_expire_waits_for_a_worker_again(database, claimed):
    claim = claimed(lease_s=1.5)
    with database.read() as c:
        assert jobs.due(c) == []
        time.sleep(1.6)
        assert jobs.due(c) == [claim.job.id]


def test_release_orphans_makes_jobs_of_a_dead_process_claimable_at_once(database, claimed, queued):
    claim, other = claimed(), queued()
    with database.write() as c:
        assert jobs.release_orphans(c) == 1
    with database.write() as c:
        assert set(jobs.due(c)) == {claim.job.id, other.id}
        assert jobs.claim(c, claim.job.id, "new process").fence == 2


def test_job_that_kills_its_workers_fails_after_the_attempt_cap(database, queued):
    poison = queued()
    for _ in range(3):
        with database.write() as c:
            assert jobs.fail_poison_jobs(c, attempt_cap=3) == []
            assert jobs.claim(c, poison.id, "doomed worker", lease_s=0) is not None
        time.sleep(0.005)
    with database.write() as c:
        # the message of this job may be delivered again before the reconciler runs
        assert jobs.claim_next(c, poison.id, "worker", 30, attempt_cap=3) is None
        assert jobs.fail_poison_jobs(c, attempt_cap=3) == [poison.id]
        assert jobs.fail_poison_jobs(c, attempt_cap=3) == []
        failed = jobs.find(c, poison.id, None)
        assert (failed.status, failed.error["code"]) == ("failed", "worker_lost")
        assert jobs.events(c, poison.id, 0)[-1].type == "failed"
        assert [notice.kind for notice in outbox.due(c)] == ["job.failed"]
        assert jobs.due(c) == []


def test_a_queue_message_of_a_job_without_attempts_left_starts_another_job_instead(database, queued):
    poison, healthy = queued(), queued()
    with database.write() as c:
        assert jobs.claim(c, poison.id, "doomed worker", lease_s=0) is not None
    time.sleep(0.005)
    with database.write() as c:
        assert jobs.claim_next(c, poison.id, "worker", 30, attempt_cap=1).job.id == healthy.id


def test_job_that_kills_its_workers_is_cancelled_if_requested(database, queued):
    job = queued()
    for _ in range(3):
        with database.write() as c:
            assert jobs.claim(c, job.id, "doomed worker", lease_s=0) is not None
        time.sleep(0.005)
    with database.write() as c:
        jobs.request_cancel(c, job.id, None)
        assert jobs.fail_poison_jobs(c, attempt_cap=3) == []
        assert jobs.claim(c, job.id, "the next", lease_s=0, attempt_cap=3) is None
        assert jobs.find(c, job.id, None).status == "cancelled"


def test_a_job_on_its_last_attempt_does_not_fail_while_a_worker_holds_it(database, queued):
    job = queued()
    with database.write() as c:
        jobs.claim(c, job.id, "worker", lease_s=30)
        assert jobs.fail_poison_jobs(c, attempt_cap=1) == []


def test_jobs_are_counted_by_status(database, queued, claimed):
    with database.read() as c:
        assert jobs.counts_by_status(c) == {}
        assert jobs.backlog(c).oldest_due_job_seconds is None
    queued(), queued(), claimed()
    with database.read() as c:
        assert jobs.counts_by_status(c) == {"queued": 2, "running": 1}
        assert 0 <= jobs.backlog(c).oldest_due_job_seconds < 60


def test_a_webhook_notice_that_was_delivered_is_not_sent_again(database, a_job, published):
    rating_id = published()
    with database.write() as c:
        rating = ratings.find(c, rating_id, "acme")
        for earlier_notice in outbox.due(c):
            outbox.mark_delivered(c, earlier_notice.id)
        jobs.add(c, a_job(callback_url="http://listener/hook"), rating)
        (notice,) = outbox.due(c)
        assert (notice.callback_url, notice.tenant) == ("http://listener/hook", "acme")
        assert notice.kind == "job.succeeded"
        outbox.mark_delivered(c, notice.id)
        outbox.give_up(c, notice.id)  # has no effect, because the notice is already closed
        assert outbox.due(c) == []
