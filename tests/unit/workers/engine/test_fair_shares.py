"""A running worker serves every tenant, and finishes all jobs of a tenant that had to wait for its share.

Row 92 of docs/reliability.md: at ffe18d3c 40 slow jobs of one tenant took every slot for a day.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from store.core.settings import Settings
from store.jobs import jobs
from store.ratings.experiment_json import dump_method, parse_method
from tests.support.counting_target import CountingTarget, rating_request
from tests.support.jobs import new_job
from workers.engine.embedded import EmbeddedWorker
from workers.engine.tasks import make_celery, open_context

GREEDY, SLOTS = 8, 4


def wait_until(condition: Callable[[], bool], seconds: float = 120) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "timed out"
        time.sleep(0.05)


@pytest.mark.slow
def test_slow_jobs_of_one_tenant_leave_a_worker_slot_for_another_tenant_and_all_jobs_finish(sqlite_url, tmp_path):
    settings = Settings(
        data_dir=tmp_path,
        database_url=sqlite_url,
        auth="keys",
        egress_allow="127.0.0.0/8",
        worker_concurrency=SLOTS,
        reconcile_s=3600,  # so that only the ends of jobs announce the jobs that wait
    )
    context = open_context(settings)

    def post(tenant: str, number: int, target: CountingTarget, worker: EmbeddedWorker) -> str:
        request = rating_request(target.url(f"{tenant}-{number}"), number)
        method = parse_method(request["experiment"])
        with context.database.write() as connection:
            new = new_job(
                tenant=tenant,
                target=request["target"],
                experiment=dump_method(method),
                request_digest=f"sha256:{tenant}{number}",
                expected=method.expected_probes(),
            )
            job = jobs.add(connection, new)
        worker.notifier(job.id)
        return job.id

    def by_status(tenant: str) -> dict[str, int]:
        with context.database.read() as connection:
            return jobs.counts_by_status(connection, tenant)

    with CountingTarget(delay_s=2) as target:
        worker = EmbeddedWorker(make_celery(settings), context, concurrency=SLOTS)
        worker.start()
        try:
            for number in range(GREEDY):
                post("greedy", number, target, worker)
            wait_until(lambda: by_status("greedy").get("running") == SLOTS * 3 // 4)
            post("modest", 0, target, worker)
            wait_until(lambda: by_status("modest") == {"running": 1})
            assert by_status("greedy") == {"running": 3, "queued": GREEDY - 3}
            target.delay_s = 0
            wait_until(lambda: by_status("greedy") == {"succeeded": GREEDY})
            wait_until(lambda: by_status("modest") == {"succeeded": 1})
        finally:
            worker.close()
            context.database.close()
