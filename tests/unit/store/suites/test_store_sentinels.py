"""Runs of watches: their tests, and what happens once at the alarm."""

from __future__ import annotations

import itertools
from contextlib import suppress

import pytest
from sqlalchemy import select

from assay.rating.sentinels import HORIZON, SentinelRun
from store.core.errors import WatchUnfit
from store.jobs import jobs, runs
from store.jobs.jobs import Claim
from store.ratings import published as published_ratings
from store.ratings import ratings, registry
from store.ratings.standing import standings
from store.ratings.tables import service_changes
from store.suites import schedules
from store.suites.schedules import Bounds, Orders, Recurrence, job_template
from store.suites.sentinels import Watch, add_run, finish, repeat_job, runs_of, watch_job, watched_rating
from store.suites.tables import sentinel_runs
from store.targets import targets
from store.targets.targets import NewTarget
from store.webhooks import outbox
from tests.support.concurrency import run_concurrently

BEFORE, AFTER = 0.0, 1.0
WATCH = "sch_watch"


class Died(Exception):
    """Exception that rolls a transaction back, as if its process had died."""


@pytest.fixture
def rating_id(published):
    """A public rating of tenant acme."""
    return published(visibility="public")


@pytest.fixture
def watch(database, rating_id):
    """Function that claims the next run of a watch, and one that ends it with an outcome of all cases."""

    seeds = itertools.count()  # a job's own seed is random, and one test in a hundred would see a false alarm

    def claim(schedule: str = WATCH, tenant: str = "acme") -> Claim:
        with database.write() as c:
            job = jobs.add(c, watch_job(c, Watch(schedule, rating_id, 40), tenant, "key_1"))
            claimed = jobs.claim(c, job.id, "a worker")
        assert claimed is not None
        return claimed

    def end(claimed: Claim, outcome: float | None, cases: int = 40) -> None:
        outcomes = {f"case {number:02}": outcome for number in range(cases)}
        with database.write() as c:
            finish(c, claimed, SentinelRun(next(seeds), outcomes))

    return claim, end


def quiet(watch, days: int, schedule: str = WATCH) -> None:
    claim, end = watch
    for _ in range(days):
        end(claim(schedule), BEFORE)


def result(database, claim: Claim):
    with database.read() as c:
        return jobs.find(c, claim.job.id, "acme").result


def notices(database):
    with database.write() as c:
        return [notice for notice in outbox.due(c) if notice.kind == "service.changed"]


def test_a_check_for_silent_changes_is_a_private_job_on_the_target_of_the_rating(database, rating_id, watch):
    job = watch[0]().job
    assert (job.kind, job.visibility, job.commitment, job.callback_url) == ("watch", "private", None, None)
    assert Watch(**job.experiment) == Watch(WATCH, rating_id, 40)
    with database.read() as c:
        rated = jobs.find(c, ratings.find(c, rating_id, "acme").job_id, "acme")
    assert (job.target, job.max_calls, job.author) == (rated.target, rated.max_calls, None)


def test_checks_for_silent_changes_that_find_none_are_stored_in_order_and_send_no_notice(database, rating_id, watch):
    quiet(watch, 3)
    with database.read() as c:
        runs, times = runs_of(c, Watch(WATCH, rating_id, 40))
        assert [set(run.outcomes.values()) for run in runs] == [{BEFORE}] * 3
        assert times == sorted(times)
        assert c.execute(select(sentinel_runs.c.number).order_by(sentinel_runs.c.number)).scalars().all() == [1, 2, 3]
    assert notices(database) == []


