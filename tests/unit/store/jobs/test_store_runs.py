import time
from dataclasses import replace

import pytest
from sqlalchemy import event

from store.core.errors import LeaseLost
from store.jobs import jobs, observations
from store.ratings import ratings
from store.webhooks import outbox

PROBLEM = {"type": "about:blank", "title": "No", "detail": "It broke.", "code": "target_unavailable"}
SHORT_S = 0.5


def wait_for_expiry():
    time.sleep(SHORT_S * 2)


def test_worker_that_lost_its_lease_can_write_nothing(database, claimed, entry, a_rating):
    old = claimed(lease_s=SHORT_S)
    with database.write() as c:
        assert jobs.claim(c, old.job.id, "second worker") is None
    wait_for_expiry()
    with database.write() as c:
        new = jobs.claim(c, old.job.id, "second worker")
        assert (new.fence, new.job.attempt, new.job.lease_owner) == (2, 2, "second worker")
    stale_writes = [
        lambda c: jobs.hold(c, old),
        lambda c: jobs.record(c, old, [entry("u1", "hola")], calls=1, expected=1, stage="asking"),
        lambda c: jobs.stage(c, old, "analysing"),
        lambda c: jobs.finish(c, old, a_rating()),
        lambda c: jobs.finish_with(c, old, "probed", {}),
        lambda c: jobs.fail(c, old, PROBLEM),
        lambda c: jobs.cancel(c, old),
        lambda c: jobs.release(c, old, charge_attempt=True),
        lambda c: observations.forget_failures(c, old, {"timeout"}),
    ]
    for write in stale_writes:
        with pytest.raises(LeaseLost), database.write() as c:
            write(c)
    with database.write() as c:
        assert jobs.heartbeat(c, old) == jobs.Beat(cancel_requested=False, lease_held=False)
        untouched = jobs.find(c, old.job.id, None)
        assert untouched == new.job
        assert ratings.page(c, "acme", limit=9) == []


def test_a_worker_can_extend_its_expired_lease_of_a_job_that_no_other_worker_has_claimed(database, claimed):
    claim = claimed(lease_s=SHORT_S)
    wait_for_expiry()
    with database.write() as c:
        assert jobs.heartbeat(c, claim).lease_held
        assert jobs.claim(c, claim.job.id, "second worker") is None


def test_a_worker_resumes_an_interrupted_job_before_the_job_named_by_its_queue_message(database, claimed, queued):
    # guards against: in a run of 1,000 jobs, interrupted jobs waited seven minutes behind the messages of a long queue
    lost, waiting = claimed(lease_s=SHORT_S), queued()
    with database.write() as c:
        jobs.mark_dispatched(c, [waiting.id])
    wait_for_expiry()
    with database.write() as c:
        first = jobs.claim_next(c, waiting.id, "second worker", 30, 5)
    assert (first.job.id, first.fence) == (lost.job.id, 2)
    with database.write() as c:
        assert jobs.due(c) == [waiting.id], "the message of the other job was used, so it is announced again"
        assert jobs.claim_next(c, waiting.id, "third worker", 30, 5).job.id == waiting.id
        assert jobs.claim_next(c, waiting.id, "fourth worker", 30, 5) is None


def test_an_interrupted_job_without_attempts_left_is_not_resumed_before_other_jobs(database, claimed, queued):
    claimed(lease_s=SHORT_S)
    waiting = queued()
    wait_for_expiry()
    with database.write() as c:
        assert jobs.claim_next(c, waiting.id, "second worker", 30, 1).job.id == waiting.id


def test_recording_answers_counts_different_questions_failures_and_calls_of_the_job(database, claimed, entry):
    claim = claimed()
    with database.write() as c:
        answers = [entry("u1", "hola"), entry("u2", "hola", copied=True), entry("u3", failure="timeout")]
        jobs.record(c, claim, answers, calls=4, expected=300, stage="asking")
        job = jobs.record(c, claim, [entry("u4", "adios")], calls=1, expected=320, stage="asking again")
    assert (job.asked, job.failed_calls, job.calls, job.expected, job.observed) == (3, 1, 5, 320, 4)
    with database.read() as c:
        progress = [event.data for event in jobs.events(c, job.id, 0) if event.type == "progress"]
        assert progress[-1] == {"stage": "asking again", "asked": 3, "expected": 320, "failed_calls": 1, "calls": 5}
        assert [kept.seq for kept in observations.page(c, job.id, 0, 99)] == [1, 2, 3, 4]


def test_the_functions_hold_and_record_return_the_current_job(database, claimed, entry):
    claim = claimed()
    with database.write() as c:
        jobs.request_cancel(c, claim.job.id, None)
        held = jobs.hold(c, claim)
        assert held == jobs.find(c, claim.job.id, None)
        assert held.cancel_requested
        recorded = jobs.record(c, claim, [entry("u1", "hola")], calls=1, expected=300, stage="asking")
        assert recorded == jobs.find(c, claim.job.id, None)


