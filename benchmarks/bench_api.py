"""POST and GET of a job against a bare FastAPI endpoint: ``python -m benchmarks.bench_api [REQUESTS]``.

The service runs as it does in production, in a process of its own over a real Postgres, without a
worker, so that jobs stay queued. The reference answers a document of the same size, and has no database.
Both get the same load, in turns, `ROUNDS` times; ratios of the median and the best rates are
printed.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from urllib.request import urlopen

from benchmarks.load import get, hammer, post
from store.core import migrate
from store.core.child_processes import ending_with_this_process
from tests.support.postgres import PostgresServer
from tests.support.redis import RedisServer

ROUNDS = 7
POLLERS = 1000


def body(seed: int) -> bytes:
    """Write a request for a rating; different seeds give different requests."""
    asked = {
        "target": {
            "name": "bench",
            "kind": "translator",
            "protocol": "libretranslate",
            "base_url": "http://127.0.0.1:9",
        },
        "experiment": {"method": "round-trip", "attribute": "gender", "languages": ["es"]},
        "seed": seed,
    }
    return json.dumps(asked).encode()


@contextmanager
def bare() -> Iterator[int]:
    """Run the reference."""
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.bare_api"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield int(process.stdout.readline())
        process.stdin.close()


@contextmanager
def agency(database_url: str, redis_url: str, folder: Path) -> Iterator[int]:
    """Run the service."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")},
        "ASSAY_DATABASE_URL": database_url,
        "ASSAY_BROKER_URL": redis_url,
        "ASSAY_SECRET_KEY": "only for this benchmark",
        "ASSAY_AUTH": "none",
        "ASSAY_EGRESS_ALLOW": "127.0.0.0/8",
        "ASSAY_MAX_ACTIVE_JOBS": "1000",
        "ASSAY_JOB_RATE": "1000000/second",
        "ASSAY_LOG_LEVEL": "error",
        "ASSAY_RECONCILE_S": "3600",
    }
    log = folder / "serve.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "cli.main", "serve", "--port", "0"],
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=ending_with_this_process(),
        )
    try:
        while b"http://127.0.0.1:" not in (said := log.read_bytes()):
            if process.poll() is not None:
                raise SystemExit(said.decode())
        port = int(said.partition(b"http://127.0.0.1:")[2].split()[0])
        with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10):
            yield port
    finally:
        process.terminate()
        process.wait(20)


def per_second(port: int, requests: Callable[[], Iterator[bytes]], connections: int, expect: bytes) -> float:
    """Measure requests answered per second."""
    seconds, each = asyncio.run(hammer(port, requests(), connections, expect))
    return len(each) / seconds


def main() -> None:
    """Run the benchmark and print its numbers."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 800
    seeds = itertools.count(1)
    folder = Path(tempfile.mkdtemp(prefix="assay-bench-"))
    with ExitStack() as stack:
        server = stack.enter_context(PostgresServer.running())
        redis = stack.enter_context(RedisServer.running())
        migrate.upgrade(server.url())
        reference = stack.enter_context(bare())
        ours = stack.enter_context(agency(server.url(), redis.url, folder))

        def posts(times: int) -> Iterator[bytes]:
            return (post("/v1/jobs", body(next(seeds))) for _ in range(count * times))

        def ids() -> list[str]:
            with urlopen(f"http://127.0.0.1:{ours}/v1/jobs?limit=200", timeout=10) as answer:
                return [job["id"] for job in json.load(answer)["items"]]

        def gets(times: int) -> Iterator[bytes]:
            turn = itertools.cycle(ids())
            return (get(f"/v1/jobs/{next(turn)}") for _ in range(2 * count * times))

        def polls(times: int) -> Iterator[bytes]:
            return itertools.repeat(get(f"/v1/jobs/{ids()[0]}"), times * max(count, 4 * POLLERS))

        def validations() -> Iterator[bytes]:
            return (post("/v1/validated", body(next(seeds))) for _ in range(4 * count))

        for what, requests, connections, expect, goal in (
            ("POST /v1/jobs, 16 connections", posts, 16, b"HTTP/1.1 202", 0.07),
            ("GET /v1/jobs/{id}, 200 jobs in turn, 16 connections", gets, 16, b"HTTP/1.1 200", 0.2),
            (f"GET /v1/jobs/{{id}}, {POLLERS} pollers on one job", polls, POLLERS, b"HTTP/1.1 200", 0.5),
        ):
            bare_rates, validated, own_rates = [], [], []
            for _ in range(ROUNDS):
                if requests is posts:  # empties the table: real tenants have hundreds of unfinished jobs, not thousands
                    server.execute("TRUNCATE jobs CASCADE")
                    validated.append(per_second(reference, validations, 16, expect))
                # the faster reference gets more requests, so that both runs take equally long and are equally often
                # disturbed
                bare_rates.append(per_second(reference, partial(requests, round(1 / goal)), connections, expect))
                own_rates.append(per_second(ours, partial(requests, 1), connections, expect))
            if validated:
                keeps_nothing = f"{statistics.median(validated):.0f}/s, ratio {_ratio(own_rates, validated)}"
                print(f"an endpoint that validates the same document and keeps nothing: {keeps_nothing}", flush=True)
            print(
                f"{what}: bare {statistics.median(bare_rates):.0f}/s, Assay {statistics.median(own_rates):.0f}/s, "
                f"ratio {_ratio(own_rates, bare_rates)} (goal >= {goal})",
                flush=True,
            )


def _ratio(own: list[float], other: list[float]) -> str:
    return f"{statistics.median(own) / statistics.median(other):.2f}, of the best {max(own) / max(other):.2f}"


if __name__ == "__main__":
    main()
