"""Schedules: requests that are made again and again, without anybody asking.

A schedule keeps its jobs ready-made: what the service has checked once, the scheduler only writes down,
with the target as it is saved now, a fresh deadline and a seed of its own. Each run and the moment of the
next are one transaction, so a run is neither lost nor made twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, insert, select, update

from store.core.agency_schema import schedules
from store.core.clock import now_ms, read_clock
from store.core.columns import new_id
from store.core.keyset import page_of
from store.corpora.kept_material import with_kept
from store.jobs import cool_down, jobs
from store.jobs.job import NewJob
from store.jobs.submission import request_digest
from store.ratings.experiment_json import dump_method, parse_method
from store.suites import suites
from store.suites.recurrence import Rhythm
from store.suites.suites import Cell, NewSuite
from store.targets.target_snapshot import TargetChanged, TargetRemoved, describe_now

KEPT = (
    *("target_id", "target", "author", "experiment", "visibility"),
    *("callback_url", "max_calls", "deadline_s", "expected"),
)
"""What a ready-made job has of the job it becomes; the rest is of the run."""

SEED_BITS = 53
"""Seeds are integers that every JSON reader keeps exactly."""


@dataclass(frozen=True)
class Orders:
    """What a schedule asks for at each run.

    Attributes
    ----------
    asked : mapping
        The request as it was sent.
    jobs : sequence of mapping
        The ready-made jobs: the fields of `KEPT`.
    cells : sequence of Cell or None
        What each job is in the suite that it makes; ``None`` where the one job is asked for alone.
    omitted : sequence of mapping
        Combinations of the suite that make no sense, with their reasons.
    """

    asked: Mapping[str, Any]
    jobs: Sequence[Mapping[str, Any]]
    cells: Sequence[Cell] | None = None
    omitted: Sequence[Mapping[str, Any]] = ()

    def as_json(self) -> dict[str, Any]:
        """Write it down."""
        return {
            "asked": dict(self.asked),
            "jobs": [dict(job) for job in self.jobs],
            "cells": None if self.cells is None else [vars(cell) for cell in self.cells],
            "omitted": [dict(one) for one in self.omitted],
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> Orders:
        """Read what `as_json` wrote."""
        cells = written["cells"]
        made = None if cells is None else [Cell(**cell) for cell in cells]
        return cls(written["asked"], written["jobs"], made, written["omitted"])


@dataclass(frozen=True)
class NewSchedule:
    """A schedule to be written down."""

    tenant: str
    name: str
    orders: Orders
    rhythm: Rhythm
    paused: bool
    key_id: str | None
    id: str = field(default_factory=lambda: new_id("sch"))


@dataclass(frozen=True)
class StoredSchedule:
    """A schedule's row. Times are milliseconds since 1970; `version` grows with every change.

    `last_job_id` names the last job or suite that was made, `last_failure` why the last run made none.
    """

    id: str
    tenant: str
    name: str
    orders: Orders
    rhythm: Rhythm
    state: str
    next_at: int
    last_at: int | None
    last_job_id: str | None
    last_failure: str | None
    key_id: str | None
    version: int
    created_at: int
    updated_at: int

    @property
    def paused(self) -> bool:
        """Whether it waits to be resumed."""
        return self.state == "paused"


@dataclass(frozen=True)
class Ran:
    """What a run made: a job, or a suite of them; or why nothing.

    `code` is ``too-many-jobs``, ``cooling-down``, ``target-removed`` or ``target-changed``; `rest_s` says in how
    many seconds it could be tried again.
    """

    made_id: str | None
    job_ids: tuple[str, ...] = ()
    code: str | None = None
    failure: str | None = None
    rest_s: int = 0


@dataclass(frozen=True)
class Bounds:
    """What the operator allows: a tenant's unfinished jobs, and a target's rest after a job in seconds."""

    max_active: int
    cooldown_s: float


# ---------------------------------------------------------------------------- what is kept
def ready_made(new: NewJob) -> dict[str, Any]:
    """Keep of a job what each run's job will have."""
    return {name: getattr(new, name) for name in KEPT}


def add(c: Connection, new: NewSchedule) -> StoredSchedule:
    """Write a schedule down; its first run is the first time of its rhythm after now."""
    now = read_clock(c)
    values = {
        "id": new.id,
        "tenant": new.tenant,
        "key_id": new.key_id,
        "version": 1,
        "created_at": now,
        **_written(new.name, new.orders, new.rhythm, paused=new.paused),
        "next_at": new.rhythm.after(now, now),
        "updated_at": now,
    }
    return _schedule(c.execute(insert(schedules).values(values).returning(schedules)).mappings().one())


