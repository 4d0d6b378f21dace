"""``/v1/schedules``: ratings and suites that are repeated."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Response

from service.container import ServiceDependency
from service.http.authentication import Reader, Writer
from service.http.conditional import entity_tag
from service.http.idempotency import Repeat, answer_once, once
from service.http.json import Answer, StrictRoute, tagged, write_json
from service.http.openapi.responses import ACCEPTED, CONFLICT, TAGGED, created, leads_to, returns
from service.http.problems import existing, removed
from service.http.rows import Lists, Paging, in_path, lists_of
from service.jobs.service import permit
from service.schedules.schemas import ScheduleChange, ScheduleRequest, ScheduleView, last_run_view
from service.schedules.service import checked_recurrence, prepared_orders, refusal_of
from store.core.database import Connection
from store.suites import schedules
from store.suites.schedules import Bounds, StoredSchedule

router = APIRouter(prefix="/v1/schedules", tags=["schedules"], route_class=StrictRoute)

FoundSchedule = Annotated[StoredSchedule, in_path("schedule", schedules.find, Reader)]
OwnSchedule = Annotated[StoredSchedule, in_path("schedule", schedules.find, Writer)]

SCHEDULE_LINKS = leads_to("schedule_id", "getSchedule", "changeSchedule", "runSchedule", "removeSchedule")


def _etag(row: StoredSchedule) -> str:
    """Return a schedule's entity tag: its version and, for a watch, the re-rating job, which can change by itself."""
    rerating = () if row.change is None else (row.change.rerating_job_id, row.change.rerating_status)
    return entity_tag(row.id, row.version, *rerating)


@router.post("", **created(ScheduleView, "Created.", SCHEDULE_LINKS))
async def create_schedule(
    body: ScheduleRequest, service: ServiceDependency, caller: Writer, repeat: Repeat
) -> Response:
    """Create a schedule, which repeats a rating or a suite. The request is validated at once."""
    recurrence = checked_recurrence(service, body.cron, body.interval_s)
    orders = await prepared_orders(service, caller, body.request)

    def add(c: Connection) -> Answer:
        row = schedules.add(c, caller.tenant, body.name, orders, recurrence, paused=body.paused, key_id=caller.key_id)
        headers = {"Location": f"{router.prefix}/{row.id}", "ETag": _etag(row)}
        return Answer(201, write_json(ScheduleView.of(row)), headers)

    return await answer_once(service, repeat, add)


@router.get("", **lists_of(ScheduleView, "One page of schedules, newest first."))
async def list_schedules(lists: Lists, caller: Reader, query: Paging) -> Response:
    """List your schedules, newest first."""
    return await lists.page(query, "schedules", ScheduleView.of, schedules.page, caller.tenant)


@router.get("/{schedule_id}", response_model=ScheduleView, responses=TAGGED)
async def get_schedule(row: FoundSchedule) -> Response:
    """Read a schedule: its next run, its last job or suite, and the reason if its last run failed."""
    return tagged(ScheduleView.of(row), _etag(row))


@router.patch("/{schedule_id}", response_model=ScheduleView, responses=TAGGED | CONFLICT)
async def change_schedule(
    row: OwnSchedule, body: ScheduleChange, service: ServiceDependency, caller: Writer
) -> Response:
    """Change, pause or resume a schedule. Omitted fields stay; a new `cron` or `interval_s` begins now."""
    recurrence = None
    if body.cron is not None or body.interval_s is not None:
        recurrence = checked_recurrence(service, body.cron, body.interval_s)
    orders = None if body.request is None else await prepared_orders(service, caller, body.request)
    schedule = await service.database.write(
        schedules.replace, row.id, caller.tenant, body.name, orders, recurrence, paused=body.paused
    )
    schedule = existing(schedule, "schedule", row.id)
    return tagged(ScheduleView.of(schedule), _etag(schedule))


@router.delete("/{schedule_id}", status_code=204, response_description="Removed.")
async def remove_schedule(schedule_id: str, service: ServiceDependency, caller: Writer) -> Response:
    """Remove a schedule. Its jobs and suites stay."""
    return removed(await service.database.write(schedules.remove, schedule_id, caller.tenant), "schedule", schedule_id)


@router.post(
    "/{schedule_id}/run",
    status_code=202,
    response_model=ScheduleView,
    response_description="Accepted; `Location` is the job or the suite.",
    responses=returns(ACCEPTED, status=202),
)
async def run_schedule(repeat: Repeat, row: OwnSchedule, service: ServiceDependency, caller: Writer) -> Response:
    """Run a schedule now, even if it is paused. Its next time stays the same."""
    await permit(service, caller, target_url=None, count=len(row.orders.jobs))  # `run_now` checks the cool-down
    settings = service.settings
    bounds = Bounds(settings.max_active_jobs, settings.cooldown_s, settings.shortest_schedule_s)

    def run(c: Connection) -> tuple[Answer, Sequence[str]]:
        schedule, attempt = existing(schedules.run_now(c, row.id, caller.tenant, bounds), "schedule", row.id)
        if (run_view := last_run_view(attempt.made_id)) is None:
            raise refusal_of(attempt)
        headers = {"Location": run_view.href, "Retry-After": "1"}
        return Answer(202, write_json(ScheduleView.of(schedule)), headers), attempt.job_ids

    answer, job_ids = await service.database.write(once, repeat, run)
    for job_id in job_ids or ():
        service.dispatcher.ring(job_id)
    return answer.response(**(await service.rate_limiter.remainder(caller.tenant)).headers)
