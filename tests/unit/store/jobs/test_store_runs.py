import time

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


def test_an_expired_lease_is_taken_over_and_its_first_holder_can_write_nothing(database, claimed, entry, a_rating):
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
        lambda c: jobs.stage(c, old, "judging"),
        lambda c: jobs.finish(c, old, a_rating(), ("job.succeeded",)),
        lambda c: jobs.finish_probe(c, old, {}),
        lambda c: jobs.fail(c, old, PROBLEM),
        lambda c: jobs.cancel(c, old),
        lambda c: jobs.release(c, old, charge_attempt=True),
        lambda c: observations.forget_failures(c, old, {"timeout"}),
    ]
    for write in stale_writes:
        with pytest.raises(LeaseLost), database.write() as c:
            write(c)
    with database.write() as c:
        assert jobs.heartbeat(c, old) == jobs.Beat(cancel_requested=False, held=False)
        untouched = jobs.find(c, old.job.id, None)
        assert untouched == new.job
        assert ratings.page(c, "acme", limit=9) == []


def test_an_expired_lease_that_nobody_took_can_still_be_extended(database, claimed):
    claim = claimed(lease_s=SHORT_S)
    wait_for_expiry()
    with database.write() as c:
        assert jobs.heartbeat(c, claim).held
        assert jobs.claim(c, claim.job.id, "second worker") is None


def test_recording_counts_distinct_questions_failures_and_calls(database, claimed, entry):
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


def test_what_a_write_of_a_run_reads_is_the_job_as_it_stands(database, claimed, entry):
    claim = claimed()
    with database.write() as c:
        jobs.request_cancel(c, claim.job.id, None)
        held = jobs.hold(c, claim)
        assert held == jobs.find(c, claim.job.id, None)
        assert held.cancel_requested
        recorded = jobs.record(c, claim, [entry("u1", "hola")], calls=1, expected=300, stage="asking")
        assert recorded == jobs.find(c, claim.job.id, None)


def test_a_write_to_the_ledger_does_not_read_what_was_asked_for(database, claimed, entry):
    claim, said = claimed(), []
    with database.write() as c:
        event.listen(c, "before_cursor_execute", lambda _, __, statement, *___: said.append(statement))
        jobs.record(c, claim, [entry("u1", "hola")], calls=1, expected=300, stage="asking")
    assert said
    assert not [statement for statement in said if "experiment" in statement]


def test_a_unit_recorded_again_is_replaced_keeps_its_number_and_is_counted_once(database, claimed, entry):
    claim = claimed()
    with database.write() as c:
        jobs.record(c, claim, [entry("u1", failure="timeout"), entry("u2", "b")], calls=2, expected=2, stage="asking")
        job = jobs.record(c, claim, [entry("u1", "a")], calls=1, expected=2, stage="asking")
        assert (job.asked, job.failed_calls, job.observed) == (2, 0, 2)
        assert [(kept.seq, kept.observation.reply.value) for kept in observations.page(c, job.id, 0, 9)] == [
            (1, "a"),
            (2, "b"),
        ]


def test_forgotten_failures_are_asked_again_and_other_failures_are_not(database, claimed, entry):
    claim = claimed()
    with database.write() as c:
        answers = [entry("u1", "a"), entry("u2", failure="timeout"), entry("u3", failure="timeout", copied=True)]
        jobs.record(c, claim, [*answers, entry("u4", failure="http-400")], calls=9, expected=4, stage="asking")
        assert observations.forget_failures(c, claim, {"timeout", "http-500"}) == 2
        assert set(observations.recall(c, claim.job.id, ["u1", "u2", "u3", "u4"])) == {"u1", "u4"}
        job = jobs.record(c, claim, [entry("u2", "b")], calls=1, expected=4, stage="asking")
    assert (job.asked, job.failed_calls, job.observed) == (3, 1, 5)


def test_the_ledger_returns_replies_to_the_last_surrogate(database, claimed, entry):
    replies = ["NUL \0 and a lone \ud83d", "\ud83d\ude00 in two halves", {"b": 1, "a": [0.1, None]}, "x" * 100_000]
    claim = claimed()
    entries = [entry(f"u{n}", reply, text="asked \0 \udcff") for n, reply in enumerate(replies)]
    with database.write() as c:
        jobs.record(c, claim, entries, calls=4, expected=4, stage="asking")
    with database.read() as c:
        recalled = observations.recall(c, claim.job.id, [f"u{n}" for n in range(9)])
    assert recalled == {each.observation.probe.unit: each.observation for each in entries}
    assert list(recalled["u2"].reply.value) == ["b", "a"]


def test_more_than_a_thousand_units_are_recalled_at_once(database, claimed, entry):
    claim = claimed()
    units = [f"u{n}" for n in range(2500)]
    with database.write() as c:
        jobs.record(c, claim, [entry(unit, unit) for unit in units], calls=2500, expected=2500, stage="asking")
        recalled = observations.recall(c, claim.job.id, [*units, "unknown"])
    assert {unit: seen.reply.value for unit, seen in recalled.items()} == {unit: unit for unit in units}


def test_recording_is_rolled_back_as_a_whole(database, claimed, entry):
    claim = claimed()

    def half_way():
        with database.write() as c:
            jobs.record(c, claim, [entry("u1", "a")], calls=1, expected=2, stage="asking")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half_way()
    with database.read() as c:
        assert jobs.find(c, claim.job.id, None) == claim.job
        assert observations.page(c, claim.job.id, 0, 9) == []


