"""Schedules: requests that the scheduler repeats at set times.

A schedule stores validated templates of its jobs. Each run adds jobs from these, with the target as it is saved
now, a new deadline and a new seed. A run and the time of the next run are written in one transaction, so that no
run is lost or repeated.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, Literal, Self

from cronsim import CronSim, CronSimError
from sqlalchemy import ColumnElement, Connection, Text, select, type_coerce, update

from assay.document import Json, JsonObject
from assay.errors import OutOfBounds, SpecificationError
from store.core.columns import new_id, now_ms, random_nonce, random_seed, read_clock
from store.core.engines import lock_transaction
from store.core.errors import WatchUnfit
from store.core.rows import Rows, one_row
from store.corpora.materials import with_stored_material
from store.jobs import cooldowns, jobs
from store.jobs.job import NewJob, request_digest
from store.quota.tenant_rows import TenantRows
from store.ratings.experiment_json import dump_method, parse_method
from store.suites import sentinels, suites
from store.suites.sentinels import NoticedChange
from store.suites.suites import Cell, NewSuite
from store.suites.tables import schedules
from store.targets.targets import describe_now

CRON_FIELDS = 5
"""Number of fields of a cron expression: minute, hour, day of the month, month, day of the week; no seconds."""

MINUTES_A_DAY = 24 * 60
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Recurrence:
    """A cron expression or an interval in seconds. Call `check` before using it."""

    cron: str | None = None
    interval_s: int | None = None

    @property
    def shortest_s(self) -> int:
        """Minimum time between two runs, in seconds.

        For a cron expression: the minimum between its times of day, and from the last time of a day to the
        first of the next day. Days that the expression skips can only make the time longer.
        """
        if self.interval_s is not None:
            return self.interval_s
        cron = _parse_cron(str(self.cron), EPOCH)
        # times of day in minutes since midnight
        times_of_day = sorted(hour * 60 + minute for hour in cron.hours for minute in cron.minutes)
        gaps = [later - earlier for earlier, later in pairwise(times_of_day)]
        return 60 * min([*gaps, times_of_day[0] + MINUTES_A_DAY - times_of_day[-1]])

    def check(self, minimum_s: int) -> None:
        """Raise `SpecificationError` for an invalid recurrence or runs less than `minimum_s` seconds apart."""
        if (self.cron is None) == (self.interval_s is None):
            raise SpecificationError("set exactly one of cron and interval_s", "cron")
        if self.cron is not None:
            _next_time(self.cron, EPOCH + timedelta(days=366 * 50))  # from 2020: raises an error if no date matches
        if self.shortest_s < minimum_s:
            field = "cron" if self.interval_s is None else "interval_s"
            problem = f"two runs would be {self.shortest_s} s apart"
            raise OutOfBounds(f"{problem}; the minimum of this service is {minimum_s} s", field)

    def after(self, time_ms: int, anchor_ms: int) -> int:
        """Return the first time of a run after `time_ms`, in milliseconds since 1970; missed runs are skipped.

        `anchor_ms` is the time of any past or future run, for an interval; it is ignored for a cron expression.
        """
        if self.interval_s is None:
            next_time = _next_time(str(self.cron), EPOCH + timedelta(milliseconds=time_ms))
            return int((next_time - EPOCH) / timedelta(milliseconds=1))
        interval_ms = self.interval_s * 1000
        return anchor_ms + ((time_ms - anchor_ms) // interval_ms + 1) * interval_ms  # whole intervals from the anchor

    def times_from(self, first_ms: int, count: int) -> list[int]:
        """List `count` times of runs in milliseconds since 1970: `first_ms`, and those after it."""
        times = [first_ms]
        while len(times) < count:
            times.append(self.after(times[-1], anchor_ms=first_ms))
        return times


def _next_time(cron: str, after: datetime) -> datetime:
    """Return the first time later than `after` that a cron expression matches, or raise `SpecificationError`."""
    next_time = next(_parse_cron(cron, after), None)
    if next_time is None:
        raise SpecificationError(f"no date matches {cron!r}; check its day and month", "cron")
    return next_time


def _parse_cron(cron: str, after: datetime) -> CronSim:
    """Return an iterator over the matching times later than `after`; raise `SpecificationError` for invalid text."""
    if (count := len(cron.split())) != CRON_FIELDS:
        message = f"a cron expression has five parts (minute, hour, day, month, weekday); {cron!r} has {count}"
        raise SpecificationError(message, "cron")
    try:
        return CronSim(cron, after)
    except CronSimError as error:
        field = str(error).removeprefix("Bad ")  # the message is "Bad hour", for example
        message = f"the {field} of {cron!r} cannot be read; for example, '0 3 * * 1' is Mondays at 03:00"
        raise SpecificationError(message, "cron") from None


TEMPLATE_FIELDS = (
    *("target_id", "target", "author", "experiment", "visibility"),
    *("callback_url", "max_calls", "deadline_s", "expected"),
)
"""Fields of a job that its template stores; the other fields differ between runs."""

ScheduleKind = Literal["rating", "suite", "watch"]


@dataclass(frozen=True)
class Orders:
    """What a schedule repeats: its request and the templates of its jobs.

    `request` is the request as it was sent, `jobs` are the templates: the fields of `TEMPLATE_FIELDS`. `cells` has the
    cell (method, attribute and label) of each job in the suite that a run adds, or is ``None`` if a run adds a single
    job. `omitted` lists the combinations that the suite leaves out, with their reasons.
    """

    request: Json
    jobs: Sequence[Json]
    cells: Sequence[Cell] | None = None
    omitted: Sequence[Json] = ()

    @property
    def kind(self) -> ScheduleKind:
        """What a run adds: a job that rates, a suite, or a job that watches a rating."""
        if self.cells is not None:
            return "suite"
        return "watch" if "cases" in self.request else "rating"  # only a watch has a number of cases

    def as_json(self) -> JsonObject:
        """Return the request, the job templates and the cells (methods and attributes of a suite) as a JSON object."""
        return {
            "asked": dict(self.request),
            "jobs": [dict(job) for job in self.jobs],
            "cells": None if self.cells is None else [vars(cell) for cell in self.cells],
            "omitted": [dict(omission) for omission in self.omitted],
        }

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Build the orders from the JSON object of `as_json`."""
        cells = None if document["cells"] is None else [Cell(**cell) for cell in document["cells"]]
        return cls(document["asked"], document["jobs"], cells, document["omitted"])


