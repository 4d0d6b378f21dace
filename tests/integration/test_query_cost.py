"""Frequent queries read few rows, even with many finished jobs (docs/scaling.md).

Row 97 of docs/reliability.md: sessions had no limit, and each sign-in read all of them: 1,255 sessions delayed others
by 4.9 s.
"""

from contextlib import closing

import pytest
from sqlalchemy import text

from store.core.database import Database
from store.jobs import fair_order, jobs
from store.jobs.backlog import backlog
from store.security import sessions
from tests.support.jobs import new_job
from tests.support.query_plans import blocks_read, plans, rows_read

ENDED = 20_000
DUE = 30

MANY_ENDED = f"""
INSERT INTO jobs SELECT
  'job_old' || n, 'acme', 'rating', NULL, 'http://t/' || n % 50, '{{}}', NULL, NULL, NULL, NULL, NULL, 'sha256:' || n,
  0, 'private', NULL, 1, 0, NULL, (ARRAY['succeeded', 'failed', 'cancelled'])[1 + n % 3], 'rated', 1, 1, 0, 1, 1, false,
  9, 1, 0, 1, NULL, NULL, n, n, n, n, n, n, NULL, NULL, NULL
FROM generate_series(1, {ENDED}) AS n
"""


@pytest.fixture(scope="module")
def database(postgres_server):
    """A database with many finished jobs and a few due ones."""
    name = "many_ended"
    postgres_server.execute(f"CREATE DATABASE {name} TEMPLATE template STRATEGY FILE_COPY")
    with closing(Database(postgres_server.url(name))) as database:
        with database.write() as c:
            c.execute(text(MANY_ENDED))
            for number in range(DUE):
                jobs.add(c, job_of(f"due {number}"))
            c.execute(text("ANALYZE jobs"))
        yield database
    postgres_server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def job_of(digest):
    return new_job(tenant="acme", target={"name": "x", "base_url": "http://t/1"}, request_digest=f"sha256:{digest}")


def first_due(c):
    return jobs.find(c, jobs.due(c, 1)[0], None)


def add_new(c):
    new = job_of("new one")
    jobs.lock_transaction(c, new.request_digest)
    jobs.existing_work(c, new, 3600, 500)
    jobs.add(c, new)


READS = {
    "due jobs for the reconciler": lambda c: jobs.due(c, 100),
    "failing jobs that kill their workers": jobs.fail_poison_jobs,
    "count of stranded jobs for the watchdog": lambda c: jobs.count_stranded(c, 15),
    "status of a job": lambda c: jobs.find(c, "job_old17", "acme"),
    "position in the queue": lambda c: jobs.own_before(c, first_due(c)),
    "state of the queue": fair_order.state,
    "claim in the fair order": lambda c: fair_order.next_job(c, fair_order.Share(max_jobs=None, slots=4), 5),
    "existing work for a request": lambda c: jobs.existing_work(c, job_of("new"), 3600, 500),
    "adding a job": add_new,
    "backlog for metrics": backlog,
}


@pytest.mark.parametrize("what", READS)
def test_frequent_queries_do_not_read_finished_jobs(database, what):
    executed = plans(database, READS[what])
    read = sum(rows_read(plan, "jobs") for plan in executed)
    assert read <= 3 * DUE, f"{what} reads {read} rows while {DUE} jobs are due"
    assert sum(blocks_read(plan) for plan in executed) <= 60, "an index over all jobs has more than 100 blocks"


def test_the_row_and_block_counts_of_these_tests_detect_a_full_table_scan(database):
    (plan,) = plans(database, lambda c: c.execute(text("SELECT id FROM jobs WHERE asked = 7")))
    assert rows_read(plan, "jobs") >= ENDED
    (plan,) = plans(database, lambda c: c.execute(text("SELECT count(*) FROM jobs WHERE target_url LIKE '%7'")))
    assert blocks_read(plan) > 100


def test_signing_in_does_not_read_the_sessions_of_other_people(database):
    with database.write() as c:
        c.execute(
            text(
                "INSERT INTO sessions (digest, rule, subject, seen_at, expires_at) "
                "SELECT sha256(n::text::bytea), 'r', 'person ' || n, "
                f"(extract(epoch FROM now()) * 1000)::bigint, {2**53} FROM generate_series(1, {ENDED}) AS n"
            )
        )
        c.execute(text("ANALYZE sessions"))
    executed = plans(database, lambda c: sessions.begin(c, rule="r", subject="person 7"))
    assert sum(rows_read(plan, "sessions") for plan in executed) <= 10, f"of {ENDED:,} sessions"
