"""Leases with fencing: a worker claims a job for a limited time, and every claim has a number, the fence.

Each write of a worker first locks the job's row and checks the fence. A worker that was frozen or cut off
therefore cannot write after another worker has claimed the job.
"""

from dataclasses import dataclass, replace

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, case, func, or_, select

from store.core.columns import now_ms, take_sealed
from store.core.errors import LeaseLost
from store.jobs import fair_order
from store.jobs.fair_order import UNLIMITED, Share
from store.jobs.job import Job, append, claimable, end_cancelled, job_from, update_job
from store.jobs.tables import jobs

ENDED = ("succeeded", "failed", "cancelled")


@dataclass(frozen=True)
class Claim:
    """A worker's lease on a job, valid until another worker claims the job.

    `job` is the row at the time of the claim: its ``heartbeat_at`` is the time of the claim, ``next_run_at`` the time
    from which the job was claimable. `fence` is the number of the claim, `owner` the name of the worker.
    """

    job: Job
    fence: int
    owner: str


@dataclass(frozen=True)
class Beat:
    """Result of a heartbeat: whether to cancel the job, and whether the worker still holds its lease."""

    cancel_requested: bool
    lease_held: bool


def claim(c: Connection, job_id: str, owner: str, lease_s: float = 30, attempt_cap: int | None = None) -> Claim | None:
    """Claim a job that is queued and due, or whose lease has expired.

    Return ``None`` if the job is not due, has ended, is held by another worker, has had `attempt_cap` attempts without
    progress (the reconciler fails it), or was to be cancelled (it is cancelled now). Operators see `owner`, the name of
    the worker. Without a heartbeat the lease expires after `lease_s` seconds.
    """
    statement = update_job(
        status="running",
        fence=jobs.c.fence + 1,  # the number of the claim
        attempt=jobs.c.attempt + 1,
        attempts_without_progress=jobs.c.attempts_without_progress + 1,
        lease_owner=owner,
        lease_until=now_ms() + _ms(lease_s),
        heartbeat_at=now_ms(),
        # the time from which the job could be claimed (see `Claim`)
        next_run_at=case((jobs.c.status == "running", jobs.c.lease_until), else_=jobs.c.next_run_at),
        started_at=func.coalesce(jobs.c.started_at, now_ms()),
        dispatched_at=None,
        waits_why=None,
    )
    statement = statement.where(jobs.c.id == job_id, claimable())
    if attempt_cap is not None:
        statement = statement.where(or_(jobs.c.attempts_without_progress < attempt_cap, jobs.c.cancel_requested))
    row = c.execute(statement.returning(jobs)).mappings().one_or_none()
    if row is None:
        return None
    job = job_from(**row)
    if job.cancel_requested:  # the previous worker was lost before it could cancel the job
        end_cancelled(c, job)
        return None
    append(c, job.id, "claimed", {"attempt": job.attempt}, fence=job.fence)
    return Claim(job, job.fence, owner)


def claim_next(
    c: Connection, job_id: str, owner: str, lease_s: float, attempt_cap: int, share: Share = UNLIMITED
) -> Claim | None:
    """Claim the job whose lease expired first; if there is none, the next job in the fair order (`fair_order`).

    `job_id` is the job that a message announced; the worker may get another. `job_id` is announced again if that other
    job has an expired lease or no message of its own, or if no job can start. Jobs with expired leases come first,
    because their own messages are behind those of all waiting jobs. See `claim` for the other parameters.
    """
    _serialise_claims(c)
    has_expired = and_(jobs.c.status == "running", jobs.c.lease_until <= now_ms())
    query = select(jobs.c.id).where(has_expired, jobs.c.attempts_without_progress < attempt_cap)
    # `claim` need not check the cap again; locked rows are skipped, because their worker is writing at this moment
    query = query.order_by(jobs.c.lease_until, jobs.c.id).limit(1).with_for_update(skip_locked=True)
    interrupted_id = c.execute(query).scalar_one_or_none()
    if interrupted_id is not None and (new_claim := claim(c, interrupted_id, owner, lease_s)) is not None:
        _announce_again(c, job_id, new_claim)
        return new_claim
    for _ in range(CLAIM_ATTEMPTS):  # again if `claim` returns `None`, as for a job cancelled a moment ago
        next_job = fair_order.next_job(c, share, attempt_cap)
        if next_job is None:
            break
        next_id, dispatched_at = next_job
        if (new_claim := claim(c, next_id, owner, lease_s, attempt_cap)) is not None:
            if dispatched_at is None:  # the claimed job has no message of its own
                _announce_again(c, job_id, new_claim)
            return new_claim
    _announce_again(c, job_id, new_claim=None)
    return None


CLAIM_ATTEMPTS = 3
"""Number of jobs that `claim_next` tries to claim before it gives up."""

CLAIM_LOCK = 0x_A55A_0003
"""Key of the Postgres advisory lock of a worker that chooses a job, so that no tenant gets more than its share."""

