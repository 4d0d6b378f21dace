"""``/v1/overview``: the newest letter of each target, what needs attention, the queue and the workers."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Literal

from fastapi import APIRouter, Response

from service.container import ServiceDependency, sum_of
from service.http.authentication import Reader
from service.http.json import StrictRoute, json_response
from service.http.openapi.common_schemas import ResponseModel
from service.ratings.schemas import RatingSummary
from store.core.database import Connection
from store.jobs import jobs
from store.jobs.backlog import Queue
from store.jobs.jobs import Job
from store.ratings import ratings
from store.ratings.ratings import Summary
from store.ratings.services import count_by_kind
from store.ratings.standing import Standing, standings

router = APIRouter(prefix="/v1/overview", tags=["ratings"], route_class=StrictRoute)

MOST_TARGETS = 200
MOST_FAILED = 20
DAY_MS = 86_400_000
SOON_MS, RECENT_MS = 14 * DAY_MS, 7 * DAY_MS
STUCK_S = 60
"""Seconds after which a due job should have found a worker."""

Code = Literal["biased", "inconclusive", "not-measured", "expired", "expires-soon", "job-failed", "no-worker"]


class AttentionView(ResponseModel):
    """A rating, a failed job or a queue without workers, which needs attention."""

    code: Code
    text: str
    href: str
    """Address of the rating, the job or the list of queued jobs."""


class QueueView(ResponseModel):
    """Your jobs, and the waiting time in the queue."""

    jobs: dict[str, int]
    """Your unfinished jobs, and those that ended and were created within the last day, by status."""
    oldest_due_s: float | None
    """Seconds that the oldest due job of any tenant has waited; null if none is due."""


class WorkersView(ResponseModel):
    """Workers of the service."""

    busy: int
    """Workers that run a job now. Idle workers are unknown to the service and not counted."""


class OverviewView(ResponseModel):
    """Overview of your ratings and jobs."""

    targets: list[RatingSummary]
    """Your newest rating of each target, newest first, at most 200."""
    services: dict[str, int]
    """Number of services that you have rated, by kind."""
    attention: list[AttentionView]
    queue: QueueView
    workers: WorkersView


@router.get("", response_model=OverviewView)
async def get_overview(service: ServiceDependency, caller: Reader) -> Response:
    """Read the newest letter of each of your targets, what needs attention, the queue and the workers."""
    rows, standing, sentences, failed_jobs, queue = await service.database.read(_read_overview, caller.tenant)
    count_kinds = partial(count_by_kind, tenant=caller.tenant)
    cache_key = ("kinds", caller.tenant)
    counts = await service.merge(service.database, cache_key, read_part=count_kinds, merge=sum_of, tenant=caller.tenant)
    view = OverviewView(
        targets=[RatingSummary.of(row, standing[row.id]) for row in rows],
        services=counts,
        attention=list(_attention_views(rows, sentences, failed_jobs, queue, service.clock() * 1000)),
        queue=QueueView(jobs=queue.mine, oldest_due_s=queue.oldest_due_s),
        workers=WorkersView(busy=queue.busy_workers),
    )
    return json_response(view, headers={"Cache-Control": "private, no-cache"})


def _read_overview(
    c: Connection, tenant: str
) -> tuple[Sequence[Summary], Mapping[str, Standing], Mapping[str, str], Sequence[Job], Queue]:
    """Read the targets' newest ratings, their standings and sentences by rating id, failed jobs, and the queue."""
    failed_jobs = jobs.page(c, tenant, status="failed", kind="rating", limit=MOST_FAILED)
    rows = ratings.newest_of_targets(c, tenant, MOST_TARGETS)
    sentences = ratings.sentences(c, [row.id for row in rows])
    return rows, standings(c, rows), sentences, failed_jobs, jobs.queue_of(c, tenant)


def _attention_views(
    rows: Sequence[Summary], sentences: Mapping[str, str], failed_jobs: Sequence[Job], queue: Queue, now_ms: float
) -> Iterator[AttentionView]:
    """Yield what needs attention (queue, jobs, ratings), most urgent first; `sentences` explain ratings, by id."""
    if (queue.oldest_due_s or 0) > STUCK_S and not queue.busy_workers:
        text = f"no worker runs: a job has been due for {queue.oldest_due_s:.0f} s"
        yield AttentionView(code="no-worker", text=text, href="/v1/jobs?status=queued")
    for job in failed_jobs:
        if job.created_at > now_ms - RECENT_MS:
            reason = (job.error or {}).get("detail") or (job.error or {}).get("title") or "it failed"
            name = job.target.get("name")
            yield AttentionView(code="job-failed", text=f"{name} was not rated: {reason}", href=f"/v1/jobs/{job.id}")
    for row in rows:
        subject = f"{row.target['name']} ({row.attribute}, {row.method.replace('-', ' ')})"
        for code, text in _faults_of_rating(row, sentences.get(row.id), now_ms):
            yield AttentionView(code=code, text=f"{subject}: {text}", href=f"/v1/ratings/{row.id}")


def _faults_of_rating(row: Summary, sentence: str | None, now_ms: float) -> Iterator[tuple[Code, str]]:
    """Yield a code and a text for what needs attention in a rating: a missing or bad letter, an end of validity."""
    if row.letter is None:
        yield "not-measured", "nothing could be measured"
    elif not row.declared:
        yield "inconclusive", sentence or f"no letter is declared; {row.letter} is the likeliest"
    elif row.letter == "BS":
        yield "biased", sentence or "the letter is BS"
    if row.expires_at <= now_ms:
        yield "expired", "its rating has expired"
    elif row.expires_at <= now_ms + SOON_MS:
        yield "expires-soon", "its rating expires within 14 days"
