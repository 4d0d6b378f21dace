"""Reading badges a thousand times a second: ``python -m benchmarks.bench_badge [REQUESTS]``.

The service runs as it does in production, in a process of its own over a real Postgres. A public rating is
stored; its badge is read by address, by target and by name, from 64 connections that stay open. The reference
is a bare endpoint that answers a document without reading anything, under the same load, in turns.

Also printed: the number of database reads during the load, by the service's own count and by Postgres's
(which includes everything else that the service does), and the number of jobs afterwards.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

from sqlalchemy import text

from benchmarks.bench_api import agency, bare
from benchmarks.load import get, hammer
from store.core import migrate
from store.core.database import Database
from store.jobs import jobs
from store.jobs.job import NewJob
from store.ratings.ratings import NewRating
from store.targets import targets
from store.targets.targets import NewTarget
from tests.support.new_ratings import new_rating
from tests.support.postgres import PostgresServer
from tests.support.redis import RedisServer

ROUNDS = 3
CONNECTIONS = 64
WANTED_PER_S = 1000
READS_PER_S = 10
URL = "http://127.0.0.1:9"


@dataclass(frozen=True)
class Load:
    """Result of a load: answers, seconds, and database reads by two counts."""

    answers: int
    seconds: float
    reads: float
    transactions: int

    @property
    def rate(self) -> float:
        """Answers per second."""
        return self.answers / self.seconds


def publish(url: str) -> tuple[str, str]:
    """Store a saved target and a public rating of it; return their ids."""
    database = Database(url)
    target = {"name": "bench", "kind": "translator", "protocol": "libretranslate", "base_url": URL}
    try:
        with database.write() as c:
            saved = targets.add(
                c,
                NewTarget(
                    id="tgt_bench",
                    tenant="default",
                    settings={},
                    limits={},
                    visibility="public",
                    sealed_secret=None,
                    **target,
                ),
            )
            job = jobs.add(c, _job(target, saved.id))
            claim = jobs.claim(c, job.id, "bench")
            assert claim is not None
            return saved.id, jobs.finish(c, claim, _rating(saved.id))
    finally:
        database.close()


def _job(target: dict[str, str], target_id: str) -> NewJob:
    return NewJob(
        tenant="default",
        kind="rating",
        target_id=target_id,
        target=target,
        sealed_secret=None,
        experiment={"method": "round-trip", "attribute": "gender"},
        request_digest="sha256:1",
        seed=7,
        visibility="public",
        callback_url=None,
        max_calls=1,
        deadline_s=60,
        expected=1,
        key_id=None,
    )


def _rating(target_id: str) -> NewRating:
    target = {"name": "bench", "kind": "translator", "protocol": "libretranslate", "url": URL, "digest": "sha256:0"}
    said = {"letter": "DSBS", "declared": True, "method": "round-trip", "attribute": "gender"}
    probabilities = {"BS": 0.004, "DSBS": 0.996, "UCS": 0.0}
    document = {**said, "target": target, "probabilities": probabilities, "components": []}
    return new_rating(
        tenant="default",
        target_id=target_id,
        target=target,
        method="round-trip",
        attribute="gender",
        letter="DSBS",
        declared=True,
        visibility="public",
        document=document | {"methodology": {"version": "1.0.0", "digest": "sha256:0"}, "visibility": "public"},
        methodology_version="1.0.0",
        request_digest="sha256:1",
        valid_for_s=86_400,
        description="default",
    )


def load(port: int, server: PostgresServer, paths: tuple[str, ...], count: int, *, ours: bool) -> Load:
    """Read the paths in turn, `count` times in all."""
    turn: Iterator[str] = itertools.cycle(paths)
    requests = (get(next(turn)) for _ in range(count))
    reads, transactions = (counted(port), committed(server)) if ours else (0.0, 0)
    seconds, each = asyncio.run(hammer(port, requests, CONNECTIONS, b"HTTP/1.1 200"))
    if ours:
        reads, transactions = counted(port) - reads, committed(server) - transactions
    return Load(len(each), seconds, reads, transactions)


def counted(port: int) -> float:
    """Return the service's own count of database reads for badges."""
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith('assay_embeds_total{outcome="read"}'):
                return float(line.rpartition(" ")[2])
    return 0.0


def committed(server: PostgresServer) -> int:
    """Return the number of finished Postgres transactions, which Postgres reports a second later."""
    time.sleep(1.2)
    return number(server, "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()")


def number(server: PostgresServer, query: str) -> int:
    """Ask the database for one number."""
    database = Database(server.url())
    try:
        with database.read() as c:
            return int(c.execute(text(query)).scalar_one())
    finally:
        database.close()


def main() -> None:
    """Run the benchmark and print its numbers."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 6000
    folder = Path(tempfile.mkdtemp(prefix="assay-bench-"))
    with ExitStack() as stack:
        server = stack.enter_context(PostgresServer.running())
        redis = stack.enter_context(RedisServer.running())
        migrate.upgrade(server.url())
        target_id, rating_id = publish(server.url())
        reference = stack.enter_context(bare())
        ours = stack.enter_context(agency(server.url(), redis.url, folder))
        for what, paths in (
            ("one badge, by address", (f"/v1/badge.svg?target_url={URL}",)),
            ("one badge, by rating", (f"/v1/ratings/{rating_id}/badge.svg",)),
            (
                "four badges of it in turn",
                (
                    f"/v1/badge.svg?target_url={URL}",
                    f"/v1/badge.json?target_url={URL}",
                    f"/v1/targets/{target_id}/badge.svg",
                    f"/v1/ratings/{rating_id}/badge.svg",
                ),
            ),
        ):
            base = max(load(reference, server, ("/v1/jobs/job_0",), count, ours=False).rate for _ in range(ROUNDS))
            own = [load(ours, server, paths, count, ours=True) for _ in range(ROUNDS)]
            best = max(own, key=lambda one: one.rate)
            reads = max(one.reads / one.seconds for one in own)
            transactions = max(one.transactions / (one.seconds + 1.2) for one in own)
            print(
                f"{what}: bare {base:.0f}/s, Assay {best.rate:.0f}/s (wanted >= {WANTED_PER_S}), "
                f"ratio {best.rate / base:.2f}; badges read from the database {reads:.1f}/s (wanted <= {READS_PER_S}), "
                f"all its transactions {transactions:.1f}/s",
                flush=True,
            )
        started = number(server, "SELECT count(*) FROM jobs") - 1  # without the job that made the rating
        print(f"jobs started by {3 * ROUNDS * count} readings: {started}", flush=True)


if __name__ == "__main__":
    main()