FROZEN_S = 10
"""Seconds after which Postgres ends the session of a worker that stopped while it held `CLAIM_LOCK`."""


def _serialise_claims(c: Connection) -> None:
    """Wait until no other worker chooses a job, and lock other workers out until this transaction ends."""
    if c.dialect.name == "postgresql":  # SQLite serialises all writes
        # ends the transaction of a worker that freezes; True limits the setting to this transaction
        session_timeout = func.set_config("idle_in_transaction_session_timeout", f"{FROZEN_S}s", True)
        c.execute(select(session_timeout, func.pg_advisory_xact_lock(CLAIM_LOCK)))


def _announce_again(c: Connection, job_id: str, new_claim: Claim | None) -> None:
    """Have the queued job `job_id` announced again, if the worker that got its message claimed another job, or none."""
    if new_claim is None or new_claim.job.id != job_id:
        queued_job = select(jobs.c.id).where(jobs.c.id == job_id, jobs.c.status == "queued")
        unlocked_job = queued_job.where(jobs.c.dispatched_at.is_not(None)).with_for_update(skip_locked=True)
        c.execute(update_job(dispatched_at=None).where(jobs.c.id.in_(unlocked_job)))


def announce_next(c: Connection, share: Share, attempt_cap: int) -> str | None:
    """Mark the next job in the fair order as dispatched, and return its id, to be announced to workers; ``None``: none.

    Called after a job has ended: its tenant may have been at its limit, and jobs of such tenants are not announced.
    """
    next_id, dispatched_at = fair_order.next_job(c, share, attempt_cap) or (None, None)
    if next_id is None or dispatched_at is not None:
        return None
    statement = update_job(dispatched_at=now_ms()).where(jobs.c.id == next_id, jobs.c.dispatched_at.is_(None))
    return c.execute(statement.where(jobs.c.status == "queued").returning(jobs.c.id)).scalar_one_or_none()


CHANGING = tuple(column for column in jobs.c if column.name not in {"target", "author", "experiment"})
"""Columns that can change during a run. The others are known from the claim and may be large."""


def updated_job(claim: Claim, row: RowMapping) -> Job:
    """Return the claimed job with the `CHANGING` columns of its current row."""
    fields = dict(row)
    return replace(claim.job, sealed_secret=take_sealed(fields), **fields)  # as in `job_from`


def hold(c: Connection, claim: Claim) -> Job:
    """Lock the job's row until the transaction ends, if the claim is still valid; return the job as it is now.

    Every write of a run calls this first. An expired lease stays valid until another worker claims the job.

    Raise `LeaseLost` if the job was claimed again or has ended.
    """
    query = select(*CHANGING).where(*_lease_conditions(claim)).with_for_update(key_share=True)
    row = c.execute(query).mappings().one_or_none()
    if row is None:
        raise LeaseLost(claim.job.id, claim.fence)
    return updated_job(claim, row)


def heartbeat(c: Connection, claim: Claim, lease_s: float = 30) -> Beat:
    """Extend the lease; return whether to cancel the job, and whether the claim is still valid.

    The claim is valid also if the job has ended under it, because a heartbeat may arrive after the end.
    """
    extension = update_job(lease_until=now_ms() + _ms(lease_s), heartbeat_at=now_ms())
    row = c.execute(extension.where(*_lease_conditions(claim)).returning(jobs.c.cancel_requested)).one_or_none()
    if row is not None:
        return Beat(row.cancel_requested, lease_held=True)
    query = select(jobs.c.id).where(jobs.c.id == claim.job.id, jobs.c.fence == claim.fence, jobs.c.status.in_(ENDED))
    return Beat(cancel_requested=False, lease_held=c.execute(query).one_or_none() is not None)


def release(
    c: Connection, claim: Claim, *, delay_s: float = 0, charge_attempt: bool, reason: str | None = None
) -> None:
    """Return an unfinished job to the queue, or cancel it if that was requested.

    The job may be claimed again after `delay_s` seconds; `reason` is shown with the job. `charge_attempt` says
    whether this attempt may count as an attempt without progress; it is false for an orderly shutdown.

    Raise `LeaseLost` if the claim is no longer valid.
    """
    job = hold(c, claim)
    if job.cancel_requested:
        end_cancelled(c, job)
        return
    # the claim has counted this attempt already; it is subtracted below unless it is to be charged
    statement = update_job(
        status="queued",
        lease_owner=None,
        lease_until=None,
        dispatched_at=None,
        next_run_at=now_ms() + _ms(delay_s),
        waits_why=reason,
        attempts_without_progress=max(0, job.attempts_without_progress - (0 if charge_attempt else 1)),
    )
    c.execute(statement.where(jobs.c.id == job.id))
    facts = {"delay_s": delay_s} if reason is None else {"delay_s": delay_s, "why": reason}
    append(c, job.id, "released", facts, fence=job.fence)


def _lease_conditions(claim: Claim) -> list[ColumnElement[bool]]:
    return [jobs.c.id == claim.job.id, jobs.c.status == "running", jobs.c.fence == claim.fence]


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
