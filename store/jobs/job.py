"""Jobs: the fields of a new job, the stored row, its events, and changes of the row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Update, and_, insert, or_, select, update

from assay.canonical import commitment_of
from assay.document import Json, JsonObject
from store.core.clock import now_ms
from store.core.columns import SealedSecret, new_id, sealed_columns, take_sealed
from store.jobs.tables import events as event_rows
from store.jobs.tables import jobs
from store.webhooks.outbox import announce


@dataclass(frozen=True)
class Event:
    """An event of a job.

    `id` increases within a job; it is the value of ``Last-Event-ID``. `type` is ``queued``, ``claimed``, ``stage``,
    ``progress``, ``released``, ``succeeded``, ``failed`` or ``cancelled``. `at` is in milliseconds since 1970.
    """

    id: int
    job_id: str
    type: str
    data: JsonObject
    at: int


def append(c: Connection, job_id: str, type: str, data: Json, *, fence: int) -> None:  # noqa: A002
    """Append an event. The caller has locked the job's row, so that the ids of a job are committed in order."""
    c.execute(insert(event_rows).values(job_id=job_id, type=type, data=dict(data), fence=fence, at=now_ms()))


def events(c: Connection, job_id: str, after: int, limit: int = 500) -> list[Event]:
    """List a job's events after the event with id `after` (0: from the start), oldest first."""
    rows = c.execute(
        select(event_rows.c.id, event_rows.c.job_id, event_rows.c.type, event_rows.c.data, event_rows.c.at)
        .where(event_rows.c.job_id == job_id, event_rows.c.id > after)
        .order_by(event_rows.c.id)
        .limit(limit)
    )
    return [Event(*row) for row in rows]


Status = Literal["queued", "running", "succeeded", "failed", "cancelled"]
UNFINISHED = ("queued", "running")

COUNTERS = ("asked", "failed_calls", "calls", "observed", "attempt", "attempts_without_progress", "fence")
"""Columns of a job that start at 0."""


@dataclass(frozen=True, kw_only=True)
class RequestedWork:
    """Fields that a job has from its request until its end."""

    tenant: str
    kind: str
    """``"rating"``, ``"probe"`` (dry run), ``"rerate"`` (old evidence under another methodology version) or
    ``"challenge"`` (check of a host's owner).
    """
    target_id: str | None
    """The saved target, if the request names a saved target; its secret stays with the target."""
    target: JsonObject
    """name, kind, protocol, base_url, settings and limits; never the secret."""
    sealed_secret: SealedSecret | None
    """A secret sent with the request, encrypted with this job's `id` as its target."""
    experiment: JsonObject | None
    """The method's full specification."""
    request_digest: str
    """Digest of everything that affects the result; equal requests have equal digests."""
    seed: int
    """Seed of all random numbers."""
    visibility: str
    """``private``, ``unlisted`` or ``public``."""
    callback_url: str | None
    """URL to notify when the job ends."""
    max_calls: int
    """Maximum calls to the target."""
    expected: int
    """Number of probes if the job is decided at the first look; the number may grow."""
    key_id: str | None
    """The API key of the request."""


@dataclass(frozen=True, kw_only=True)
class NewJob(RequestedWork):
    """Fields of a new job."""

    deadline_s: int
    """Seconds from now until the job is given up."""
    author: JsonObject | None = None
    """A second service that generates the sentences or pictures: its description, and the ``id`` if it is a saved
    target, which stores its secret.
    """
    nonce: str = ""
    """Random text of the commitment, if the seed is random; the rating reveals it. Empty for a seed of the request, so
    that the same request gives the same rating.
    """
    id: str = field(default_factory=lambda: new_id("job"))


def columns_of(new: NewJob) -> dict[str, Any]:
    """Return the columns that differ between new jobs."""
    fields = {name: value for name, value in vars(new).items() if name not in {"sealed_secret", "deadline_s"}}
    fields |= {"target_url": new.target.get("base_url"), "deadline_ms": new.deadline_s * 1000}
    fields["commitment"] = commitment_of(new.experiment, new.seed, new.nonce) if new.kind == "rating" else None
    return fields | sealed_columns(new.sealed_secret)


@dataclass(frozen=True, kw_only=True)
class Job(RequestedWork):
    """A job's row. Times are milliseconds since 1970 by the database's clock."""

    id: str
    target_url: str | None
    """``target["base_url"]``, for filters."""
    author: JsonObject | None
    nonce: str | None
    """Nonce of the commitment."""
    commitment: str | None
    """Commitment to the experiment and the seed; ``None`` for other jobs."""
    deadline_at: int
    """When the job is given up, `deadline_s` after its creation."""
    status: Status
    stage: str
    """Current step, for display."""
    asked: int
    """Distinct probes answered so far."""
    failed_calls: int
    """Failures among `asked`."""
    calls: int
    """Calls made, including retries."""
    observed: int
    """Sequence number of the last observation."""
    cancel_requested: bool
    version: int
    """Incremented by every change of the row."""
    attempt: int
    """Number of claims."""
    attempts_without_progress: int
    """Number of claims since the last new observation."""
    fence: int
    """Number of the current claim; only its writes are accepted."""
    lease_owner: str | None
    lease_until: int | None
    next_run_at: int
    waits_why: str | None
    """Reason why a queued job does not start before `next_run_at`."""
    dispatched_at: int | None
    heartbeat_at: int | None
    created_at: int
    started_at: int | None
    finished_at: int | None
    error: JsonObject | None
    result: JsonObject | None
    rating_id: str | None

    @property
    def finished(self) -> bool:
        """Whether the job has ended, with or without success."""
        return self.status not in UNFINISHED


def job_from(**row: Any) -> Job:
    """Build a job from a full row of the table."""
    return Job(sealed_secret=take_sealed(row), **row)


def claimable() -> ColumnElement[bool]:
    """Return the condition that a job can be claimed: queued and due, or running with an expired lease."""
    return or_(
        and_(jobs.c.status == "queued", jobs.c.next_run_at <= now_ms()),
        and_(jobs.c.status == "running", jobs.c.lease_until <= now_ms()),
    )


def changed(**values: object) -> Update:
    """Return an UPDATE of job rows that increments `version`."""
    return update(jobs).values(version=jobs.c.version + 1, **values)


def end(c: Connection, job: Job, status: Status, facts: Mapping[str, Any], **values: object) -> Job:
    """End a job whose row is locked, and append its event (but no notice); delete the secret of a dry run."""
    if job.kind == "probe":
        values |= sealed_columns(None)
    ended = changed(status=status, lease_owner=None, lease_until=None, finished_at=now_ms(), **values)
    row = c.execute(ended.where(jobs.c.id == job.id).returning(jobs)).mappings().one()
    append(c, job.id, status, {"kind": job.kind, **facts}, fence=job.fence)
    return job_from(**row)


def end_cancelled(c: Connection, job: Job) -> Job:
    """Cancel a job whose row is locked, and write its notice."""
    ended = end(c, job, "cancelled", {}, cancel_requested=True)
    announce(c, ended.id, "job.cancelled", {"job_id": ended.id, "kind": ended.kind, "status": ended.status})
    return ended


def end_failed(c: Connection, job: Job, error: Mapping[str, Any], **values: object) -> None:
    """Fail a job whose row is locked, with a problem object (type, title, detail, code), and write its notice."""
    facts = {"error": dict(error)}
    end(c, job, "failed", facts, **facts, **values)
    announce(c, job.id, "job.failed", {"job_id": job.id, "kind": job.kind, "status": "failed", **facts})
