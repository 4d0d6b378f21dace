"""Single faults on an agency of two APIs and two workers, as promised in docs/reliability.md."""

from __future__ import annotations

import asyncio
import http.client
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.error import HTTPError
from urllib.request import urlopen

import psycopg
import pytest

from benchmarks.load import get, hammer
from store.core import migrate
from store.core.database import Database
from store.core.settings import Settings
from store.jobs import jobs
from tests.support.commands import run_command
from tests.support.counting_target import rating_request
from tests.support.promise_checker import check_promises
from workers.engine.tasks import RUN_JOB, JobNotifier, make_celery


def wait_for(read, seconds: float = 240, every: float = 0.1):
    """Poll a function until its result is true; return the result."""
    until = time.monotonic() + seconds
    while not (result := read()):
        assert time.monotonic() < until, f"not true within {seconds} s"
        time.sleep(every)
    return result


def status_of(port: int, method: str, path: str, timeout: float = 30) -> tuple[int, dict[str, str], float]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    start = time.monotonic()
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        answer.read()
        return answer.status, dict(answer.headers), time.monotonic() - start
    finally:
        connection.close()


def metric(port: int, name: str) -> float:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        return float(re.search(rf"^{name} ([0-9.e+-]+)$", answer.read().decode(), re.MULTILINE)[1])


@pytest.fixture
def port(agency) -> int:
    return int(agency.client(0).url.rsplit(":", 1)[1])


# ---------------------------------------------------------------------------- Redis
def test_job_posted_while_redis_is_down_runs_after_redis_is_back(agency, post):
    agency.redis.stop()
    try:
        batch = post(2)
        time.sleep(1)
        assert {agency.job(job_id)["status"] for job_id in batch.ids} == {"queued"}
    finally:
        agency.redis.start()
    batch.survived()


def test_jobs_finish_although_redis_was_frozen_for_some_seconds(agency, post):
    batch = post(2)
    agency.redis.freeze()
    try:
        more = post_another(agency, batch)
        time.sleep(4)
    finally:
        agency.redis.thaw()
    batch.survived()
    assert agency.finished([more], 60)[0]["status"] == "succeeded"


def post_another(agency, batch) -> str:
    return agency.post(rating_request(batch.target.url(f"{batch.names[0]}-more"), 99))


def test_jobs_are_accepted_and_finish_while_redis_is_out_of_memory(agency, post, port):
    agency.redis.command("CONFIG", "SET", "maxmemory", "1")
    try:
        before = metric(port, "assay_doorbell_failures_total")
        batch = post(2, place=0)
        wait_for(lambda: metric(port, "assay_doorbell_failures_total") > before)
    finally:
        agency.redis.command("CONFIG", "SET", "maxmemory", "0")
    batch.survived()


FILL = "for i = 1, 200 do redis.call('SET', 'filler' .. i, string.rep('x', 10000)) end"


# Row 82 of docs/reliability.md: at c37b512 Redis at its memory limit was not tested.
def test_running_jobs_and_reads_continue_while_redis_is_at_its_memory_limit(agency, post, port):
    """The data that Redis stores while jobs run reach the limit; Redis then refuses writes (policy `noeviction`)."""
    batch = post(2, delay_s=0.1, place=0)
    for job_id in batch.ids:
        agency.asked(job_id, 5)
    used = int(re.search(rb"used_memory:(\d+)", agency.redis.command("INFO", "memory"))[1])
    agency.redis.command("CONFIG", "SET", "maxmemory", str(used + 200_000))
    try:
        agency.redis.command("EVAL", FILL, "0")  # Redis lets a script that began below the limit exceed it
        assert agency.redis.command("SET", "more", "x").startswith(b"-OOM")
        before = metric(port, "assay_doorbell_failures_total")
        more = agency.post(rating_request(batch.target.url("while-redis-is-full"), 9), 0)
        wait_for(lambda: metric(port, "assay_doorbell_failures_total") > before)
        ended = agency.finished(batch.ids)
        assert {job["status"] for job in ended} == {"succeeded"}, "running jobs need nothing from Redis"
        assert agency.job(more)["asked"] >= 0, "statuses are readable"
        assert {each["id"] for each in agency.read("/v1/jobs?limit=3")["items"]} == {more, *batch.ids}
        assert "doorbell not rung" in agency.logs()
    finally:
        agency.redis.command("CONFIG", "SET", "maxmemory", "0")
        agency.redis.flush()
    found = batch.survived()
    assert [found.claims[job_id] for job_id in batch.ids] == [1, 1]
    assert agency.finished([more])[0]["status"] == "succeeded"