def test_recording_observations_does_not_read_the_experiment_of_the_job(database, claimed, entry):
    claim, statements = claimed(), []
    with database.write() as c:
        event.listen(c, "before_cursor_execute", lambda _, __, statement, *___: statements.append(statement))
        jobs.record(c, claim, [entry("u1", "hola")], calls=1, expected=300, stage="asking")
    assert statements
    assert not [statement for statement in statements if "experiment" in statement]


def test_a_second_answer_to_a_question_replaces_the_first_under_the_same_sequence_number(database, claimed, entry):
    claim = claimed()
    with database.write() as c:
        jobs.record(c, claim, [entry("u1", failure="timeout"), entry("u2", "b")], calls=2, expected=2, stage="asking")
        job = jobs.record(c, claim, [entry("u1", "a")], calls=1, expected=2, stage="asking")
        assert (job.asked, job.failed_calls, job.observed) == (2, 0, 2)
        assert [(kept.seq, kept.observation.reply.value) for kept in observations.page(c, job.id, 0, 9)] == [
            (1, "a"),
            (2, "b"),
        ]


def test_forgetting_failed_answers_of_a_job_deletes_only_those_with_the_given_codes(database, claimed, entry):
    claim = claimed()
    with database.write() as c:
        answers = [entry("u1", "a"), entry("u2", failure="timeout"), entry("u3", failure="timeout", copied=True)]
        jobs.record(c, claim, [*answers, entry("u4", failure="http-400")], calls=9, expected=4, stage="asking")
        assert observations.forget_failures(c, claim, {"timeout", "http-500"}) == 2
        assert set(observations.recall(c, claim.job.id, ["u1", "u2", "u3", "u4"])) == {"u1", "u4"}
        job = jobs.record(c, claim, [entry("u2", "b")], calls=1, expected=4, stage="asking")
    assert (job.asked, job.failed_calls, job.observed) == (3, 1, 5)


def test_recorded_answers_with_nul_and_lone_surrogates_are_read_back_unchanged(database, claimed, entry):
    replies = ["NUL \0 and a lone \ud83d", "\ud83d\ude00 in two halves", {"b": 1, "a": [0.1, None]}, "x" * 100_000]
    claim = claimed()
    entries = [entry(f"u{n}", reply, text="asked \0 \udcff") for n, reply in enumerate(replies)]
    with database.write() as c:
        jobs.record(c, claim, entries, calls=4, expected=4, stage="asking")
    with database.read() as c:
        recalled = observations.recall(c, claim.job.id, [f"u{n}" for n in range(9)])
    assert recalled == {each.observation.probe.unit: each.observation for each in entries}
    assert list(recalled["u2"].reply.value) == ["b", "a"]


def test_the_recorded_answers_to_2500_questions_can_be_read_at_once(database, claimed, entry):
    claim = claimed()
    units = [f"u{n}" for n in range(2500)]
    with database.write() as c:
        jobs.record(c, claim, [entry(unit, unit) for unit in units], calls=2500, expected=2500, stage="asking")
        recalled = observations.recall(c, claim.job.id, [*units, "unknown"])
    assert {unit: seen.reply.value for unit, seen in recalled.items()} == {unit: unit for unit in units}


def test_a_failed_transaction_that_records_answers_changes_neither_job_nor_answers(database, claimed, entry):
    claim = claimed()

    def fail_after_recording():
        with database.write() as c:
            jobs.record(c, claim, [entry("u1", "a")], calls=1, expected=2, stage="asking")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_after_recording()
    with database.read() as c:
        assert jobs.find(c, claim.job.id, None) == claim.job
        assert observations.page(c, claim.job.id, 0, 9) == []


def test_finishing_a_job_stores_its_rating_and_the_webhook_notices_about_it(database, claimed, a_rating):
    claim = claimed()
    with database.write() as c:
        rating_id = jobs.finish(c, claim, a_rating(valid_for_s=86_400, visibility="unlisted"))
    with database.read() as c:
        job, rating = jobs.find(c, claim.job.id, "acme"), ratings.find(c, rating_id, "acme")
        assert (job.status, job.rating_id, job.lease_until) == ("succeeded", rating_id, None)
        assert rating.expires_at - rating.created_at == 86_400_000
        assert rating.document["id"] == rating_id
        assert rating.document["rated_at"] < rating.document["expires_at"]
        assert list(rating.document["components"][0]["transitions"]) == ["she", "he"]
        facts = {"kind": "rating", "rating_id": rating_id, "letter": "DSBS", "declared": True}
        assert jobs.events(c, job.id, 0)[-1].data == facts
        assert [notice.kind for notice in outbox.due(c)] == ["job.succeeded", "rating.published"]


