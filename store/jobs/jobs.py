"""Jobs: lists and cancellation for their tenants, and every other function on jobs, imported from here.

========================  ==========================================================
`store.jobs.jobs` (here)  page, count, cancel
`store.jobs.submission`   add, find, queue_place, serialise, existing_work: for every request
`store.jobs.leases`       claim, hold, heartbeat, release: the right to write
`store.jobs.runs`         record, stage, finish, fail, cancel: results of a run
`store.jobs.fair_order`   the order in which queued jobs start, and the share of each tenant
`store.jobs.dispatch`     due, mark_dispatched, fail_poison_jobs …: jobs that wait for a worker
`store.jobs.job`          the row, and its events in order
========================  ==========================================================
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, func, select

from store.core.errors import AlreadyFinished
from store.core.rows import about_target, equal, one_row, page_of
from store.jobs.backlog import backlog, counts_by_status, queue_of
from store.jobs.dispatch import count_stranded, due, fail_poison_jobs, mark_dispatched, reconciler_lock, release_orphans
from store.jobs.job import UNFINISHED, Event, Job, NewJob, changed, end_cancelled, events, job_from
from store.jobs.leases import Beat, Claim, announce_next, claim, claim_next, heartbeat, hold, release
from store.jobs.observations import LedgerEntry
from store.jobs.runs import cancel, fail, finish, finish_with, record, stage
from store.jobs.submission import add, add_all, add_finished, existing_work, find, serialise
from store.jobs.tables import jobs
from store.ratings.tables import ratings


def page(
    c: Connection,
    tenant: str,
    *,
    q: str | None = None,
    before: tuple[int, str] | None = None,
    limit: int,
    made: str | None = None,
    **same: object,
) -> list[Job]:
    """List a tenant's jobs, newest first, starting after the row ``before = (created_at, id)``.

    `q` is searched for in the target's name and address; `made` is the id of the rating that the job made; `same` maps
    columns (``status``, ``target_url``, ``kind``) to their required values, where ``None`` means any value.
    """
    query = select(jobs).where(*equal(jobs, tenant=tenant, **same), *about_target(jobs, q, None))
    if made is not None:
        query = query.where(jobs.c.id == select(ratings.c.job_id).where(ratings.c.id == made).scalar_subquery())
    return page_of(c, query, jobs, job_from, before, limit)


def newest_result(c: Connection, tenant: str, request_digest: str) -> Any:
    """Return the result of a tenant's newest successful job with this digest; ``None`` if there is none."""
    query = (
        select(jobs.c.result)
        .where(jobs.c.tenant == tenant, jobs.c.request_digest == request_digest, jobs.c.status == "succeeded")
        .order_by(jobs.c.created_at.desc(), jobs.c.id.desc())
        .limit(1)
    )
    return c.execute(query).scalar_one_or_none()


def count_unfinished(c: Connection, tenant: str) -> int:
    """Count a tenant's queued and running jobs."""
    return c.execute(select(func.count()).where(jobs.c.tenant == tenant, jobs.c.status.in_(UNFINISHED))).scalar_one()


def request_cancel(c: Connection, job_id: str, tenant: str | None) -> Job | None:
    """Cancel a job: a queued job at once, a running job at its worker's next heartbeat.

    A second request changes nothing. Return ``None`` if the tenant has no such job.

    Raises
    ------
    AlreadyFinished
        If the job has ended.
    """
    locked = select(jobs).where(*equal(jobs, id=job_id, tenant=tenant)).with_for_update(key_share=True)
    job = one_row(c, locked, job_from)
    if job is None:
        return None
    if job.finished:
        raise AlreadyFinished(job.id, job.status)
    if job.status == "queued":
        return end_cancelled(c, job)
    if job.cancel_requested:
        return job
    flagged = changed(cancel_requested=True).where(jobs.c.id == job.id).returning(jobs)
    return job_from(**c.execute(flagged).mappings().one())
