"""Waiting for jobs and suites by long polling, with as few requests as possible."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Callable
from typing import Any, cast

from assay_client.call import IDEMPOTENCY_KEY, Call, as_json, as_response, segment, wait
from assay_client.connection import RateOptions
from assay_client.documents import Job, Rating, RatingRequestExperiment, RatingRequestTarget, Suite
from assay_client.errors import JobFailed, StillRunning, retry_after_s
from assay_client.exchange import Flow, Patience, Pause, answer_of

Clock = Callable[[], float]

LONGEST_POLL_S = 30
"""Maximum time in seconds for which the service holds an answer back."""

UNFINISHED = frozenset({"queued", "running"})


def _poll_until_ended(path: str, timeout_s: float | None, patience: Patience, clock: Clock) -> Flow[dict[str, Any]]:
    deadline = math.inf if timeout_s is None else clock() + timeout_s
    while True:
        start = clock()
        poll_s = int(max(0.0, min(LONGEST_POLL_S, deadline - start)))
        response = yield from answer_of(Call("GET", path, as_response, headers={"Prefer": wait(poll_s)}), patience)
        document: dict[str, Any] = as_json(response)
        if document["status"] not in UNFINISHED:
            return document
        now = clock()
        if now >= deadline:
            raise StillRunning(document["id"], document["status"], seconds=timeout_s or 0.0)
        # the pause (1 s by default) counts from the start of the request, so that there is none after a long poll
        pause_s = min(start + (retry_after_s(response) or 1.0), deadline) - now
        if pause_s > 0:
            yield Pause(pause_s)


def finished_job(job_id: str, timeout_s: float | None, patience: Patience, clock: Clock = time.monotonic) -> Flow[Job]:
    """Wait until a job has succeeded, failed or been cancelled; return it. Raise `StillRunning` after `timeout_s`."""
    return cast("Job", (yield from _poll_until_ended(f"/v1/jobs/{segment(job_id)}", timeout_s, patience, clock)))


def finished_suite(
    suite_id: str, timeout_s: float | None, patience: Patience, clock: Clock = time.monotonic
) -> Flow[Suite]:
    """Wait until every job of a suite has ended, and return the suite; raise `StillRunning` after `timeout_s`."""
    return cast("Suite", (yield from _poll_until_ended(f"/v1/suites/{segment(suite_id)}", timeout_s, patience, clock)))


def new_job(
    target: RatingRequestTarget, experiment: RatingRequestExperiment, options: RateOptions, patience: Patience
) -> Flow[Job]:
    """Request a rating; return its job at once, without waiting for its end."""
    fields = {name: value for name, value in options.items() if name not in {"timeout_s", "idempotency_key"}}
    headers = {IDEMPOTENCY_KEY: options.get("idempotency_key") or str(uuid.uuid4())}
    body = {"target": target, "experiment": experiment, **fields}
    call: Call[Job] = Call("POST", "/v1/jobs", as_json, headers=headers, json=body)
    return answer_of(call, patience)


def new_rating(
    target: RatingRequestTarget, experiment: RatingRequestExperiment, options: RateOptions, patience: Patience
) -> Flow[Rating]:
    """Request a rating, wait for its job, and read the rating.

    Raises
    ------
    JobFailed
        If the job failed or was cancelled.
    StillRunning
        If the job has not ended after `timeout_s`.
    """
    job = yield from new_job(target, experiment, options, patience)
    if job["status"] in UNFINISHED:
        job = yield from finished_job(job["id"], options.get("timeout_s"), patience)
    if job["rating"] is None:
        raise JobFailed(job)
    rating_call: Call[Rating] = Call("GET", f"/v1/ratings/{segment(job['rating']['id'])}", as_json)
    return (yield from answer_of(rating_call, patience))