def find(c: Connection, schedule_id: str, tenant: str) -> StoredSchedule | None:
    """Read a tenant's schedule."""
    row = c.execute(select(schedules).where(*_of(schedule_id, tenant))).mappings().one_or_none()
    return None if row is None else _schedule(row)


def page(c: Connection, tenant: str, *, before: tuple[int, str] | None = None, limit: int) -> list[StoredSchedule]:
    """Read a tenant's schedules, newest first, after ``before = (created_at, id)`` of the page before."""
    query = select(schedules).where(schedules.c.tenant == tenant, schedules.c.removed_at.is_(None))
    query = page_of(query, schedules.c.created_at, schedules.c.id, before, limit)
    return [_schedule(row) for row in c.execute(query).mappings()]


def replace(
    c: Connection, schedule_id: str, tenant: str, name: str, orders: Orders, rhythm: Rhythm, *, paused: bool
) -> StoredSchedule | None:
    """Change a schedule. A new rhythm, or being resumed, begins from now; nothing is made up for.

    Returns
    -------
    StoredSchedule or None
        ``None`` where the tenant has no such schedule.
    """
    locked = c.execute(select(schedules).where(*_of(schedule_id, tenant)).with_for_update()).mappings().one_or_none()
    if locked is None:
        return None
    now, was = read_clock(c), _schedule(locked)
    begins = rhythm != was.rhythm or (was.paused and not paused)
    values = _written(name, orders, rhythm, paused=paused) | {"version": was.version + 1, "updated_at": now}
    values["next_at"] = rhythm.after(now, now) if begins else was.next_at
    changed = update(schedules).where(schedules.c.id == schedule_id).values(values).returning(schedules)
    return _schedule(c.execute(changed).mappings().one())


def remove(c: Connection, schedule_id: str, tenant: str) -> bool:
    """End a schedule; the jobs it made stay. False where there is none."""
    gone = update(schedules).where(*_of(schedule_id, tenant))
    gone = gone.values(version=schedules.c.version + 1, updated_at=now_ms(), removed_at=now_ms())
    return c.execute(gone).rowcount > 0


# ---------------------------------------------------------------------------- what is done
def any_due(c: Connection) -> bool:
    """Whether a schedule is due."""
    return c.execute(select(schedules.c.id).where(*_due()).limit(1)).first() is not None


def run_due(c: Connection, bounds: Bounds) -> tuple[StoredSchedule, Ran] | None:
    """Run the schedule that has been due for longest, once, however many of its times were missed.

    Returns
    -------
    (StoredSchedule, Ran) or None
        As it stands now, and what was made; ``None`` where none is due.
    """
    longest_due = (
        select(schedules)
        .where(*_due())
        .order_by(schedules.c.next_at, schedules.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)  # one that somebody changes or runs just now has its turn later
    )
    row = c.execute(longest_due).mappings().one_or_none()
    if row is None:
        return None
    now, schedule = read_clock(c), _schedule(row)
    ran = _make(c, schedule, schedule.next_at, bounds)
    if ran.code == "cooling-down":
        return _noted(c, schedule, now, ran, next_at=now + ran.rest_s * 1000), ran
    return _noted(c, schedule, now, ran, next_at=schedule.rhythm.after(now, schedule.next_at)), ran


def run_now(c: Connection, schedule_id: str, tenant: str, bounds: Bounds) -> tuple[StoredSchedule, Ran] | None:
    """Run a schedule because somebody asks for it, paused or not; its times stay as they are.

    Returns
    -------
    (StoredSchedule, Ran) or None
        ``None`` where the tenant has no such schedule.
    """
    locked = c.execute(select(schedules).where(*_of(schedule_id, tenant)).with_for_update()).mappings().one_or_none()
    if locked is None:
        return None
    now, schedule = read_clock(c), _schedule(locked)
    ran = _make(c, schedule, now, bounds)
    return _noted(c, schedule, now, ran, next_at=schedule.next_at), ran


def seed_of(schedule_id: str, at: int) -> int:
    """Give a run its seed: other sentences each time, and the same for whoever computes it again.

    Parameters
    ----------
    schedule_id : str
        The schedule.
    at : int
        When it was due, in milliseconds since 1970.
    """
    digest = hashlib.sha256(f"{schedule_id} {at}".encode()).digest()
    return int.from_bytes(digest[:8]) >> (64 - SEED_BITS)


