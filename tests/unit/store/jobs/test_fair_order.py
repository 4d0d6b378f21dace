"""Tenants take turns at the workers, none exceeds its share, and the shown position is the order of the claims.

Row 92 of docs/reliability.md: at ffe18d3c 40 slow jobs of one tenant took every slot for a day.
"""

import random
import threading
import time

import pytest
from sqlalchemy import event

from store.core.database import Database
from store.jobs import fair_order, jobs
from store.jobs.fair_order import Share
from tests.support.jobs import new_job


def claim_next(database, message: str, share: Share = fair_order.UNLIMITED):
    with database.write() as c:
        claimed = jobs.claim_next(c, message, "worker", 30, 5, share)
    time.sleep(0.002)  # so that no two jobs start in the same millisecond
    return claimed


def end(database, claim) -> None:
    with database.write() as c:
        jobs.fail(c, claim, {"type": "about:blank", "title": "x", "detail": "x", "code": "x"})


def test_a_tenant_with_forty_jobs_cannot_occupy_every_worker_slot(database, queued):
    greedy = [queued(tenant="greedy") for _ in range(40)]
    share = Share(max_jobs=None, slots=4)
    claims = [claim_next(database, job.id, share) for job in greedy[:6]]
    assert [claim and claim.job.tenant for claim in claims] == ["greedy"] * 3 + [None] * 3
    modest = queued(tenant="modest")
    assert claim_next(database, greedy[6].id, share).job.id == modest.id
    end(database, claims[0])
    assert claim_next(database, greedy[7].id, share).job.tenant == "greedy"


def test_tenants_take_turns_at_a_single_worker_slot(database, queued):
    waiting = [queued(tenant="greedy") for _ in range(4)] + [queued(tenant="late") for _ in range(3)]
    order = []
    for message in waiting:
        claim = claim_next(database, message.id)
        order.append(claim.job.tenant)
        end(database, claim)
    assert order == ["greedy", "late"] * 3 + ["greedy"]


def test_the_next_job_to_start_belongs_to_the_tenant_with_the_fewest_running_jobs(database, queued):
    for _ in range(2):
        claim_next(database, queued(tenant="busy").id)
    claim_next(database, queued(tenant="idle").id)
    message = queued(tenant="busy")
    wanted = queued(tenant="idle")
    assert claim_next(database, message.id).job.id == wanted.id


@pytest.mark.parametrize("seed", range(4))
def test_waiting_jobs_start_in_the_order_of_their_shown_queue_positions(database, queued, seed):
    rng = random.Random(seed)
    for tenant in rng.choices("abcd", k=4):
        claim_next(database, queued(tenant=tenant).id)
    waiting = [queued(tenant=rng.choice("abcde")) for _ in range(12)]
    with database.read() as c:
        state = fair_order.state(c)
        shown = {job.id: state.position(job.tenant, jobs.own_before(c, job)) for job in waiting}
    claimed = [claim_next(database, job.id).job.id for job in waiting]
    assert [shown[job_id] for job_id in claimed] == list(range(1, 13))


def test_a_new_job_has_the_position_stated_in_the_response_to_its_request(database, queued):
    for tenant in "aab":
        queued(tenant=tenant)
    with database.read() as c:
        state, told = fair_order.state(c), {}
        for tenant in "abc":
            told[tenant] = state.position(
                tenant, jobs.existing_work(c, new_job(tenant=tenant, request_digest="sha256:new"), 0, 9).own_before
            )
    assert told == {"a": 4, "b": 4, "c": 3}
    for tenant in "abc":
        time.sleep(0.002)
        job = queued(tenant=tenant)
        with database.write() as c:
            assert fair_order.state(c).position(tenant, jobs.own_before(c, job)) == told[tenant]
            jobs.request_cancel(c, job.id, None)


