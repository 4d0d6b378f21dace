"""Preparation of a schedule's jobs: validated once, added at each run."""

from assay.errors import SpecificationError
from reports.reading import case_reader
from service.container import Service
from service.http.authentication import Caller
from service.http.json import located
from service.http.problems import Problem
from service.jobs.service import Order, cooling_down, rating_order, too_many_jobs
from service.schedules.schemas import AnyRequest, WatchRequest
from service.suites.planning import as_asked, plan_suite
from service.suites.schemas import SuiteRequest
from service.targets.service import resolve_target
from store.core.database import Connection
from store.core.errors import WatchUnfit
from store.suites import sentinels
from store.suites.schedules import Orders, Recurrence, ScheduledRun, job_template


async def prepared_orders(service: Service, caller: Caller, request: AnyRequest) -> Orders:
    """Validate a schedule's request, and return the jobs that each run adds; problems point into that request."""
    with located("request"):
        if isinstance(request, WatchRequest):
            return await service.database.read(_watch_orders, caller, request)
        if isinstance(request, SuiteRequest):
            plan = await plan_suite(service, caller, request, recurring=True)
            templates = [job_template(_refuse_secret(planned_cell.order).job) for planned_cell in plan.planned]
            cells = [planned_cell.cell for planned_cell in plan.planned]
            return Orders(plan.request, templates, cells, omitted=[cell.as_json() for cell in plan.omitted])
        target = await resolve_target(service, caller, request.target)
        order = _refuse_secret(await rating_order(service, caller, request, target, recurring=True))
        return Orders(as_asked(request), [job_template(order.job)])


def _watch_orders(c: Connection, caller: Caller, request: WatchRequest) -> Orders:
    """Return the orders of a watch: a job that rates the service again. Refuse a rating that cannot be watched."""
    try:
        rating = sentinels.watched_rating(c, request.rating, caller.tenant)
        rerating_job = sentinels.repeat_job(c, rating, caller.key_id)
    except WatchUnfit as error:
        raise SpecificationError(str(error), "rating") from None
    if not case_reader(rating.rating, deciding=None).paired:
        raise SpecificationError(f"{rating.method} compares no cases that can be asked again one by one", "rating")
    return Orders(request.model_dump(), [job_template(rerating_job)])


def _refuse_secret(order: Order) -> Order:
    """Return an order, or refuse it if it has a secret, because only saved targets can store secrets."""
    if order.job.sealed_secret is not None:
        detail = "a schedule cannot store a secret; save the target with POST /v1/targets and name its id"
        raise Problem("bad-specification", detail, errors=[{"pointer": "/target/secret", "detail": detail}])
    return order


def checked_recurrence(service: Service, cron: str | None, interval_s: int | None) -> Recurrence:
    """Return when a schedule runs; raise an error naming `cron` or `interval_s` if it is invalid or too frequent."""
    recurrence = Recurrence(cron, interval_s)
    recurrence.check(service.settings.shortest_schedule_s)
    return recurrence


def refusal_of(run: ScheduledRun) -> Problem:
    """Return the problem for a requested run that created no job."""
    if run.code == "cooling-down":
        return cooling_down(run.wait_s)
    if run.code == "too-many-jobs":
        return too_many_jobs(run.failure)
    return Problem("schedule-unfit", run.failure)