@dataclass(frozen=True)
class StoredSchedule:
    """A schedule's row. Times are milliseconds since 1970; every change increments `version`.

    `last_job_id` is the last job or suite that was added, `last_failure` the reason if the last run added none.
    """

    id: str
    tenant: str
    name: str
    orders: Orders
    recurrence: Recurrence
    state: str
    next_at: int
    last_at: int | None
    last_job_id: str | None
    last_failure: str | None
    key_id: str | None
    version: int
    created_at: int
    updated_at: int
    change: NoticedChange | None = None
    """Newest change of the rated service that this schedule noticed, if it is a watch."""

    @property
    def paused(self) -> bool:
        """Whether the schedule is paused."""
        return self.state == "paused"


@dataclass(frozen=True)
class ScheduledRun:
    """Result of a run: the id of its job or suite (`made_id`), or the reason why no job was added.

    `code` is ``too-many-jobs``, ``cooling-down``, ``target-removed``, ``target-changed`` or ``schedule-unfit`` (of a
    watch, or an experiment that is no longer valid); `wait_s` is the number of seconds that the cool-down still takes.
    """

    made_id: str | None
    job_ids: tuple[str, ...] = ()
    code: str | None = None
    failure: str | None = None
    wait_s: int = 0


@dataclass(frozen=True)
class Bounds:
    """The operator's limits: unfinished jobs of a tenant; seconds of rest after a target's job, and a watch's run."""

    max_active: int
    cooldown_s: float
    watch_rest_s: int = 0


