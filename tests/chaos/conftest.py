"""Fixtures of the chaos tests: an agency, a target that counts its calls, and the check of promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.counting_target import CountingTarget, rating_request
from tests.support.promise_checker import PromiseReport, check_promises, repeated
from tests.support.reference_ratings import reference_ratings, without_run
from tests.support.scaled_agency import ScaledAgency, running_agency

CHUNK = 20 + 4
"""Calls that a crash can repeat: 20 replies between two commits and 4 calls in flight."""


@dataclass(frozen=True)
class Scale:
    """Number of faults and jobs of a test."""

    kills: int
    jobs: int


SCALES = {
    "short": {"workers": Scale(3, 8), "frozen": Scale(2, 6), "redis": Scale(3, 8), "postgres": Scale(2, 6)},
    "long": {"workers": Scale(20, 60), "frozen": Scale(20, 24), "redis": Scale(15, 45), "postgres": Scale(8, 24)},
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
def agency(target: CountingTarget) -> Iterator[ScaledAgency]:
    with running_agency(apis=2, workers=2) as one:
        yield one


@dataclass
class Batch:
    """Jobs of an agency with their expected ratings."""

    agency: ScaledAgency
    target: CountingTarget
    names: list[str]
    ids: list[str]
    expected: list[dict[str, Any]]

    def survived(self, *, seconds: float = 360, chunk: int = CHUNK) -> PromiseReport:
        """Wait for every job and check every promise of docs/reliability.md."""
        ended = self.agency.finished(self.ids, seconds)
        assert {job["status"] for job in ended} == {"succeeded"}, [job["error"] for job in ended]
        found = check_promises(self.agency.database_url, all_ended=False)
        assert found.broken == []
        ratings = [without_run(self.agency.read(job["rating"]["href"])) for job in ended]
        assert ratings == self.expected, "a job with faults got another rating than without"
        for name, job_id in zip(self.names, self.ids, strict=True):
            crashes = found.claims[job_id] - 1
            again = repeated(found, job_id, self.target.counts[name])
            assert again <= crashes * chunk, f"{again} calls were repeated after {crashes} crashes"
        return found


@pytest.fixture
def post(agency: ScaledAgency, target: CountingTarget, request: pytest.FixtureRequest) -> Callable[..., Batch]:
    return poster(agency, target, request.node.name)


def poster(agency: ScaledAgency, target: CountingTarget, test: str) -> Callable[..., Batch]:
    def post(jobs: int, *, delay_s: float = 0.02, place: int | None = None, seeds: Sequence[int] = ()) -> Batch:
        names = [f"{test}-{number}" for number in range(jobs)]
        asked = [rating_request(target.url(name), seed) for seed, name in enumerate(names)]
        target.delay_s = 0
        expected = reference_ratings(asked)
        for name in names:
            target.counts[name].clear()
        target.delay_s = delay_s
        ids = [agency.post(each, place) for each in asked]
        return Batch(agency, target, names, ids, expected)

    return post
