"""Jobs: the stored row, its events and changes, and submission with the existing work that answers a request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    Update,
    and_,
    bindparam,
    func,
    insert,
    or_,
    select,
    tuple_,
    update,
)

from assay.canonical import commitment_of, described_digest, digest_of
from assay.document import Json, JsonObject
from store.core.columns import AnyText, SealedSecret, new_id, now_ms, sealed_columns, take_sealed
from store.core.rows import one_row
from store.jobs import fair_order
from store.jobs.tables import events as event_rows
from store.jobs.tables import jobs
from store.quota import quota
from store.ratings.ratings import StoredRating, sentences
from store.ratings.tables import ratings
from store.targets import domains
from store.webhooks.outbox import add_notice, notice_row
from store.webhooks.tables import outbox as outbox_table


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
    """Append an event under the claim number `fence` (0: no claim). The caller has locked the job: ids are in order."""
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
    """Fields that new and stored jobs have in common."""

    tenant: str
    kind: str
    """``"rating"``, ``"probe"`` (dry run), ``"rerate"`` (old evidence under another methodology version),
    ``"challenge"`` (check of a host's owner), ``"writing"`` (an author generates sentences for a corpus) or ``"watch"``
    (some cases of a rating are asked again, `store.suites.sentinels`)."""
    target_id: str | None
    """The saved target, if the request names a saved target; its secret stays with the target."""
    target: JsonObject
    """Description of the target: name, kind, protocol, base_url, settings and limits; never the secret."""
    sealed_secret: SealedSecret | None
    """A secret sent with the request, encrypted so that it can be decrypted with this job's `id` only."""
    experiment: JsonObject | None
    """The method's full specification, or the input of a job of another kind than ``rating``, if it needs one."""
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
    """Number of probes that the first interim analysis needs; it may grow during the job."""
    key_id: str | None
    """The API key of the request."""
    author: JsonObject | None = None
    """Description of a second service, an author of sentences or pictures or a judge of texts; for a saved target, with
    its ``id``. It has no secret: that stays with the saved target."""


@dataclass(frozen=True, kw_only=True)
class NewJob(RequestedWork):
    """Fields of a new job."""

    deadline_s: int
    """Seconds from now until the job is given up."""
    nonce: str = ""
    """Random text in the commitment's digest, if the seed is random; the rating reveals it. Empty if the request gives
    the seed, so that the same request gives the same rating."""
    id: str = field(default_factory=lambda: new_id("job"))


def columns_of(new_job: NewJob) -> dict[str, Any]:
    """Return the columns of a row that the fields of a new job determine; other columns begin with fixed values."""
    fields = {name: value for name, value in vars(new_job).items() if name not in {"sealed_secret", "deadline_s"}}
    fields |= {"target_url": new_job.target.get("base_url"), "deadline_ms": new_job.deadline_s * 1000}
    fields["commitment"] = None
    if new_job.kind == "rating":
        fields["commitment"] = commitment_of(new_job.experiment, new_job.seed, new_job.nonce)
    return fields | sealed_columns(new_job.sealed_secret)


@dataclass(frozen=True, kw_only=True)
class Job(RequestedWork):
    """A job's row. Times are milliseconds since 1970 by the database's clock."""

    id: str
    target_url: str | None
    """``target["base_url"]``, for filters."""
    nonce: str | None
    """Random text in the digest `commitment`; empty if the request gave the seed."""
    commitment: str | None
    """Digest that commits to experiment, seed and nonce; ``None`` unless the job measures a rating."""
    deadline_at: int
    """When the job is given up, `deadline_s` after its creation."""
    status: Status
    stage: str
    """Current step, for display."""
    asked: int
    """Number of different probes with a reply or a final failure so far."""
    failed_calls: int
    """Number of those probes in `asked` that failed."""
    calls: int
    """Number of calls to the target so far, including retries."""
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
    return Job(sealed_secret=take_sealed(row), **row)  # `take_sealed`, evaluated first, shortens the row


def claimable() -> ColumnElement[bool]:
    """Return the condition that a job can be claimed: queued and due, or running with an expired lease."""
    return or_(
        and_(jobs.c.status == "queued", jobs.c.next_run_at <= now_ms()),
        and_(jobs.c.status == "running", jobs.c.lease_until <= now_ms()),
    )


def update_job(**values: object) -> Update:
    """Return an UPDATE of job rows that increments `version`."""
    return update(jobs).values(version=jobs.c.version + 1, **values)


def end(c: Connection, job: Job, status: Status, facts: Mapping[str, Any], **values: object) -> Job:
    """End a job whose row is locked, and append its event (but no webhook notice); delete the secret of a dry run.

    `facts` are data of the event, `values` further columns of the row.
    """
    if job.kind == "probe":  # a dry run
        values |= sealed_columns(None)  # no secret
    statement = update_job(status=status, lease_owner=None, lease_until=None, finished_at=now_ms(), **values)
    row = c.execute(statement.where(jobs.c.id == job.id).returning(jobs)).mappings().one()
    append(c, job.id, status, {"kind": job.kind, **facts}, fence=job.fence)
    return job_from(**row)


def end_cancelled(c: Connection, job: Job) -> Job:
    """Cancel a job whose row is locked, and write its webhook notice."""
    cancelled_job = end(c, job, "cancelled", {}, cancel_requested=True)
    add_notice(c, job.id, "job.cancelled", {"job_id": job.id, "kind": job.kind, "status": cancelled_job.status})
    return cancelled_job


def end_failed(c: Connection, job: Job, error: Mapping[str, Any], **values: object) -> None:
    """Fail a job whose row is locked, with a problem object (type, title, detail, code); write its webhook notice."""
    facts = {"error": dict(error)}  # in the event, the notice, and the column `error`
    end(c, job, "failed", facts, **facts, **values)
    add_notice(c, job.id, "job.failed", {"job_id": job.id, "kind": job.kind, "status": "failed", **facts})


@dataclass(frozen=True)
class ExistingWork:
    """Ratings and jobs that may answer a new request, and the load of its tenant."""

    rating_id: str | None
    """Newest rating of an equal request and visibility that is neither too old nor expired nor withdrawn."""
    twin_id: str | None
    """Newest unfinished job of an equal request that `joinable` admits."""
    active: int
    """Number of the tenant's unfinished jobs, counted up to the parameter `max_active` of `existing_work`."""
    own_before: int
    """Number of the tenant's queued jobs before a job added now, counted up to `fair_order.MOST_COUNTED`."""
    refusals: bool
    """Whether any host refuses ratings (`store.targets.domains`)."""


_tenant = bindparam("by_tenant", type_=AnyText())
_digest = bindparam("digest", type_=AnyText())
_age_ms = bindparam("age_ms", type_=BigInteger)
_visibility, _callback_url = bindparam("visibility", type_=AnyText()), bindparam("callback_url", type_=AnyText())


def joinable(visibility: Any, callback_url: Any) -> list[ColumnElement[bool]]:
    """Return the conditions that a request can join a job: unfinished, as visible, and with its callback, if any."""
    has_callback = jobs.c.callback_url.is_not_distinct_from(func.coalesce(callback_url, jobs.c.callback_url))
    is_unfinished = and_(jobs.c.status.in_(UNFINISHED), jobs.c.cancel_requested.is_(False))
    return [is_unfinished, jobs.c.visibility == visibility, has_callback]


_rating_id = (
    select(ratings.c.id)
    .where(ratings.c.tenant == _tenant, ratings.c.request_digest == _digest, _age_ms > 0)  # 0: none is wanted
    .where(ratings.c.created_at >= now_ms() - _age_ms, ratings.c.expires_at > now_ms())
    .where(ratings.c.withdrawn_at.is_(None), ratings.c.visibility == _visibility)
    .order_by(ratings.c.created_at.desc(), ratings.c.id.desc())
    .limit(1)
    .scalar_subquery()
)
_twin_id = (
    select(jobs.c.id)
    .where(jobs.c.tenant == _tenant, jobs.c.request_digest == _digest, *joinable(_visibility, _callback_url))
    .order_by(jobs.c.created_at.desc(), jobs.c.id.desc())
    .limit(1)
    .scalar_subquery()
)
_unfinished = (
    select(jobs.c.id)
    .where(jobs.c.tenant == _tenant, jobs.c.status.in_(UNFINISHED))
    .limit(bindparam("most", type_=Integer))
    .subquery()
)

# statements of frequent requests are built once, because that takes longer than executing them
_JOB_BY_ID = select(jobs).where(jobs.c.id == bindparam("job_id", type_=AnyText()))
_OWN_JOB = _JOB_BY_ID.where(jobs.c.tenant == _tenant)
_own_before = fair_order.jobs_before(_tenant, fair_order.QUEUE.c.next_run_at <= now_ms())
_job_key = tuple_(bindparam("next_run_at", type_=BigInteger), bindparam("job_id", type_=AnyText()))
_OWN_BEFORE = select(
    fair_order.jobs_before(_tenant, tuple_(fair_order.QUEUE.c.next_run_at, fair_order.QUEUE.c.id) < _job_key)
)
_EXISTING_WORK = select(
    _rating_id.label("rating_id"),
    _twin_id.label("twin_id"),
    select(func.count()).select_from(_unfinished).scalar_subquery().label("active"),
    _own_before.label("own_before"),
    domains.EXIST.label("refusals"),
)


def existing_work(c: Connection, job: RequestedWork, max_age_s: int, max_active: int) -> ExistingWork:
    """Read what answers the request of a job, and its tenant's load. Ratings are at most `max_age_s` old (0: none)."""
    values = {"by_tenant": job.tenant, "digest": job.request_digest, "age_ms": max_age_s * 1000, "most": max_active}
    values |= {"visibility": job.visibility, "callback_url": job.callback_url}
    return ExistingWork(*c.execute(_EXISTING_WORK, values).one())


def own_before(c: Connection, job: Job) -> int | None:
    """Count the jobs of its tenant that are queued before a job, up to `MOST_COUNTED`; ``None`` if it is not queued."""
    if job.status != "queued":
        return None
    values = {"by_tenant": job.tenant, "next_run_at": job.next_run_at, "job_id": job.id}
    return int(c.execute(_OWN_BEFORE, values).scalar_one())


def find(c: Connection, job_id: str, tenant: str | None) -> Job | None:
    """Read a tenant's job; with ``tenant=None``, a job of any tenant."""
    if tenant is None:
        return one_row(c, _JOB_BY_ID, job_from, {"job_id": job_id})
    return one_row(c, _OWN_JOB, job_from, {"job_id": job_id, "by_tenant": tenant})


def request_digest(
    tenant: str, target_id: str | None, target: Json, experiment: object, seed: int | None, author: Json | None = None
) -> str:
    """Compute a digest (``sha256:…``) over everything in a request that affects its result.

    `target_id` is the id of a saved target, if the request names one. `target` and `author` (the service that writes or
    judges texts) are descriptions as in a job. `experiment` is the method's full specification, or ``"probe"``. `seed`
    is ``None`` if the request gives no seed, so that a rating with any random seed answers it.
    """
    target_digest = described_digest(target)
    request: JsonObject = {"tenant": tenant, "target": target_id or target_digest, "described": target_digest}
    request |= {"experiment": experiment, "seed": seed}
    if author is not None:
        request["author"] = {"id": author.get("id"), "described": described_digest(author)}
    return digest_of(request)


_INSERT = (
    insert(jobs)
    .values(
        deadline_at=now_ms() + bindparam("deadline_ms", type_=BigInteger),
        cancel_requested=False,
        version=1,
        created_at=now_ms(),
        next_run_at=now_ms(),
        **dict.fromkeys(COUNTERS, 0),
    )
    .returning(jobs)
)

_INSERT_ANSWERED = _INSERT.values(finished_at=now_ms())

_QUEUED_COLUMNS: dict[str, Any] = {"status": "queued", "stage": "queued", "rating_id": None}
# the job asks nothing, because an existing rating answers it
_ANSWERED_COLUMNS: dict[str, Any] = {"status": "succeeded", "stage": "rated", "nonce": None, "commitment": None}


def add(c: Connection, new_job: NewJob, rating: StoredRating | None = None) -> Job:
    """Add a queued job, due at once, which the reconciler dispatches; or one that an existing rating answers."""
    return add_all(c, [(new_job, rating)])[0]


def add_all(c: Connection, entries: Sequence[tuple[NewJob, StoredRating | None]]) -> list[Job]:
    """Add several jobs, in a number of statements that does not depend on the number of jobs.

    Each job comes with the existing rating that answers it (it has succeeded already, and its webhook notice is
    written), or ``None`` to queue it. The result has the same order.
    """
    rows = [
        columns_of(new_job) | (_ANSWERED_COLUMNS | {"rating_id": rating.id} if rating else _QUEUED_COLUMNS)
        for new_job, rating in entries
    ]
    for tenant in sorted({row["tenant"] for row in rows}):  # sorted, so that two transactions cannot deadlock
        quota.add_job_size(c, tenant, quota.size_of_jobs(row for row in rows if row["tenant"] == tenant))
    jobs_by_id: dict[str, Job] = {}
    for statement, status_columns in ((_INSERT, _QUEUED_COLUMNS), (_INSERT_ANSWERED, _ANSWERED_COLUMNS)):
        if batch := [row for row in rows if row["status"] == status_columns["status"]]:
            jobs_by_id.update((row["id"], job_from(**row)) for row in c.execute(statement, batch).mappings())
    new_jobs = [(jobs_by_id[new_job.id], rating) for new_job, rating in entries]
    if new_jobs:
        c.execute(insert(event_rows), [_first_event(job, rating) for job, rating in new_jobs])
    if answered := [(job, rating) for job, rating in new_jobs if rating is not None]:
        reason_of = sentences(c, [rating.id for _, rating in answered])
        jobs_and_facts = [(job, success_facts(job, rating, reason_of.get(rating.id))) for job, rating in answered]
        notices = [notice_row(job.id, "job.succeeded", data, job.created_at) for job, data in jobs_and_facts]
        c.execute(insert(outbox_table), notices)
    return [job for job, _ in new_jobs]


def _first_event(job: Job, rating: StoredRating | None) -> JsonObject:
    """Return the row of the first event of a new job: it is queued, or answered by an existing rating."""
    facts = {"kind": job.kind} | ({"expected": job.expected} if rating is None else letter_facts(rating))
    return {"job_id": job.id, "type": job.status, "data": facts, "fence": 0, "at": job.created_at}


def letter_facts(rating: StoredRating) -> JsonObject:
    """Return the facts about a rating in the event that ends its job."""
    return {"rating_id": rating.id, "letter": rating.letter, "declared": rating.declared}


def success_facts(job: Job, rating: StoredRating, because: str | None) -> JsonObject:
    """Return the facts of the notice that a job has ended with a rating, or was answered by an earlier one."""
    facts = {"job_id": job.id, "kind": job.kind, "status": "succeeded", "target_url": rating.target_url}
    return {**facts, **letter_facts(rating), "because": because, "requester": rating.requested}