def test_a_job_whose_message_redis_lost_is_announced_again(agency, post):
    for worker in agency.workers:
        worker.freeze()
    try:
        batch = post(5)
        # each frozen worker already holds one message, which is not lost; the others are in Redis and are deleted
        in_redis = 5 - len(agency.workers)
        wait_for(lambda: int(agency.redis.command("LLEN", "celery").strip(b":\r\n")) >= in_redis)
        agency.redis.flush()
    finally:
        for worker in agency.workers:
            worker.thaw()
    batch.survived()


def test_message_delivered_ten_times_runs_the_job_once(agency, post):
    ring = JobNotifier(make_celery(Settings(broker_url=agency.redis.url)))
    batch = post(1)
    for _ in range(10):
        ring(batch.ids[0])
    found = batch.survived()
    assert found.claims[batch.ids[0]] == 1


def test_invalid_messages_in_the_job_queue_are_ignored(agency, post):
    app = make_celery(Settings(broker_url=agency.redis.url))
    app.send_task("assay.of_another_version", args=["job_x"], ignore_result=True)
    app.send_task(RUN_JOB, args=["job_that_never_was"], ignore_result=True)
    app.send_task(RUN_JOB, args=[{"not": "an id"}, 3], ignore_result=True)
    post(2).survived()


def test_worker_without_messages_exits_with_75_and_is_restarted_to_run_the_jobs(agency, post):
    """The consumer is cancelled through Celery's remote control, so that the worker gets no messages."""
    before = [len(worker.exits) for worker in agency.workers]
    app = make_celery(Settings(broker_url=agency.redis.url))
    answered = wait_for(lambda: app.control.cancel_consumer("celery", reply=True, timeout=3))
    assert len(answered) == 2
    batch = post(3)
    batch.survived(seconds=360)
    codes = [code for worker, seen in zip(agency.workers, before, strict=True) for code in worker.exits[seen:]]
    assert codes
    assert set(codes) == {75}


# ---------------------------------------------------------------------------- Postgres
def test_responses_are_503_with_retry_after_while_postgres_is_down(agency, post, port):
    batch = post(2)
    agency.asked(batch.ids[0], 5)
    agency.postgres.stop(immediately=True)
    try:
        for method, path in (("GET", "/v1/jobs/job_x"), ("GET", "/v1/jobs"), ("GET", "/readyz")):
            status, headers, seconds = status_of(port, method, path)
            assert (status, headers["content-type"]) == (503, "application/problem+json")
            assert int(headers["retry-after"]) > 0
            assert seconds < 8
        assert status_of(port, "GET", "/livez")[0] == 200
    finally:
        agency.postgres.start()
    batch.survived()


@contextmanager
def locked(database_url: str, statement: str) -> Iterator[None]:
    with psycopg.connect(database_url) as connection:
        connection.execute(statement)
        yield


