"""Jobs, as those who ask for them see them; and, imported from here, all that workers do with them.

=======================  ==========================================================
`store.jobs` (here)      add, page, cancel
`store.standing`         find, queue_position, standing: what every request reads
`store.leases`           claim, hold, heartbeat, release: who may write
`store.runs`             record, stage, finish, fail, cancel: what a run writes
`store.dispatch`         due, mark_dispatched, bury_poison …: what keeps jobs moving
`store.events`           what happened, in order
=======================  ==========================================================
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Connection, bindparam, false, func, insert, literal, select, true
from sqlalchemy.sql.dml import ReturningInsert

from store.backlog import backlog, counts_by_status, oldest_due_age_s
from store.clock import now_ms
from store.codec import Json
from store.dispatch import (
    bury_poison,
    count_stranded,
    due,
    mark_dispatched,
    reconciler_lock,
    release_orphans,
)
from store.errors import AlreadyFinished
from store.events import Event, append, events
from store.job import UNFINISHED, Job, NewJob, Status, changed, end_cancelled, job_from
from store.keyset import older_than
from store.leases import Beat, Claim, claim, heartbeat, hold, release
from store.observations import LedgerEntry
from store.outbox import announce
from store.runs import cancel, fail, finish, finish_probe, record, stage
from store.schema import events as events_table
from store.schema import jobs
from store.secrets import sealed_columns
from store.standing import STANDING, Standing, asking, find, queue_position, standing

__all__ = [
    "Beat",
    "Claim",
    "Event",
    "Job",
    "LedgerEntry",
    "NewJob",
    "Standing",
    "Status",
    "add",
    "add_finished",
    "add_if_new",
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
    "stage",
    "standing",
]

COUNTERS = ("asked", "failed_calls", "calls", "observed", "attempt", "attempts_without_progress", "fence")
"""Columns that begin at nought."""


def add(c: Connection, new: NewJob) -> Job:
    """Write a job down as queued, due at once. The row is its own dispatch request."""
    job = _insert(c, _INSERT, new, status="queued", stage="queued")
    append(c, job.id, "queued", {"expected": job.expected}, fence=0)
    return job


def add_if_new(c: Connection, new: NewJob, max_age_s: int, most: int) -> tuple[Job, int] | None:
    """Add a job unless a rating or a job of the same request is known, or the tenant has `most` unfinished jobs.

    For Postgres: one statement, which is a transaction by itself.

    Returns
    -------
    (Job, int) or None
        The job, and its place in the queue; ``None`` where nothing was added.
    """
    asked = asking(new.tenant, new.request_digest, max_age_s, most)
    values = {**_values(new, status="queued", stage="queued", rating_id=None), "event": {"expected": new.expected}}
    row = c.execute(_ADD_IF_NEW, values | asked).one()
    if row.created_at is None:
        return None
    return _as_added(new, row.created_at), row.ahead + 1


def _as_added(new: NewJob, created_at: int) -> Job:
    """Tell a row that was just added: all of it is known, except when."""
    row = dict(_BLANK)
    row.update((each.name, getattr(new, each.name)) for each in fields(NewJob) if each.name != "deadline_s")
    row.update(created_at=created_at, next_run_at=created_at, deadline_at=created_at + new.deadline_s * 1000)
    return Job(target_url=new.target.get("base_url"), **row)


def add_finished(c: Connection, new: NewJob, rating_id: str) -> Job:
    """Write a job down that a fresh rating answers already: born succeeded, with its notice."""
    job = _insert(c, _INSERT_FINISHED, new, status="succeeded", stage="rated", rating_id=rating_id)
    append(c, job.id, "succeeded", {"rating_id": rating_id}, fence=0)
    announce(c, job.id, ("job.succeeded",), {"job_id": job.id, "status": job.status, "rating_id": rating_id})
    return job


def page(
    c: Connection,
    tenant: str,
    *,
    status: str | None = None,
    target_url: str | None = None,
    before: tuple[int, str] | None = None,
    limit: int,
) -> list[Job]:
    """Read a tenant's jobs, newest first.

    Parameters
    ----------
    c : Connection
        Where to read.
    tenant : str
        Whose jobs.
    status, target_url : str, optional
        Only those.
    before : (int, str), optional
        ``(created_at, id)`` of the last job of the page before; rows added since change no page.
    limit : int
        Most jobs to return.
    """
    query = select(jobs).where(jobs.c.tenant == tenant)
    if status is not None:
        query = query.where(jobs.c.status == status)
    if target_url is not None:
        query = query.where(jobs.c.target_url == target_url)
    if before is not None:
        query = query.where(older_than(jobs.c.created_at, jobs.c.id, before))
    query = query.order_by(jobs.c.created_at.desc(), jobs.c.id.desc()).limit(limit)
    return [job_from(row) for row in c.execute(query).mappings()]


def count_unfinished(c: Connection, tenant: str) -> int:
    """Count a tenant's queued and running jobs."""
    unfinished = jobs.c.status.in_(UNFINISHED)
    return c.execute(select(func.count()).where(jobs.c.tenant == tenant, unfinished)).scalar_one()


