"""Waiting for what takes a while: long polls, as few requests as possible."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

from assay_client import calls
from assay_client.call import Call, as_json, as_response
from assay_client.documents import Job, Rating, RatingRequest, Suite
from assay_client.errors import JobFailed, StillRunning, retry_after_s
from assay_client.exchange import Flow, Patience, Pause, exchanged

T = TypeVar("T")
Clock = Callable[[], float]

LONGEST_POLL_S = 30
"""The longest that the service holds an answer back."""

UNFINISHED = frozenset({"queued", "running"})


def _ended(
    poll: Callable[[int], Call[Any]], timeout_s: float | None, patience: Patience, clock: Clock
) -> Flow[dict[str, Any]]:
    """Ask, each time for as long as the service will wait, until the status says that it has ended."""
    until = math.inf if timeout_s is None else clock() + timeout_s
    while True:
        began = clock()
        call = poll(int(max(0.0, min(LONGEST_POLL_S, until - began))))
        response = yield from exchanged(dataclasses.replace(call, read=as_response), patience)
        shown: dict[str, Any] = as_json(response)
        if shown["status"] not in UNFINISHED:
            return shown
        now = clock()
        if now >= until:
            raise StillRunning(shown["id"], shown["status"], timeout_s or 0.0)
        # a long poll has waited already; a service that does not wait says when to ask again
        pause_s = min(began + (retry_after_s(response) or 1.0), until) - now
        if pause_s > 0:
            yield Pause(pause_s)


def job_ended(job_id: str, timeout_s: float | None, patience: Patience, clock: Clock) -> Flow[Job]:
    """Wait until a job has succeeded, failed or been cancelled."""
    ended = yield from _ended(lambda wait_s: calls.get_job(job_id, wait_s=wait_s), timeout_s, patience, clock)
    return cast("Job", ended)


def suite_ended(suite_id: str, timeout_s: float | None, patience: Patience, clock: Clock) -> Flow[Suite]:
    """Wait until every job of a suite has ended."""
    ended = yield from _ended(lambda wait_s: calls.get_suite(suite_id, wait_s=wait_s), timeout_s, patience, clock)
    return cast("Suite", ended)


def asked(body: RatingRequest, idempotency_key: str, patience: Patience) -> Flow[Job]:
    """Ask for a rating."""
    return exchanged(calls.request_rating(body, idempotency_key=idempotency_key), patience)


def rated(
    body: RatingRequest, idempotency_key: str, timeout_s: float | None, patience: Patience, clock: Clock
) -> Flow[Rating]:
    """Ask for a rating, wait for it, and read it.

    Raises
    ------
    JobFailed
        If the job failed or was cancelled.
    StillRunning
        If it has not ended after `timeout_s`.
    """
    job = yield from asked(body, idempotency_key, patience)
    if job["status"] in UNFINISHED:
        job = yield from job_ended(job["id"], timeout_s, patience, clock)
    if job["rating"] is None:
        raise JobFailed(job)
    return (yield from exchanged(calls.get_rating(job["rating"]["id"]), patience))
