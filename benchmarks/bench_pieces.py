"""Cost of each piece of the engine: ``python -m benchmarks.bench_pieces [--json]``.

Over a real Postgres and Redis, in this process. Each time is shown with its ratio to ``SELECT 1`` on the
same connection, which applies to other machines better than milliseconds do. `benchmarks.simulate`
combines the pieces.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import psycopg
import structlog
from rich import box
from rich.console import Console
from rich.table import Table
from sqlalchemy import text

from assay.model import Observation, Probe, Reply, Translate
from store.core import migrate
from store.core.database import Connection, Database
from store.core.settings import Settings
from store.jobs import jobs
from store.jobs.jobs import LedgerEntry, NewJob
from tests.support.counting_target import CountingTarget, rating_request
from tests.support.postgres import PostgresServer
from tests.support.redis import RedisServer
from tests.support.reference_ratings import reference_ratings
from workers.engine.tasks import JobNotifier, make_celery

TIMES = 200
MOST = 100_000


@dataclass(frozen=True)
class Pieces:
    """Milliseconds of each piece.

    Attributes
    ----------
    select_1 : float
        The shortest possible statement.
    add : float
        A POST's transaction: looking for existing work, then writing the job and its event.
    claim, record, heartbeat, announce : float
        Taking a job; recording 20 replies; a heartbeat; finding and marking a due job.
    ring : float
        Sending a message through Celery.
    call : float
        Processor time of one call in a job, without the time of the service.
    job : float
        Processor time of a job without its calls.
    bytes_an_observation, bytes_an_event : float
        Space of a row in Postgres, its indexes included.
    """

    select_1: float
    add: float
    claim: float
    record: float
    heartbeat: float
    announce: float
    ring: float
    call: float
    job: float
    bytes_an_observation: float
    bytes_an_event: float


def measure() -> Pieces:
    """Measure every piece."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    with PostgresServer.running() as server, RedisServer.running() as redis:
        migrate.upgrade(server.url())
        database = Database(server.url())
        ring = JobNotifier(make_celery(Settings(broker_url=redis.url)))
        found = _in_the_database(database) | {"ring": _median_ms(lambda: ring("job_x"))} | _sizes(server.url())
        database.close()
    call, job = _of_a_job()
    return Pieces(**found, call=call, job=job)


def _in_the_database(database: Database) -> dict[str, float]:
    def write(work: Callable[[Connection], object]) -> float:
        def once() -> None:
            with database.write() as connection:
                work(connection)

        return _median_ms(once)

    def read_1(connection: Connection) -> None:
        connection.execute(text("SELECT 1"))

    new = iter(_new_job(number) for number in range(10**9))

    def add(connection: Connection) -> None:
        job = next(new)
        jobs.lock_transaction(connection, job.request_digest)
        jobs.existing_work(connection, job, 0, MOST)
        jobs.add(connection, job)

    found = {"add": write(add)}
    with database.write() as connection:
        ids = jobs.due(connection, TIMES)
    turn = iter(ids)
    claims: list[jobs.Claim] = []

    def claim(connection: Connection) -> None:
        taken = jobs.claim(connection, next(turn), "bench", 3600)
        assert taken is not None
        claims.append(taken)

    found["claim"] = write(claim)
    rounds = iter(range(10**9))

    def record(connection: Connection) -> None:
        at = next(rounds)
        jobs.record(connection, claims[at % len(claims)], _entries(20 * at), calls=20, expected=240, stage="asking")

    found["record"] = write(record)
    found["heartbeat"] = write(lambda c: jobs.heartbeat(c, claims[0], 3600))
    with database.write() as connection:
        for each in claims:
            jobs.release(connection, each, charge_attempt=False)
    found["announce"] = write(lambda c: jobs.mark_dispatched(c, jobs.due(c, 1)))
    return found | {"select_1": write(read_1)}


def _of_a_job() -> tuple[float, float]:
    """Return the processor time of a call and of a job, from a line through two sizes of job."""
    with CountingTarget(0) as target:
        reference_ratings([rating_request(target.url("warm"), 1)])

        def cpu_s(texts: int) -> tuple[float, int]:
            name = f"job-{texts}"
            asked = rating_request(target.url(name), 2, concurrency=8)
            experiment = {**asked["experiment"], "texts_per_block": texts, "stop_early": False}
            start = time.process_time()
            reference_ratings([{**asked, "experiment": {**experiment, "max_texts_per_block": max(texts, 320)}}])
            return time.process_time() - start, target.calls(name)

        small, large = cpu_s(20), cpu_s(320)
    # includes the processor time of the target, about a third, because it runs in this process
    a_call = (large[0] - small[0]) / (large[1] - small[1])
    return a_call * 1000, max(0.0, (small[0] - a_call * small[1]) * 1000)


def _sizes(url: str) -> dict[str, float]:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ANALYZE")
        sizes = {}
        for name, table in (("bytes_an_observation", "observations"), ("bytes_an_event", "events")):
            row = connection.execute(
                f"SELECT pg_total_relation_size('{table}'), (SELECT count(*) FROM {table})"
            ).fetchone()
            assert row is not None
            sizes[name] = row[0] / row[1]
        return sizes


def _new_job(number: int) -> NewJob:
    asked = rating_request("http://127.0.0.1:9/bench", number)
    return NewJob(
        tenant="default",
        kind="rating",
        target_id=None,
        target=asked["target"],
        sealed_secret=None,
        experiment=asked["experiment"],
        request_digest=f"sha256:{number:064x}",
        seed=number,
        visibility="private",
        callback_url=None,
        max_calls=10_000,
        deadline_s=3600,
        expected=240,
        key_id=None,
    )


def _entries(start: int) -> list[LedgerEntry]:
    said = "La enfermera dijo que ella estaba cansada después del turno."
    asked = Translate("The nurse said that she was tired after the shift.", "en", "es")
    return [
        LedgerEntry(Observation(Probe(f"es/base/U/{start + place}/there", asked), Reply(said)), 1, 20)
        for place in range(20)
    ]


def _median_ms(work: Callable[[], object]) -> float:
    work_s = []
    for _ in range(TIMES):
        start = time.perf_counter()
        work()
        work_s.append(time.perf_counter() - start)
    return statistics.median(work_s) * 1000


def main() -> None:
    """Run the benchmark and print its numbers."""
    pieces = measure()
    if "--json" in sys.argv:
        print(json.dumps({name: round(value, 3) for name, value in asdict(pieces).items()}))
        return
    table = Table("piece", "ms", "times SELECT 1", "a second", box=box.SIMPLE)
    for name, value in asdict(replace(pieces)).items():
        if name.startswith("bytes"):
            table.add_row(name.replace("_", " "), f"{value:.0f} bytes", "", "")
        else:
            table.add_row(
                name.replace("_", " "), f"{value:.2f}", f"{value / pieces.select_1:.1f}", f"{1000 / value:.0f}"
            )
    Console(width=90).print(table)


if __name__ == "__main__":
    main()