# ---------------------------------------------------------------------------- stored schedules
def job_template(job: NewJob) -> JsonObject:
    """Return the fields of a job that every run repeats."""
    return {name: getattr(job, name) for name in TEMPLATE_FIELDS}


def _schedule_from_row(*, request: Any, cron: str | None, interval_s: int | None, **row: Any) -> StoredSchedule:
    del row["removed_at"]
    return StoredSchedule(orders=Orders.from_json(request), recurrence=Recurrence(cron, interval_s), **row)


ROWS = TenantRows(schedules, _schedule_from_row, blank={"request": {}})


def find(c: Connection, schedule_id: str, tenant: str | None) -> StoredSchedule | None:
    """Read a tenant's schedule; with ``tenant=None``, a schedule of any tenant."""
    schedule = ROWS.find(c, schedule_id, tenant)
    return None if schedule is None else _with_changes(c, [schedule])[0]


def page(
    c: Connection, tenant: str | None, *, before: tuple[int, str] | None = None, limit: int
) -> Rows[StoredSchedule]:
    """List a tenant's schedules, newest first, starting after the schedule ``before = (created_at, id)``."""
    stored_page = ROWS.page(c, tenant, before=before, limit=limit)
    stored_page[:] = _with_changes(c, stored_page)  # in place, because `Rows` has attributes of its own
    return stored_page


def _with_changes(c: Connection, stored: Sequence[StoredSchedule]) -> list[StoredSchedule]:
    """Return the schedules; add to each watch the newest change that it noticed. At most one query is made."""
    changes = sentinels.newest_changes(c, [schedule.id for schedule in stored if schedule.orders.kind == "watch"])
    return [dataclasses.replace(schedule, change=changes.get(schedule.id)) for schedule in stored]


remove = ROWS.remove
"""Remove a schedule and keep its jobs; return false if there is none."""


def add(
    c: Connection, tenant: str, name: str, orders: Orders, recurrence: Recurrence, *, paused: bool, key_id: str | None
) -> StoredSchedule:
    """Add a schedule, which runs unless it is `paused`; raise `WatchUnfit` for a second watch of the same rating."""
    _refuse_second_watch(c, tenant, orders)
    now = read_clock(c)
    values = {"id": new_id("sch"), "tenant": tenant, "key_id": key_id, "version": 1}
    values |= {"created_at": now, "updated_at": now, "next_at": recurrence.after(now, anchor_ms=now)}
    return ROWS.add(c, values | _schedule_columns(name, orders, recurrence, paused=paused))


def replace(
    c: Connection,
    schedule_id: str,
    tenant: str,
    name: str | None = None,
    orders: Orders | None = None,
    recurrence: Recurrence | None = None,
    *,
    paused: bool | None = None,
) -> StoredSchedule | None:
    """Change those fields of a schedule that are not ``None``; return ``None`` if the tenant has no such schedule.

    If the recurrence changes or a pause ends, the next run is computed from now, without missed runs. Raises as `add`.
    """
    stored_schedule = ROWS.lock(c, schedule_id, tenant)
    if stored_schedule is None:
        return None
    name = stored_schedule.name if name is None else name
    orders = orders or stored_schedule.orders
    recurrence = recurrence or stored_schedule.recurrence
    paused = stored_schedule.paused if paused is None else paused
    if orders.request != stored_schedule.orders.request:
        _refuse_second_watch(c, tenant, orders, own_id=schedule_id)
    now = read_clock(c)
    restarts = recurrence != stored_schedule.recurrence or (stored_schedule.paused and not paused)
    next_at = recurrence.after(now, anchor_ms=now) if restarts else stored_schedule.next_at
    columns = _schedule_columns(name, orders, recurrence, paused=paused) | {"updated_at": now, "next_at": next_at}
    ROWS.change(c, schedule_id, tenant, columns)
    return find(c, schedule_id, tenant)


