"""Queue statistics for metrics. Each scrape reads them, so their cost must not grow with finished jobs."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, and_, func, select

from store.core.columns import now_ms, seconds_since
from store.core.rows import equal
from store.jobs.job import UNFINISHED
from store.jobs.tables import jobs
from store.webhooks.tables import deliveries, outbox

DAY_MS = 86_400_000
_next_run_of_due_job = select(func.min(jobs.c.next_run_at)).where(
    jobs.c.status == "queued", jobs.c.next_run_at <= now_ms()
)
_oldest_due_job_s = seconds_since(_next_run_of_due_job.scalar_subquery())


@dataclass(frozen=True)
class Backlog:
    """Numbers and waiting times of unfinished jobs and of unsent webhooks, of all tenants."""

    jobs: dict[str, int]
    """Number of jobs by status, as `counts_by_status` returns it."""
    oldest_due_job_seconds: float | None
    """Seconds for which the oldest due job has waited for a worker; ``None`` if no job is due."""
    oldest_running_job_seconds: float | None
    """Seconds since a worker first claimed the oldest running job; ``None`` if no job runs."""
    expired_leases: int
    """Number of running jobs whose lease has expired."""
    webhook_backlog: int
    """Notices without deliveries yet, plus deliveries that wait for their next attempt."""
    webhook_oldest_seconds: float | None
    """Seconds for which the oldest notice or delivery has been due; ``None`` if none is due."""


def backlog(c: Connection) -> Backlog:
    """Read the unfinished jobs and unsent webhooks of all tenants, in two statements."""
    due_age_s, running_age_s, expired_count, notice_count, notice_age_s, delivery_count, delivery_age_s = c.execute(
        select(
            _oldest_due_job_s,
            seconds_since(select(func.min(jobs.c.started_at)).where(jobs.c.status == "running").scalar_subquery()),
            select(func.count()).where(jobs.c.status == "running", jobs.c.lease_until <= now_ms()).scalar_subquery(),
            *_webhook_backlog(outbox),
            *_webhook_backlog(deliveries),
        )
    ).one()
    return Backlog(
        jobs=counts_by_status(c),
        oldest_due_job_seconds=due_age_s,
        oldest_running_job_seconds=running_age_s,
        expired_leases=expired_count,
        webhook_backlog=notice_count + delivery_count,
        webhook_oldest_seconds=max((age for age in (notice_age_s, delivery_age_s) if age is not None), default=None),
    )


def counts_by_status(c: Connection, tenant: str | None = None) -> dict[str, int]:
    """Count unfinished jobs, and finished jobs created within the last day, by status (without zeros).

    Without a `tenant`, the jobs of all tenants are counted.
    """
    count_query = select(jobs.c.status, func.count().label("jobs")).group_by(jobs.c.status)
    count_query = count_query.where(*equal(jobs, tenant=tenant))
    ended_lately = (jobs.c.status.in_(("succeeded", "failed", "cancelled")), jobs.c.created_at >= now_ms() - DAY_MS)
    # two queries, because the prepared plan of a single one with "or" would read all jobs of a tenant
    rows = c.execute(count_query.where(jobs.c.status.in_(UNFINISHED)).union_all(count_query.where(*ended_lately)))
    return {row.status: row.jobs for row in rows}


@dataclass(frozen=True)
class Queue:
    """Queue statistics that a tenant may see."""

    mine: dict[str, int]
    """Number of the tenant's jobs by status, as `counts_by_status` returns it."""
    oldest_due_s: float | None
    """Seconds that the oldest due job of any tenant has waited; ``None`` if none is due."""
    busy_workers: int
    """Number of workers that hold a valid lease."""


def queue_of(c: Connection, tenant: str) -> Queue:
    """Read the queue statistics that a tenant may see, in two statements."""
    is_leased = and_(jobs.c.status == "running", jobs.c.lease_until > now_ms())
    busy_workers = select(func.count(jobs.c.lease_owner.distinct())).where(is_leased).scalar_subquery()
    return Queue(counts_by_status(c, tenant), *c.execute(select(_oldest_due_job_s, busy_workers)).one())


def _webhook_backlog(table: Table) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    """Return SQL expressions: number of waiting rows (notices or deliveries), and seconds since the oldest was due."""
    is_waiting = table.c.state == "waiting"
    oldest_due = select(func.min(table.c.next_attempt_at)).where(is_waiting, table.c.next_attempt_at <= now_ms())
    count = select(func.count()).select_from(table).where(is_waiting).scalar_subquery()
    return count, seconds_since(oldest_due.scalar_subquery())
