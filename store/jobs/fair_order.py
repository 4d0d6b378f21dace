"""Fair order of queued jobs: tenants take turns, and no tenant has more than its share of the workers' slots.

The next claim goes to the tenant with the fewest running jobs. Of several such tenants, it goes to the tenant whose
latest new job started first; within a tenant, to the job that has been due longest. A message of the broker therefore
announces that a job waits, not which one.

A tenant's turn of a queued job is the number of its running jobs plus the job's number in the tenant's queue. Jobs
start in the order of their turns.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    ScalarSelect,
    Select,
    and_,
    bindparam,
    case,
    func,
    or_,
    select,
)

from store.core.clock import now_ms
from store.core.columns import AnyText
from store.core.engines import insert_into
from store.core.schema import jobs, workers
from store.core.settings import Settings

MOST_COUNTED = 200
"""Maximum number of jobs, and of tenants, that are counted, so that reading a status stays cheap with a long queue."""

NO_LIMIT = 2**31 - 1


@dataclass(frozen=True)
class Share:
    """Running jobs that a tenant may have.

    `most` is the limit; ``None`` stands for three quarters of all slots, at least 1. `slots` are the slots of a worker
    that may not be registered (`register`).
    """

    most: int | None = NO_LIMIT
    slots: int = 1

    @classmethod
    def of(cls, settings: Settings) -> Share:
        """Return the share that an operator configured; a service without keys has one tenant, and no limit."""
        most = settings.max_running_jobs
        return cls(NO_LIMIT if most is None and not settings.keys_required else most, settings.worker_concurrency)

    def limit(self, slots: int) -> int:
        """Return the limit if the registered workers have `slots` slots."""
        return max(1, max(slots, self.slots) * 3 // 4) if self.most is None else self.most


UNLIMITED = Share()
"""Share of a tenant that may use all slots."""


def register(c: Connection, worker: str, slots: int, for_s: float) -> None:
    """Record that a worker has `slots` slots, for the next `for_s` seconds."""
    row = {"slots": slots, "alive_until": now_ms() + round(for_s * 1000)}
    new = insert_into(c, workers).values(name=worker, **row)
    c.execute(new.on_conflict_do_update(index_elements=[workers.c.name], set_=row))


# ---------------------------------------------------------------------------- statements
_slots = func.coalesce(select(func.sum(workers.c.slots)).where(workers.c.alive_until > now_ms()).scalar_subquery(), 0)
_own = bindparam("own_slots", type_=Integer)
_three_quarters = case((_slots > _own, _slots), else_=_own) * 3 // 4
_most = func.coalesce(bindparam("most_running", type_=Integer), case((_three_quarters > 1, _three_quarters), else_=1))

_running = (
    select(jobs.c.tenant, func.count().label("jobs"))
    .where(jobs.c.status == "running")
    .group_by(jobs.c.tenant)
    .cte("running")
)


def _waiting_tenants() -> Select[tuple[str]]:
    """Return the tenants with queued jobs: one look-up in the index for each, however many jobs they have."""
    queued = jobs.alias("queued")
    first = select(func.min(queued.c.tenant).label("tenant")).where(queued.c.status == "queued")
    tenants = first.cte("waiting", recursive=True)
    following = first.where(queued.c.tenant > tenants.c.tenant).scalar_subquery()
    every = tenants.union_all(select(following).where(tenants.c.tenant.is_not(None)))
    return select(every.c.tenant).where(every.c.tenant.is_not(None))


def _started_last(tenant: ColumnElement[str]) -> ColumnElement[int]:
    started = jobs.alias("started")
    latest = select(func.max(started.c.started_at)).where(started.c.tenant == tenant)
    return func.coalesce(latest.scalar_subquery(), 0)


def _next() -> Select[tuple[str, int | None]]:
    """Return the job that is claimed next, and when it was dispatched."""
    waiting, head = _waiting_tenants().subquery("tenants"), jobs.alias("head")
    first = (
        select(head.c.id)
        .where(head.c.status == "queued", head.c.tenant == waiting.c.tenant, head.c.next_run_at <= now_ms())
        .where(head.c.attempts_without_progress < bindparam("attempt_cap", type_=Integer))
        .order_by(head.c.next_run_at, head.c.id)
        .limit(1)
        .scalar_subquery()
    )
    running = func.coalesce(_running.c.jobs, 0)
    turns = (
        select(
            first.label("id"),
            waiting.c.tenant,
            running.label("running"),
            _started_last(waiting.c.tenant).label("served"),
        )
        .select_from(waiting.outerjoin(_running, _running.c.tenant == waiting.c.tenant))
        .where(running < _most)
        .subquery("turns")
    )
    in_turn = turns.c.running, turns.c.served, turns.c.tenant
    fair = select(turns.c.id).where(turns.c.id.is_not(None)).order_by(*in_turn).limit(1)
    return select(jobs.c.id, jobs.c.dispatched_at).where(jobs.c.id == fair.scalar_subquery())


_NEXT = _next()


def next_job(c: Connection, share: Share, attempt_cap: int) -> tuple[str, int | None] | None:
    """Return the id of the job to claim next, and the time when it was dispatched; ``None`` if no job can start.

    The caller holds a lock under which all jobs are claimed, because otherwise two workers would choose the same job.
    """
    row = c.execute(_NEXT, {"attempt_cap": attempt_cap} | _limits(share)).one_or_none()
    return None if row is None else (row.id, row.dispatched_at)


def within_share(share: Share) -> ColumnElement[bool]:
    """Return the condition that the tenant of a job may have another running job."""
    if share.most == NO_LIMIT:
        return jobs.c.id.is_not(None)
    running = jobs.alias("running_jobs")
    full = select(running.c.tenant).where(running.c.status == "running").group_by(running.c.tenant)
    return jobs.c.tenant.not_in(full.having(func.count() >= _most.params(_limits(share))))


def _limits(share: Share) -> dict[str, int | None]:
    return {"most_running": share.most, "own_slots": share.slots}


# ---------------------------------------------------------------------------- position in the queue
def jobs_before(tenant: ColumnElement[str], *earlier: ColumnElement[bool]) -> ScalarSelect[int]:
    """Count a tenant's queued jobs that meet the conditions on `QUEUE`, up to `MOST_COUNTED`."""
    some = select(QUEUE.c.id).where(QUEUE.c.status == "queued", QUEUE.c.tenant == tenant, *earlier)
    return select(func.count()).select_from(some.limit(MOST_COUNTED).subquery()).scalar_subquery()


