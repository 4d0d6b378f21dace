"""Queries of the reconciler, which recovers jobs after lost messages, workers and processes."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, and_, case, func, or_, select

from assay.document import JsonObject
from store.core.clock import now_ms
from store.core.columns import sealed_columns
from store.core.rows import all_rows
from store.jobs.fair_order import UNLIMITED, Share, within_share
from store.jobs.job import changed, claimable, end_failed, job_from
from store.jobs.tables import jobs

RECONCILER_LOCK = 0x_A55A_0002
"""Postgres advisory lock that one reconciler at a time holds."""

WORKER_LOST: JsonObject = {
    "type": "about:blank",
    "title": "The job was given up",
    "detail": "Its workers were lost again and again before anything new was recorded.",
    "code": "worker_lost",
}


def due(c: Connection, limit: int = 100, redispatch_s: float = 15, share: Share = UNLIMITED) -> list[str]:
    """List jobs to dispatch, the longest waiting first.

    These are queued jobs that are due, unless their tenant has its share of running jobs, and running jobs with an
    expired lease; except jobs that were dispatched less than `redispatch_s` seconds ago.
    """
    not_dispatched = or_(jobs.c.dispatched_at.is_(None), jobs.c.dispatched_at <= now_ms() - round(redispatch_s * 1000))
    query = (
        select(jobs.c.id)
        .where(not_dispatched, claimable(), _can_start(share))
        .order_by(jobs.c.next_run_at, jobs.c.id)
        .limit(limit)
    )
    return list(c.execute(query).scalars())


def mark_dispatched(c: Connection, ids: Sequence[str]) -> None:
    """Record that these jobs were dispatched now."""
    if ids:
        c.execute(changed(dispatched_at=now_ms()).where(jobs.c.id.in_(ids), claimable()))


def release_orphans(c: Connection) -> int:
    """End every lease; return the number of leases. Call this only when the database's only process starts."""
    return c.execute(changed(lease_until=now_ms(), dispatched_at=None).where(jobs.c.status == "running")).rowcount


def fail_poison_jobs(c: Connection, cap: int = 5) -> list[str]:
    """Fail the jobs that were claimed `cap` times in a row without a new observation; return their ids."""
    lost = or_(jobs.c.status == "queued", and_(jobs.c.status == "running", jobs.c.lease_until <= now_ms()))
    query = select(jobs).where(jobs.c.attempts_without_progress >= cap, jobs.c.cancel_requested.is_(False), lost)
    poison_jobs = all_rows(c, query.with_for_update(key_share=True), job_from)
    for job in poison_jobs:
        end_failed(c, job, WORKER_LOST, **sealed_columns(None))
    return [job.id for job in poison_jobs]


def reconciler_lock(c: Connection) -> bool:
    """Try to become the only reconciler until the transaction ends; always true on SQLite (one writer at a time)."""
    if c.dialect.name == "sqlite":
        return True
    return bool(c.execute(select(func.pg_try_advisory_xact_lock(RECONCILER_LOCK))).scalar_one())


def _can_start(share: Share) -> ColumnElement[bool]:
    return or_(jobs.c.status == "running", within_share(share))


def count_stranded(c: Connection, age_s: float, share: Share = UNLIMITED) -> int:
    """Count jobs that were dispatched and have been claimable for `age_s` seconds, within the share of their tenant."""
    since = case((jobs.c.status == "running", jobs.c.lease_until), else_=jobs.c.next_run_at)
    long_due = since <= now_ms() - round(age_s * 1000)
    dispatched = jobs.c.dispatched_at.is_not(None)
    stranded = select(func.count()).select_from(jobs).where(claimable(), dispatched, long_due, _can_start(share))
    return c.execute(stranded).scalar_one()
