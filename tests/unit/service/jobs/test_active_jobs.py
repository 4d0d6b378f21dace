"""Concurrent requests cannot exceed the maximum number of a tenant's unfinished jobs together."""

from service.http.idempotency import Repeatable
from service.http.json import Answer
from service.http.problems import Problem
from service.jobs import service as submission
from service.jobs.service import Order
from store.core.database import Database
from store.jobs import jobs
from tests.support.concurrency import run_concurrently
from tests.support.jobs import new_job


def test_the_sum_of_concurrent_requests_does_not_exceed_the_maximum_of_unfinished_jobs(database_url):
    connections = [Database(database_url) for _ in range(12)]

    def post(number: int) -> str:
        order = Order(new_job(tenant="acme", request_digest=f"sha256:{number}"))
        repeat = Repeatable("acme POST /v1/jobs", None, "", 24)
        try:
            with connections[number].write() as c:
                submission._place_order(c, order, repeat, lambda *_: Answer(202, b"", {}), 3, False, permitted=True)
        except Problem as refused:
            return refused.kind.code
        return "created"

    codes = run_concurrently(12, post)
    assert sorted(codes) == ["created"] * 3 + ["too-many-jobs"] * 9
    with connections[0].read() as c:
        assert jobs.count_unfinished(c, "acme") == 3
    for each in connections:
        each.close()
