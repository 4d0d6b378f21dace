"""How a job ends when it does not end with a rating: failed, resting, cancelled, or handed back.

What its author wrote or drew for a job that fails or is cancelled was paid for, and is kept all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import structlog

from assay.errors import AssayError
from store.core.database import Database
from store.core.errors import LeaseLost, StoreUnavailable
from store.jobs import jobs, observations
from store.jobs.jobs import Claim, Job
from store.ratings.experiment_json import parse_method
from workers.calls.driver import TargetRefused, TargetUnavailable
from workers.calls.limits import TargetResting
from workers.egress import CallFailed
from workers.engine.heartbeat import Stopped
from workers.engine.problems import problem
from workers.engine.worker_context import Workplace, seconds_left
from workers.generation import authored, writing
from workers.targets.checks.capability import TargetUnfit

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
    _end_and_keep(workplace, claim.job, lambda connection: jobs.fail(connection, claim, why))
    log.info("job failed", job=claim.job.id, code=why["code"])
    return "failed"


def _rest_or_fail(
    workplace: Workplace, claim: Claim, unavailable: TargetUnavailable | TargetResting, rest_s: float
) -> str:
    """Let the job rest while its target recovers; give up when the deadline would pass meanwhile."""
    if claim.job.kind == "probe" or seconds_left(claim) <= rest_s:
        return _fail(workplace, claim, problem(unavailable))
    with workplace.database.write() as connection:
        cancelled = jobs.hold(connection, claim).cancel_requested
        if not cancelled:
            observations.forget_failures(connection, claim, TRANSIENT)
            jobs.release(connection, claim, delay_s=rest_s, charge_attempt=False)
    if cancelled:
        return _cancel(workplace, claim)
    log.warning("target unavailable; job rests", job=claim.job.id, why=str(unavailable))
    return "resting"


def _leave(workplace: Workplace, claim: Claim, stopped: Stopped) -> str:
    """End a stopped job: cancelled for good, or handed back for another worker."""
    if stopped.why == "lease-lost":
        raise LeaseLost(claim.job.id, claim.fence)
    if stopped.why == "cancelled":
        return _cancel(workplace, claim)
    with workplace.database.write() as connection:
        cancelled = jobs.hold(connection, claim).cancel_requested
        if not cancelled:
            jobs.release(connection, claim, charge_attempt=False)
    if cancelled:
        return _cancel(workplace, claim)
    log.info("job left", job=claim.job.id, why=stopped.why)
    return "released"


def _cancel(workplace: Workplace, claim: Claim) -> str:
    _end_and_keep(workplace, claim.job, lambda connection: jobs.cancel(connection, claim))
    log.info("job left", job=claim.job.id, why="cancelled")
    return "cancelled"


# ---------------------------------------------------------------------------- what was made
def _end_and_keep(workplace: Workplace, job: Job, end: Callable[[Any], None]) -> None:
    """End a job and keep what its author made in one transaction; what cannot be kept does not hinder the end."""
    if job.kind == "writing" or job.author is not None:
        try:
            keep = _made(workplace.database, job)
            with workplace.database.write() as connection:
                end(connection)
                keep(connection)
        except LeaseLost:
            raise
        except Exception as error:  # whatever it is, the job ends, and the ledger has what was made
            log.warning("what was made is not kept", job=job.id, exc_info=error)
        else:
            return
    with workplace.database.write() as connection:
        end(connection)


def _made(database: Database, job: Job) -> Callable[[Any], None]:
    """Collect what an author made for a job so far; give what keeps it."""
    if job.kind == "writing":
        ordered = writing.collect_ordered(database, job)
        return lambda connection: writing.keep_ordered(connection, job, ordered)
    method = parse_method(job.experiment or {})
    made = authored.collect(database, job, method)
    return lambda connection: authored.keep(connection, job, made)
