"""Tests of schedules: due times, runs, and the current target at each run."""

from __future__ import annotations

from contextlib import suppress

import pytest
from sqlalchemy import update

from store.jobs import jobs
from store.suites import schedules, suites
from store.suites.schedules import Bounds, Orders, Recurrence, job_template
from store.suites.suites import Cell
from store.suites.tables import schedules as table
from store.targets import targets
from store.targets.targets import NewTarget
from tests.support.concurrency import run_concurrently

PLENTY = Bounds(max_active=100, cooldown_s=0)
TARGET = {"name": "M", "kind": "translator", "protocol": "x", "base_url": "http://mirror", "settings": {}, "limits": {}}


class Undone(Exception):
    """Exception that rolls a run back, so that the same run can be made again."""


@pytest.fixture
def scheduled(database, a_job):
    """Factory of stored schedules."""

    def make(*, orders=None, paused=False, tenant="acme", cron=None, interval_s=None, **special):
        interval_s = 3600 if cron is None and interval_s is None else interval_s
        kept = Orders({"asked": 1}, [job_template(a_job(**({"target": TARGET} | special)))])
        orders, recurrence = orders or kept, Recurrence(cron, interval_s)
        with database.write() as c:
            return schedules.add(c, tenant, "weekly", orders, recurrence, paused=paused, key_id="key_1")

    return make


@pytest.fixture
def later(database):
    """Function that moves the next time of a schedule into the past, as if time had passed."""

    def move(schedule, seconds):
        with database.write() as c:
            c.execute(update(table).where(table.c.id == schedule.id).values(next_at=table.c.next_at - seconds * 1000))

    return move


def run(database, bounds=PLENTY):
    with database.write() as c:
        return schedules.run_due(c, bounds)


def test_a_due_schedule_whose_method_no_longer_exists_records_why_and_does_not_prevent_others(
    database, scheduled, later
):
    unfit = scheduled(author={**TARGET, "name": "Author"}, experiment={"method": "removed-plug-in"})
    later(unfit, 7200)
    later(scheduled(), 3601)
    schedule, ran = run(database)
    assert (schedule.id, ran.made_id, ran.code) == (unfit.id, None, "schedule-unfit")
    assert "removed-plug-in" in schedule.last_failure
    assert run(database)[1].made_id is not None


def test_a_due_schedule_creates_exactly_one_job(database, scheduled, later):
    schedule = scheduled()
    assert run(database) is None
    later(schedule, 3601)
    after, ran = run(database)
    assert run(database) is None
    with database.read() as c:
        [job] = jobs.page(c, "acme", limit=9)
    assert (ran.made_id, ran.job_ids, ran.failure) == (job.id, (job.id,), None)
    assert (job.status, job.key_id, job.target, job.sealed_secret) == ("queued", "key_1", TARGET, None)
    assert job.deadline_at == job.created_at + 3_600_000
    assert (after.last_job_id, after.version) == (job.id, schedule.version + 1)
    assert after.next_at > after.last_at


def test_several_missed_runs_are_replaced_by_one_run_and_the_next_time_stays_aligned(database, scheduled, later):
    schedule = scheduled()
    later(schedule, 100 * 3600)
    after, _ = run(database)
    assert run(database) is None
    assert (after.next_at - schedule.next_at) % 3_600_000 == 0
    assert 0 < after.next_at - after.last_at <= 3_600_000


def test_the_id_and_the_time_of_a_schedule_do_not_reveal_the_seeds_of_its_runs(database, scheduled, later):
    schedule = scheduled()
    later(schedule, 3601)
    seeds = []
    for _ in range(2):
        with suppress(Undone), database.write() as c:  # the same run, at the same time, twice
            _, ran = schedules.run_due(c, PLENTY)
            seeds.append(jobs.find(c, ran.made_id, "acme").seed)
            raise Undone
    assert seeds[0] != seeds[1]
    assert all(0 <= seed < 2**53 for seed in seeds)


