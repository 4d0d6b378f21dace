"""Whatever is killed, and however often: every job finishes exactly once, with the rating it would have had."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import pytest

SEED = 20260118

SLOW_S = 0.05
"""What an answer takes where the faults must find jobs at work: 3 s a job, four jobs at a time."""


def disturb(rng: np.random.Generator, times: int, fault: Callable[[], None], least_s: float, most_s: float) -> None:
    """Do something `times` times, at random moments."""
    for number in range(1, times + 1):
        time.sleep(rng.uniform(least_s, most_s))
        fault()
        print(f"fault {number} of {times}", file=sys.stderr)


@pytest.fixture
def rng() -> np.random.Generator:
    print(f"seed {SEED}")
    return np.random.default_rng(SEED)


def test_worker_groups_are_killed(agency, post, scales, rng):
    batch = post(scales["workers"].jobs, delay_s=SLOW_S)

    def kill_group() -> None:
        worker = agency.workers[rng.integers(2)]
        worker.kill()

    disturb(rng, scales["workers"].kills, kill_group, 1.5, 3)
    found = batch.survived(seconds=600)
    assert max(found.claims[job_id] for job_id in batch.ids) > 1, "no job was struck; the test shows nothing"


def test_pool_children_are_killed(agency, post, scales, rng):
    batch = post(scales["workers"].jobs // 2)

    def kill_child() -> None:
        worker = agency.workers[rng.integers(2)]
        while not (children := worker.children()):  # on a slow machine a pool takes its time to start
            time.sleep(0.1)
        children[rng.integers(len(children))].kill()

    disturb(rng, scales["workers"].kills, kill_child, 1, 2)
    batch.survived(seconds=600)


def test_a_worker_is_frozen_beyond_its_lease_and_thawed(agency, post, scales, rng):
    batch = post(scales["frozen"].jobs)

    def freeze() -> None:
        worker = agency.workers[rng.integers(2)]
        worker.freeze()
        time.sleep(3.5)  # the lease is 2 s
        worker.thaw()

    disturb(rng, scales["frozen"].kills, freeze, 0.5, 1.5)
    batch.survived(seconds=600)


def test_redis_is_killed_and_comes_back_empty(agency, post, scales, rng):
    batch = post(scales["redis"].jobs)
    disturb(rng, scales["redis"].kills, agency.redis.restart, 0.5, 2.5)
    batch.survived(seconds=600)


def test_postgres_crashes_and_recovers(agency, post, scales, rng):
    batch = post(scales["postgres"].jobs, delay_s=SLOW_S)
    disturb(rng, scales["postgres"].kills, agency.postgres.restart, 1, 3)
    # while the ledger cannot be written, up to five commits' worth of replies wait in memory
    found = batch.survived(seconds=600, chunk=5 * 20 + 4)
    assert max(found.claims[job_id] for job_id in batch.ids) > 1, "no job was struck; the test shows nothing"


def test_everything_at_once(agency, post, rng):
    batch = post(6)

    def anything() -> None:
        faults = (agency.workers[0].kill, agency.workers[1].kill, agency.redis.restart, agency.postgres.restart)
        faults[rng.integers(len(faults))]()
        agency.apis[rng.integers(2)].kill()

    disturb(rng, 4, anything, 1, 2)
    batch.survived(seconds=600, chunk=5 * 20 + 4)