def test_a_detected_silent_change_marks_the_rating_sends_a_notice_and_starts_a_new_rating(database, rating_id, watch):
    claim, end = watch
    quiet(watch, 12)
    end(changed := claim(), AFTER)
    told = result(database, changed)
    assert told["log_e"] > 3
    with database.read() as c:
        rating = ratings.find(c, rating_id, "acme")
        rerating = jobs.find(c, told["rerating_job"], "acme")
        assert standings(c, [rating])[rating_id].changed_since == told["changed_since"]
        assert published_ratings.rating(c, rating_id, None).standing.changed_since == told["changed_since"]
        rated = jobs.find(c, rating.job_id, "acme")
    assert (rerating.kind, rerating.status, rerating.visibility) == ("rating", "queued", "public")
    assert (rerating.target, rerating.experiment["method"]) == (rated.target, "round-trip")
    assert rerating.seed != rated.seed
    [notice] = notices(database)
    assert (notice.job_id, notice.data["rating_id"]) == (changed.job.id, rating_id)
    assert (notice.data["since"], notice.data["rerating_job_id"]) == (told["changed_since"], rerating.id)


def test_a_silent_change_detected_by_several_concurrent_checks_sends_one_notice_and_starts_one_rating(database, watch):
    claim, end = watch
    quiet(watch, 12)
    quiet(watch, 12, "sch_other")
    claims = [claim(), claim("sch_other"), claim()]
    run_concurrently(3, lambda number: end(claims[number], AFTER))
    assert sorted(result(database, one)["rerating_job"] is None for one in claims) == [False, True, True]
    assert len(notices(database)) == 1
    with database.read() as c:
        assert len(c.execute(select(service_changes)).all()) == 1
        assert sum(job.kind == "rating" for job in jobs.page(c, "acme", limit=99)) == 2


def test_a_detected_silent_change_whose_transaction_fails_sends_its_notice_when_it_is_detected_again(database, watch):
    claim, end = watch
    quiet(watch, 12)
    changed = claim()
    with suppress(Died), database.write() as c:
        finish(c, changed, SentinelRun(changed.job.seed, {f"case {number:02}": AFTER for number in range(40)}))
        raise Died
    assert notices(database) == []
    end(changed, AFTER)
    assert len(notices(database)) == 1


def test_missing_answers_in_a_check_for_silent_changes_are_counted_and_are_not_taken_for_a_change(database, watch):
    claim, end = watch
    quiet(watch, 12)
    for _ in range(5):
        end(lost := claim(), None)
        told = result(database, lost)
        assert (told["cases"], told["lost"], told["changed_since"]) == (40, 40, None)


def test_cases_of_the_first_check_for_silent_changes_that_a_later_check_lacks_are_counted_as_lost(database, watch):
    claim, end = watch
    quiet(watch, 1)
    end(other := claim(), BEFORE, cases=39)
    assert (result(database, other)["cases"], result(database, other)["lost"]) == (40, 1)


def test_after_90_checks_for_silent_changes_the_statistical_test_starts_anew(database, rating_id, watch):
    quiet(watch, HORIZON)
    with database.read() as c:
        assert runs_of(c, Watch(WATCH, rating_id, 40)) == ([], [])
    quiet(watch, 1)
    with database.read() as c:
        assert len(runs_of(c, Watch(WATCH, rating_id, 40))[0]) == 1


# ---------------------------------------------------------------------------- the watched rating
def test_after_a_silent_change_later_checks_use_the_new_rating_once_it_exists(database, rating_id, watch, a_rating):
    claim, end = watch
    quiet(watch, 12)
    end(changed := claim(), AFTER)
    with database.write() as c:
        with pytest.raises(WatchUnfit, match="is not there yet"):
            watched_rating(c, rating_id, "acme")
        rerating = jobs.claim(c, result_of(c, changed), "a worker")
        new = jobs.finish(c, rerating, a_rating(visibility="public"))
        assert watched_rating(c, rating_id, "acme").id == new
    assert claim().job.experiment["rating"] == new


@pytest.fixture
def schedule_of(database, rating_id):
    """A schedule that watches the rating."""
    with database.write() as c:
        template = job_template(repeat_job(c, ratings.find(c, rating_id, "acme"), None))
        orders = Orders({"rating": rating_id, "cases": 40}, [template])
        return schedules.add(c, "acme", "watch", orders, Recurrence(interval_s=86_400), paused=False, key_id="key_1")