def request_cancel(c: Connection, job_id: str, tenant: str | None) -> Job | None:
    """Cancel a job: a queued one at once, a running one at its worker's next heartbeat.

    Returns
    -------
    Job or None
        As it stands now; ``None`` where the tenant has no such job. Asking twice changes nothing.

    Raises
    ------
    AlreadyFinished
        If it has ended.
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
    asked = changed(cancel_requested=True).where(jobs.c.id == job.id).returning(jobs)
    return job_from(c.execute(asked).mappings().one())


def _of(job_id: str, tenant: str | None) -> list[ColumnElement[bool]]:
    return [jobs.c.id == job_id] + ([] if tenant is None else [jobs.c.tenant == tenant])


_BLANK: dict[str, Any] = {
    "status": "queued",
    "stage": "queued",
    "cancel_requested": False,
    "version": 1,
    **dict.fromkeys(COUNTERS, 0),
    **dict.fromkeys(("lease_owner", "lease_until", "dispatched_at", "heartbeat_at", "started_at", "finished_at")),
    **dict.fromkeys(("error", "result", "rating_id")),
}

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


_GIVEN = (
    *("id", "tenant", "kind", "target_id", "target_url", "target", "experiment", "request_digest", "seed"),
    *("secret_ciphertext", "secret_nonce", "secret_key_id", "secret_last4", "visibility", "callback_url", "max_calls"),
    *("key_id", "expected", "status", "stage", "rating_id"),
)
_known = STANDING.cte("known")
_new_row = {
    **{name: bindparam(name, type_=jobs.c[name].type) for name in _GIVEN},
    "deadline_at": now_ms() + bindparam("deadline_ms", type_=BigInteger),
    "cancel_requested": false(),
    "version": literal(1),
    "created_at": now_ms(),
    "next_run_at": now_ms(),
    **dict.fromkeys(COUNTERS, literal(0)),
}
_added = (
    insert(jobs)
    .from_select(
        list(_new_row),
        select(*_new_row.values())
        .select_from(_known)
        .where(_known.c.rating_id.is_(None), _known.c.twin_id.is_(None), _known.c.active < bindparam("most")),
    )
    .returning(jobs.c.id, jobs.c.created_at)
    .cte("added")
)
_told = (
    insert(events_table)
    .from_select(
        ["job_id", "type", "data", "fence", "at"],
        select(_added.c.id, literal("queued"), bindparam("event", type_=Json), literal(0), now_ms()),
    )
    .cte("told")
)
_ADD_IF_NEW = select(_known.c.ahead, _added.c.created_at).select_from(_known.outerjoin(_added, true())).add_cte(_told)


def _insert(c: Connection, statement: ReturningInsert[Any], new: NewJob, **state: Any) -> Job:
    return job_from(c.execute(statement, _values(new, **state)).mappings().one())


def _values(new: NewJob, **state: Any) -> dict[str, Any]:
    return {
        "id": new.id,
        "tenant": new.tenant,
        "kind": new.kind,
        "target_id": new.target_id,
        "target_url": new.target.get("base_url"),
        "target": new.target,
        **sealed_columns(new.sealed_secret),
        "experiment": new.experiment,
        "request_digest": new.request_digest,
        "seed": new.seed,
        "visibility": new.visibility,
        "callback_url": new.callback_url,
        "max_calls": new.max_calls,
        "deadline_ms": new.deadline_s * 1000,
        "key_id": new.key_id,
        "expected": new.expected,
        **state,
    }
