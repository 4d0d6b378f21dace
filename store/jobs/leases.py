"""Who may write: a worker claims a job for a while, and every claim has a number, the fence.

A worker that was frozen or cut off finds its fence overtaken and stops; it can spoil nothing,
because each of its writes first locks the row under its fence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlalchemy import ColumnElement, Connection, RowMapping, bindparam, case, func, select

from store.core.clock import now_ms
from store.core.columns import sealed_from
from store.core.errors import LeaseLost
from store.core.schema import jobs
from store.jobs.job import Job, append, changed, claimable, end_cancelled, job_from

ENDED = ("succeeded", "failed", "cancelled")


@dataclass(frozen=True)
class Claim:
    """A worker's right to write for a job, until another claims it.

    Attributes
    ----------
    job : Job
        As it was when claimed; its ``heartbeat_at`` is the time of the claim, its ``next_run_at``
        since when it could be claimed.
    fence : int
        The claim's number.
    owner : str
        The worker.
    """

    job: Job
    fence: int
    owner: str


@dataclass(frozen=True)
class Beat:
    """What a heartbeat learns: whether to cancel, and whether the job is still ours."""

    cancel_requested: bool
    held: bool


def claim(c: Connection, job_id: str, owner: str, lease_s: float = 30) -> Claim | None:
    """Take a job that is queued and due, or whose worker has fallen silent.

    Parameters
    ----------
    c : Connection
        A transaction.
    job_id : str
        Which job.
    owner : str
        Who takes it, for operators.
    lease_s : float
        Seconds until the job may be taken again unless a heartbeat comes.

    Returns
    -------
    Claim or None
        ``None`` where there is nothing to take: not due, ended, held by another, or to be cancelled,
        which is then done.
    """
    taken = changed(
        status="running",
        fence=jobs.c.fence + 1,
        attempt=jobs.c.attempt + 1,
        attempts_without_progress=jobs.c.attempts_without_progress + 1,
        lease_owner=owner,
        lease_until=now_ms() + _ms(lease_s),
        heartbeat_at=now_ms(),
        next_run_at=case((jobs.c.status == "running", jobs.c.lease_until), else_=jobs.c.next_run_at),
        started_at=func.coalesce(jobs.c.started_at, now_ms()),
        dispatched_at=None,
    )
    row = c.execute(taken.where(jobs.c.id == job_id, claimable()).returning(jobs)).mappings().one_or_none()
    if row is None:
        return None
    job = job_from(row)
    if job.cancel_requested:  # its worker was lost before it could
        end_cancelled(c, job)
        return None
    append(c, job.id, "claimed", {"attempt": job.attempt}, fence=job.fence)
    return Claim(job, job.fence, owner)


CHANGING = tuple(column for column in jobs.c if column.name not in {"target", "author", "experiment"})
"""Columns that a write of a run reads. What was asked for never changes, is known from the claim, and may be large."""


def as_it_stands(claim: Claim, row: RowMapping) -> Job:
    """Bring the claimed job up to date with the `CHANGING` columns of its row."""
    fields = {name: value for name, value in row.items() if not name.startswith("secret_")}
    return replace(claim.job, sealed_secret=sealed_from(row), **fields)


_HOLD = (
    select(*CHANGING)
    .where(jobs.c.id == bindparam("held"), jobs.c.status == "running", jobs.c.fence == bindparam("under"))
    .with_for_update(key_share=True)
)


def hold(c: Connection, claim: Claim) -> Job:
    """Lock the job's row under the claim's fence until the transaction ends.

    Every write of a run begins with it. An expired lease that nobody took is still ours.

    Raises
    ------
    LeaseLost
        If the job was claimed again or has ended.
    """
    row = c.execute(_HOLD, {"held": claim.job.id, "under": claim.fence}).mappings().one_or_none()
    if row is None:
        raise LeaseLost(claim.job.id, claim.fence)
    return as_it_stands(claim, row)


def heartbeat(c: Connection, claim: Claim, lease_s: float = 30) -> Beat:
    """Extend the lease, and learn whether the job is to be cancelled or was lost.

    A job that has ended under this claim was not lost: its work may hear of that later than its heart.
    """
    beat = changed(lease_until=now_ms() + _ms(lease_s), heartbeat_at=now_ms())
    row = c.execute(beat.where(*_held(claim)).returning(jobs.c.cancel_requested)).one_or_none()
    if row is not None:
        return Beat(row.cancel_requested, held=True)
    ended = select(jobs.c.id).where(jobs.c.id == claim.job.id, jobs.c.fence == claim.fence, jobs.c.status.in_(ENDED))
    return Beat(False, held=c.execute(ended).one_or_none() is not None)


def release(c: Connection, claim: Claim, *, delay_s: float = 0, charge_attempt: bool) -> None:
    """Give a job back unfinished.

    Parameters
    ----------
    c : Connection
        A transaction.
    claim : Claim
        Ours.
    delay_s : float
        Seconds before it may be claimed again.
    charge_attempt : bool
        Whether this attempt counts towards giving the job up: not on an orderly stop.

    Raises
    ------
    LeaseLost
        If the job is not ours any more.

    Notes
    -----
    A job whose cancellation was asked for meanwhile is cancelled instead of waiting.
    """
    job = hold(c, claim)
    if job.cancel_requested:
        end_cancelled(c, job)
        return
    barren = job.attempts_without_progress if charge_attempt else max(0, job.attempts_without_progress - 1)
    back = changed(
        status="queued",
        lease_owner=None,
        lease_until=None,
        dispatched_at=None,
        next_run_at=now_ms() + _ms(delay_s),
        attempts_without_progress=barren,
    )
    c.execute(back.where(jobs.c.id == job.id))
    append(c, job.id, "released", {"delay_s": delay_s}, fence=job.fence)


def _held(claim: Claim) -> list[ColumnElement[bool]]:
    return [jobs.c.id == claim.job.id, jobs.c.status == "running", jobs.c.fence == claim.fence]


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
