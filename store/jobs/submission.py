"""Submission of jobs: digests of requests, existing work that answers them, and new rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Connection, Integer, bindparam, func, insert, select

from assay.canonical import described_digest, digest_of
from assay.document import Json, JsonObject
from store.core.clock import now_ms
from store.core.columns import AnyText
from store.core.engines import lock_transaction
from store.core.rows import one_row
from store.jobs import fair_order
from store.jobs.job import COUNTERS, UNFINISHED, Job, NewJob, columns_of, job_from
from store.jobs.tables import events as events_table
from store.jobs.tables import jobs
from store.quota import quota
from store.ratings.tables import ratings
from store.targets import domains
from store.webhooks.outbox import notice_row
from store.webhooks.tables import outbox as outbox_table


@dataclass(frozen=True)
class ExistingWork:
    """Existing work that answers a request."""

    rating_id: str | None
    """Newest rating of an equal request that is neither too old nor expired nor withdrawn."""
    twin_id: str | None
    """Newest unfinished job of an equal request, unless it is being cancelled."""
    active: int
    """The tenant's unfinished jobs, counted up to the given maximum."""
    own_before: int
    """The tenant's jobs that are due before a job added now, counted up to `fair_order.MOST_COUNTED`."""
    refusals: bool
    """Whether any host refuses ratings (`store.targets.domains`)."""


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

# statements of frequent requests are built once, because that takes longer than executing them
_JOB = select(jobs).where(jobs.c.id == bindparam("job_id", type_=AnyText()))
_OWN_JOB = _JOB.where(jobs.c.tenant == _mine)
_own_before = fair_order.jobs_before(_mine, fair_order.QUEUE.c.next_run_at <= now_ms())
_EXISTING_WORK = select(
    _rating_id.label("rating_id"),
    _twin_id.label("twin_id"),
    select(func.count()).select_from(_unfinished).scalar_subquery().label("active"),
    _own_before.label("own_before"),
    domains.EXIST.label("refusals"),
)


def existing_work(c: Connection, tenant: str, request_digest: str, max_age_s: int, max_active: int) -> ExistingWork:
    """Read existing work for a request; count at most `max_active` unfinished jobs of the tenant."""
    values = {"by_tenant": tenant, "digest": request_digest, "age_ms": max_age_s * 1000, "most": max_active}
    return ExistingWork(*c.execute(_EXISTING_WORK, values).one())


def serialise(c: Connection, request_digest: str) -> None:
    """Lock a request digest until the transaction ends, so that equal requests run one after another."""
    lock_transaction(c, request_digest)


def find(c: Connection, job_id: str, tenant: str | None) -> Job | None:
    """Read a tenant's job; with ``tenant=None``, a job of any tenant."""
    if tenant is None:
        return one_row(c, _JOB, job_from, {"job_id": job_id})
    return one_row(c, _OWN_JOB, job_from, {"job_id": job_id, "by_tenant": tenant})


def request_digest(
    tenant: str,
    target_id: str | None,
    target: Json,
    experiment: object,
    seed: int | None,
    author: Json | None = None,
) -> str:
    """Compute a digest (``sha256:…``) over everything in a request that affects its result.

    Parameters
    ----------
    target_id : str or None
        Id of the saved target, if the request names a saved target.
    target : mapping
        Description of the target as in a job: kind, protocol, base_url, settings.
    experiment : mapping or str
        The method's full specification, or ``"probe"``.
    seed : int or None
        Seed in the request; ``None`` if it gives none, so that a rating with any random seed answers it.
    author : mapping, optional
        Description of the service that generates sentences or pictures, as in a job.
    """
    described = described_digest(target)
    request = {
        "tenant": tenant,
        "target": target_id or described,
        "described": described,
        "experiment": experiment,
        "seed": seed,
    }
    if author is not None:
        request["author"] = {"id": author.get("id"), "described": described_digest(author)}
    return digest_of(request)


# ------------------------------------------------------------------------------- new jobs
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

_INSERT_EVENT = insert(events_table).inline()

_INSERT_ANSWERED = _INSERT.values(finished_at=now_ms())

_QUEUED: dict[str, Any] = {"status": "queued", "stage": "queued"}
# the job asks nothing, because an existing rating answers it
_ANSWERED: dict[str, Any] = {"status": "succeeded", "stage": "rated", "nonce": None, "commitment": None}


def add(c: Connection, new: NewJob) -> Job:
    """Add a queued job, due at once. Its row is the dispatch request."""
    return add_all(c, [(new, None)])[0]


def add_finished(c: Connection, new: NewJob, rating_id: str) -> Job:
    """Add a job that an existing rating answers: already succeeded, with its notice."""
    return add_all(c, [(new, rating_id)])[0]


def add_all(c: Connection, entries: Sequence[tuple[NewJob, str | None]]) -> list[Job]:
    """Add several jobs, in a number of statements that does not depend on the number of jobs.

    Each job comes with the id of an existing rating that answers it, or ``None`` to queue it. The result has the
    same order.
    """
    rows = [
        columns_of(new) | {"rating_id": rating_id} | (_QUEUED if rating_id is None else _ANSWERED)
        for new, rating_id in entries
    ]
    for tenant in sorted({row["tenant"] for row in rows}):
        quota.add_jobs(c, tenant, quota.size_of_jobs(row for row in rows if row["tenant"] == tenant))
    added: dict[str, Job] = {}
    for statement, state in ((_INSERT, _QUEUED), (_INSERT_ANSWERED, _ANSWERED)):
        if batch := [row for row in rows if row["status"] == state["status"]]:
            added.update((row["id"], job_from(**row)) for row in c.execute(statement, _parameters(batch)).mappings())
    new_jobs = [added[new.id] for new, _ in entries]
    if new_jobs:
        c.execute(_INSERT_EVENT, _parameters([_first_event(job) for job in new_jobs]))
    if answered := [job for job in new_jobs if job.finished]:
        notices = [notice_row(job.id, f"job.{job.status}", _facts_of(job), job.created_at) for job in answered]
        c.execute(insert(outbox_table), notices)
    return new_jobs


def _parameters(rows: list[dict[str, Any]]) -> list[dict[str, Any]] | dict[str, Any]:
    """Return parameters of an INSERT; a list takes SQLAlchemy's slower path for many rows, even with one row."""
    return rows if len(rows) > 1 else rows[0]


def _first_event(job: Job) -> JsonObject:
    return {"job_id": job.id, "type": job.status, "data": _first_facts(job), "fence": 0, "at": job.created_at}


def _first_facts(job: Job) -> JsonObject:
    return {"kind": job.kind} | ({"rating_id": job.rating_id} if job.finished else {"expected": job.expected})


def _facts_of(job: Job) -> JsonObject:
    return {"job_id": job.id, "kind": job.kind, "status": job.status, "rating_id": job.rating_id}
