"""What is read again and again touches the jobs it is about, however many have ended (docs/scaling.md)."""

from contextlib import closing

import pytest
from sqlalchemy import event, text

from store.core.database import Database
from store.jobs import jobs
from store.jobs.backlog import backlog
from tests.support.jobs import new_job

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
    """A database in which many jobs have ended and a few are due."""
    name = "many_ended"
    postgres_server.execute(f"CREATE DATABASE {name} TEMPLATE template STRATEGY FILE_COPY")
    with closing(Database(postgres_server.url(name))) as database:
        with database.write() as c:
            c.execute(text(MANY_ENDED))
            for number in range(DUE):
                jobs.add(c, asking(f"due {number}"))
            c.execute(text("ANALYZE jobs"))
        yield database
    postgres_server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def asking(digest):
    return new_job(tenant="acme", target={"name": "x", "base_url": "http://t/1"}, request_digest=f"sha256:{digest}")


def plans(database, work):
    """Do some work and have Postgres tell how it carried out each of its statements."""
    said = []

    def note(connection, cursor, statement, parameters, context, many):
        said.append((statement, parameters))

    with database.write() as c:
        event.listen(c, "before_cursor_execute", note)
        with c.begin_nested() as undone:
            work(c)
            undone.rollback()
        event.remove(c, "before_cursor_execute", note)
        told = [
            c.exec_driver_sql(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}", parameters).scalar_one()
            for statement, parameters in said
            if "SAVEPOINT" not in statement
        ]
        c.rollback()
    assert told
    return [one[0]["Plan"] for one in told]


def nodes(plan):
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes(inner)


def rows_looked_at(plan):
    """Count the rows of `jobs` that were read, those that were thrown away too."""
    return sum(
        (node["Actual Rows"] + node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0))
        * node["Actual Loops"]
        for node in nodes(plan)
        if node.get("Relation Name") == "jobs" and "Scan" in node["Node Type"]
    )


def blocks_read(plan):
    """Count the blocks of 8 kB that a statement went through."""
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]


def first_due(c):
    return jobs.find(c, jobs.due(c, 1)[0], None)


def add_new(c):
    new = asking("new one")
    jobs.serialise(c, new.request_digest)
    jobs.standing(c, "acme", new.request_digest, 3600, 500)
    jobs.add(c, new)


READS = {
    "the reconciler's look for due jobs": lambda c: jobs.due(c, 100),
    "burying poison": jobs.bury_poison,
    "the watchdog's count": lambda c: jobs.count_stranded(c, 15),
    "a status": lambda c: jobs.find(c, "job_old17", "acme"),
    "a place in the queue": lambda c: jobs.queue_position(c, first_due(c)),
    "how a request stands": lambda c: jobs.standing(c, "acme", "sha256:new", 3600, 500),
    "a POST": add_new,
    "the age of the queue": jobs.oldest_due_age_s,
    "what operators see": backlog,
}


@pytest.mark.parametrize("what", READS)
def test_no_read_that_is_repeated_looks_at_jobs_that_have_ended(database, what):
    told = plans(database, READS[what])
    looked_at = sum(rows_looked_at(plan) for plan in told)
    assert looked_at <= 3 * DUE, f"{what} looks at {looked_at} rows while {DUE} jobs are due"
    assert sum(blocks_read(plan) for plan in told) <= 60, "an index of all jobs has more than a hundred"


def test_the_count_would_notice(database):
    (plan,) = plans(database, lambda c: c.execute(text("SELECT id FROM jobs WHERE asked = 7")))
    assert rows_looked_at(plan) >= ENDED
    (plan,) = plans(database, lambda c: c.execute(text("SELECT count(*) FROM jobs WHERE target_url LIKE '%7'")))
    assert blocks_read(plan) > 100
