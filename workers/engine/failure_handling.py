"""End of a job without a result: failed, postponed, cancelled, or returned to the queue.

Texts and images that an author made for a failed or cancelled job are stored for reuse.
"""

from collections.abc import Callable
from typing import Any

import structlog

from assay.document import JsonObject
from assay.errors import AssayError, RecordError
from assay.model import service_said
from store.core.database import Connection, Database
from store.core.errors import LeaseLost, RatingsRefused, SecretLost, SecretMoved, StoreUnavailable
from store.jobs import jobs, observations
from store.jobs.jobs import Claim, Job
from store.ratings.experiment_json import parse_method
from workers.calls.driver import TargetUnavailable
from workers.calls.host_limits import HostCoolingDown
from workers.calls.limits import TargetCoolingDown
from workers.egress import CODES, RETRIABLE_STATUSES, CallFailed
from workers.engine.heartbeat import Overdue, Stopped
from workers.engine.worker_context import WorkerContext, seconds_left
from workers.generation import authored, corpus_sentences
from workers.job_targets import retriable_statuses
from workers.targets.checks.examination import TargetUnfit

log = structlog.get_logger()

TRANSIENT = frozenset(code for code, meaning in CODES.items() if meaning.retriable)
"""Codes of failures, besides HTTP statuses, that are deleted when a job waits, so that questions are asked again."""


def end_badly(context: WorkerContext, claim: Claim, error: Exception) -> str:
    """Store a job's state after an error, and return it; nothing is stored if another worker has the job.

    The state: ``failed``, ``cancelled``, ``released``/``resting`` (queued), ``lease-lost``, ``database-unavailable``.
    """
    try:
        return _end_after_error(context, claim, error)
    except LeaseLost:
        context.meter.lease_losses.inc()
        log.warning("lease lost", job=claim.job.id)
        return "lease-lost"
    except StoreUnavailable as unavailable:  # the job is resumed when its lease expires
        log.warning("database unavailable", job=claim.job.id, why=str(unavailable))
        return "database-unavailable"


def _end_after_error(context: WorkerContext, claim: Claim, error: Exception) -> str:
    """Fail, postpone, cancel or release a job, by the type of its error; return its end state."""
    match error:
        case LeaseLost() | StoreUnavailable():
            raise error
        case Stopped():
            return _end_stopped(context, claim, error)
        case TargetUnavailable():
            return _cool_down_or_fail(context, claim, error, context.settings.breaker_delay_s)
        case TargetCoolingDown(cooldown_s=cooldown_s) | HostCoolingDown(cooldown_s=cooldown_s):
            return _cool_down_or_fail(context, claim, error, cooldown_s)
        case TargetUnfit(failure=failure) if failure is not None and failure.retriable and claim.job.observed:
            # a service that answered before may recover; if it never answered, the job fails
            return _cool_down_or_fail(context, claim, TargetUnavailable(failure), context.settings.breaker_delay_s)
        case TargetUnfit() | CallFailed() | Overdue() | TimeoutError() | AssayError():
            return _fail_job(context, claim, problem(error))
        case _:
            log.error("job failed unexpectedly", job=claim.job.id, exc_info=error)
            return _fail_job(context, claim, problem(error))


def _fail_job(context: WorkerContext, claim: Claim, error: JsonObject) -> str:
    _end_and_store_items(context, claim.job, lambda connection: jobs.fail(connection, claim, error))
    log.info("job failed", job=claim.job.id, code=error["code"])
    return "failed"


def _cool_down_or_fail(
    context: WorkerContext,
    claim: Claim,
    unavailable: TargetUnavailable | TargetCoolingDown | HostCoolingDown,
    cooldown_s: float,
) -> str:
    """Queue the job until its target may be called again; fail it if it is a mere test, or its deadline is earlier."""
    if claim.job.kind == "probe" or seconds_left(claim) <= cooldown_s:
        return _fail_job(context, claim, problem(unavailable))
    if not _requeue(context, claim, cooldown_s, waits_why(unavailable)):  # its cancellation was requested
        return _cancel_job(context, claim)
    # the message may quote the service, and logs hold no text of a service
    reason = unavailable.failure.code if isinstance(unavailable, TargetUnavailable) else "resting"
    log.warning("job rests", job=claim.job.id, why=reason)
    return "resting"


def _requeue(context: WorkerContext, claim: Claim, cooldown_s: float | None = None, reason: str | None = None) -> bool:
    """Queue the job again; if it waits `cooldown_s`, ask failed questions again. Return false if it was cancelled."""
    with context.database.write() as connection:
        if jobs.hold(connection, claim).cancel_requested:
            return False
        if cooldown_s is not None:
            statuses = {*RETRIABLE_STATUSES, *retriable_statuses(claim.job.target, claim.job.author)}
            observations.forget_failures(connection, claim, TRANSIENT | {f"http-{status}" for status in statuses})
        jobs.release(connection, claim, delay_s=cooldown_s or 0.0, charge_attempt=False, reason=reason)
    return True


