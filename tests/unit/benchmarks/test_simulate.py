"""The simulated throughput agrees with the utilisation law if one part is the bottleneck."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.simulate import Plan, simulate

SMALL = Plan(workers=1, children=2, cores=8, postgres=8)


def per_minute(plan: Plan, jobs: int = 400, seed: int = 1) -> float:
    return simulate(plan, jobs, np.random.default_rng(seed)).jobs_a_minute


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plan", "busy"),
    [
        (SMALL, "workers' children"),
        (Plan(workers=40, children=10, cores=40, postgres=1, apis=9), "Postgres"),
        (Plan(workers=4, children=60, cores=1, postgres=64, apis=9), "workers' processors"),
        (Plan(workers=80, children=60, cores=60, postgres=400, apis=1, latency_ms=1), "API processes"),
        (Plan(workers=2, children=20, concurrency=8, shared_cores=2, latency_ms=5), "the machine"),
    ],
)
def test_simulated_throughput_equals_the_utilisation_law_of_the_bottleneck(plan, busy):
    bounds = plan.bounds()
    assert min(bounds, key=bounds.__getitem__) == busy
    jobs = max(400, 8 * plan.workers * plan.children) if busy != "API processes" else 6000
    assert per_minute(plan, jobs) == pytest.approx(bounds[busy], rel=0.1)


def test_twice_the_workers_give_twice_the_throughput_while_workers_are_the_bottleneck():
    assert per_minute(replace(SMALL, workers=2)) / per_minute(SMALL) == pytest.approx(2, rel=0.05)


@pytest.mark.slow
def test_more_workers_do_not_raise_throughput_if_postgres_is_the_bottleneck():
    plan = Plan(workers=40, children=10, cores=40, postgres=1, apis=9)
    assert per_minute(replace(plan, workers=80), 3000) == pytest.approx(per_minute(plan, 3000), rel=0.05)


def test_the_same_seed_gives_the_same_throughput_and_another_seed_nearly_the_same():
    assert per_minute(SMALL) == per_minute(SMALL)
    assert per_minute(SMALL, seed=2) == pytest.approx(per_minute(SMALL), rel=0.05)


def test_jobs_wait_long_only_if_the_load_exceeds_the_capacity():
    carries = min(SMALL.bounds().values())
    calm = simulate(SMALL, 400, np.random.default_rng(1), per_minute=0.3 * carries)
    crowded = simulate(SMALL, 400, np.random.default_rng(1), per_minute=2 * carries)
    assert calm.wait_ms < 100
    assert crowded.wait_ms > 20 * max(1.0, calm.wait_ms)