def run(database, schedule):
    with database.write() as c:
        return schedules.run_now(c, schedule.id, "acme", Bounds(99, 0))


def end_rerating(c, job_id: str, how: str) -> None:
    """End the job of a new rating without a rating."""
    claim = jobs.claim(c, job_id, "a worker")
    if how == "failed":
        runs.fail(c, claim, {"detail": "the service answers with 503", "code": "service-down"})
    else:
        runs.cancel(c, claim)


@pytest.mark.parametrize(
    ("how", "reason"), [("failed", "failed: the service answers with 503"), ("cancelled", "was cancelled")]
)
def test_if_the_rating_after_a_silent_change_fails_the_next_scheduled_check_rates_again(
    database, rating_id, watch, schedule_of, a_rating, how, reason
):
    claim, end = watch
    quiet(watch, 12, schedule_of.id)
    end(changed := claim(schedule_of.id), AFTER)
    since, first = (result(database, changed)[name] for name in ("changed_since", "rerating_job"))
    assert run(database, schedule_of)[1].failure.endswith(f"(job {first}) is not there yet")
    with database.write() as c:
        end_rerating(c, first, how)
        assert schedules.find(c, schedule_of.id, "acme").change[2:] == (first, how)
    after, ran = run(database, schedule_of)
    assert (ran.code, after.last_failure) == (None, None)
    assert ran.made_id != first
    assert (after.change.rating_id, after.change[2:]) == (rating_id, (ran.made_id, "queued"))
    with database.read() as c:
        rerating = jobs.find(c, ran.made_id, "acme")
        assert (rerating.kind, rerating.visibility, rerating.key_id) == ("rating", "public", "key_1")
        assert standings(c, [ratings.find(c, rating_id, "acme")])[rating_id].changed_since == since
    alarm, again = notices(database)
    assert (alarm.data["failure"], alarm.data["rerating_job_id"]) == (None, first)
    assert again.data["failure"] == f"its new rating (job {first}) {reason}"
    assert again.data == alarm.data | {"rerating_job_id": ran.made_id, "failure": again.data["failure"]}
    assert run(database, schedule_of)[1].failure.endswith(f"(job {ran.made_id}) is not there yet")
    with database.write() as c:
        new = jobs.finish(c, jobs.claim(c, ran.made_id, "a worker"), a_rating(visibility="public"))
    assert claim(schedule_of.id).job.experiment["rating"] == new


def test_several_checks_that_repeat_a_failed_rating_after_a_silent_change_start_one_job(database, rating_id, watch):
    claim, end = watch
    quiet(watch, 12)
    end(changed := claim(), AFTER)
    with database.write() as c:
        end_rerating(c, result_of(c, changed), "failed")
    made = []

    def add(number: int) -> None:
        with suppress(WatchUnfit), database.write() as c:
            made.append(add_run(c, Watch(f"sch_{number}", rating_id, 40), "acme", None).id)

    run_concurrently(3, add)
    assert len(made) == 1


