"""What waits, for operators: read for each scrape, so its work must not grow with what has ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, and_, func, or_, select

from store.core.agency_schema import deliveries
from store.core.clock import now_ms
from store.core.schema import jobs, outbox
from store.jobs.job import UNFINISHED

DAY_MS = 86_400_000


@dataclass(frozen=True)
class Backlog:
    """What waits.

    Attributes
    ----------
    jobs : dict of str to int
        As `counts_by_status`.
    oldest_due_job_seconds, oldest_running_job_seconds : float or None
        Since when the oldest due job could be claimed, and the oldest running one was first; ``None`` without any.
    expired_leases : int
        Running jobs whose worker has fallen silent.
    webhook_backlog : int
        Notices that wait to be handed over, and deliveries that wait to be attempted (again).
    webhook_oldest_seconds : float or None
        Since when the one of them that is due longest is due; ``None`` where none is.
    """

    jobs: dict[str, int]
    oldest_due_job_seconds: float | None
    oldest_running_job_seconds: float | None
    expired_leases: int
    webhook_backlog: int
    webhook_oldest_seconds: float | None


def backlog(c: Connection) -> Backlog:
    """Read what waits, in two statements."""
    row = c.execute(
        select(
            _oldest_due_age_s(),
            _age_s(select(func.min(jobs.c.started_at)).where(jobs.c.status == "running")),
            select(func.count()).where(jobs.c.status == "running", jobs.c.lease_until <= now_ms()).scalar_subquery(),
            *_webhook_backlog(outbox),
            *_webhook_backlog(deliveries),
        )
    ).one()
    due, running, expired, notices, notice_s, waiting, delivery_s = row
    oldest = max((age for age in (notice_s, delivery_s) if age is not None), default=None)
    return Backlog(counts_by_status(c), _float(due), _float(running), expired, notices + waiting, _float(oldest))


def counts_by_status(c: Connection) -> dict[str, int]:
    """Count the unfinished jobs, and those made within the last day, by status; one without jobs is left out."""
    lately = and_(jobs.c.status.not_in(UNFINISHED), jobs.c.created_at >= now_ms() - DAY_MS)
    counted = select(jobs.c.status, func.count().label("jobs")).where(or_(jobs.c.status.in_(UNFINISHED), lately))
    return {row.status: row.jobs for row in c.execute(counted.group_by(jobs.c.status))}


def oldest_due_age_s(c: Connection) -> float | None:
    """Seconds for which the job that waits longest has been due; ``None`` where none is."""
    return _float(c.execute(select(_oldest_due_age_s())).scalar_one())


def _oldest_due_age_s() -> ColumnElement[Any]:
    return _age_s(select(func.min(jobs.c.next_run_at)).where(jobs.c.status == "queued", jobs.c.next_run_at <= now_ms()))


def _webhook_backlog(table: Table) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    """Count what waits in the outbox or among the deliveries, and the seconds since the first of it was due."""
    waits = table.c.state == "waiting"
    oldest = select(func.min(table.c.next_attempt_at)).where(waits, table.c.next_attempt_at <= now_ms())
    return select(func.count()).select_from(table).where(waits).scalar_subquery(), _age_s(oldest)


def _age_s(since: Select[tuple[Any]]) -> ColumnElement[Any]:
    return (now_ms() - since.scalar_subquery()) / 1000.0


def _float(number: Any) -> float | None:
    return None if number is None else float(number)