def test_finishing_publishes_the_rating_and_its_notices_with_the_job(database, claimed, a_rating):
    claim = claimed()
    with database.write() as c:
        rating_id = jobs.finish(c, claim, a_rating(valid_for_s=86_400, visibility="unlisted"), ("job.succeeded",))
    with database.read() as c:
        job, rating = jobs.find(c, claim.job.id, "acme"), ratings.find(c, rating_id, "acme")
        assert (job.status, job.rating_id, job.lease_until) == ("succeeded", rating_id, None)
        assert rating.expires_at - rating.created_at == 86_400_000
        assert rating.document["id"] == rating_id
        assert rating.document["rated_at"] < rating.document["expires_at"]
        assert list(rating.document["components"][0]["transitions"]) == ["she", "he"]
        assert jobs.events(c, job.id, 0)[-1].data == {"rating_id": rating_id, "letter": "DSBS", "declared": True}
        assert [notice.kind for notice in outbox.due(c)] == ["job.succeeded", "rating.published"]


def test_a_heart_that_beats_once_more_after_the_end_hears_of_no_loss(database, claimed, a_rating):
    claim = claimed()
    with database.write() as c:
        jobs.finish(c, claim, a_rating(), ("job.succeeded",))
    with database.write() as c:
        assert jobs.heartbeat(c, claim) == jobs.Beat(cancel_requested=False, held=True)


def test_a_redelivered_finish_is_rejected(database, claimed, a_rating):
    claim = claimed()
    with database.write() as c:
        jobs.finish(c, claim, a_rating(), ("job.succeeded",))
    with pytest.raises(LeaseLost), database.write() as c:
        jobs.finish(c, claim, a_rating(), ("job.succeeded",))
    with database.read() as c:
        assert len(ratings.page(c, "acme", limit=9)) == 1
        assert len(outbox.due(c)) == 1


def test_a_rating_that_json_cannot_hold_leaves_nothing_half_written(database, claimed, a_rating):
    claim = claimed()
    with pytest.raises(Exception, match="Out of range float"), database.write() as c:
        jobs.finish(c, claim, a_rating(document={"share": float("nan")}), ("job.succeeded",))
    with database.read() as c:
        assert jobs.find(c, claim.job.id, None).status == "running"
        assert ratings.page(c, "acme", limit=9) == []


def test_a_failed_job_keeps_its_ledger_and_says_why(database, claimed, entry):
    claim = claimed()
    with database.write() as c:
        jobs.record(c, claim, [entry("u1", "a")], calls=1, expected=2, stage="asking")
        jobs.fail(c, claim, PROBLEM)
        job = jobs.find(c, claim.job.id, None)
        assert (job.status, job.error) == ("failed", PROBLEM)
        assert len(observations.page(c, job.id, 0, 9)) == 1
        assert [notice.kind for notice in outbox.due(c)] == ["job.failed"]


def test_a_dry_run_ends_with_what_it_saw(database, claimed):
    claim = claimed(kind="probe", experiment=None)
    with database.write() as c:
        jobs.finish_probe(c, claim, {"reply": "hola\0"})
        assert jobs.find(c, claim.job.id, None).result == {"reply": "hola\0"}


@pytest.mark.parametrize(("charged", "counted"), [(True, 1), (False, 0)])
def test_a_released_job_is_queued_again_and_charged_only_if_asked(database, claimed, charged, counted):
    claim = claimed()
    with database.write() as c:
        jobs.release(c, claim, charge_attempt=charged)
        job = jobs.find(c, claim.job.id, None)
        assert (job.status, job.attempts_without_progress, job.lease_until) == ("queued", counted, None)
        assert jobs.due(c) == [job.id]
        assert jobs.claim(c, job.id, "second worker").fence == 2


def test_a_job_released_with_a_delay_is_not_claimed_before(database, claimed):
    claim = claimed()
    with database.write() as c:
        jobs.release(c, claim, delay_s=0.2, charge_attempt=False)
    with database.write() as c:
        assert jobs.due(c) == []
        assert jobs.claim(c, claim.job.id, "second worker") is None
    time.sleep(0.25)
    with database.write() as c:
        assert jobs.due(c) == [claim.job.id]
        assert jobs.oldest_due_age_s(c) > 0
        assert jobs.claim(c, claim.job.id, "second worker") is not None


def test_a_job_to_be_cancelled_is_cancelled_when_released(database, claimed):
    claim = claimed()
    with database.write() as c:
        jobs.request_cancel(c, claim.job.id, "acme")
        jobs.release(c, claim, delay_s=600, charge_attempt=False)
        assert jobs.find(c, claim.job.id, None).status == "cancelled"


def test_something_new_in_the_ledger_clears_the_count_of_fruitless_attempts(database, claimed, entry):
    claim = claimed()
    with database.write() as c:
        jobs.record(c, claim, [entry("u1", "a")], calls=1, expected=2, stage="asking")
        jobs.release(c, claim, charge_attempt=True)
        again = jobs.claim(c, claim.job.id, "worker")
        assert again.job.attempts_without_progress == 1
        repeated = jobs.record(c, again, [entry("u1", "a")], calls=1, expected=2, stage="asking")
        assert repeated.attempts_without_progress == 1


def test_a_job_to_be_cancelled_whose_worker_was_lost_is_cancelled_by_the_next(database, claimed):
    claim = claimed(lease_s=SHORT_S)
    with database.write() as c:
        jobs.request_cancel(c, claim.job.id, "acme")
    wait_for_expiry()
    with database.write() as c:
        assert jobs.claim(c, claim.job.id, "second worker") is None
        assert jobs.find(c, claim.job.id, None).status == "cancelled"
