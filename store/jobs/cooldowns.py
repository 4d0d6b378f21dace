"""Cool-down of rated services between jobs: of a tenant's target, and of a host that several tenants rate.

A job waits for the cool-down of a host after each rating by a tenant that neither owns the host nor sends it a secret,
except ratings of the same tenant that had not ended when the job was requested: these and the job count as one. Jobs of
several tenants start in the order of their requests, so that a tenant with many requests cannot keep others waiting.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, case, delete, func, not_, or_, select, update

from store.core.columns import now_ms
from store.core.engines import insert_into, lock_transaction
from store.jobs.job import UNFINISHED, Job
from store.jobs.tables import host_turns, jobs


@dataclass(frozen=True)
class HostWait:
    """Wait of a job for a host's cool-down: earliest start in milliseconds since 1970, and the seconds until then."""

    host: str
    at: int
    wait_s: float


def admit(c: Connection, job: Job, hosts: Collection[str], cooldown_s: float) -> HostWait | None:
    """Allow a job to call its hosts from now on, and return ``None``; if a host cools down, return the longest wait.

    A host cools down for `cooldown_s` seconds after a rating. Call this in a transaction that writes.
    """
    cooldown_ms = round(cooldown_s * 1000)
    waits: list[HostWait] = []
    for host in sorted(hosts):  # sorted, so that two jobs of several hosts cannot deadlock
        lock_transaction(c, f"host:{host}")
        # a row of `host_turns` is a job that is to call a host; `admitted_at` is NULL while it must wait
        c.execute(insert_into(c, host_turns).values(job_id=job.id, host=host).on_conflict_do_nothing())
        admitted_at = select(host_turns.c.admitted_at).where(host_turns.c.job_id == job.id, host_turns.c.host == host)
        if c.execute(admitted_at).scalar_one() is None:
            waits += _wait_for_host(c, job, host, cooldown_ms)
    if waits:
        return max(waits, key=lambda wait: wait.at)
    is_waiting = and_(host_turns.c.job_id == job.id, host_turns.c.admitted_at.is_(None))
    c.execute(update(host_turns).where(is_waiting).values(admitted_at=now_ms()))
    for host in hosts:  # ratings whose cool-down is over keep no job waiting any more
        is_over = (jobs.c.id == host_turns.c.job_id, jobs.c.finished_at <= now_ms() - cooldown_ms)
        c.execute(delete(host_turns).where(host_turns.c.host == host, select(jobs.c.id).where(*is_over).exists()))
    return None


def _wait_for_host(c: Connection, job: Job, host: str, cooldown_ms: int) -> list[HostWait]:
    """Return a list with the wait for a host's cool-down; empty if the job may call the host now."""
    is_waiting = host_turns.c.admitted_at.is_(None)
    # a waiting job counts as if it ended at its earliest start; an admitted one that has not ended, as if it ended now
    earliest_start = case((jobs.c.next_run_at > now_ms(), jobs.c.next_run_at), else_=now_ms())
    end_of_rating = case((is_waiting, earliest_start), else_=func.coalesce(jobs.c.finished_at, now_ms()))
    free_at, now = c.execute(
        select(func.max(end_of_rating) + cooldown_ms, now_ms())
        .join_from(host_turns, jobs, jobs.c.id == host_turns.c.job_id)
        .where(host_turns.c.host == host, jobs.c.id != job.id)
        .where(or_(and_(is_waiting, *_requested_earlier(job)), and_(not_(is_waiting), _waits_after(job))))
    ).one()
    return [] if free_at is None or free_at <= now else [HostWait(host, free_at, (free_at - now) / 1000)]


def _requested_earlier(job: Job) -> list[ColumnElement[bool]]:
    """Return the conditions that a row of `jobs` is unfinished, of another tenant, and requested earlier than `job`."""
    earlier = or_(jobs.c.created_at < job.created_at, and_(jobs.c.created_at == job.created_at, jobs.c.id < job.id))
    return [jobs.c.status.in_(UNFINISHED), jobs.c.tenant != job.tenant, earlier]


def _waits_after(job: Job) -> ColumnElement[bool]:
    """Return the condition that `job` waits after an admitted job: of another tenant, or ended before its request."""
    return or_(jobs.c.tenant != job.tenant, and_(jobs.c.finished_at.is_not(None), jobs.c.finished_at < job.created_at))


LONGEST_JOB_MS = 31 * 86_400_000
"""Assumed maximum duration of a job in milliseconds; jobs so old that their cool-down must be over are not read."""


def remaining_s(c: Connection, tenant: str, target_url: str | None, cooldown_s: float) -> int:
    """Return the whole seconds until a tenant may start a new job on a target; 0 if it may start now.

    The cool-down begins when the latest rating ends. Only ratings that a worker started count, not dry runs or jobs
    that an earlier rating answered. A target without an address has no cool-down, and ``cooldown_s=0`` disables it.
    """
    if cooldown_s <= 0 or not target_url:
        return 0
    cooldown_ms = round(cooldown_s * 1000)
    last_end = (
        select(func.max(jobs.c.finished_at))
        .where(jobs.c.tenant == tenant, jobs.c.target_url == target_url, jobs.c.kind == "rating")
        # older jobs are not read, because their cool-down must be over
        .where(jobs.c.created_at >= now_ms() - cooldown_ms - LONGEST_JOB_MS, jobs.c.started_at.is_not(None))
        .scalar_subquery()
    )
    remaining_ms = c.execute(select(last_end + cooldown_ms - now_ms())).scalar_one()
    return 0 if remaining_ms is None else max(0, math.ceil(remaining_ms / 1000))