def _refuse_second_watch(c: Connection, tenant: str, orders: Orders, own_id: str = "") -> None:
    """Raise `WatchUnfit` if another schedule of the tenant watches the same rating."""
    if orders.kind != "watch":
        return
    lock_transaction(c, f"watches:{tenant}")
    rating_id = orders.request["rating"]
    names_rating = type_coerce(schedules.c.request, Text).contains(f'"{rating_id}"', autoescape=True)  # in any field
    for other in ROWS.page(c, tenant, names_rating, schedules.c.id != own_id, limit=100):
        if other.orders.kind == "watch" and other.orders.request["rating"] == rating_id:  # not elsewhere in the JSON
            raise WatchUnfit(f"the schedule {other.id} watches {rating_id} already; change it, or remove it first")


def _schedule_columns(name: str, orders: Orders, recurrence: Recurrence, *, paused: bool) -> dict[str, Any]:
    """Return the columns that a change of a schedule can set."""
    return {
        "name": name,
        "request": orders.as_json(),
        "cron": recurrence.cron,
        "interval_s": recurrence.interval_s,
        "state": "paused" if paused else "active",
    }


# ---------------------------------------------------------------------------- runs
def any_due(c: Connection) -> bool:
    """Return whether any schedule is due; takes no lock."""
    return c.execute(select(schedules.c.id).where(*_due_conditions()).limit(1)).first() is not None


def run_due(c: Connection, bounds: Bounds) -> tuple[StoredSchedule, ScheduledRun] | None:
    """Run the schedule that has been due for longest; run it once, even if several of its runs were missed.

    The result is the changed schedule and its run; ``None`` if no schedule is due.
    """
    longest_due = (
        select(schedules)
        .where(*_due_conditions())
        .order_by(schedules.c.next_at, schedules.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)  # a schedule locked by another transaction is left for later
    )
    schedule = one_row(c, longest_due, _schedule_from_row)
    if schedule is None:
        return None
    now = read_clock(c)
    run = _run(c, schedule, bounds)
    next_at = schedule.recurrence.after(now, anchor_ms=schedule.next_at)
    if run.code == "cooling-down":
        next_at = now + run.wait_s * 1000  # tries again when the target has cooled down
    return _store_run(c, schedule, now, run, next_at=next_at), run


def run_now(c: Connection, schedule_id: str, tenant: str, bounds: Bounds) -> tuple[StoredSchedule, ScheduledRun] | None:
    """Run a schedule now, even if paused, and keep its next time; ``None`` if the tenant has no such schedule."""
    schedule = ROWS.lock(c, schedule_id, tenant)
    if schedule is None:
        return None
    if schedule.orders.kind == "watch":
        sentinels.check_rest(c, schedule.id, tenant, schedule.last_job_id, bounds.watch_rest_s)
    now = read_clock(c)
    run = _run(c, schedule, bounds)
    return _store_run(c, schedule, now, run, next_at=schedule.next_at), run


def _run(c: Connection, schedule: StoredSchedule, bounds: Bounds) -> ScheduledRun:
    """Add the jobs of one run, or return the reason why no job was added."""
    try:
        return _add_jobs(c, schedule, bounds)
    except (*sentinels.UNFIT, SpecificationError) as error:  # such as a method of a plug-in that was removed
        code = WatchUnfit.code if isinstance(error, SpecificationError) else error.code
        return ScheduledRun(made_id=None, code=code, failure=str(error))


