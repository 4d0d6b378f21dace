"""Queries that every job request needs: equal jobs, a recent rating, and the length of the queue.

Statements are built once, at import, because building one takes longer than executing it.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import BigInteger, ColumnElement, Connection, Integer, and_, bindparam, func, or_, select

from store.core.clock import now_ms
from store.core.column_types import AnyText
from store.core.schema import jobs, ratings
from store.jobs.job import UNFINISHED, Job, job_from

MOST_COUNTED = 200
"""Maximum number of queued jobs that are counted, so that reading a status stays cheap with a long queue."""


@dataclass(frozen=True)
class ExistingWork:
    """Existing rating and jobs for a request.

    Attributes
    ----------
    rating_id : str or None
        Newest rating of an equal request that is neither too old nor expired nor withdrawn.
    twin_id : str or None
        Newest unfinished job of an equal request, unless it is being cancelled.
    active : int
        The tenant's unfinished jobs, counted up to the given maximum.
    ahead : int
        Jobs of all tenants due before one that is added now, counted up to `MOST_COUNTED`.
    """

    rating_id: str | None
    twin_id: str | None
    active: int
    ahead: int


_mine = bindparam("by_tenant", type_=AnyText())
_same = bindparam("digest", type_=AnyText())
_age_ms = bindparam("age_ms", type_=BigInteger)

_rating_id = (
    select(ratings.c.id)
    .where(ratings.c.tenant == _mine, ratings.c.request_digest == _same, _age_ms > 0)
    .where(ratings.c.created_at >= now_ms() - _age_ms, ratings.c.expires_at > now_ms())
    .where(ratings.c.withdrawn_at.is_(None))
    .order_by(ratings.c.created_at.desc(), ratings.c.id.desc())
    .limit(1)
    .scalar_subquery()
)
_twin_id = (
    select(jobs.c.id)
    .where(jobs.c.tenant == _mine, jobs.c.request_digest == _same)
    .where(jobs.c.status.in_(UNFINISHED), jobs.c.cancel_requested.is_(False))
    .order_by(jobs.c.created_at.desc(), jobs.c.id.desc())
    .limit(1)
    .scalar_subquery()
)
_unfinished = (
    select(jobs.c.id)
    .where(jobs.c.tenant == _mine, jobs.c.status.in_(UNFINISHED))
    .limit(bindparam("most", type_=Integer))
    .subquery()
)


_due = select(jobs.c.id).where(jobs.c.status == "queued", jobs.c.next_run_at <= now_ms()).limit(MOST_COUNTED).subquery()
_EXISTING_WORK = select(
    _rating_id.label("rating_id"),
    _twin_id.label("twin_id"),
    select(func.count()).select_from(_unfinished).scalar_subquery().label("active"),
    select(func.count()).select_from(_due).scalar_subquery().label("ahead"),
)


def standing(c: Connection, tenant: str, request_digest: str, max_age_s: int, most: int) -> ExistingWork:
    """Read existing work for a request; count at most `most` unfinished jobs of the tenant."""
    values = {"by_tenant": tenant, "digest": request_digest, "age_ms": max_age_s * 1000, "most": most}
    return ExistingWork(*c.execute(_EXISTING_WORK, values).one())


def serialise(c: Connection, request_digest: str) -> None:
    """Lock a request digest until the transaction ends, so that equal requests run one after another."""
    if c.dialect.name != "sqlite":  # SQLite serialises all writes
        c.execute(_LOCK, {"digest": request_digest})


_LOCK = select(func.pg_advisory_xact_lock(func.hashtextextended(_same, 0)))

_queue = jobs.alias("queue")


def _ahead_of(next_run_at: ColumnElement[int], job_id: ColumnElement[str]) -> ColumnElement[int]:
    earlier = or_(_queue.c.next_run_at < next_run_at, and_(_queue.c.next_run_at == next_run_at, _queue.c.id < job_id))
    some = select(_queue.c.id).where(_queue.c.status == "queued", earlier).limit(MOST_COUNTED).subquery()
    return select(func.count()).select_from(some).scalar_subquery()


_FOUND = select(jobs).where(jobs.c.id == bindparam("job_id"))
_OWNED = _FOUND.where(jobs.c.tenant == _mine)
_AHEAD = select(_ahead_of(bindparam("due", type_=BigInteger), bindparam("job_id")))


def find(c: Connection, job_id: str, tenant: str | None) -> Job | None:
    """Read a tenant's job; ``tenant=None`` reads any tenant's."""
    values = {"job_id": job_id} if tenant is None else {"job_id": job_id, "by_tenant": tenant}
    row = c.execute(_FOUND if tenant is None else _OWNED, values).mappings().one_or_none()
    return None if row is None else job_from(row)


def queue_position(c: Connection, job: Job) -> int | None:
    """Return a queued job's position in the queue of all tenants.

    Returns
    -------
    int or None
        1 is the next job; `MOST_COUNTED` + 1 is any later position; ``None`` if the job is not queued.
    """
    if job.status != "queued":
        return None
    return 1 + int(c.execute(_AHEAD, {"due": job.next_run_at, "job_id": job.id}).scalar_one())