def others_before(tenant: ColumnElement[str], own: ScalarSelect[int]) -> ScalarSelect[int]:
    """Count the due jobs of other tenants that start before a job with `own` jobs of its tenant before it.

    A tenant's due jobs are counted up to `MOST_COUNTED`, as are the tenants.
    """
    waiting = _waiting_tenants().limit(MOST_COUNTED).subquery("others")
    due = jobs.alias("due")
    some = select(due.c.id).where(
        due.c.status == "queued", due.c.tenant == waiting.c.tenant, due.c.next_run_at <= now_ms()
    )
    count = select(func.count()).select_from(some.limit(MOST_COUNTED).correlate(waiting).subquery())
    mine = func.coalesce(select(_running.c.jobs).where(_running.c.tenant == tenant).scalar_subquery(), 0)
    theirs, served, own_served = (
        func.coalesce(_running.c.jobs, 0),
        _started_last(waiting.c.tenant),
        _started_last(tenant),
    )
    # at equal turns, a tenant that has more running jobs now started its latest job earlier
    served_longer_ago = or_(served < own_served, and_(served == own_served, waiting.c.tenant < tenant))
    first = case((or_(theirs > mine, and_(theirs == mine, served_longer_ago)), 1), else_=0)
    turns = (
        select(
            (mine + own - theirs + first).label("turns"),
            count.correlate(waiting).scalar_subquery().label("due"),
        )
        .select_from(waiting.outerjoin(_running, _running.c.tenant == waiting.c.tenant))
        .where(waiting.c.tenant != tenant)
        .subquery("others_turns")
    )
    started = case((turns.c.turns <= 0, 0), (turns.c.turns < turns.c.due, turns.c.turns), else_=turns.c.due)
    return select(func.coalesce(func.sum(started), 0)).scalar_subquery()


QUEUE = jobs.alias("queue")
"""Queued jobs in the conditions of `jobs_before`."""

_tenant, _job = bindparam("by_tenant", type_=AnyText()), bindparam("job_id", type_=AnyText())
_due_at = bindparam("due", type_=BigInteger)
_own_before = jobs_before(
    _tenant, or_(QUEUE.c.next_run_at < _due_at, and_(QUEUE.c.next_run_at == _due_at, QUEUE.c.id < _job))
)
_BEFORE = select(_own_before, others_before(_tenant, _own_before))


@dataclass(frozen=True)
class QueuePlace:
    """Queued jobs before a job: those of its own tenant, and those of the others (up to about `MOST_COUNTED`)."""

    own: int
    others: int

    @property
    def position(self) -> int:
        """Position in the queue: 1 is the next job; `MOST_COUNTED` + 1 is any later position."""
        return 1 + min(MOST_COUNTED, self.own + self.others)


def place_of(c: Connection, tenant: str, job_id: str, next_run_at: int) -> QueuePlace:
    """Return the place of a queued job."""
    own, others = c.execute(_BEFORE, {"by_tenant": tenant, "job_id": job_id, "due": next_run_at}).one()
    return QueuePlace(int(own), int(others))


# ---------------------------------------------------------------------------- what runs
@dataclass(frozen=True)
class RunningJob:
    """A running job: its tenant, the seconds since its first claim, and its progress."""

    tenant: str
    elapsed_s: float
    asked: int
    expected: int


@dataclass(frozen=True)
class Running:
    """Running jobs (at most `MOST_RUNNING`), and the slots of the registered workers."""

    jobs: tuple[RunningJob, ...]
    slots: int


MOST_RUNNING = 1000


def running(c: Connection) -> Running:
    """Read the running jobs and the slots of the workers."""
    elapsed_s = (now_ms() - jobs.c.started_at) / 1000.0
    query = select(jobs.c.tenant, elapsed_s, jobs.c.asked, jobs.c.expected).where(jobs.c.status == "running")
    rows = c.execute(query.limit(MOST_RUNNING)).all()
    slots = c.execute(select(_slots)).scalar_one()
    return Running(tuple(RunningJob(row[0], float(row[1]), row[2], row[3]) for row in rows), int(slots))