def _add_jobs(c: Connection, schedule: StoredSchedule, bounds: Bounds) -> ScheduledRun:
    """Add the jobs of a run, unless a limit forbids it; raise an error in `UNFIT`, or `SpecificationError`, before."""
    orders = schedule.orders
    first_template = orders.jobs[0]  # the jobs of a suite have the same target, author and visibility
    target = describe_now(c, schedule.tenant, first_template["target_id"], first_template["target"])
    author = _author_now(c, schedule.tenant, first_template.get("author"))
    if jobs.count_unfinished(c, schedule.tenant) + len(orders.jobs) > bounds.max_active:
        failure = f"{len(orders.jobs)} more jobs would exceed the limit of {bounds.max_active} queued or running jobs"
        return ScheduledRun(made_id=None, code="too-many-jobs", failure=failure)
    if wait_s := cooldowns.remaining_s(c, schedule.tenant, target["base_url"], bounds.cooldown_s):
        failure = f"the target cools down for another {wait_s} s"
        return ScheduledRun(made_id=None, code="cooling-down", failure=failure, wait_s=wait_s)
    if orders.kind == "watch":
        watch = sentinels.Watch(schedule=schedule.id, **orders.request)
        watch_job_id = sentinels.add_run(c, watch, schedule.tenant, schedule.key_id).id
        return ScheduledRun(made_id=watch_job_id, job_ids=(watch_job_id,))
    seed = random_seed()  # new, so that not even the tenant knows the questions beforehand
    new_jobs = [_new_job(c, schedule, template, target, seed, author) for template in orders.jobs]
    jobs.add_all(c, [(job, None) for job in new_jobs])  # None: no existing rating answers the job
    ids = tuple(job.id for job in new_jobs)
    if orders.cells is None:  # a single job, not a suite
        return ScheduledRun(made_id=ids[0], job_ids=ids)
    new_suite = NewSuite(
        tenant=schedule.tenant,
        target=target,
        request={"asked": dict(orders.request), "omitted": list(orders.omitted), "joined": []},
        callback_url=first_template["callback_url"],
        visibility=first_template["visibility"],
        cells=list(zip(orders.cells, ids, strict=True)),
    )
    return ScheduledRun(made_id=suites.add(c, new_suite).id, job_ids=ids)


def _author_now(c: Connection, tenant: str, requested_author: Json | None) -> JsonObject | None:
    """Return the author (second service) as it is saved now, or as the request describes it; ``None`` without one."""
    if requested_author is None:
        return None
    if "id" not in requested_author:
        return dict(requested_author)
    return {"id": requested_author["id"], **describe_now(c, tenant, requested_author["id"], requested_author)}


def _new_job(
    c: Connection, schedule: StoredSchedule, template: Json, target: Json, seed: int, author: JsonObject | None
) -> NewJob:
    """Return the job of a run from its template, with the target and the author as they are described now."""
    fields = dict(template) | {"target": dict(target), "author": author}
    if author is not None:  # adds fitting items that the tenant's corpora have already
        method = with_stored_material(c, schedule.tenant, parse_method(template["experiment"]))
        fields["experiment"] = dump_method(method)
    # the digest is of the experiment as requested, without the items added above
    digest = request_digest(schedule.tenant, template["target_id"], target, template["experiment"], seed, author)
    return NewJob(
        tenant=schedule.tenant,
        kind="rating",
        sealed_secret=None,
        request_digest=digest,
        seed=seed,
        nonce=random_nonce(),
        key_id=schedule.key_id,
        **fields,
    )


def _store_run(c: Connection, schedule: StoredSchedule, now: int, run: ScheduledRun, *, next_at: int) -> StoredSchedule:
    """Store the result of a run in the schedule's row, which the caller has locked; return the changed schedule."""
    values: dict[str, Any] = {"last_at": now, "last_failure": run.failure, "next_at": next_at}
    if run.made_id is not None:
        values["last_job_id"] = run.made_id  # the id of a job or of a suite
    statement = update(schedules).where(schedules.c.id == schedule.id).values(version=schedules.c.version + 1, **values)
    return _with_changes(c, [_schedule_from_row(**c.execute(statement.returning(schedules)).mappings().one())])[0]


def _due_conditions() -> list[ColumnElement[bool]]:
    return [schedules.c.state == "active", schedules.c.next_at <= now_ms(), schedules.c.removed_at.is_(None)]
