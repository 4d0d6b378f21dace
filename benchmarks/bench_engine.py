"""Overhead of the engine for a job, and gain of a second worker: ``python -m benchmarks.bench_engine [JOBS]``.

Overhead: many tiny jobs over Postgres and Redis through real workers, against the same requests carried
out in this process one after the other, without a queue. Throughput: the same jobs for a slow
service, with one and with two worker processes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import structlog

from tests.support.counting_target import CountingTarget, rating_request
from tests.support.postgres import PostgresServer
from tests.support.redis import RedisServer
from tests.support.reference_ratings import reference_ratings
from tests.support.scaled_agency import running_agency

UNHURRIED = {"ASSAY_LEASE_S": "30", "ASSAY_HEARTBEAT_S": "3", "ASSAY_RECONCILE_S": "5", "ASSAY_REDISPATCH_S": "15"}


def jobs_per_minute(
    postgres: PostgresServer,
    redis: RedisServer,
    requests: Sequence[Mapping[str, Any]],
    *,
    workers: int,
    concurrency: int,
) -> float:
    """Measure an agency's jobs a minute, from the first POST to the last rating.

    The first jobs, one for each child, are a warm-up and are not timed.
    """
    redis.flush()
    children = workers * concurrency
    with running_agency(
        workers=workers, concurrency=concurrency, settings=UNHURRIED, postgres=postgres, redis=redis
    ) as agency:
        agency.finished([agency.post(each) for each in requests[:children]])
        start = time.perf_counter()
        agency.finished([agency.post(each) for each in requests[children:]], seconds=600)
        return (len(requests) - children) * 60 / (time.perf_counter() - start)


def main() -> None:
    """Run the benchmark and print its numbers."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 24
    with CountingTarget(0) as target, PostgresServer.running() as postgres, RedisServer.running() as redis:
        quick = [rating_request(target.url(f"quick-{seed}"), seed, concurrency=8) for seed in range(count + 1)]
        reference_ratings(quick[:1])
        start = time.perf_counter()
        reference_ratings(quick[1:])
        alone = count * 60 / (time.perf_counter() - start)
        queued = jobs_per_minute(postgres, redis, quick, workers=1, concurrency=1)
        added_ms = (60 / queued - 60 / alone) * 1000
        print(
            f"engine: {count} jobs of 120 free calls, one child: in one process {alone:.0f} jobs/min, "
            f"by API, queue and worker {queued:.0f}/min, ratio {queued / alone:.2f} ({added_ms:.0f} ms more a job)",
            flush=True,
        )
        target.delay_s = 0.05
        slow = [rating_request(target.url(f"slow-{seed}"), seed) for seed in range(count + 4)]
        one = jobs_per_minute(postgres, redis, slow[2:], workers=1, concurrency=2)
        two = jobs_per_minute(postgres, redis, slow, workers=2, concurrency=2)
        print(
            f"workers: {count} jobs of 120 calls of 50 ms, two children a worker: 1 worker {one:.0f} jobs/min, "
            f"2 workers {two:.0f}/min, ratio {two / one:.2f} (2 is ideal)",
            flush=True,
        )


if __name__ == "__main__":
    main()
