"""``/v1/jobs``: request a rating and follow its progress."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import Field
from starlette.exceptions import HTTPException

from assay.document import JsonObject
from service.container import Service, ServiceDependency
from service.http.authentication import Caller, Poller, Reader, Writer
from service.http.conditional import caller_has
from service.http.idempotency import Repeat, Repeatable, store_answer
from service.http.json import Answer, StrictRoute, json_response, write_json
from service.http.openapi.common_schemas import ResponseModel
from service.http.openapi.responses import ACCEPTED, CONFLICT, UNFINISHED, leads_to, returns
from service.http.problems import base_url, existing
from service.http.rate_limit import Wait
from service.http.rows import Fields, Lists, Page, PageQuery, Paging, Search, in_path, lists_of
from service.jobs.ledger import ledger_csv, ledger_jsonl
from service.jobs.schemas import (
    EventView,
    JobKind,
    JobLine,
    JobStart,
    JobView,
    ObservationView,
    PlanRequest,
    PlanView,
    RatingLink,
    RatingRequest,
)
from service.jobs.schemas import Status as JobStatus
from service.jobs.service import Order, facts_of, place, plan_order, rating_order
from service.jobs.status import Status
from service.ratings.service import MAX_LISTED, MAX_SUMMARISED
from service.targets.service import resolve_target
from store.archive import places
from store.core.database import Connection
from store.jobs import fair_order, jobs, observations
from store.jobs.fair_order import QueueState, Share
from store.jobs.jobs import Job
from store.ratings import ratings
from store.ratings.ratings import Stamp, StoredRating

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=StrictRoute)

SHORTEST_RETRY_S, LONGEST_RETRY_S = 1, 10

NEWEST = 4
"""Number of exchanges that are shown."""

JOB_LINKS = leads_to("job_id", "getJob", "followJob", "cancelJob", "listObservations")
RATING_PLACED = returns(ACCEPTED, status=202, links=JOB_LINKS)
RATING_LINK = leads_to("rating_id", "getRating", pointer="/rating/id")

JOB_PLACED: JsonObject = {
    "status_code": 202,
    "response_model": JobView,
    "response_description": "Accepted; 200 instead if the job ended within the requested wait.",
    "responses": RATING_PLACED | {200: {"model": JobView, "description": "The job has ended."}},
}
"""Arguments of a route whose job is the answer, and not a rating."""


@dataclass(frozen=True)
class Placement:
    """A request for a job, except its body: the caller, ``Idempotency-Key``, and the seconds of ``Prefer: wait``."""

    request: Request
    response: Response
    service: Service
    caller: Caller
    repeat: Repeatable
    wait: int | None

    def count_wait(self) -> AbstractContextManager[None]:
        """Return a context manager that counts the wait, if any, towards the caller's limits while it is open."""
        streams, caller = self.service.open_streams, self.caller
        return streams.count_stream(caller.tenant, caller.key_id) if self.wait else nullcontext()

    async def response_of(self, answer: Answer) -> Response:
        """Return the response of an answer, with headers that say how many new jobs the caller may still request."""
        allowance = await self.service.rate_limiter.remainder(self.caller.tenant)
        return answer.response(**self.response.headers, **allowance.headers)

    async def answer(self, order: Order, *, status_if_succeeded: int = 200) -> Response:
        """Place an order for a job; answer 202 or, if the job succeeds within `wait` seconds, `status_if_succeeded`."""
        service, caller, wait = self.service, self.caller, self.wait
        queue = await _queue_state(service)

        def show(job: Job, rating: Stamp | StoredRating | None, jobs_before: int | None) -> Answer:
            start = _job_start(service, job, jobs_before, queue)
            answer = _job_answer(base_url(self.request), service, status=202, job=job, start=start, rating=rating)
            return replace(answer, status=status_if_succeeded) if wait and job.status == "succeeded" else answer

        with self.count_wait():
            answer, job = await place(service, caller, order, self.repeat, show, waits=bool(wait))
            if job is not None and wait and not job.finished:
                await service.event_stream.wait_for_end(job.id, wait)
                answer = await service.database.write(_answer_after_wait, job, show, self.repeat)
        return await self.response_of(answer)


