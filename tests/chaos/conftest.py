"""Fixtures of the chaos tests: an agency, a target that counts its calls, and the check of promises."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from assay.canonical import canonical_json
from tests.support.counting_target import CountingTarget, rating_request
from tests.support.promise_checker import PromiseReport, check_promises, repeated
from tests.support.reference_ratings import reference_ratings, without_run
from tests.support.scaled_agency import ScaledAgency, running_agency
from workers.calls.driver import MOST_UNWRITTEN, Driver

MOST_REPEATED = MOST_UNWRITTEN * Driver.flush_replies + 4
"""Maximum of calls that a crash can repeat: replies that wait for a commit, and 4 calls in flight.

Usually 20 replies wait. More do where commits are slow, such as on a machine with more work than processors.
"""


@dataclass(frozen=True)
class Scale:
    """Number of faults and jobs of a test; `pause_s` is the time between two posts of jobs, in seconds.

    With `seeds`, jobs share that many seeds, so that fewer ratings are made for comparison. With `texts`, each job has
    this number of sentences per block. The agency has `workers` workers, each of
    which runs two jobs at once.
    """

    kills: int
    jobs: int
    pause_s: float = 0
    seeds: int | None = None
    texts: int | None = None
    workers: int = 2


LONG = {"workers": Scale(20, 60), "frozen": Scale(20, 24), "redis": Scale(15, 45), "postgres": Scale(8, 24)}
SCALES = {
    "short": {
        "workers": Scale(3, 8),
        "frozen": Scale(2, 6),
        "redis": Scale(3, 8),
        "postgres": Scale(2, 6),
        "all parts": Scale(5, 20, 0.5),
    },
    "long": {**LONG, "all parts": Scale(150, 1000, 1.2)},
    "night": {**LONG, "all parts": Scale(400, 10_000, 0.3, seeds=500, texts=12, workers=4)},
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.chaos)


@pytest.fixture(scope="session")
def scales(request: pytest.FixtureRequest) -> dict[str, Scale]:
    return SCALES[request.config.getoption("--chaos-scale")]


@pytest.fixture(scope="module")
def target() -> Iterator[CountingTarget]:
    with CountingTarget() as one:
        yield one


@pytest.fixture(scope="module")
def agency(target: CountingTarget, scales: dict[str, Scale]) -> Iterator[ScaledAgency]:
    with running_agency(apis=2, workers=scales["all parts"].workers) as started:
        yield started


@dataclass
class Batch:
    """Jobs of an agency, with the ratings and the number of calls of the same requests without faults.

    `ids` are the jobs that were posted, in the order of `requests`. `expected` has a rating for each seed; jobs take
    the seeds in turn.
    """

    agency: ScaledAgency
    target: CountingTarget
    names: list[str]
    requests: list[dict[str, Any]]
    expected: list[dict[str, Any]]
    expected_calls: int
    ids: list[str]

    def running(self) -> list[str]:
        """Return the ids of running jobs that have asked a question and have made less than 80 % of their calls."""
        most = self.expected_calls / len(self.ids) * 0.8
        jobs = [self.agency.job(job_id) for job_id in self.ids]
        return [job["id"] for job in jobs if job["status"] == "running" and 0 < job["asked"] < most]

    def survived(self, *, seconds: float = 360) -> PromiseReport:
        """Wait for every job and check every promise of docs/reliability.md."""
        ended = self.agency.finished(self.ids, seconds)
        assert {job["status"] for job in ended} == {"succeeded"}, [job["error"] for job in ended]
        found = check_promises(self.agency.database_url, all_ended=False)
        assert found.broken == []
        for name, job, expected in zip(self.names, ended, itertools.cycle(self.expected), strict=False):
            rating = without_run(self.agency.read(job["rating"]["href"]))
            assert rating["target"]["url"] == self.target.url(name)
            if len(self.expected) < len(ended):  # only the address of the service differs between jobs of a seed
                expected = expected | {"target": rating["target"]}
            assert canonical_json(rating) == canonical_json(expected), f"{name} got another rating than without faults"
        for name, job_id in zip(self.names, self.ids, strict=True):
            crashes = found.claims[job_id] - 1
            again = repeated(found, job_id, self.target.counts[name])
            assert again <= crashes * MOST_REPEATED, f"{again} calls were repeated after {crashes} crashes"
        return found


@pytest.fixture
def prepare(agency: ScaledAgency, target: CountingTarget, request: pytest.FixtureRequest) -> Callable[..., Batch]:
    """Write requests, and rate them without faults in this process; post none of them."""

    def prepare(jobs: int, *, seeds: int | None = None, texts: int | None = None) -> Batch:
        seeds = seeds or jobs
        names = [f"{request.node.name}-{number}" for number in range(jobs)]
        requests = [rating_request(target.url(name), number % seeds) for number, name in enumerate(names)]
        for asked in requests if texts is not None else ():
            asked["experiment"] |= {"texts_per_block": texts, "max_texts_per_block": texts}
        target.delay_s = 0
        expected = reference_ratings(requests[:seeds])
        calls = [target.calls(name) for name in names[:seeds]]
        for name in names[:seeds]:
            target.counts[name].clear()
        return Batch(agency, target, names, requests, expected, sum(itertools.islice(itertools.cycle(calls), jobs)), [])

    return prepare


@pytest.fixture
def post(agency: ScaledAgency, target: CountingTarget, prepare: Callable[..., Batch]) -> Callable[..., Batch]:
    """Prepare requests, and post them."""

    def post(jobs: int, *, delay_s: float = 0.02, place: int | None = None) -> Batch:
        batch = prepare(jobs)
        target.delay_s = delay_s
        batch.ids = [agency.post(each, place) for each in batch.requests]
        return batch

    return post