def test_two_concurrent_schedulers_make_only_one_run(database, scheduled, later):
    later(scheduled(), 3601)
    results = run_concurrently(2, lambda _: run(database))
    assert sum(one is not None for one in results) == 1
    with database.read() as c:
        assert len(jobs.page(c, "acme", limit=9)) == 1


def test_a_scheduled_run_whose_transaction_was_rolled_back_is_repeated(database, scheduled, later):
    later(scheduled(), 3601)
    with pytest.raises(ZeroDivisionError), database.write() as c:
        1 / len(schedules.run_due(c, PLENTY)[2:])  # divides by zero to simulate a process that dies in the transaction
    assert run(database) is not None


def test_paused_and_removed_schedules_do_not_run(database, scheduled, later):
    paused, removed = scheduled(paused=True), scheduled()
    for each in (paused, removed):
        later(each, 3601)
    with database.write() as c:
        assert schedules.remove(c, removed.id, "acme")
        assert not schedules.remove(c, removed.id, "acme")
        assert schedules.find(c, removed.id, "acme") is None
    assert run(database) is None


def test_resumed_schedule_skips_missed_runs(database, scheduled, later):
    schedule = scheduled(paused=True)
    later(schedule, 100 * 3600)
    with database.write() as c:
        resumed = schedules.replace(
            c, schedule.id, "acme", schedule.name, schedule.orders, schedule.recurrence, paused=False
        )
        renamed = schedules.replace(c, schedule.id, "acme", "x", schedule.orders, schedule.recurrence, paused=False)
    assert resumed.next_at == resumed.updated_at + 3_600_000
    assert (renamed.next_at, renamed.name, renamed.version) == (resumed.next_at, "x", schedule.version + 2)
    assert run(database) is None


def test_a_change_of_a_schedule_keeps_what_it_does_not_name(database, scheduled):
    schedule = scheduled()
    with database.write() as c:
        schedules.replace(c, schedule.id, "acme", paused=True)
        changed = schedules.replace(c, schedule.id, "acme", "new")
    assert (changed.name, changed.paused) == ("new", True)
    assert (changed.orders, changed.recurrence) == (schedule.orders, schedule.recurrence)


def test_a_schedule_with_a_new_interval_next_runs_one_interval_after_the_change(database, scheduled):
    schedule = scheduled()
    with database.write() as c:
        changed = schedules.replace(
            c, schedule.id, "acme", "x", schedule.orders, Recurrence(interval_s=60), paused=False
        )
        assert (
            schedules.replace(c, schedule.id, "rival", "x", schedule.orders, schedule.recurrence, paused=False) is None
        )
    assert changed.next_at == changed.updated_at + 60_000


def test_a_scheduled_run_uses_the_current_settings_of_its_target_and_fails_if_that_is_gone(database, scheduled, later):
    described = {name: TARGET[name] for name in ("name", "protocol", "base_url", "settings", "limits")}
    with database.write() as c:
        saved = targets.add(c, NewTarget("acme", kind="translator", **described))
    schedule = scheduled(target_id=saved.id)
    with database.write() as c:
        moved = NewTarget("acme", kind="translator", **(described | {"base_url": "http://moved"}))
        targets.replace(c, saved.id, "acme", moved)
    later(schedule, 3601)
    _, ran = run(database)
    with database.write() as c:
        job = jobs.find(c, ran.made_id, "acme")
        assert (job.target_id, job.target_url, job.target["base_url"]) == (saved.id, "http://moved", "http://moved")
        other = NewTarget("acme", kind="classifier", **described)
        targets.replace(c, saved.id, "acme", other)
    later(schedule, 3601)
    after, ran = run(database)
    assert (ran.code, after.last_job_id) == ("target-changed", job.id)
    assert "classifier" in after.last_failure
    with database.write() as c:
        targets.remove(c, saved.id, "acme")
    later(schedule, 3601)
    after, ran = run(database)
    assert (ran.code, ran.made_id) == ("target-removed", None)
    assert saved.id in after.last_failure
    assert after.next_at > after.last_at  # the schedule continues