async def placement(
    request: Request, response: Response, service: ServiceDependency, repeat: Repeat, wait: Wait
) -> Placement:
    """Return the `Placement` of a request whose caller was identified by an earlier dependency."""
    return Placement(request, response, service, request.scope["assay.caller"], repeat, wait)


Placing = Annotated[Placement, Depends(placement)]


class JobQuery(PageQuery):
    """Filters of the list of jobs."""

    status: JobStatus | None = None
    target_url: Annotated[str | None, Field(max_length=2048, description="The target's address, exactly.")] = None
    kind: Annotated[JobKind | None, Field(description="Kind of job.")] = None
    made: Annotated[str | None, Field(max_length=100, description="Id of the rating that the job made.")] = None
    q: Search = None
    fields: Fields = "summary"


@router.post("", status_code=202, response_model=JobView, response_description="Accepted.", responses=RATING_PLACED)
async def request_rating(body: RatingRequest, service: ServiceDependency, caller: Writer, placing: Placing) -> Response:
    """Request a rating.

    Always answers 202 with the job's address in `Location`. If an earlier rating answers the request, the new
    job is `succeeded` at once; if the same request is running, the answer is its job.
    """
    order = await rating_order(service, caller, body, await resolve_target(service, caller, body.target))
    return await placing.answer(order, status_if_succeeded=202)


@router.post("/plan", response_model=PlanView, response_description="The plan.")
async def plan_rating(body: PlanRequest, service: ServiceDependency, caller: Writer) -> Response:
    """Plan a rating: questions, calls, seconds, cost, and the chance of a declared letter.

    Nothing is stored, and the service is not called. `questions` is the `expected` of the job.
    """
    target = await resolve_target(service, caller, body.target)
    order = await rating_order(service, caller, body, target)
    facts = await facts_of(service, caller, target, body)
    return json_response(PlanView.of(await plan_order(order, facts), facts.questions_per_call))


@router.get("", **lists_of(JobLine, "One page of jobs, newest first."))
async def list_jobs(
    lists: Lists, service: ServiceDependency, caller: Reader, query: Annotated[JobQuery, Query()]
) -> Response:
    """List your jobs, newest first. Lists of an experiment with more than 8 entries are left out.

    With `fields=full`, only lists with more than 100 entries are left out; `left_out` has their sizes.
    """
    page = await lists.read(query, "jobs", jobs.page, caller.tenant)
    letters = await service.database.read(ratings.stamps, [job.rating_id for job in page.rows if job.rating_id])
    now_s, base = service.clock(), base_url(lists.request)
    max_entries = MAX_LISTED if query.fields == "full" else MAX_SUMMARISED
    views = [
        JobLine.listed(job, max_entries, base=base, now_s=now_s, rating=_rating_link(letters.get(job.rating_id)))
        for job in page.rows
    ]
    return lists.response(query, "jobs", page, views)


@router.get("/{job_id}", response_model=JobView, responses=returns(UNFINISHED, links=RATING_LINK))
async def get_job(
    request: Request, job_id: str, service: ServiceDependency, caller: Poller, wait: Wait, response: Response
) -> Response:
    """Read a job and its progress. `ETag` and `Retry-After` make polling cheap; `Prefer: wait` avoids it."""
    key = (caller.tenant, job_id, base_url(request))
    status = await service.statuses.get(key, partial(_read_status, service, *key))
    # a caller who has this version gets 304 at once
    if wait and not status.finished and not caller_has(request, status.answer.headers["ETag"]):
        with service.open_streams.count_stream(caller.tenant, caller.key_id):
            await service.event_stream.wait_for_end(job_id, wait)
        status = await _read_status(service, *key)
    return status.answer.response(**response.headers)


@router.post("/{job_id}/cancel", response_model=JobView, responses=CONFLICT)
async def cancel_job(request: Request, job_id: str, service: ServiceDependency, caller: Writer) -> Response:
    """Cancel a job: at once if it is queued, within seconds if it is running. 409 if it has ended."""
    existing(await service.database.write(jobs.request_cancel, job_id, caller.tenant), "job", job_id)
    service.statuses.forget(job_id)
    return (await _read_status(service, caller.tenant, job_id, base_url(request))).answer.response()