def test_exhausted_connection_pool_answers_503_after_its_timeout(agency):
    """Every connection waits for a lock; the next request is refused after pool_timeout_s (2 s)."""
    seen: list[tuple[int, float]] = []
    port = int(agency.client(1).url.rsplit(":", 1)[1])

    def ask(number: int) -> None:
        status, _, seconds = status_of(port, "GET", f"/v1/jobs/job_of_nobody_{number}", timeout=60)
        seen.append((status, seconds))

    with locked(agency.database_url, "LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE"):
        threads = [threading.Thread(target=ask, args=(number,)) for number in range(60)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert {status for status, _ in seen} == {503}
    refused = sorted(seconds for _, seconds in seen)
    assert len(refused) == 60
    assert refused[0] < 3.5, "requests without a connection fail after two seconds"
    assert status_of(port, "GET", "/v1/jobs/job_x")[0] == 404


FULL_DISK = """
CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = '53100'; END $$
"""


def test_full_disk_loses_no_job_and_stores_no_partial_rating(agency, post, port):
    """Triggers simulate the full disk: the tables refuse rows with error 53100."""
    batch = post(2, delay_s=0.1)
    for job_id in batch.ids:
        agency.asked(job_id, 5)
    with psycopg.connect(agency.database_url, autocommit=True) as connection:
        connection.execute(FULL_DISK)
        for table in ("observations", "ratings", "jobs"):
            connection.execute(f"CREATE TRIGGER full_disk BEFORE INSERT ON {table} EXECUTE FUNCTION full_disk()")
        try:
            with pytest.raises(ValueError, match="answered 503"):
                agency.post(rating_request(batch.target.url("x"), 1), 0)
            time.sleep(3)
            assert connection.execute(
                "SELECT count(*) FROM ratings WHERE job_id = ANY(%s)", [batch.ids]
            ).fetchone() == (0,)
        finally:
            for table in ("observations", "ratings", "jobs"):
                connection.execute(f"DROP TRIGGER full_disk ON {table}")
            connection.execute("DROP FUNCTION full_disk()")
    batch.survived()


AHEAD = """
import sys, time
real = time.time
time.time = lambda: real() + 3600
from store.core.database import Database
from store.jobs import jobs
with Database(sys.argv[1]).write() as connection:
    print(jobs.claim(connection, sys.argv[2], "an hour ahead", 30), jobs.due(connection))
"""


def test_a_worker_whose_clock_is_an_hour_ahead_claims_no_job_that_another_worker_runs(agency, post):
    """Only the database's clock counts: a worker an hour ahead sees no lease as ended."""
    batch = post(1, delay_s=0.05)
    agency.asked(batch.ids[0], 5)
    done = subprocess.run(
        [sys.executable, "-c", AHEAD, agency.database_url, batch.ids[0]], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["None", "[]"]
    assert batch.survived().claims[batch.ids[0]] == 1


# ---------------------------------------------------------------------------- processes
def test_a_job_runs_even_if_the_api_died_between_storing_and_announcing_it(agency, target):
    """A copied row of a job, without a message, simulates an API that died between commit and message."""
    asked = rating_request(target.url("undispatched"), 5)
    job_id = agency.post(asked)
    with psycopg.connect(agency.database_url, autocommit=True) as connection:
        new_id = f"{job_id}X"
        columns = [
            row[0]
            for row in connection.execute(
                "SELECT column_name FROM information_schema.columns WHERE table_name = 'jobs' AND column_name <> 'id'"
            )
        ]
        names = ", ".join(columns)
        wait_for(lambda: agency.job(job_id)["status"] == "succeeded")
        connection.execute(
            f"INSERT INTO jobs (id, {names}) SELECT %s, {names} FROM jobs WHERE id = %s", [new_id, job_id]
        )
        connection.execute(
            "UPDATE jobs SET status = 'queued', stage = 'queued', asked = 0, failed_calls = 0, calls = 0, "
            "observed = 0, attempt = 0, attempts_without_progress = 0, fence = 0, dispatched_at = NULL, "
            "finished_at = NULL, rating_id = NULL, lease_owner = NULL WHERE id = %s",
            [new_id],
        )
    assert agency.finished([new_id], 60)[0]["status"] == "succeeded"


def test_no_job_exists_if_the_api_dies_before_it_commits_the_job(agency, target):
    name, seen = "never", list[BaseException]()

    def try_to_post() -> None:
        try:
            agency.post(rating_request(target.url(name), 5), 0)
        except (OSError, http.client.HTTPException) as error:
            seen.append(error)

    with locked(agency.database_url, "LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE"):
        posting = threading.Thread(target=try_to_post)
        posting.start()
        time.sleep(1)
        agency.apis[0].kill()
        posting.join(40)
        time.sleep(1)  # the server checks twice a second whether the client is still connected
    assert len(seen) == 1
    wait_for(lambda: agency.client(0).wait_until_ready(30))
    listed = agency.read(f"/v1/jobs?target_url={target.url(name)}")
    assert listed["items"] == []


def test_job_that_kills_every_worker_fails(agency, target, post):
    """Each attempt is killed before it records an observation."""
    before = len(check_promises(agency.database_url, all_ended=False).broken)
    target.delay_s = 30
    job_id = agency.post(rating_request(target.url("poison"), 3))
    done = threading.Event()

    def kill_its_worker() -> None:
        fence = 0
        while not done.wait(0.05):
            with psycopg.connect(agency.database_url, autocommit=True) as connection:
                row = connection.execute(
                    "SELECT fence, lease_owner FROM jobs WHERE id = %s AND status = 'running'", [job_id]
                ).fetchone()
            if row is not None and row[0] > fence:
                pid = int(row[1].split(":")[1])
                for child in [child for worker in agency.workers for child in worker.children() if child.pid == pid]:
                    child.kill()
                    fence = row[0]

    killer = threading.Thread(target=kill_its_worker)
    killer.start()
    try:
        ended = agency.finished([job_id], 120)[0]
    finally:
        done.set()
        killer.join(10)
        target.delay_s = 0.02
    assert (ended["status"], ended["error"]["code"], ended["attempt"]) == ("failed", "worker_lost", 5)
    assert len(check_promises(agency.database_url, all_ended=False).broken) == before
    post(2).survived()


def test_processes_refuse_to_start_on_a_newer_database_schema(agency, tmp_path):
    name = f"newer_{time.monotonic_ns()}"
    agency.postgres.execute(f"CREATE DATABASE {name}")
    migrate.upgrade(agency.postgres.url(name))
    agency.postgres.execute("UPDATE alembic_version SET version_num = '9999_from_the_future'", name)
    clean = {key: value for key, value in os.environ.items() if not key.startswith("ASSAY_")}
    for command in (("worker",), ("serve", "--port", "0")):
        environment = {**clean, **agency.environment, "ASSAY_DATABASE_URL": agency.postgres.url(name)}
        done = run_command(*command, environment=environment)
        assert done.returncode == 69
        assert "schema" in done.stderr
        assert "Traceback" not in done.stderr


def test_cancelled_job_stops_within_ten_seconds(agency, target):
    target.delay_s = 0.1
    job_id = agency.post(rating_request(target.url("unwanted"), 8))
    agency.asked(job_id, 4)
    agency.client(1).post(f"/v1/jobs/{job_id}/cancel", {})
    start = time.monotonic()
    assert agency.finished([job_id], 30)[0]["status"] == "cancelled"
    assert time.monotonic() - start < 10
    with pytest.raises(ValueError, match="answered 409"):
        agency.client(0).post(f"/v1/jobs/{job_id}/cancel", {})
    target.delay_s = 0.02


# ---------------------------------------------------------------------------- many clients and jobs at once
def test_400_concurrent_pollers_of_a_job_are_answered_within_five_seconds(agency, target, port):
    target.delay_s = 0.05
    job_id = agency.post(rating_request(target.url("watched"), 4))
    _, each = asyncio.run(hammer(port, iter([get(f"/v1/jobs/{job_id}")] * 4000), 400, b"HTTP/1.1 200"))
    target.delay_s = 0.02
    assert len(each) == 4000
    assert sorted(each)[int(0.99 * len(each))] < 5, "99 of 100 wait less than five seconds, on a busy machine"
    assert agency.finished([job_id])[0]["status"] == "succeeded"


def test_jobs_that_rate_the_same_service_share_its_limit_of_concurrent_calls(agency, target):
    """Four processes of two workers call a target that allows two concurrent calls."""
    target.delay_s = 0.03
    name = "polite"
    target.most_at_once[name] = 0
    ids = [agency.post(rating_request(target.url(name), seed, concurrency=2)) for seed in range(4)]
    ended = agency.finished(ids)
    target.delay_s = 0.02
    assert {job["status"] for job in ended} == {"succeeded"}
    assert target.most_at_once[name] == 2


def test_the_query_for_due_jobs_uses_an_index(agency):
    """The plan of its query has no sequential scan."""
    database = Database(agency.database_url)
    with database.read() as connection:
        assert jobs.due(connection) == []
    database.close()
    with psycopg.connect(agency.database_url) as connection:
        connection.execute("SET enable_seqscan = off")
        plan = "\n".join(
            row[0]
            for row in connection.execute(
                "EXPLAIN SELECT id FROM jobs WHERE (status = 'queued' AND next_run_at <= 1) "
                "OR (status = 'running' AND lease_until <= 1)"
            )
        )
    assert "Seq Scan" not in plan


def test_unknown_path_is_404(agency):
    with pytest.raises(HTTPError) as refused:
        urlopen(f"{agency.client(0).url}/v1/nothing", timeout=10)
    with refused.value:
        assert refused.value.code == 404
