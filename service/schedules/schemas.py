"""Schemas of schedules: ratings and suites that are repeated."""

from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, Tag

from assay.canonical import described_digest
from assay.document import JsonObject
from service.http.openapi.common_schemas import Instant, RequestModel, ResponseModel
from service.jobs.schemas import RatingRequest, Status
from service.suites.schemas import SuiteRequest
from store.core.columns import iso
from store.suites.schedules import ScheduleKind, StoredSchedule


class WatchRequest(RequestModel):
    """Request to watch a rating: at each run a few of its cases are asked again, to notice that the service changed."""

    rating: Annotated[str, Field(min_length=1, max_length=100, examples=["rat_01KA8Z7Q0JX4M6C9E2B5H8N3VT"])]
    """A rating of yours. After a change, its re-rating is watched."""
    cases: Annotated[int, Field(ge=20, le=50)] = 40
    """Number of cases that are asked again: three quarters drawn at random, and the most telling ones."""


def _request_tag(request: object) -> str:
    """Return the tag by which pydantic chooses a request's schema: ``watch``, ``rating`` or ``suite``."""
    names = set(request) if isinstance(request, dict) else ()
    if isinstance(request, WatchRequest) or "rating" in names:
        return "watch"
    return "rating" if isinstance(request, RatingRequest) or "experiment" in names else "suite"


AnyRequest = Annotated[
    Annotated[RatingRequest, Tag("rating")]
    | Annotated[SuiteRequest, Tag("suite")]
    | Annotated[WatchRequest, Tag("watch")],
    Discriminator(_request_tag),
]

Title = Annotated[str, Field(min_length=1, max_length=200, examples=["Every Monday"])]
Cron = Annotated[str, Field(min_length=9, max_length=100, examples=["0 3 * * 1"])]
Interval = Annotated[int, Field(ge=1, le=10 * 366 * 86_400, examples=[604_800])]

NEXT_RUNS = 5
"""Number of future runs that a schedule shows."""


class ScheduleRequest(RequestModel):
    """Request to create a schedule."""

    name: Title
    """Name for people."""
    request: AnyRequest
    """A body of `POST /v1/jobs` or of `POST /v1/suites`, or a rating to watch (`{"rating": "rat_…"}`). Its target must
    be saved or have no secret. Each run measures anew with its own seed: `seed` and `max_age_s` do not apply."""
    cron: Cron | None = None
    """Minute, hour, day of the month, month and day of the week, in UTC. Send either this or `interval_s`."""
    interval_s: Interval | None = None
    """Seconds from one run to the next. Send either this or `cron`."""
    paused: bool = False
    """Whether the schedule is paused."""


class ScheduleChange(RequestModel):
    """Change of a schedule; omitted fields stay as they are."""

    name: Title | None = None
    request: AnyRequest | None = None
    cron: Cron | None = None
    """Replaces `interval_s`."""
    interval_s: Interval | None = None
    """Replaces `cron`."""
    paused: bool | None = None


class LastRun(ResponseModel):
    """The job or suite of a schedule's last run."""

    kind: Literal["job", "suite"]
    id: str
    href: str


class ServiceChangeView(ResponseModel):
    """A change of a watched service."""

    rating: str
    """The rating from before the change."""
    since: Instant
    rerating_job: str | None
    """The job that rates the service again; null if it could not be added."""
    rerating_status: Status | None
    """After a failed or cancelled job, and if none could be added, the next run of the watch adds another one."""


class WatchView(ResponseModel):
    """The service that a watch asks, and its newest change."""

    target_id: str | None
    """The saved target; null if it is not saved."""
    digest: str
    """Digest of the target when the watch was set up; its ratings name it."""
    change: ServiceChangeView | None
    """Newest change that this watch noticed."""

    @classmethod
    def of(cls, row: StoredSchedule) -> Self:
        """Build the view of a schedule that watches a service for changes."""
        job = row.orders.jobs[0]  # the only job, which rates the service again
        change = row.change
        return cls(
            target_id=job["target_id"],
            digest=described_digest(job["target"]),
            change=change
            and ServiceChangeView.from_row(
                change,
                rating=change.rating_id,
                since=iso(change.since),
                rerating_job=change.rerating_job_id or None,
            ),
        )


class ScheduleView(ResponseModel):
    """A schedule."""

    id: str
    kind: ScheduleKind
    """Kind of each run: a rating, a suite, or a check whether a watched service changed."""
    name: str
    request: JsonObject
    cron: str | None
    interval_s: int | None
    paused: bool
    next_at: Instant | None
    """Time of the next run; null while the schedule is paused. One run replaces all missed runs."""
    next_runs: list[Instant]
    """Times of the next five runs, `next_at` first; empty while the schedule is paused."""
    last_at: Instant | None
    """Time of the last run."""
    last_made: LastRun | None
    """The job or suite of the last successful run."""
    watch: WatchView | None
    """The watched service; null for other kinds."""
    last_failure: str | None
    """The reason why the last run failed; null if it succeeded."""
    created_at: Instant
    updated_at: Instant
    links: dict[str, str]

    @classmethod
    def of(cls, row: StoredSchedule) -> Self:
        """Build the view of a stored schedule."""
        path = f"/v1/schedules/{row.id}"
        return cls.from_row(
            row,
            kind=row.orders.kind,
            request=dict(row.orders.request),
            cron=row.recurrence.cron,
            interval_s=row.recurrence.interval_s,
            next_at=None if row.paused else row.next_at,
            next_runs=[] if row.paused else row.recurrence.times_from(row.next_at, NEXT_RUNS),
            last_made=last_run_view(row.last_job_id),
            watch=WatchView.of(row) if row.orders.kind == "watch" else None,
            links={"self": path, "run": f"{path}/run"},
        )


def last_run_view(made_id: str | None) -> LastRun | None:
    """Build the view of the job or suite that a run created, from its id; ``None`` if the run created none."""
    if made_id is None:
        return None
    kind: Literal["job", "suite"] = "suite" if made_id.startswith("sui_") else "job"
    return LastRun(kind=kind, id=made_id, href=f"/v1/{kind}s/{made_id}")
