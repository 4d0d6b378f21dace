"""Simulation of an agency's jobs a minute, from measured pieces: ``python -m benchmarks.simulate [--check]``.

A discrete-event model of API processes, Postgres, and workers with their children, with the bound by the
utilisation law: a part that is busy for d milliseconds of every job handles at most 60,000 / d jobs a minute
for each of its servers. With ``--check``, the model is compared with real runs on this machine, with one, two
and four workers.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Generator
from dataclasses import dataclass, field, replace

import numpy as np
import simpy
import structlog
from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.bench_pieces import Pieces

MEASURED = Pieces(
    select_1=0.36,
    add=1.3,
    claim=1.41,
    record=3.30,
    heartbeat=0.71,
    announce=2.11,
    ring=0.20,
    call=0.42,
    job=67.4,
    bytes_an_observation=489,
    bytes_an_event=217,
)
"""Results of `benchmarks.bench_pieces`, on the machine that docs/scaling.md was written on."""

REPLIES_A_COMMIT = 20
POST_MS = 2.4
"""Processor time of a POST in the API, without `ring` (measured on a busy machine, against the pieces above)."""

Steps = Generator[simpy.Event, object, None]


@dataclass(frozen=True)
class Plan:
    """An agency and its work.

    Attributes
    ----------
    apis, workers, children : int
        API processes; worker machines; children of each.
    cores : int
        Processor cores of a worker machine.
    postgres : int
        Statements that Postgres carries out at a time: its cores.
    calls : int
        Calls of a job.
    latency_ms : float
        Time that the rated service takes for a call.
    concurrency : int
        Calls of a job at a time.
    shared_cores : int, optional
        Number of cores, if everything runs on one machine.
    pieces : Pieces
        Time of each piece.
    """

    apis: int = 1
    workers: int = 1
    children: int = 4
    cores: int = 2
    postgres: int = 4
    calls: int = 120
    latency_ms: float = 50
    concurrency: int = 8
    shared_cores: int | None = None
    pieces: Pieces = field(default=MEASURED)

    @property
    def commits(self) -> int:
        """Number of writes to the ledger for a job."""
        return math.ceil(self.calls / REPLIES_A_COMMIT)

    @property
    def database_ms(self) -> float:
        """Postgres's time for a job: adding, announcing, claiming, recording, rating; heartbeats every 3 s."""
        one = self.pieces
        beats = one.heartbeat * self.waiting_ms / 3000
        return one.add + one.announce + one.claim + (self.commits + 1) * one.record + beats

    @property
    def worker_ms(self) -> float:
        """A worker's processor time for a job."""
        return self.pieces.job + self.calls * self.pieces.call

    @property
    def waiting_ms(self) -> float:
        """Time for which a job waits for the rated service."""
        return self.calls / self.concurrency * self.latency_ms

    @property
    def api_ms(self) -> float:
        """An API process's time for a job."""
        return POST_MS + self.pieces.ring

    def bounds(self) -> dict[str, float]:
        """Return the jobs a minute at which each part is always busy."""
        held_ms = self.waiting_ms + self.worker_ms + self.pieces.claim + (self.commits + 1) * self.pieces.record
        if self.shared_cores is not None:
            everything = self.api_ms + self.worker_ms + self.database_ms
            return {
                "workers' children": self.workers * self.children * 60_000 / held_ms,
                "the machine": self.shared_cores * 60_000 / everything,
            }
        return {
            "API processes": self.apis * 60_000 / self.api_ms,
            "Postgres": self.postgres * 60_000 / self.database_ms,
            "workers' children": self.workers * self.children * 60_000 / held_ms,
            "workers' processors": self.workers * self.cores * 60_000 / self.worker_ms,
        }


@dataclass(frozen=True)
class Simulated:
    """Jobs a minute, and the wait of a job until it is claimed (milliseconds: median and 95 %)."""

    jobs_a_minute: float
    wait_ms: float
    wait_95_ms: float