def test_run_of_a_chain_uses_the_current_addresses_of_its_links(database, scheduled, later):
    plain = {name: TARGET[name] for name in ("name", "protocol", "base_url", "settings", "limits")}
    with database.write() as c:
        saved = targets.add(c, NewTarget("acme", kind="translator", **plain))
    link = {"id": saved.id, **targets.descriptor(saved), "path": ["de"]}
    other = {"kind": "translator", "protocol": "x", "base_url": "http://other"}
    chain = TARGET | {"protocol": "chain", "base_url": "", "settings": {"links": [link, other]}}
    schedule = scheduled(target=chain)
    with database.write() as c:
        targets.replace(
            c, saved.id, "acme", NewTarget("acme", kind="translator", **(plain | {"base_url": "http://new"}))
        )
    later(schedule, 3601)
    _, ran = run(database)
    with database.write() as c:
        links = jobs.find(c, ran.made_id, "acme").target["settings"]["links"]
        assert links == [link | {"base_url": "http://new"}, other]
        targets.remove(c, saved.id, "acme")
    later(schedule, 3601)
    assert run(database)[1].code == "target-removed"


def test_a_scheduled_run_above_the_job_limit_shows_a_failure_until_the_next_run(database, scheduled, later, queued):
    busy = queued()
    schedule = scheduled()
    later(schedule, 3601)
    after, ran = run(database, Bounds(max_active=1, cooldown_s=0))
    assert ran.code == "too-many-jobs"
    assert "limit of 1 " in after.last_failure
    with database.write() as c:
        jobs.request_cancel(c, busy.id, "acme")
    later(schedule, 3601)
    after, ran = run(database, Bounds(max_active=1, cooldown_s=0))
    assert (after.last_failure, after.last_job_id) == (None, ran.made_id)


def test_a_scheduled_run_waits_for_the_cooldown_after_the_targets_last_job(database, scheduled, later, claimed):
    claim = claimed(target=TARGET)
    with database.write() as c:
        jobs.fail(c, claim, {"type": "about:blank", "title": "No", "detail": "It broke.", "code": "x"})
    schedule = scheduled()
    later(schedule, 3601)
    after, ran = run(database, Bounds(max_active=9, cooldown_s=600))
    assert ran.code == "cooling-down"
    assert after.next_at == after.last_at + ran.wait_s * 1000
    later(schedule, 601)
    assert run(database, PLENTY)[1].made_id is not None


def test_a_scheduled_suite_has_the_planned_and_lists_the_omitted_combinations(database, scheduled, later, a_job):
    kept = [
        job_template(a_job(target=TARGET, experiment={"method": "round-trip", "place": place})) for place in range(2)
    ]
    cells = [Cell("round-trip", "gender", "es"), Cell("round-trip", "gender", "fr")]
    omitted = [{"method": "one-hop", "attribute": "race", "label": "es", "reason": "none"}]
    schedule = scheduled(orders=Orders({"asked": 1}, kept, cells, omitted))
    later(schedule, 3601)
    after, ran = run(database)
    with database.read() as c:
        suite = suites.find(c, ran.made_id, "acme")
        assert [(one.cell, one.job_id) for one in suites.cells(c, suite.id)] == list(
            zip(cells, ran.job_ids, strict=True)
        )
    assert after.last_job_id == suite.id
    assert (suite.request["omitted"], suite.request["asked"]) == (omitted, {"asked": 1})


def test_pages_of_schedules_are_newest_first_and_of_one_tenant(database, scheduled):
    made = [scheduled().id for _ in range(3)]
    scheduled(tenant="rival")
    with database.read() as c:
        assert schedules.find(c, made[0], "rival") is None
        first = schedules.page(c, "acme", limit=2)
        rest = schedules.page(c, "acme", before=(first[-1].created_at, first[-1].id), limit=2)
        assert schedules.find(c, made[0], "acme").orders.request == {"asked": 1}
    seen = [*first, *rest]
    assert {one.id for one in seen} == set(made)
    assert seen == sorted(seen, key=lambda one: (one.created_at, one.id), reverse=True)
