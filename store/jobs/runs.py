"""What a run writes. Each function is for one transaction and begins by holding the job.

All raise `store.core.errors.LeaseLost` where the job is not the claim's any more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from store.core.schema import jobs
from store.jobs import observations
from store.jobs.job import Job, append, changed, end, end_cancelled
from store.jobs.leases import CHANGING, Claim, as_it_stands, hold
from store.jobs.observations import LedgerEntry
from store.ratings import ratings
from store.ratings.expiry import announce_change
from store.ratings.ratings import NewRating
from store.ratings.registry import note_published
from store.webhooks.outbox import announce


def record(
    c: Connection, claim: Claim, entries: Sequence[LedgerEntry], *, calls: int, expected: int, stage: str
) -> Job:
    """Add observations to the ledger and to the job's counters, with one ``progress`` event.

    Parameters
    ----------
    c : Connection
        A transaction.
    claim : Claim
        Ours.
    entries : sequence of LedgerEntry
        In the order they are to be numbered. A unit recorded before is replaced and keeps its number.
    calls : int
        Calls to the target since the previous record, repetitions included; added to the job's.
    expected : int
        Probes the experiment is now expected to take.
    stage : str
        What is being done.

    Returns
    -------
    Job
        With its counters as they are now.
    """
    job = hold(c, claim)
    added = observations.keep(c, job, claim.fence, entries)
    progress = {
        "stage": stage,
        "asked": job.asked + added.asked,
        "expected": expected,
        "failed_calls": job.failed_calls + added.failed,
        "calls": job.calls + calls,
    }
    barren = 0 if added.new else job.attempts_without_progress
    row = changed(**progress, observed=job.observed + added.new, attempts_without_progress=barren)
    recorded = c.execute(row.where(jobs.c.id == job.id).returning(*CHANGING)).mappings().one()
    append(c, job.id, "progress", progress, fence=claim.fence)
    return as_it_stands(claim, recorded)


def stage(c: Connection, claim: Claim, stage: str) -> None:
    """Say what is being done now."""
    job = hold(c, claim)
    if job.stage != stage:
        c.execute(changed(stage=stage).where(jobs.c.id == job.id))
        append(c, job.id, "stage", {"stage": stage}, fence=claim.fence)


def finish(c: Connection, claim: Claim, rating: NewRating, notices: Sequence[str]) -> str:
    """Keep the rating, log and announce it if others can read it, and end the job, all or nothing.

    Parameters
    ----------
    c : Connection
        A transaction.
    claim : Claim
        Ours.
    rating : NewRating
        What was found; its document gets ``id``, ``rated_at`` and ``expires_at`` here.
    notices : sequence of str
        Kinds of notice to write of the job's end: ``job.succeeded``. Those of the rating follow from it.

    Returns
    -------
    str
        The rating's id.
    """
    job = hold(c, claim)
    stored = ratings.add(c, rating, job.id)
    facts = {"rating_id": stored.id, "letter": stored.letter, "declared": stored.declared}
    end(c, job, "succeeded", facts, stage="rated", rating_id=stored.id)
    announce(c, job.id, notices, {"job_id": job.id, "status": "succeeded", "target_url": stored.target_url, **facts})
    if stored.visibility != "private":
        note_published(c, stored)
    announce_change(c, stored, job.experiment)
    return stored.id


def finish_probe(c: Connection, claim: Claim, result: Mapping[str, Any]) -> None:
    """End a dry run with what it saw."""
    finish_with(c, claim, "probed", result)


def finish_with(c: Connection, claim: Claim, stage: str, result: Mapping[str, Any]) -> None:
    """End a job that gives no rating: a dry run, a re-rating, a look for a token.

    Parameters
    ----------
    c : Connection
        A transaction.
    claim : Claim
        Ours.
    stage : str
        What was done, in a word.
    result : mapping
        What came of it.
    """
    job = hold(c, claim)
    end(c, job, "succeeded", {}, stage=stage, result=dict(result))
    announce(c, job.id, ("job.succeeded",), {"job_id": job.id, "status": "succeeded"})


def fail(c: Connection, claim: Claim, error: Mapping[str, Any]) -> None:
    """End the job without a rating; the ledger stays.

    Parameters
    ----------
    c : Connection
        A transaction.
    claim : Claim
        Ours.
    error : mapping
        A problem object: type, title, detail, code.
    """
    job = hold(c, claim)
    end(c, job, "failed", {"error": dict(error)}, error=dict(error))
    announce(c, job.id, ("job.failed",), {"job_id": job.id, "status": "failed", "error": dict(error)})


def cancel(c: Connection, claim: Claim) -> None:
    """End the job because its requester asked for it; the ledger stays."""
    end_cancelled(c, hold(c, claim))
