"""Soak test: memory and file descriptors of an agency under load (docs/reliability.md, row 60)."""

from __future__ import annotations

import sys
import time

import psutil
import pytest

from tests.support.counting_target import rating_request

SECONDS = {"short": 5, "long": 600}
MOST_GROWN_MB, MOST_MORE_FDS = 16, 8


def footprint(agency) -> tuple[float, int]:
    """Return the largest resident memory (MB) and number of file descriptors of a process of the agency."""
    memory, descriptors = 0.0, 0
    for each in agency.processes:
        family = [psutil.Process(each.process.pid), *each.children()]
        memory = max(memory, *(one.memory_info().rss / 2**20 for one in family))
        descriptors = max(descriptors, *(one.num_fds() for one in family))
    return memory, descriptors


def test_memory_and_file_descriptors_do_not_grow(agency, target, pytestconfig: pytest.Config):
    target.delay_s = 0
    seconds, seed = SECONDS[pytestconfig.getoption("--chaos-scale")], 0

    def some_jobs() -> None:
        nonlocal seed
        ids = []
        for _ in range(6):
            seed += 1
            ids.append(agency.post(rating_request(target.url("soak"), seed, concurrency=8)))
        ended = agency.finished(ids)
        assert {job["status"] for job in ended} == {"succeeded"}
        for job in ended:
            agency.read(job["rating"]["href"])
        agency.read("/v1/jobs?limit=50")

    for _ in range(3):  # warm up, so that every process has imported its modules and opened its files
        some_jobs()
    before_mb, before_fds = footprint(agency)
    until, print_at = time.monotonic() + seconds, time.monotonic()
    while time.monotonic() < until:
        some_jobs()
        if time.monotonic() > print_at:
            print_at += 30
            print(f"{seed} jobs, {footprint(agency)[0]:.0f} MB, {footprint(agency)[1]} descriptors", file=sys.stderr)
    after_mb, after_fds = footprint(agency)
    assert after_mb - before_mb < MOST_GROWN_MB, f"from {before_mb:.0f} to {after_mb:.0f} MB in {seed} jobs"
    assert after_fds - before_fds <= MOST_MORE_FDS, f"from {before_fds} to {after_fds} descriptors in {seed} jobs"
