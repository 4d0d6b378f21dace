"""Repeated random faults: every job finishes exactly once, with the same rating as without faults."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import pytest

SEED = 20260118

SLOW_S = 0.05
"""Seconds per reply in tests whose faults must hit running jobs: 3 s per job, four jobs at a time."""


def inject(rng: np.random.Generator, times: int, fault: Callable[[], None], least_s: float, most_s: float) -> None:
    """Call `fault` `times` times, after random pauses."""
    for number in range(1, times + 1):
        time.sleep(rng.uniform(least_s, most_s))
        fault()
        print(f"fault {number} of {times}", file=sys.stderr)


@pytest.fixture
def rng() -> np.random.Generator:
    print(f"seed {SEED}")
    return np.random.default_rng(SEED)


def test_jobs_survive_killed_workers(agency, post, scales, rng):
    batch = post(scales["workers"].jobs, delay_s=SLOW_S)

    def kill_group() -> None:
        worker = agency.workers[rng.integers(2)]
        worker.kill()

    inject(rng, scales["workers"].kills, kill_group, 1.5, 3)
    found = batch.survived(seconds=600)
    assert max(found.claims[job_id] for job_id in batch.ids) > 1, (
        "no fault hit a running job, so the test shows nothing"
    )


def test_jobs_survive_killed_pool_processes(agency, post, scales, rng):
    batch = post(scales["workers"].jobs // 2)

    def kill_child() -> None:
        worker = agency.workers[rng.integers(2)]
        while not (children := worker.children()):  # the process pool may start slowly
            time.sleep(0.1)
        children[rng.integers(len(children))].kill()

    inject(rng, scales["workers"].kills, kill_child, 1, 2)
    batch.survived(seconds=600)


def test_jobs_survive_workers_frozen_beyond_their_lease(agency, post, scales, rng):
    batch = post(scales["frozen"].jobs)

    def freeze() -> None:
        worker = agency.workers[rng.integers(2)]
        worker.freeze()
        time.sleep(3.5)  # longer than the lease of 2 s
        worker.thaw()

    inject(rng, scales["frozen"].kills, freeze, 0.5, 1.5)
    batch.survived(seconds=600)


def test_jobs_survive_the_loss_of_redis(agency, post, scales, rng):
    batch = post(scales["redis"].jobs)
    inject(rng, scales["redis"].kills, agency.redis.restart, 0.5, 2.5)
    batch.survived(seconds=600)


def test_jobs_survive_crashes_of_postgres(agency, post, scales, rng):
    batch = post(scales["postgres"].jobs, delay_s=SLOW_S)
    interrupted: list[str] = []

    def crash() -> None:
        # a job whose lease outlives the restart continues without another claim, so claims do not show which were hit
        until = time.monotonic() + 60
        while not interrupted and time.monotonic() < until:  # on a busy machine jobs may begin after the pause
            interrupted.extend(batch.running())
        agency.postgres.restart()

    inject(rng, scales["postgres"].kills, crash, 1, 3)
    # up to five commits of 20 replies wait in memory while the ledger cannot be written
    batch.survived(seconds=600)
    assert interrupted, "no fault hit a running job, so the test shows nothing"


def test_jobs_survive_random_faults_of_all_parts(agency, post, rng):
    batch = post(6)

    def random_fault() -> None:
        faults = (agency.workers[0].kill, agency.workers[1].kill, agency.redis.restart, agency.postgres.restart)
        faults[rng.integers(len(faults))]()
        agency.apis[rng.integers(2)].kill()

    inject(rng, 4, random_fault, 1, 2)
    batch.survived(seconds=600)