def test_a_silent_change_whose_new_rating_cannot_start_yet_starts_it_at_a_later_check(database, claimed, a_rating):
    described = {"name": "M", "kind": "translator", "protocol": "x", "settings": {}, "limits": {}}
    before, moved = (NewTarget("acme", base_url=url, **described) for url in ("http://mirror", "http://moved"))
    with database.write() as c:
        saved = targets.add(c, before)
    rated = claimed(target_id=saved.id, target=targets.descriptor(saved))
    with database.write() as c:
        rating = ratings.find(c, jobs.finish(c, rated, a_rating()), "acme")
        orders = Orders({"rating": rating.id, "cases": 40}, [job_template(repeat_job(c, rating, None))])
        schedule = schedules.add(c, "acme", "watch", orders, Recurrence(interval_s=86_400), paused=False, key_id=None)

    def watched(outcome: float, meanwhile: NewTarget) -> Claim:
        _, ran = run(database, schedule)
        with database.write() as c:
            claim = jobs.claim(c, ran.made_id, "a worker")
            targets.replace(c, saved.id, "acme", meanwhile)
            finish(c, claim, SentinelRun(claim.job.seed, {f"case {number:02}": outcome for number in range(40)}))
        return claim

    for _ in range(12):
        watched(BEFORE, before)
    alarm = result(database, watched(AFTER, moved))
    assert (alarm["changed_since"] is None, alarm["rerating_job"]) == (False, None)
    [notice] = notices(database)
    assert (notice.data["rerating_job_id"], "described otherwise" in notice.data["failure"]) == (None, True)
    assert "described otherwise" in run(database, schedule)[0].last_failure
    with database.write() as c:
        assert schedules.find(c, schedule.id, "acme").change[2:] == ("", None)
        targets.replace(c, saved.id, "acme", before)
    after, ran = run(database, schedule)
    assert after.change[2:] == (ran.made_id, "queued")
    assert notices(database)[1].data["failure"] == "its new rating could not be started"


def test_after_a_silent_change_a_withdrawn_rating_is_not_rated_again(database, rating_id, watch, schedule_of):
    claim, end = watch
    quiet(watch, 12, schedule_of.id)
    end(changed := claim(schedule_of.id), AFTER)
    with database.write() as c:
        end_rerating(c, result_of(c, changed), "failed")
        registry.withdraw(c, rating_id, "acme", "a mistake")
    assert run(database, schedule_of)[1].failure == f"the rating {rating_id} was withdrawn"


def result_of(c, claim: Claim) -> str:
    return jobs.find(c, claim.job.id, "acme").result["rerating_job"]


def test_checking_another_tenants_or_a_withdrawn_rating_for_silent_changes_is_refused(database, rating_id):
    with database.write() as c:
        for name, tenant in ((rating_id, "globex"), ("rat_unknown", "acme")):
            with pytest.raises(WatchUnfit, match="you have no rating"):
                watched_rating(c, name, tenant)
        registry.withdraw(c, rating_id, "acme", "a mistake")
        with pytest.raises(WatchUnfit, match="was withdrawn"):
            watched_rating(c, rating_id, "acme")


def test_a_rating_that_used_an_author_or_a_judge_cannot_be_checked_for_silent_changes(database, claimed, a_rating):
    author = {"name": "A", "kind": "language-model", "protocol": "x", "base_url": "http://a", "settings": {}}
    claim = claimed(author=author)
    with database.write() as c:
        rating = ratings.find(c, jobs.finish(c, claim, a_rating()), "acme")
        with pytest.raises(WatchUnfit, match="an author or a judge"):
            repeat_job(c, rating, None)


def test_a_scheduled_check_for_silent_changes_creates_its_job_or_records_why_it_cannot(database, rating_id):
    with database.write() as c:
        template = job_template(repeat_job(c, ratings.find(c, rating_id, "acme"), None))
        orders = Orders({"rating": rating_id, "cases": 20}, [template])
        recurrence = Recurrence(interval_s=86_400)
        schedule = schedules.add(c, "acme", "watch", orders, recurrence, paused=False, key_id="key_1")
        assert schedule.orders.kind == "watch"
        _, ran = schedules.run_now(c, schedule.id, "acme", Bounds(99, 0))
        job = jobs.find(c, ran.made_id, "acme")
        assert (job.kind, Watch(**job.experiment), job.key_id) == ("watch", Watch(schedule.id, rating_id, 20), "key_1")
        runs.cancel(c, jobs.claim(c, job.id, "a worker"))
        registry.withdraw(c, rating_id, "acme", "a mistake")
        after, ran = schedules.run_now(c, schedule.id, "acme", Bounds(99, 0))
        assert (ran.made_id, ran.code) == (None, "schedule-unfit")
        assert "was withdrawn" in after.last_failure
