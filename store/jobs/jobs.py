"""Jobs: add, list and cancel. This module also re-exports the other functions on jobs.

==========================  ===========================================================
`store.jobs.existing_work`  find, queue_position, serialise, standing: for every request
`store.jobs.leases`         claim, hold, heartbeat, release: locks of workers
`store.jobs.runs`           record, stage, finish, fail, cancel: writes of a run
`store.jobs.dispatch`       due, mark_dispatched, bury_poison …: for the reconciler
`store.jobs.events`         events of a job
==========================  ===========================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Connection, bindparam, func, insert, select
from sqlalchemy.sql.dml import ReturningInsert

from store.core.clock import now_ms
from store.core.errors import AlreadyFinished
from store.core.keyset import page_of
from store.core.schema import events as events_table
from store.core.schema import jobs
from store.core.schema import outbox as outbox_table
from store.jobs.backlog import backlog, counts_by_status, oldest_due_age_s
from store.jobs.dispatch import bury_poison, count_stranded, due, mark_dispatched, reconciler_lock, release_orphans
from store.jobs.events import Event, append, events
from store.jobs.existing_work import ExistingWork, find, queue_position, serialise, standing
from store.jobs.job import COUNTERS, UNFINISHED, Job, NewJob, Status, changed, columns_of, end_cancelled, job_from
from store.jobs.leases import Beat, Claim, claim, heartbeat, hold, release
from store.jobs.observations import LedgerEntry
from store.jobs.runs import cancel, fail, finish, finish_probe, record, stage
from store.webhooks.outbox import announce

__all__ = [
    "Beat",
    "Claim",
    "Event",
    "ExistingWork",
    "Job",
    "LedgerEntry",
    "NewJob",
    "Status",
    "add",
    "add_all",
    "add_finished",
    "backlog",
    "bury_poison",
    "cancel",
    "claim",
    "count_stranded",
    "count_unfinished",
    "counts_by_status",
    "due",
    "events",
    "fail",
    "find",
    "finish",
    "finish_probe",
    "heartbeat",
    "hold",
    "mark_dispatched",
    "oldest_due_age_s",
    "page",
    "queue_position",
    "reconciler_lock",
    "record",
    "release",
    "release_orphans",
    "request_cancel",
    "serialise",
    "stage",
    "standing",
]


def add(c: Connection, new: NewJob) -> Job:
    """Add a queued job, due at once. Its row is the dispatch request."""
    job = _insert(c, _INSERT, new, status="queued", stage="queued")
    append(c, job.id, "queued", {"expected": job.expected}, fence=0)
    return job


def add_finished(c: Connection, new: NewJob, rating_id: str) -> Job:
    """Add a job that an existing rating answers: already succeeded, with its notice."""
    job = _insert(c, _INSERT_FINISHED, new, status="succeeded", stage="rated", rating_id=rating_id)
    append(c, job.id, "succeeded", {"rating_id": rating_id}, fence=0)
    announce(c, job.id, ("job.succeeded",), {"job_id": job.id, "status": job.status, "rating_id": rating_id})
    return job


def add_all(c: Connection, wanted: Sequence[tuple[NewJob, str | None]]) -> list[Job]:
    """Add several jobs, in a number of statements that does not depend on how many they are.

    Parameters
    ----------
    wanted : sequence of (NewJob, str or None)
        Each with the id of an existing rating that answers it, or ``None`` to queue it.

    Returns
    -------
    list of Job
        In the order of `wanted`.
    """
    added: dict[str, Job] = {}
    for statement, state, some in (
        (_INSERT, {"status": "queued", "stage": "queued"}, [one for one in wanted if one[1] is None]),
        (_INSERT_FINISHED, {"status": "succeeded", "stage": "rated"}, [one for one in wanted if one[1] is not None]),
    ):
        if some:
            rows = [columns_of(new) | state | {"rating_id": rating_id} for new, rating_id in some]
            added.update((row["id"], job_from(row)) for row in c.execute(statement, rows).mappings())
    new_jobs = [added[new.id] for new, _ in wanted]
    if new_jobs:
        c.execute(insert(events_table), [_first_event(job) for job in new_jobs])
    if finished := [job for job in new_jobs if job.finished]:
        c.execute(insert(outbox_table), [_notice_of(job) for job in finished])
    return new_jobs


def _first_event(job: Job) -> dict[str, Any]:
    data = {"rating_id": job.rating_id} if job.finished else {"expected": job.expected}
    return {"job_id": job.id, "type": job.status, "data": data, "fence": 0, "at": job.created_at}


def _notice_of(job: Job) -> dict[str, Any]:
    kind, at = f"job.{job.status}", job.created_at
    payload = {"type": kind, "data": {"job_id": job.id, "status": job.status, "rating_id": job.rating_id}}
    due = {"created_at": at, "next_attempt_at": at, "attempts": 0, "state": "waiting"}
    return {"job_id": job.id, "kind": kind, "payload": payload, **due}


def page(
    c: Connection,
    tenant: str,
    *,
    status: str | None = None,
    target_url: str | None = None,
    before: tuple[int, str] | None = None,
    limit: int,
) -> list[Job]:
    """List a tenant's jobs, newest first, starting after the row ``before = (created_at, id)``."""
    query = select(jobs).where(jobs.c.tenant == tenant)
    if status is not None:
        query = query.where(jobs.c.status == status)
    if target_url is not None:
        query = query.where(jobs.c.target_url == target_url)
    query = page_of(query, jobs.c.created_at, jobs.c.id, before, limit)
    return [job_from(row) for row in c.execute(query).mappings()]


def count_unfinished(c: Connection, tenant: str) -> int:
    """Count a tenant's queued and running jobs."""
    unfinished = jobs.c.status.in_(UNFINISHED)
    return c.execute(select(func.count()).where(jobs.c.tenant == tenant, unfinished)).scalar_one()


def request_cancel(c: Connection, job_id: str, tenant: str | None) -> Job | None:
    """Cancel a job: a queued job at once, a running job at its worker's next heartbeat.

    Returns
    -------
    Job or None
        The current row; ``None`` if the tenant has no such job. A second request changes nothing.

    Raises
    ------
    AlreadyFinished
        If the job has ended.
    """
    locked = select(jobs).where(*_of(job_id, tenant)).with_for_update(key_share=True)
    row = c.execute(locked).mappings().one_or_none()
    if row is None:
        return None
    job = job_from(row)
    if job.finished:
        raise AlreadyFinished(job.id, job.status)
    if job.status == "queued":
        return end_cancelled(c, job)
    if job.cancel_requested:
        return job
    flagged = changed(cancel_requested=True).where(jobs.c.id == job.id).returning(jobs)
    return job_from(c.execute(flagged).mappings().one())


def _of(job_id: str, tenant: str | None) -> list[ColumnElement[bool]]:
    return [jobs.c.id == job_id] + ([] if tenant is None else [jobs.c.tenant == tenant])


_INSERT = (
    insert(jobs)
    .values(
        deadline_at=now_ms() + bindparam("deadline_ms", type_=BigInteger),
        cancel_requested=False,
        version=1,
        created_at=now_ms(),
        next_run_at=now_ms(),
        **dict.fromkeys(COUNTERS, 0),
    )
    .returning(jobs)
)
_INSERT_FINISHED = _INSERT.values(finished_at=now_ms())


def _insert(c: Connection, statement: ReturningInsert[Any], new: NewJob, **state: Any) -> Job:
    return job_from(c.execute(statement, columns_of(new) | state).mappings().one())