def test_concurrent_workers_neither_exceed_a_tenants_limit_nor_start_a_job_twice(database_url, database, queued):
    messages = [queued(tenant="greedy").id for _ in range(12)] + [queued(tenant=f"t{n}").id for n in range(3)]
    claims, ready = [], threading.Barrier(len(messages))

    def work(message: str) -> None:
        own = Database(database_url)
        try:
            ready.wait()
            with own.write() as c:
                claims.append(jobs.claim_next(c, message, message, 30, 5, Share(max_jobs=2)))
        finally:
            own.close()

    threads = [threading.Thread(target=work, args=(message,)) for message in messages]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    made = [claim.job for claim in claims if claim is not None]
    assert len({job.id for job in made}) == len(made) == 5
    assert sorted(job.tenant for job in made) == ["greedy", "greedy", "t0", "t1", "t2"]


def test_a_job_whose_queue_message_started_another_job_gets_a_new_message(database, queued):
    claim_next(database, queued(tenant="a").id)
    first, second = queued(tenant="a"), queued(tenant="b")
    with database.write() as c:
        jobs.mark_dispatched(c, [first.id])
    assert claim_next(database, first.id).job.id == second.id, "this job was not announced itself"
    with database.read() as c:
        assert jobs.due(c) == [first.id]


def test_two_jobs_that_each_start_by_the_queue_message_of_the_other_get_no_new_messages(database, queued):
    claim_next(database, queued(tenant="a").id)
    first, second = queued(tenant="a"), queued(tenant="b")
    with database.write() as c:
        jobs.mark_dispatched(c, [first.id, second.id])
    assert claim_next(database, first.id).job.id == second.id
    with database.read() as c:
        assert jobs.due(c) == []
    assert claim_next(database, second.id).job.id == first.id


def test_jobs_of_a_tenant_at_its_limit_get_no_queue_message_and_do_not_count_as_stranded(database, queued):
    share = Share(max_jobs=1)
    running = claim_next(database, queued(tenant="greedy").id, share)
    waiting = queued(tenant="greedy")
    with database.write() as c:
        assert jobs.due(c, share=share) == []
        jobs.mark_dispatched(c, [waiting.id])
        assert jobs.count_stranded(c, 0, share) == 0
        assert jobs.count_stranded(c, 0) == 1
    assert claim_next(database, waiting.id, share) is None
    end(database, running)
    with database.read() as c:
        assert jobs.due(c, share=share) == [waiting.id], "its message was used in vain"


def test_when_a_job_ends_the_next_job_of_a_tenant_at_its_limit_gets_exactly_one_queue_message(database, queued):
    share = Share(max_jobs=1)
    running = claim_next(database, queued(tenant="greedy").id, share)
    waiting = queued(tenant="greedy")
    with database.write() as c:
        assert jobs.announce_next(c, share, 5) is None
    end(database, running)
    with database.write() as c:
        assert jobs.announce_next(c, share, 5) == waiting.id
        assert jobs.announce_next(c, share, 5) is None


def test_a_tenant_can_use_three_quarters_of_the_slots_of_all_live_workers(database, queued):
    with database.write() as c:
        fair_order.register(c, "one", 4, 60)
        fair_order.register(c, "two", 4, 60)
        fair_order.register(c, "two", 4, 60)
        fair_order.register(c, "dead", 40, -1)
    messages = [queued(tenant="greedy").id for _ in range(8)]
    claims = [claim_next(database, message, Share(max_jobs=None, slots=4)) for message in messages]
    assert sum(claim is not None for claim in claims) == 6


def test_starting_a_job_needs_at_most_six_sql_statements_however_many_tenants_wait(database, queued):
    counts = []
    for tenants in (2, 30):
        messages = [queued(tenant=f"tenant {number}").id for number in range(tenants)]
        statements = []
        with database.write() as c:
            event.listen(c, "before_cursor_execute", lambda *args, into=statements: into.append(args[2]))
            assert jobs.claim_next(c, messages[0], "worker", 30, 5, Share(max_jobs=None, slots=40)) is not None
        counts.append(len(statements))
    assert max(counts) <= 6
