"""Fair order of queued jobs: tenants take turns, and no tenant has more than its share of the workers' slots.

The next claim goes to the tenant with the fewest running jobs. Of several such tenants, it goes to the tenant whose
latest new job started first; within a tenant, to the job that has been due longest. A message of the broker therefore
announces that some job waits, not which one.

The turn of a queued job is the number of its tenant's running jobs plus its number in the tenant's queue. Jobs start
in the order of their turns. A slot is one of the jobs that a worker may run concurrently.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from sqlalchemy import ColumnElement, Connection, Integer, ScalarSelect, Select, bindparam, case, func, select

from store.core.columns import now_ms, seconds_since
from store.core.engines import upsert
from store.core.settings import Settings
from store.jobs.tables import jobs, workers

MOST_COUNTED = 200
"""Maximum number of jobs, and of tenants, that are counted, so that reading a status stays cheap with a long queue."""

NO_LIMIT = 2**31 - 1  # the largest INTEGER of a database


@dataclass(frozen=True)
class Share:
    """Maximum number of running jobs of a tenant.

    `max_jobs` is the maximum; ``None``: three quarters of all slots (jobs that all workers can run at once), at least
    1. `slots` is the smallest number of slots to assume: a worker in the service's own process is not registered.
    """

    max_jobs: int | None = NO_LIMIT
    slots: int = 1

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the share that an operator configured; a service without keys has one tenant, and no limit."""
        has_no_limit = settings.max_running_jobs is None and not settings.keys_required
        return cls(NO_LIMIT if has_no_limit else settings.max_running_jobs, settings.worker_concurrency)

    def limit(self, slots: int) -> int:
        """Return the maximum number of running jobs of a tenant if the registered workers have `slots` slots."""
        return max(1, max(slots, self.slots) * 3 // 4) if self.max_jobs is None else self.max_jobs


UNLIMITED = Share()
"""Share of a tenant that may use all slots."""


def register(c: Connection, worker: str, slots: int, for_s: float) -> None:
    """Record that a worker can run `slots` jobs at once; the record is valid for the next `for_s` seconds."""
    upsert(c, workers, {"name": worker, "slots": slots, "alive_until": now_ms() + round(for_s * 1000)})


_slots_of_workers = select(func.sum(workers.c.slots)).where(workers.c.alive_until > now_ms())
_all_slots = func.coalesce(_slots_of_workers.scalar_subquery(), 0)
_own_slots = bindparam("own_slots", type_=Integer)
# `case` returns the larger of two numbers, for which SQLite and Postgres have functions of different names
_three_quarters = case((_all_slots > _own_slots, _all_slots), else_=_own_slots) * 3 // 4
_usual_share = case((_three_quarters > 1, _three_quarters), else_=1)
_most_running = func.coalesce(bindparam("most_running", type_=Integer), _usual_share)

_running = (
    select(jobs.c.tenant, func.count().label("jobs"))
    .where(jobs.c.status == "running")
    .group_by(jobs.c.tenant)
    .cte("running")
)


def _waiting_tenants() -> Select[tuple[str]]:
    """Return a query for the tenants with queued jobs: a recursive step from each to the next, by one index look-up."""
    queued_jobs = jobs.alias("queued")
    first_tenant = select(func.min(queued_jobs.c.tenant).label("tenant")).where(queued_jobs.c.status == "queued")
    earlier_tenants = first_tenant.cte("waiting", recursive=True)
    next_tenant = first_tenant.where(queued_jobs.c.tenant > earlier_tenants.c.tenant).scalar_subquery()
    waiting_tenants = earlier_tenants.union_all(select(next_tenant).where(earlier_tenants.c.tenant.is_not(None)))
    return select(waiting_tenants.c.tenant).where(waiting_tenants.c.tenant.is_not(None))


def _last_start(tenant: ColumnElement[str]) -> ColumnElement[int]:
    """Return an SQL expression: when the latest job of a tenant started, in milliseconds since 1970; 0 for none."""
    started_jobs = jobs.alias("started")
    latest = select(func.max(started_jobs.c.started_at)).where(started_jobs.c.tenant == tenant)
    return func.coalesce(latest.scalar_subquery(), 0)


def _next_job() -> Select[tuple[str, int | None]]:
    """Return a query for the id of the job to claim next, and when it was announced to workers (NULL: not yet)."""
    tenants, queued = _waiting_tenants().subquery("tenants"), jobs.alias("queued_job")
    oldest_due_job = (
        select(queued.c.id)
        .where(queued.c.status == "queued", queued.c.tenant == tenants.c.tenant, queued.c.next_run_at <= now_ms())
        .where(queued.c.attempts_without_progress < bindparam("attempt_cap", type_=Integer))
        .order_by(queued.c.next_run_at, queued.c.id)
        .limit(1)
        .scalar_subquery()
    )
    running_count = func.coalesce(_running.c.jobs, 0)
    candidates = (  # the oldest due job of each tenant that may have another running job
        select(
            oldest_due_job.label("id"),
            tenants.c.tenant,
            running_count.label("running"),
            _last_start(tenants.c.tenant).label("last_start"),
        )
        .select_from(tenants.outerjoin(_running, _running.c.tenant == tenants.c.tenant))
        .where(running_count < _most_running)
        .subquery("turns")
    )
    fair_order = candidates.c.running, candidates.c.last_start, candidates.c.tenant  # the fewest running jobs first
    next_id = select(candidates.c.id).where(candidates.c.id.is_not(None)).order_by(*fair_order).limit(1)
    return select(jobs.c.id, jobs.c.dispatched_at).where(jobs.c.id == next_id.scalar_subquery())


_NEXT_JOB = _next_job()


def next_job(c: Connection, share: Share, attempt_cap: int) -> tuple[str, int | None] | None:
    """Return the id of the job to claim next, and when it was announced, if at all; ``None`` if no job can start.

    The caller holds a lock under which all jobs are claimed, because otherwise two workers would choose the same job.
    """
    row = c.execute(_NEXT_JOB, {"attempt_cap": attempt_cap} | _share_parameters(share)).one_or_none()
    return None if row is None else (row.id, row.dispatched_at)


def within_share(share: Share) -> ColumnElement[bool]:
    """Return the condition that the tenant of a job may have another running job."""
    if share.max_jobs == NO_LIMIT:
        return jobs.c.id.is_not(None)  # true of every job
    running = jobs.alias("running_jobs")
    running_tenants = select(running.c.tenant).where(running.c.status == "running").group_by(running.c.tenant)
    return jobs.c.tenant.not_in(running_tenants.having(func.count() >= _most_running.params(_share_parameters(share))))


def _share_parameters(share: Share) -> dict[str, int | None]:
    return {"most_running": share.max_jobs, "own_slots": share.slots}


QUEUE = jobs.alias("queue")
"""Alias of the table of jobs, for the conditions of `jobs_before`."""


def jobs_before(tenant: ColumnElement[str], *earlier: ColumnElement[bool]) -> ScalarSelect[int]:
    """Return a subquery: how many of a tenant's queued jobs (`QUEUE`) meet `earlier`, counted up to `MOST_COUNTED`."""
    earlier_jobs = select(QUEUE.c.id).where(QUEUE.c.status == "queued", QUEUE.c.tenant == tenant, *earlier)
    return select(func.count()).select_from(earlier_jobs.limit(MOST_COUNTED).subquery()).scalar_subquery()


@dataclass(frozen=True)
class RunningJob:
    """A running job: tenant, first claim (milliseconds since 1970, and seconds ago), probes answered and expected."""

    tenant: str
    started_at: int
    elapsed_s: float
    asked: int
    expected: int


@dataclass(frozen=True)
class QueueState:
    """State of the queue, from which positions and starts of jobs are estimated."""

    running: tuple[RunningJob, ...]
    """The running jobs of all tenants, at most `MOST_RUNNING`."""
    slots: int
    """Number of jobs that the registered workers can run at once."""
    waiting: Mapping[str, tuple[int, int]]
    """By tenant, for up to `MOST_COUNTED`: number of due jobs (at most `MOST_COUNTED`), and start of its latest job."""

    def position(self, tenant: str, jobs_ahead: int) -> int:
        """Return the position in the queue of a tenant's job that `jobs_ahead` jobs of the same tenant precede.

        1 is the next job; `MOST_COUNTED` + 1 is any later position.
        """
        running_count = Counter(job.tenant for job in self.running)
        latest_start = max((job.started_at for job in self.running if job.tenant == tenant), default=0)
        _, last_start = self.waiting.get(tenant, (0, latest_start))  # `waiting` may be cut, or older than the job
        jobs_of_others = 0
        for other, (due_jobs, other_last_start) in self.waiting.items():
            # a job's turn is the number of its tenant's running jobs plus its number in the tenant's queue; this job's
            # is running_count[tenant] + jobs_ahead + 1. At equal turns, the tenant whose latest job starts earlier goes
            # first: that is the tenant with more running jobs now
            wins_ties = (-running_count[other], other_last_start, other) < (-running_count[tenant], last_start, tenant)
            earlier_jobs = running_count[tenant] + jobs_ahead - running_count[other] + int(wins_ties)
            jobs_of_others += 0 if other == tenant else min(due_jobs, max(0, earlier_jobs))
        return 1 + min(MOST_COUNTED, jobs_ahead + jobs_of_others)


MOST_RUNNING = 1000


def _due_by_tenant() -> Select[tuple[str, int, int]]:
    """Return a query for (tenant, number of due jobs up to `MOST_COUNTED`, last start) of tenants with queued jobs."""
    tenants, due_jobs = _waiting_tenants().limit(MOST_COUNTED).subquery("tenants"), jobs.alias("due")
    jobs_to_count = select(due_jobs.c.id).where(due_jobs.c.status == "queued", due_jobs.c.next_run_at <= now_ms())
    jobs_to_count = jobs_to_count.where(due_jobs.c.tenant == tenants.c.tenant).limit(MOST_COUNTED).correlate(tenants)
    due_count = select(func.count()).select_from(jobs_to_count.subquery()).correlate(tenants).scalar_subquery()
    return select(tenants.c.tenant, due_count.label("due"), _last_start(tenants.c.tenant).label("started_at"))


_WAITING_TENANTS = _due_by_tenant()
_RUNNING_JOBS = (
    select(jobs.c.tenant, jobs.c.started_at, seconds_since(jobs.c.started_at), jobs.c.asked, jobs.c.expected)
    .where(jobs.c.status == "running")
    .limit(MOST_RUNNING)
)


def state(c: Connection) -> QueueState:
    """Read the running jobs and the waiting tenants, in three statements."""
    running_jobs = [RunningJob(*row) for row in c.execute(_RUNNING_JOBS)]
    waiting = {row.tenant: (row.due, row.started_at) for row in c.execute(_WAITING_TENANTS)}
    return QueueState(tuple(running_jobs), int(c.execute(select(_all_slots)).scalar_one()), waiting)


def starts_in_s(tenant: str, jobs_ahead: int, position: int, queue: QueueState, share: Share) -> int | None:
    """Estimate the seconds until a queued job starts; ``None`` while no running job shows how long jobs take.

    `jobs_ahead` is the number of the tenant's jobs before it, `position` its position among all queued jobs (from 1).

    The workers' slots (one for each concurrent job) become free when jobs end, and each job that starts before this one
    takes the mean time of the running jobs. A tenant with its share of running jobs also waits for one of them to end.
    """
    durations_s = [duration_s for job in queue.running if (duration_s := _duration_s(job)) is not None]
    mean_s = sum(durations_s) / len(durations_s) if durations_s else None
    own_running_jobs = [job for job in queue.running if job.tenant == tenant]
    slot_wait_s = _wait_s(position - 1, queue.running, max(queue.slots, share.slots), mean_s)
    share_wait_s = _wait_s(jobs_ahead, own_running_jobs, share.limit(queue.slots), mean_s)
    return None if slot_wait_s is None or share_wait_s is None else round(max(slot_wait_s, share_wait_s))


def _wait_s(jobs_ahead: int, running: Sequence[RunningJob], slots: int, mean_s: float | None) -> float | None:
    """Return the seconds until one of `slots` slots is free for a job after `jobs_ahead` others; ``None``: unknown."""
    free_slots = slots - len(running)
    if jobs_ahead < free_slots:
        return 0.0
    if mean_s is None:
        return None
    free_in_s = [max(0.0, (_duration_s(job) or mean_s) - job.elapsed_s) for job in running]
    free_in_s += [mean_s] * max(0, free_slots)  # the jobs before this one take the free slots at once
    full_rounds, slot_index = divmod(jobs_ahead - max(0, free_slots), len(free_in_s))  # a round takes the mean time
    return full_rounds * mean_s + sorted(free_in_s)[slot_index]


def _duration_s(job: RunningJob) -> float | None:
    """Return the whole duration of a running job, extrapolated from its progress; ``None`` before its first answer."""
    return job.elapsed_s * max(1.0, job.expected / job.asked) if job.asked else None  # it may ask more than expected
