"""How a job ends when it does not end with a rating: failed, resting, cancelled, or handed back."""

from __future__ import annotations

from typing import Any

import structlog

from assay.errors import AssayError
from store import jobs, observations
from store.errors import LeaseLost, StoreUnavailable
from store.jobs import Claim
from workers.driver import TargetRefused, TargetResting, TargetUnavailable
from workers.egress import CallFailed
from workers.heart import Stopped
from workers.problems import problem
from workers.targets.capability import TargetUnfit
from workers.workplace import Workplace, seconds_left

log = structlog.get_logger()

TRANSIENT = frozenset({"connect", "timeout", "truncated", "http-500", "http-502", "http-503", "http-504", "http-429"})
"""Failures that are forgotten, and so asked again, when a job rests."""


def end_badly(workplace: Workplace, claim: Claim, error: Exception) -> str:
    """Leave the job's row in a true state after an error.

    Parameters
    ----------
    workplace : Workplace
        What the worker has at hand.
    claim : Claim
        The job; it may no longer be ours, and then nothing is written.
    error : Exception
        What ended the work.

    Returns
    -------
    str
        How the job was left: ``failed``, ``cancelled``, ``released``, ``resting``, ``lease-lost`` or
        ``database-unavailable``.
    """
    try:
        return _end(workplace, claim, error)
    except LeaseLost:
        workplace.meter.lease_losses.inc()
        log.warning("lease lost", job=claim.job.id)
        return "lease-lost"
    except StoreUnavailable as unavailable:  # the lease will run out, and the job be resumed
        log.warning("database unavailable", job=claim.job.id, why=str(unavailable))
        return "database-unavailable"


def _end(workplace: Workplace, claim: Claim, error: Exception) -> str:
    match error:
        case LeaseLost() | StoreUnavailable():
            raise error
        case Stopped():
            return _leave(workplace, claim, error)
        case TargetUnavailable():
            return _rest_or_fail(workplace, claim, error, workplace.settings.breaker_delay_s)
        case TargetResting(rest_s=rest_s):
            return _rest_or_fail(workplace, claim, error, rest_s)
        case TargetUnfit(failure=failure) if failure is not None and failure.retriable and claim.job.observed:
            # at first nobody wants to wait for a service that is not there; in the middle it may come back
            return _rest_or_fail(workplace, claim, TargetUnavailable(failure), workplace.settings.breaker_delay_s)
        case TargetUnfit() | TargetRefused() | CallFailed() | TimeoutError() | AssayError():
            return _fail(workplace, claim, problem(error))
        case _:
            log.error("job failed unexpectedly", job=claim.job.id, exc_info=error)
            return _fail(workplace, claim, problem(error))


def _fail(workplace: Workplace, claim: Claim, why: dict[str, Any]) -> str:
    with workplace.database.write() as connection:
        jobs.fail(connection, claim, why)
    log.info("job failed", job=claim.job.id, code=why["code"])
    return "failed"


def _rest_or_fail(
    workplace: Workplace, claim: Claim, unavailable: TargetUnavailable | TargetResting, rest_s: float
) -> str:
    """Let the job rest while its target recovers; give up when the deadline would pass meanwhile."""
    if claim.job.kind == "probe" or seconds_left(claim) <= rest_s:
        return _fail(workplace, claim, problem(unavailable))
    with workplace.database.write() as connection:
        observations.forget_failures(connection, claim, TRANSIENT)
        jobs.release(connection, claim, delay_s=rest_s, charge_attempt=False)
    log.warning("target unavailable; job rests", job=claim.job.id, why=str(unavailable))
    return "resting"


def _leave(workplace: Workplace, claim: Claim, stopped: Stopped) -> str:
    """End a stopped job: cancelled for good, or handed back for another worker."""
    if stopped.why == "lease-lost":
        raise LeaseLost(claim.job.id, claim.fence)
    with workplace.database.write() as connection:
        if stopped.why == "cancelled":
            jobs.cancel(connection, claim)
        else:
            jobs.release(connection, claim, charge_attempt=False)
    log.info("job left", job=claim.job.id, why=stopped.why)
    return "cancelled" if stopped.why == "cancelled" else "released"