FoundJob = Annotated[Job, in_path("job", jobs.find, Reader)]


# ---------------------------------------------------------------------------- events
RETRY_MS = 2_000
"""Milliseconds after which a follower connects again to a service that restarts."""


async def stream_start(
    job: FoundJob,
    service: ServiceDependency,
    last_event_id: Annotated[
        str | None,
        Header(max_length=18, pattern=r"^\d+$", description="Id of the last event seen; those after it are sent."),
    ] = None,
) -> int:
    """Return the id of the event after which a stream continues (0: all events); answer 204 if no event can follow."""
    after = int(last_event_id or 0)
    if after and not await service.database.read(jobs.events, job.id, after - 1, limit=1):
        after = 0  # the id is newer than every event of this job, so it belongs to another job
    if after and job.finished and not await service.database.read(jobs.events, job.id, after, limit=1):
        raise HTTPException(204)
    return after


async def counted_stream(request: Request, caller: Reader, service: ServiceDependency) -> AsyncIterator[None]:
    """Count an event stream towards the limits of its caller until it ends."""
    is_head = "assay.head" in request.scope  # set by `RequestMiddleware`; such a request opens no stream
    with nullcontext() if is_head else service.open_streams.count_stream(caller.tenant, caller.key_id):
        yield


@router.get(
    "/{job_id}/events",
    dependencies=[Depends(counted_stream)],
    response_class=EventSourceResponse,
    response_description="Server-sent events; `data` is an event as JSON, `id` goes into `Last-Event-ID`.",
    responses={204: {"description": "All events have been sent; no more will follow."}},
)
async def follow_job(
    request: Request, job: FoundJob, after: Annotated[int, Depends(stream_start)], service: ServiceDependency
) -> AsyncIterator[ServerSentEvent]:
    """Stream the events of a job, from its beginning or after `Last-Event-ID`, until it has ended."""
    if "assay.head" in request.scope:  # a HEAD request, whose answer has no body
        return
    async for event in service.event_stream.follow(job.id, after):
        yield ServerSentEvent(data=EventView.from_row(event, job=event.job_id), event=event.type, id=str(event.id))
    if service.event_stream.stopping:
        yield ServerSentEvent(comment="the service restarts", retry=RETRY_MS)


# ---------------------------------------------------------------------------- observations
@router.get(
    "/{job_id}/observations", **lists_of(ObservationView, "One page of observations, in the order of recording.")
)
async def list_observations(lists: Lists, job: FoundJob, service: ServiceDependency, query: Paging) -> Response:
    """List the questions with their replies, in the order of recording."""
    list_name = f"observations of {job.id}"
    after, _ = query.cursor_key(list_name, end=2**31) or (0, "")  # the key of an observation is (its number, "")
    rows = await service.database.read(observations.page, job.id, after, query.limit + 1)
    page = Page.of(rows, query.limit, key=lambda row: (row.seq, ""))
    return lists.response(query, list_name, page, [ObservationView.of(row) for row in page.rows])


@router.get("/{job_id}/observations.csv", response_class=Response, responses=returns({}, "text/csv"))
async def download_observations_csv(job: FoundJob, service: ServiceDependency) -> Response:
    """Download all observations as CSV. Cells that a spreadsheet would run as a formula begin with `'`."""
    return await ledger_csv(service.database, job.id)


@router.get("/{job_id}/observations.jsonl", response_class=Response, responses=returns({}, "application/jsonl"))
async def download_observations_jsonl(job: FoundJob, service: ServiceDependency) -> Response:
    """Download all observations exactly as recorded, one JSON object per line."""
    return await ledger_jsonl(service.database, job.id)


# ---------------------------------------------------------------------------- answers
def _answer_after_wait(c: Connection, job: Job, show: Any, repeat: Repeatable) -> Answer:
    """Return an answer that shows the job after the wait for its end, and store it for repetitions of the request."""
    current_job = jobs.find(c, job.id, job.tenant) or job
    answer: Answer = show(current_job, _read_stamp(c, current_job), jobs.own_before(c, current_job))
    store_answer(c, repeat, answer)
    return answer