def test_heartbeat_after_the_end_of_the_job_does_not_report_a_lost_lease(database, claimed, a_rating):
    claim = claimed()
    with database.write() as c:
        jobs.finish(c, claim, a_rating())
    with database.write() as c:
        assert jobs.heartbeat(c, claim) == jobs.Beat(cancel_requested=False, lease_held=True)


def test_job_cannot_be_finished_twice(database, claimed, a_rating):
    claim = claimed()
    with database.write() as c:
        jobs.finish(c, claim, a_rating())
    with pytest.raises(LeaseLost), database.write() as c:
        jobs.finish(c, claim, a_rating())
    with database.read() as c:
        assert len(ratings.page(c, "acme", limit=9)) == 1
        assert len(outbox.due(c)) == 1


def test_finishing_a_job_with_nan_in_its_rating_is_rolled_back(database, claimed, a_rating):
    claim, new = claimed(), a_rating()
    with pytest.raises(Exception, match="Out of range float"), database.write() as c:
        jobs.finish(c, claim, replace(new, rating=replace(new.rating, delta=float("nan"))))
    with database.read() as c:
        assert jobs.find(c, claim.job.id, None).status == "running"
        assert ratings.page(c, "acme", limit=9) == []


def test_a_failed_job_stores_its_error_and_keeps_the_answers_recorded_so_far(database, claimed, entry):
    claim = claimed()
    with database.write() as c:
        jobs.record(c, claim, [entry("u1", "a")], calls=1, expected=2, stage="asking")
        jobs.fail(c, claim, PROBLEM)
        job = jobs.find(c, claim.job.id, None)
        assert (job.status, job.error) == ("failed", PROBLEM)
        assert len(observations.page(c, job.id, 0, 9)) == 1
        assert [notice.kind for notice in outbox.due(c)] == ["job.failed"]


def test_a_job_that_probes_a_service_stores_its_result(database, claimed):
    claim = claimed(kind="probe", experiment=None)
    with database.write() as c:
        jobs.finish_with(c, claim, "probed", {"reply": "hola\0"})
        assert jobs.find(c, claim.job.id, None).result == {"reply": "hola\0"}


@pytest.mark.parametrize(("charged", "counted"), [(True, 1), (False, 0)])
def test_a_job_that_a_worker_gives_back_counts_an_attempt_only_on_request(database, claimed, charged, counted):
    claim = claimed()
    with database.write() as c:
        jobs.release(c, claim, charge_attempt=charged)
        job = jobs.find(c, claim.job.id, None)
        assert (job.status, job.attempts_without_progress, job.lease_until) == ("queued", counted, None)
        assert jobs.due(c) == [job.id]
        assert jobs.claim(c, job.id, "second worker").fence == 2


def test_job_released_with_a_delay_cannot_be_claimed_before_the_delay_ends(database, claimed):
    claim = claimed()
    with database.write() as c:
        jobs.release(c, claim, delay_s=0.2, charge_attempt=False)
    with database.write() as c:
        assert jobs.due(c) == []
        assert jobs.claim(c, claim.job.id, "second worker") is None
    time.sleep(0.25)
    with database.write() as c:
        assert jobs.due(c) == [claim.job.id]
        assert jobs.backlog(c).oldest_due_job_seconds > 0
        assert jobs.claim(c, claim.job.id, "second worker") is not None


def test_a_job_that_a_worker_gives_back_is_cancelled_if_cancellation_was_requested(database, claimed):
    claim = claimed()
    with database.write() as c:
        jobs.request_cancel(c, claim.job.id, "acme")
        jobs.release(c, claim, delay_s=600, charge_attempt=False)
        assert jobs.find(c, claim.job.id, None).status == "cancelled"


def test_recording_a_known_answer_again_does_not_count_as_progress_of_a_job(database, claimed, entry):
    claim = claimed()
    with database.write() as c:
        jobs.record(c, claim, [entry("u1", "a")], calls=1, expected=2, stage="asking")
        jobs.release(c, claim, charge_attempt=True)
        again = jobs.claim(c, claim.job.id, "worker")
        assert again.job.attempts_without_progress == 1
        repeated = jobs.record(c, again, [entry("u1", "a")], calls=1, expected=2, stage="asking")
        assert repeated.attempts_without_progress == 1


def test_claiming_a_job_with_a_requested_cancellation_cancels_it(database, claimed):
    claim = claimed(lease_s=SHORT_S)
    with database.write() as c:
        jobs.request_cancel(c, claim.job.id, "acme")
    wait_for_expiry()
    with database.write() as c:
        assert jobs.claim(c, claim.job.id, "second worker") is None
        assert jobs.find(c, claim.job.id, None).status == "cancelled"
