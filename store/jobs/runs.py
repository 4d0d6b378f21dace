"""Writes of a run. Each function runs in one transaction and first locks the job.

All raise `store.core.errors.LeaseLost` if the claim is no longer valid.
"""

from collections.abc import Sequence

from sqlalchemy import Connection

from assay.document import Json
from store.jobs import observations
from store.jobs.job import Job, append, end, end_cancelled, end_failed, letter_facts, success_facts, update_job
from store.jobs.leases import CHANGING, Claim, hold, updated_job
from store.jobs.observations import LedgerEntry
from store.jobs.tables import jobs
from store.ratings import ratings
from store.ratings.expiry import announce_letter_change
from store.ratings.ratings import NewRating
from store.ratings.registry import publish_new_rating
from store.webhooks.outbox import add_notice


def record(
    c: Connection, claim: Claim, entries: Sequence[LedgerEntry], *, calls: int, expected: int, stage: str
) -> Job:
    """Record observations, update the job's counters, append a ``progress`` event, and return the changed job.

    `entries` are in the order of their numbers; a probe recorded before is replaced and keeps its number. `calls` is
    the number of calls to the target since the previous record, including retries; `expected` is the number of probes
    that the experiment is now expected to need.
    """
    job = hold(c, claim)
    increments = observations.keep(c, job, claim.fence, entries)
    progress = {
        "stage": stage,
        "asked": job.asked + increments.probes,
        "expected": expected,
        "failed_calls": job.failed_calls + increments.failed,
        "calls": job.calls + calls,
    }
    attempts_without_progress = 0 if increments.new else job.attempts_without_progress
    observed = job.observed + increments.new
    statement = update_job(**progress, observed=observed, attempts_without_progress=attempts_without_progress)
    row = c.execute(statement.where(jobs.c.id == job.id).returning(*CHANGING)).mappings().one()
    append(c, job.id, "progress", progress, fence=claim.fence)
    return updated_job(claim, row)


def stage(c: Connection, claim: Claim, stage: str) -> None:
    """Set the current step of the job, shown to users."""
    job = hold(c, claim)
    if job.stage != stage:
        c.execute(update_job(stage=stage).where(jobs.c.id == job.id))
        append(c, job.id, "stage", {"stage": stage}, fence=claim.fence)


def finish(c: Connection, claim: Claim, rating: NewRating) -> str:
    """Store the rating, end the job and write its webhook notice; publish a rating whose visibility is not private.

    The rating's ``id``, ``rated_at`` and ``expires_at`` are added to its document. Return the rating's id.
    """
    job = hold(c, claim)
    stored_rating = ratings.add(c, rating, job.id)
    end(c, job, "succeeded", letter_facts(stored_rating), stage="rated", rating_id=stored_rating.id)
    add_notice(c, job.id, "job.succeeded", success_facts(job, stored_rating, rating.because))
    if stored_rating.visibility != "private":
        publish_new_rating(c, stored_rating)
    announce_letter_change(c, stored_rating, job.experiment)
    return stored_rating.id


def finish_with(c: Connection, claim: Claim, stage: str, result: Json) -> None:
    """End a job that yields no rating, such as a dry run or a re-rating, with its last `stage` and its `result`."""
    job = hold(c, claim)
    end(c, job, "succeeded", {}, stage=stage, result=dict(result))
    add_notice(c, job.id, "job.succeeded", {"job_id": job.id, "kind": job.kind, "status": "succeeded"})


def fail(c: Connection, claim: Claim, error: Json) -> None:
    """Fail the job with a problem object (type, title, detail, code); its recorded answers are kept."""
    end_failed(c, hold(c, claim), error)


def cancel(c: Connection, claim: Claim) -> None:
    """Cancel the job at its requester's request; its recorded answers are kept."""
    end_cancelled(c, hold(c, claim))
