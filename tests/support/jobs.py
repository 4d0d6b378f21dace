"""Jobs for tests of the store and of workers."""

from __future__ import annotations

from typing import Any

from store.jobs import jobs
from store.jobs.jobs import Job, NewJob
from workers.engine.worker_context import WorkerContext
from workers.run_job import run_job

PLAIN: dict[str, Any] = {
    "tenant": "default",
    "kind": "rating",
    "target_id": None,
    "target": {"name": "x", "base_url": "http://127.0.0.1:1"},
    "sealed_secret": None,
    "experiment": {},
    "request_digest": "sha256:1",
    "seed": 7,
    "visibility": "private",
    "callback_url": None,
    "max_calls": 10_000,
    "deadline_s": 600,
    "expected": 10,
    "key_id": None,
}


def new_job(**changes: Any) -> NewJob:
    """Return a job to store: a private rating of tenant ``default``; given fields replace these defaults."""
    return NewJob(**PLAIN | changes)


def run_to_end(context: WorkerContext, new: NewJob) -> Job:
    """Store a job, run it in this process, and return the ended job."""
    with context.database.write() as connection:
        job = jobs.add(connection, new)
    run_job(job.id, context, "a worker")
    with context.database.read() as connection:
        ended = jobs.find(connection, job.id, None)
    assert ended is not None
    return ended