def _make(c: Connection, schedule: StoredSchedule, at: int, bounds: Bounds) -> Ran:
    """Write the jobs of one run down, or say why not."""
    orders = schedule.orders
    first = orders.jobs[0]
    try:
        target = describe_now(c, schedule.tenant, first["target_id"], first["target"])
        author = _author_now(c, schedule.tenant, first.get("author"))
    except (TargetRemoved, TargetChanged) as error:
        return Ran(None, code=error.code, failure=str(error))
    if jobs.count_unfinished(c, schedule.tenant) + len(orders.jobs) > bounds.max_active:
        why = f"with {len(orders.jobs)} more, over {bounds.max_active} jobs would be queued or running"
        return Ran(None, code="too-many-jobs", failure=why)
    if rest_s := cool_down.rest_s(c, schedule.tenant, target["base_url"], bounds.cooldown_s):
        return Ran(None, code="cooling-down", failure=f"the target rests for {rest_s} s more", rest_s=rest_s)
    seed = seed_of(schedule.id, at)
    made = [_job(c, schedule, kept, target, seed, author) for kept in orders.jobs]
    jobs.add_all(c, [(job, None) for job in made])
    ids = tuple(job.id for job in made)
    if orders.cells is None:
        return Ran(ids[0], ids)
    return Ran(_suite(c, schedule, target, ids).id, ids)


def _author_now(c: Connection, tenant: str, author: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Describe the author as it is saved now, or as the request had it."""
    if author is None or "id" not in author:
        return None if author is None else dict(author)
    return {"id": author["id"], **describe_now(c, tenant, author["id"], author)}


def _with_kept(c: Connection, tenant: str, experiment: Mapping[str, Any]) -> Mapping[str, Any]:
    """Put in what earlier runs had an author make."""
    if not (experiment.get("writing") or experiment.get("drawing")):
        return experiment
    return dump_method(with_kept(c, tenant, parse_method(experiment)))


def _job(
    c: Connection,
    schedule: StoredSchedule,
    kept: Mapping[str, Any],
    target: Mapping[str, Any],
    seed: int,
    author: dict[str, Any] | None,
) -> NewJob:
    fields = dict(kept) | {"target": dict(target), "author": author}
    fields["experiment"] = _with_kept(c, schedule.tenant, kept["experiment"])
    return NewJob(
        tenant=schedule.tenant,
        kind="rating",
        sealed_secret=None,
        request_digest=request_digest(schedule.tenant, kept["target_id"], target, kept["experiment"], seed, author),
        seed=seed,
        key_id=schedule.key_id,
        **fields,
    )


def _suite(c: Connection, schedule: StoredSchedule, target: Mapping[str, Any], job_ids: Sequence[str]) -> Any:
    orders = schedule.orders
    new = NewSuite(
        tenant=schedule.tenant,
        target=target,
        request={"asked": dict(orders.asked), "omitted": list(orders.omitted), "joined": []},
        callback_url=orders.jobs[0]["callback_url"],
        visibility=orders.jobs[0]["visibility"],
        cells=list(zip(orders.cells or (), job_ids, strict=True)),
    )
    return suites.add(c, new)


def _noted(c: Connection, schedule: StoredSchedule, now: int, ran: Ran, *, next_at: int) -> StoredSchedule:
    """Note on the schedule's row, which the caller holds, how a run went."""
    values: dict[str, Any] = {"last_at": now, "last_failure": ran.failure, "next_at": next_at}
    if ran.made_id is not None:
        values["last_job_id"] = ran.made_id
    noted = update(schedules).where(schedules.c.id == schedule.id).values(version=schedules.c.version + 1, **values)
    return _schedule(c.execute(noted.returning(schedules)).mappings().one())


# ---------------------------------------------------------------------------- rows
def _written(name: str, orders: Orders, rhythm: Rhythm, *, paused: bool) -> dict[str, Any]:
    return {
        "name": name,
        "request": orders.as_json(),
        "cron": rhythm.cron,
        "interval_s": rhythm.interval_s,
        "state": "paused" if paused else "active",
    }


def _of(schedule_id: str, tenant: str) -> list[ColumnElement[bool]]:
    return [schedules.c.id == schedule_id, schedules.c.tenant == tenant, schedules.c.removed_at.is_(None)]


def _due() -> list[ColumnElement[bool]]:
    return [schedules.c.state == "active", schedules.c.next_at <= now_ms(), schedules.c.removed_at.is_(None)]


def _schedule(row: RowMapping) -> StoredSchedule:
    fields = dict(row)
    rhythm = Rhythm(fields.pop("cron"), fields.pop("interval_s"))
    orders = Orders.from_json(fields.pop("request"))
    del fields["removed_at"]
    return StoredSchedule(orders=orders, rhythm=rhythm, **fields)
