"""Admission of jobs to a host, their *turn*: one tenant rates a host at a time. Earlier, several could rate it at once.

Row 73 of docs/reliability.md: at c37b512 the calls of several tenants to one host added up, and no host could refuse.
"""

import time

import pytest

from store.jobs import cooldowns, jobs
from tests.support.concurrency import run_concurrently

REST_S = 600
FAILURE = {"code": "target_unfit", "title": "t", "detail": "d", "type": "/problems/target_unfit"}
HOST = ["api.example.com"]


@pytest.fixture
def take(database):
    """Function that requests a turn on its hosts for a job."""

    def take(job, hosts=HOST, rest_s=REST_S):
        with database.write() as c:
            return cooldowns.admit(c, job, hosts, rest_s)

    return take


@pytest.fixture
def ended(database):
    """Function that ends a claimed job and returns the time of its end."""

    def ended(claim):
        with database.write() as c:
            jobs.fail(c, claim, FAILURE)
            finished_at = jobs.find(c, claim.job.id, None).finished_at
        time.sleep(0.01)  # longer than the shortest rest period in these tests
        return finished_at

    return ended


def test_a_second_tenants_job_waits_until_a_pause_after_the_last_rating_of_the_host_has_ended(claimed, take, ended):
    first, second = claimed(), claimed(tenant="rival")
    assert take(first.job) is None
    running = take(second.job)
    assert (running.host, round(running.wait_s)) == (HOST[0], REST_S)
    finished_at = ended(first)
    assert take(second.job).at == finished_at + REST_S * 1000
    assert take(second.job, rest_s=0.001) is None


def test_a_job_that_may_call_a_host_may_still_call_it_when_it_asks_again(claimed, take):
    job, rival = claimed().job, claimed(tenant="rival").job
    assert take(job) is None
    assert take(rival) is not None
    assert take(job) is None


def test_a_job_requested_before_its_tenants_last_rating_of_a_host_ended_need_not_wait(claimed, queued, take, ended):
    first, second, third = claimed(), queued(), queued()
    assert take(first.job) is None
    assert take(second) is None
    ended(first)
    assert take(third) is None


def test_a_job_requested_after_its_tenants_last_rating_of_a_host_waits(database, claimed, queued, take, ended):
    first = claimed()
    assert take(first.job) is None
    finished_at = ended(first)
    later = queued()
    while later.created_at <= finished_at:  # repeat until the clock, which counts milliseconds, has moved on
        later = queued()
    assert take(later).at == finished_at + REST_S * 1000


def test_tenants_may_call_a_host_in_the_order_in_which_they_requested_their_jobs(claimed, queued, take, ended):
    first, waiting = claimed(), queued(tenant="rival")
    assert take(first.job) is None
    assert take(waiting) is not None
    pushing = queued()
    while pushing.created_at <= waiting.created_at:
        pushing = queued()
    assert take(pushing).wait_s > REST_S - 1
    assert take(waiting, rest_s=0.001) is not None  # the first rating still runs
    ended(first)
    assert take(waiting, rest_s=0.001) is None


def test_a_cancelled_job_that_waited_for_a_host_does_not_block_others(database, claimed, queued, take, ended):
    first, gone, third = claimed(), queued(tenant="rival"), queued(tenant="third")
    assert take(first.job) is None
    assert take(gone) is not None
    ended(first)
    with database.write() as c:
        jobs.request_cancel(c, gone.id, None)
    assert take(third, rest_s=0.001) is None


def test_job_on_another_host_does_not_wait(claimed, take):
    assert take(claimed().job) is None
    assert take(claimed(tenant="rival").job, ["other.example.com"]) is None


def test_a_job_on_several_hosts_waits_for_all_and_stays_ahead_of_later_jobs_at_each_host(claimed, take):
    assert take(claimed().job, ["a.example"]) is None
    assert take(claimed(tenant="rival").job, ["a.example", "b.example"]).host == "a.example"
    assert take(claimed().job, ["b.example"]).host == "b.example"  # the rival requested its turn earlier


def test_of_several_tenants_that_ask_for_a_host_at_the_same_time_only_one_may_call_it(claimed, take):
    claims = [claimed(tenant=f"tenant {number}") for number in range(6)]
    turns = run_concurrently(6, lambda number: take(claims[number].job))
    assert sum(turn is None for turn in turns) == 1


def test_records_of_past_turns_at_a_host_are_removed_from_the_database(database, claimed, take, ended):
    for number in range(3):
        claim = claimed(tenant=f"tenant {number}")
        assert take(claim.job, rest_s=0.001) is None
        ended(claim)
    last = claimed(tenant="last")
    assert take(last.job, rest_s=0.001) is None
    with database.read() as c:
        kept = c.exec_driver_sql("SELECT job_id FROM host_turns").scalars().all()
    assert kept == [last.job.id]