def simulate(plan: Plan, jobs: int, rng: np.random.Generator, *, per_minute: float | None = None) -> Simulated:
    """Run `jobs` jobs through the model.

    Parameters
    ----------
    plan : Plan
        The agency.
    jobs : int
        Number of jobs.
    rng : Generator
        Random generator for arrivals and service times.
    per_minute : float, optional
        Rate of arrival; without it, all jobs arrive at once.
    """
    world = simpy.Environment()
    shared = simpy.Resource(world, plan.shared_cores) if plan.shared_cores is not None else None
    api = shared or simpy.Resource(world, plan.apis)
    database = shared or simpy.Resource(world, plan.postgres)
    processor = shared or simpy.Resource(world, plan.workers * plan.cores)
    children = simpy.Resource(world, plan.workers * plan.children)
    waits: list[float] = []

    def use(what: simpy.Resource, ms: float) -> Steps:
        with what.request() as turn:
            yield turn
            yield world.timeout(ms)

    def one_job(arrival_ms: float) -> Steps:
        one = plan.pieces
        yield world.timeout(arrival_ms)
        yield from use(api, plan.api_ms)
        yield from use(database, one.add + one.announce)
        due = world.now
        with children.request() as turn:
            yield turn
            waits.append(world.now - due)
            yield from use(database, one.claim)
            yield from use(processor, one.job)
            left = plan.calls
            while left:
                some = min(left, REPLIES_A_COMMIT)
                left -= some
                yield world.timeout(some / plan.concurrency * plan.latency_ms * rng.uniform(0.9, 1.1))
                yield from use(processor, some * one.call)
                yield from use(database, one.record)
            yield from use(database, one.record)

    gap_ms = 0.0 if per_minute is None else 60_000 / per_minute
    arrivals = np.cumsum(rng.exponential(gap_ms, jobs)) if gap_ms else np.zeros(jobs)
    for arrival in arrivals:
        world.process(one_job(float(arrival)))
    world.run()
    return Simulated(jobs * 60_000 / world.now, float(np.median(waits)), float(np.quantile(waits, 0.95)))


def check() -> None:
    """Compare the model with real runs on this machine."""
    from benchmarks.bench_engine import jobs_per_minute
    from tests.support.counting_target import CountingTarget, rating_request
    from tests.support.postgres import PostgresServer
    from tests.support.redis import RedisServer

    jobs, latency_ms = 24, 50.0
    here = Plan(children=2, concurrency=2, latency_ms=latency_ms, shared_cores=2)
    table = Table("workers", "model, jobs/min", "measured", "error", "what is busy first", box=box.SIMPLE)
    with (
        CountingTarget(latency_ms / 1000) as target,
        PostgresServer.running() as postgres,
        RedisServer.running() as redis,
    ):
        for workers in (1, 2, 4):
            plan = replace(here, workers=workers)
            asked = [
                rating_request(target.url(f"{workers}-{seed}"), seed) for seed in range(jobs + workers * plan.children)
            ]
            measured = jobs_per_minute(postgres, redis, asked, workers=workers, concurrency=plan.children)
            model = simulate(plan, jobs, np.random.default_rng(1)).jobs_a_minute
            bounds = plan.bounds()
            table.add_row(
                str(workers),
                f"{model:.0f}",
                f"{measured:.0f}",
                f"{(model - measured) / measured:+.0%}",
                min(bounds, key=lambda name: bounds[name]),
            )
    Console(width=100).print(table)


def main() -> None:
    """Print the saturation point of each resource, or check the model."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    if "--check" in sys.argv:
        check()
        return
    table = Table(
        "agency", *Plan().bounds(), "simulated", box=box.SIMPLE, title="jobs a minute, jobs of 120 calls of 50 ms"
    )
    for name, plan in (
        ("1 API, 1 worker of 4 children", Plan()),
        ("1 API, 4 workers of 8", Plan(workers=4, children=8, cores=4)),
        ("2 APIs, 32 workers of 16", Plan(apis=2, workers=32, children=16, cores=4)),
        ("8 APIs, 512 workers of 32, 32 cores of Postgres", Plan(8, 512, 32, 8, 32)),
    ):
        model = simulate(plan, max(200, plan.workers * plan.children * 3), np.random.default_rng(1))
        bounds = [f"{each:,.0f}" for each in plan.bounds().values()]
        table.add_row(name, *bounds, f"{model.jobs_a_minute:,.0f}")
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