def _end_stopped(context: WorkerContext, claim: Claim, stop: Stopped) -> str:
    """End a stopped job: cancel it, or return it to the queue for another worker."""
    if stop.why == "lease-lost":
        raise LeaseLost(claim.job.id, claim.fence)
    if stop.why == "cancelled" or not _requeue(context, claim):
        return _cancel_job(context, claim)
    log.info("job left", job=claim.job.id, why=stop.why)
    return "released"


def _cancel_job(context: WorkerContext, claim: Claim) -> str:
    _end_and_store_items(context, claim.job, lambda connection: jobs.cancel(connection, claim))
    log.info("job left", job=claim.job.id, why="cancelled")
    return "cancelled"


def _end_and_store_items(context: WorkerContext, job: Job, end: Callable[[Connection], None]) -> None:
    """End a job and store what its author wrote or drew, in one transaction; if that fails, only end the job."""
    if job.kind == "writing" or job.author is not None:
        try:
            store_items = _item_storing_function(context.database, job)
            with context.database.write() as connection:
                end(connection)
                store_items(connection)
        except LeaseLost:
            raise
        except Exception as error:  # the job ends anyway, and its ledger still holds the items
            log.warning("the author's work could not be stored", job=job.id, exc_info=error)
        else:
            return
    with context.database.write() as connection:
        end(connection)


def _item_storing_function(database: Database, job: Job) -> Callable[[Connection], None]:
    """Collect the texts or images that a job's author made, and return a function that stores these items."""
    if job.kind == "writing":
        written_items = corpus_sentences.collect_written_items(database, job)
        return lambda connection: corpus_sentences.keep_written_items(connection, job, written_items)
    items = authored.collect(database, job, parse_method(job.experiment or {}))
    return lambda connection: authored.keep(connection, job, items)


TITLES = {
    "target_unfit": "The target cannot be rated",
    "target_refused": "The target refused",
    "target_unavailable": "The target is unavailable",
    "ratings_refused": "The host refuses ratings",
    "deadline_exceeded": "The job ran out of time",
    "secret_lost": "The target's secret cannot be decrypted",
    "evidence_unfit": "The recorded evidence does not allow the re-rating",
    "bad_specification": "The job cannot be carried out as written",
    "internal_error": "Assay failed",
}


def problem(error: BaseException) -> JsonObject:
    """Return the problem object (type, title, detail, code) of the error that ended a job."""
    match error:
        case TargetUnfit(failure=failure):
            call_code = "target_unavailable" if failure is not None and failure.retriable else "target_refused"
            code = "target_unfit" if failure is None or failure.code == "wrong-shape" else call_code
            return _problem(code, _sentences(error.message, error.hint), reason=error.code)
        case CallFailed():  # a final failure of a call, or the operator does not allow the target's protocol
            code = "target_unfit" if error.code == "wrong-shape" else "target_refused"
            return _problem(code, _sentences(str(error)), reason=error.code)
        case TargetUnavailable():
            detail = f"Too many calls in a row failed, the last one so: {error}. What was answered is kept."
            return _problem("target_unavailable", detail, reason=error.failure.code)
        case TargetCoolingDown():
            detail = "Other jobs found it failing, and it was still left alone when this job's deadline came near."
            return _problem("target_unavailable", detail, reason="resting")
        case HostCoolingDown():
            detail = _sentences(str(error), "The job's deadline is earlier; ask again with a larger deadline_s")
            return _problem("target_unavailable", detail, reason="cooling-down")
        case RatingsRefused():
            return _problem("ratings_refused", _sentences(str(error)), reason=error.who)
        case Overdue() | TimeoutError():
            return _problem("deadline_exceeded", "Its deadline_s passed. What was answered is kept; allow more time.")
        case SecretLost() | SecretMoved():
            return _problem("secret_lost", f"{error}. Enter the target's secret again.")
        case AssayError():
            code = "evidence_unfit" if isinstance(error, RecordError) else "bad_specification"
            return _problem(code, str(error), reason=error.code)
        case _:
            return _problem("internal_error", "An unexpected error was logged; the answers so far are kept.")


def waits_why(error: BaseException) -> str:
    """Return sentences that explain why a queued job does not start yet."""
    match error:
        case HostCoolingDown():
            return _sentences(str(error))
        case TargetUnavailable():
            return f"Too many calls in a row failed, the last one so: {error}. The target is left alone for a while."
        case _:
            return "Other jobs found the target failing; it is left alone for a while."


def _sentences(*parts: str) -> str:
    """Join texts as sentences, each with an initial capital and a full stop."""
    return " ".join(f"{part[0].upper()}{part[1:].rstrip('.')}." for part in parts if part)


def _problem(code: str, detail: str, **members: object) -> dict[str, Any]:
    if (service_message := service_said(detail)) is not None:
        members["service_said"] = service_message
    return {"type": f"/problems/{code}", "title": TITLES[code], "detail": detail, "code": code, **members}
