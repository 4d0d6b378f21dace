"""``make scaled-demo``: run the agency as several processes and kill one of each kind.

Postgres, Redis (with ``BROKER=rabbitmq`` also RabbitMQ), two API processes and two workers rate services whose
behaviour is known. Exits with 0 if every service got the expected letter and no promise (`check_promises`) was broken.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import structlog
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from demo.server import DemoServer
from tests.support.counting_target import rating_request
from tests.support.promise_checker import check_promises
from tests.support.rabbitmq import RabbitServer
from tests.support.scaled_agency import ScaledAgency, running_agency

EXPECTED = (
    ("faithful", "DSBS"),
    ("always-he", "BS"),
    ("stereotyper", "BS"),
    ("balancing", "UCS"),
    ("echo", None),
    ("slow", "DSBS"),
)
"""Services of the demonstration, and the letter each must get; None is "nothing could be measured"."""

ROUNDS = 3
"""Number of jobs for each service."""

console = Console(highlight=False)


@dataclass
class PostedJob:
    """A job of the demonstration."""

    service: str
    expected: str | None
    job_id: str


@dataclass
class Kill:
    """A killed process and its time."""

    what: str
    at_s: float


def main() -> int:
    """Run the demonstration; 0 is success."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--broker", choices=("redis", "rabbitmq"), default="redis", help="what announces the jobs")
    is_rabbit = parser.parse_args().broker == "rabbitmq"
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    console.print(f"Starting Postgres, Redis, {'RabbitMQ, ' if is_rabbit else ''}two API processes and two workers …")
    with ExitStack() as stack:
        services = stack.enter_context(DemoServer())
        rabbit = stack.enter_context(RabbitServer.running()) if is_rabbit else None
        agency = stack.enter_context(running_agency(apis=2, workers=2, rabbit=rabbit))
        start = time.monotonic()
        posted_jobs = [
            _post_job(agency, services, index, service, letter, seed)
            for seed in range(ROUNDS)
            for index, (service, letter) in enumerate(EXPECTED)
        ]
        kills = _kill_processes(agency, posted_jobs, start)
        seconds = time.monotonic() - start
        succeeded = _print_results(agency, posted_jobs, kills, seconds)
    return 0 if succeeded else 1


def _post_job(
    agency: ScaledAgency, services: DemoServer, index: int, service: str, letter: str | None, seed: int
) -> PostedJob:
    api = index % len(agency.apis)
    job_id = agency.post(rating_request(services.url(service), seed, concurrency=4), api)
    return PostedJob(service, letter, job_id)


def _kill_processes(agency: ScaledAgency, jobs: list[PostedJob], start: float) -> list[Kill]:
    """Show the progress of the jobs, and kill one process of each kind."""
    processes: list[tuple[str, Callable[[], None]]] = [
        ("worker-0, its children too", agency.workers[0].kill),
        ("redis, with all it held" if agency.broker is agency.redis else "rabbitmq", agency.broker.restart),
        ("api-0", agency.apis[0].kill),
        ("postgres", agency.postgres.restart),
    ]
    kills: list[Kill] = []
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("jobs ended", total=len(jobs))
        ended_ids: set[str] = set()
        while len(ended_ids) < len(jobs):
            for posted_job in jobs:
                if posted_job.job_id not in ended_ids and agency.job(posted_job.job_id)["finished_at"] is not None:
                    ended_ids.add(posted_job.job_id)
            progress.update(bar, completed=len(ended_ids))
            # the kills are spread over the run; no process is killed at its end
            jobs_before_kill = len(kills) * len(jobs) // (len(processes) + 2) + 1
            if len(kills) < len(processes) and len(ended_ids) >= jobs_before_kill:
                process, kill = processes[len(kills)]
                kill()
                kills.append(Kill(process, time.monotonic() - start))
                progress.console.print(f"  killed {process}")
            time.sleep(0.2)
    return kills


def _print_results(agency: ScaledAgency, posted_jobs: list[PostedJob], kills: list[Kill], seconds: float) -> bool:
    promises = check_promises(agency.database_url)
    table = Table("service", "expected", "got", "jobs", "attempts", box=box.SIMPLE)
    succeeded = not promises.broken and promises.statuses == {"succeeded": len(posted_jobs)}
    for service, expected in EXPECTED:
        jobs = [job for job in posted_jobs if job.service == service]
        letters = {_letter_of_job(agency.job(job.job_id)) for job in jobs}
        succeeded &= letters == {expected}
        attempts = " ".join(str(promises.claims[job.job_id]) for job in jobs)
        table.add_row(
            service,
            _letter_text(expected),
            ", ".join(sorted(map(_letter_text, letters))),
            str(len(jobs)),
            attempts,
        )
    console.print(table)
    console.print("Killed: " + "; ".join(f"{kill.what} at {kill.at_s:.0f} s" for kill in kills))
    console.print(f"{len(posted_jobs)} jobs ended in {seconds:.0f} s; {_promises_sentence(promises.broken)}")
    for broken_promise in promises.broken:
        console.print(f"  {broken_promise}", markup=False)
    return succeeded and len(kills) == 4


def _letter_of_job(job: dict[str, Any]) -> str | None:
    rating = job["rating"]
    return rating["letter"] if rating is not None else "no rating"


def _letter_text(letter: str | None) -> str:
    return letter if letter is not None else "nothing measured"


def _promises_sentence(broken: list[str]) -> str:
    if not broken:
        return "every one exactly once, nothing was written under an old fence."
    return f"{len(broken)} promises were broken:"


if __name__ == "__main__":
    sys.exit(main())