async def _read_status(service: Service, tenant: str, job_id: str, base: str) -> Status:
    job, jobs_before, rating = existing(await service.database.read(_read_job, job_id, tenant), "job", job_id)
    # the queue is read only for a queued job
    start = None if jobs_before is None else _job_start(service, job, jobs_before, await _queue_state(service))
    return Status(_job_answer(base, service, status=200, job=job, start=start, rating=rating), job.finished)


def _read_job(c: Connection, job_id: str, tenant: str) -> tuple[Job, int | None, Stamp | None] | None:
    job = jobs.find(c, job_id, tenant)
    return None if job is None else (job, jobs.own_before(c, job), _read_stamp(c, job))


async def _queue_state(service: Service) -> QueueState:
    """Return the state of the queue, read about once a second for all requests."""
    return await service.queue_state.get("queue", partial(service.database.read, fair_order.state))


def _job_start(service: Service, job: Job, jobs_before: int | None, queue: QueueState) -> JobStart | None:
    """Return a queued job's position and estimated seconds to its start; `jobs_before` are those of its tenant."""
    if jobs_before is None:  # the job is not queued
        return None
    position = queue.position(job.tenant, jobs_before)
    due_in_s = ceil(job.next_run_at / 1000 - service.clock())  # later than now if the job waits for its host or target
    worker_free_in_s = fair_order.starts_in_s(job.tenant, jobs_before, position, queue, Share.of(service.settings))
    return JobStart(position, None if worker_free_in_s is None else max(worker_free_in_s, due_in_s))


def _read_stamp(c: Connection, job: Job) -> Stamp | None:
    return None if job.rating_id is None else ratings.stamps(c, [job.rating_id]).get(job.rating_id)


def _rating_link(rating: Stamp | StoredRating | None) -> RatingLink | None:
    return None if rating is None else RatingLink.from_row(rating, href=f"/v1/ratings/{rating.id}")


def _job_answer(
    base: str, service: Service, status: int, job: Job, start: JobStart | None, rating: Stamp | StoredRating | None
) -> Answer:
    """Return an answer that shows a job: with `status` 202 to a request for work, or with 200 to a look-up."""
    view = JobView.of(job, base=base, now_s=service.clock(), start=start, rating=_rating_link(rating))
    headers = {"ETag": f'W/"{job.version}-{view.queue_position or 0}"', "Cache-Control": "private, no-cache"}
    if status == 202:
        headers["Location"] = f"{router.prefix}/{job.id}"
        headers["Retry-After"] = "0"  # replaced below, unless the job has ended
    if not job.finished:
        retry_s = (view.eta_seconds or 0) // 10  # a tenth of the estimated remaining time
        headers["Retry-After"] = str(min(LONGEST_RETRY_S, max(SHORTEST_RETRY_S, retry_s)))
    return Answer(status, write_json(view), headers)


class PartView(ResponseModel):
    """A language of an experiment, and its progress."""

    name: str
    asked: int
    """Different questions asked so far, failed ones included."""


class ProgressView(ResponseModel):
    """Progress of a job by part, and its newest exchanges."""

    parts: list[PartView]
    """Progress by language; empty unless the experiment has languages."""
    newest: list[ObservationView]
    """The exchanges recorded last, the newest first."""


@router.get("/{job_id}/progress", response_model=ProgressView)
async def get_job_progress(job_id: str, service: ServiceDependency, caller: Reader) -> Response:
    """Read how many questions of each language were asked, and the newest exchanges. May be 2 seconds old."""
    read_progress = partial(service.database.read, _read_progress, job_id, caller.tenant)
    return json_response(existing(await service.progress.get((caller.tenant, job_id), read_progress), "job", job_id))


def _read_progress(c: Connection, job_id: str, tenant: str) -> ProgressView | None:
    """Count the questions asked in each language, and read the newest observations; ``None`` without such a job."""
    job = jobs.find(c, job_id, tenant)
    if job is None:
        return None
    is_archived = places.find(c, job_id) is not None
    languages = () if is_archived else (job.experiment or {}).get("languages") or ()
    counts: Counter[str] = observations.asked_by_part(c, job_id) if languages else Counter()
    return ProgressView(
        parts=[PartView(name=name, asked=counts[name]) for name in languages],
        newest=[ObservationView.of(row) for row in observations.newest(c, job_id, NEWEST)],
    )
