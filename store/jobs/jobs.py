"""Jobs: lists and cancellation for their tenants, and every other function on jobs, imported from here.

========================  ==========================================================
`store.jobs.jobs` (here)  page, count, cancel; due, mark_dispatched, fail_poison_jobs …: jobs that wait for a worker
`store.jobs.leases`       claim, hold, heartbeat, release: the right to write
`store.jobs.runs`         record, stage, finish, fail, cancel: results of a run
`store.jobs.fair_order`   the order in which queued jobs start, and the share of each tenant
`store.jobs.job`          the row, its events in order, and its submission: add, find, existing_work …
========================  ==========================================================
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, case, func, or_, select

from assay.document import JsonObject
from store.core.columns import now_ms, sealed_columns
from store.core.engines import lock_transaction
from store.core.errors import AlreadyFinished
from store.core.rows import about_target, all_rows, equal, one_row, page_of
from store.jobs.backlog import backlog, counts_by_status, queue_of
from store.jobs.fair_order import UNLIMITED, Share, within_share
from store.jobs.job import (
    UNFINISHED,
    Event,
    Job,
    NewJob,
    add,
    add_all,
    claimable,
    end_cancelled,
    end_failed,
    events,
    existing_work,
    find,
    job_from,
    own_before,
    update_job,
)
from store.jobs.leases import Beat, Claim, announce_next, claim, claim_next, heartbeat, hold, release
from store.jobs.observations import LedgerEntry
from store.jobs.runs import cancel, fail, finish, finish_with, record, stage
from store.jobs.tables import jobs
from store.ratings.tables import ratings

RECONCILER_LOCK = 0x_A55A_0002
"""Key of the Postgres advisory lock that one reconciler at a time holds."""

WORKER_LOST: JsonObject = {
    "type": "about:blank",
    "title": "The job was given up",
    "detail": "Its workers were lost again and again before anything new was recorded.",
    "code": "worker_lost",
}


def due(c: Connection, limit: int = 100, redispatch_s: float = 15, share: Share = UNLIMITED) -> list[str]:
    """List jobs to dispatch (to announce to workers), the longest waiting first.

    These are queued jobs that are due, unless their tenant has its maximum of running jobs, and running jobs with an
    expired lease; jobs that were dispatched less than `redispatch_s` seconds ago are left out.
    """
    dispatched_at = jobs.c.dispatched_at
    not_dispatched_lately = or_(dispatched_at.is_(None), dispatched_at <= now_ms() - round(redispatch_s * 1000))
    query = (
        select(jobs.c.id)
        .where(not_dispatched_lately, claimable(), _can_start(share))
        .order_by(jobs.c.next_run_at, jobs.c.id)
        .limit(limit)
    )
    return list(c.execute(query).scalars())


def mark_dispatched(c: Connection, ids: Sequence[str]) -> None:
    """Record that these jobs were announced to workers now."""
    if ids:
        c.execute(update_job(dispatched_at=now_ms()).where(jobs.c.id.in_(ids), claimable()))


def release_orphans(c: Connection) -> int:
    """End the leases of all running jobs; return their number. Only for the start of the database's only process."""
    return c.execute(update_job(lease_until=now_ms(), dispatched_at=None).where(jobs.c.status == "running")).rowcount


def fail_poison_jobs(c: Connection, attempt_cap: int = 5) -> list[str]:
    """Fail the jobs that were claimed `attempt_cap` times in a row without a new observation; return their ids."""
    unclaimed = or_(jobs.c.status == "queued", and_(jobs.c.status == "running", jobs.c.lease_until <= now_ms()))
    query = select(jobs).where(jobs.c.attempts_without_progress >= attempt_cap, unclaimed)
    # jobs to be cancelled are left to `claim`, which cancels them
    query = query.where(jobs.c.cancel_requested.is_(False)).with_for_update(key_share=True)
    poison_jobs = all_rows(c, query, job_from)
    for job in poison_jobs:
        end_failed(c, job, WORKER_LOST, **sealed_columns(None))  # its secret is deleted
    return [job.id for job in poison_jobs]


def try_reconciler_lock(c: Connection) -> bool:
    """Try to become the only reconciler until the transaction ends; always true on SQLite (one writer at a time)."""
    if c.dialect.name == "sqlite":
        return True
    return bool(c.execute(select(func.pg_try_advisory_xact_lock(RECONCILER_LOCK))).scalar_one())


def _can_start(share: Share) -> ColumnElement[bool]:
    """Return the condition that a claimable job was interrupted, or its tenant may have another running job."""
    return or_(jobs.c.status == "running", within_share(share))


def count_stranded(c: Connection, age_s: float, share: Share = UNLIMITED) -> int:
    """Count announced jobs that no worker claimed within `age_s` seconds, although due and allowed by `share`."""
    claimable_since = case((jobs.c.status == "running", jobs.c.lease_until), else_=jobs.c.next_run_at)
    long_due = claimable_since <= now_ms() - round(age_s * 1000)
    is_dispatched = jobs.c.dispatched_at.is_not(None)
    count_query = select(func.count()).select_from(jobs).where(claimable(), is_dispatched, long_due, _can_start(share))
    return c.execute(count_query).scalar_one()


def page(
    c: Connection,
    tenant: str,
    *,
    q: str | None = None,
    before: tuple[int, str] | None = None,
    limit: int,
    made: str | None = None,
    **filters: object,
) -> list[Job]:
    """List a tenant's jobs, newest first, starting after the row ``before = (created_at, id)``.

    `q` is searched for in the target's name and address; `made` is the id of the job's rating; `filters` maps
    columns (``status``, ``target_url``, ``kind``) to their required values, where ``None`` means any value.
    """
    query = select(jobs).where(*equal(jobs, tenant=tenant, **filters), *about_target(jobs, q, kind=None))
    if made is not None:
        query = query.where(jobs.c.id == select(ratings.c.job_id).where(ratings.c.id == made).scalar_subquery())
    return page_of(c, query, jobs, job_from, before, limit)


def newest_result(c: Connection, tenant: str, request_digest: str) -> Any:
    """Return the result of a tenant's newest successful job with this digest; ``None`` if there is none."""
    return c.execute(
        select(jobs.c.result)
        .where(jobs.c.tenant == tenant, jobs.c.request_digest == request_digest, jobs.c.status == "succeeded")
        .order_by(jobs.c.created_at.desc(), jobs.c.id.desc())
        .limit(1)
    ).scalar_one_or_none()


def count_unfinished(c: Connection, tenant: str) -> int:
    """Count a tenant's queued and running jobs."""
    return c.execute(select(func.count()).where(jobs.c.tenant == tenant, jobs.c.status.in_(UNFINISHED))).scalar_one()


def request_cancel(c: Connection, job_id: str, tenant: str | None) -> Job | None:
    """Cancel a job: a queued job at once, a running job at its worker's next heartbeat.

    A second request changes nothing. Return the job; ``None`` if the tenant (``None``: any) has no such job.

    Raise `AlreadyFinished` if the job has ended.
    """
    query = select(jobs).where(*equal(jobs, id=job_id, tenant=tenant)).with_for_update(key_share=True)
    job = one_row(c, query, job_from)
    if job is None:
        return None
    if job.finished:
        raise AlreadyFinished(job.id, job.status)
    if job.status == "queued":
        return end_cancelled(c, job)
    if job.cancel_requested:
        return job
    statement = update_job(cancel_requested=True).where(jobs.c.id == job.id).returning(jobs)
    return job_from(**c.execute(statement).mappings().one())
