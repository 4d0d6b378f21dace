"""``/v1/suites``: ratings of one target by several methods, attributes and languages, as one profile."""

import asyncio
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from assay.errors import UnknownName
from reports.pages import PageFormat
from reports.regulators import AUDIT_FILES, audit_file
from service.container import Service, ServiceDependency
from service.http.authentication import Reader, Writer
from service.http.conditional import caller_has
from service.http.json import Answer, StrictRoute, json_response, write_json
from service.http.openapi.responses import ACCEPTED, CONFLICT, UNFINISHED, leads_to, returns
from service.http.problems import Problem, existing
from service.http.rate_limit import Wait
from service.http.rows import Lists, Paging, lists_of
from service.jobs.routes import Placing
from service.ratings.service import audit_report, page_report
from service.suites.planning import plan_suite, view_of_plan
from service.suites.schemas import SuiteLine, SuitePlanRequest, SuitePlanView, SuiteRequest, SuiteView
from service.suites.service import (
    SuiteState,
    cancel_jobs_of,
    place_suite,
    read_audits,
    read_suite,
    suite_line,
    suite_view,
    version_of,
    wait_for_end,
)
from store.suites import suites

router = APIRouter(prefix="/v1/suites", tags=["suites"], route_class=StrictRoute)

LONGEST_RETRY_S = 10

AUDIT_TYPES = dict.fromkeys(file.media_type.partition(";")[0] for file in AUDIT_FILES)

AuditName = Annotated[
    str,
    Path(
        description="Name of the file, as for a rating: `ll144.html`.",
        json_schema_extra={"enum": [file.name for file in AUDIT_FILES]},
    ),
]

SUITE_PLACED = returns(ACCEPTED, status=202, links=leads_to("suite_id", "getSuite", "cancelSuite"))


@router.post("", status_code=202, response_model=SuiteView, response_description="Accepted.", responses=SUITE_PLACED)
async def request_suite(body: SuiteRequest, service: ServiceDependency, caller: Writer, placing: Placing) -> Response:
    """Request a profile: each combination of method, attribute and language becomes a job.

    Always answers 202 with the suite's address in `Location`. All jobs are created, or none. Earlier ratings and
    running jobs are reused.
    """
    plan = await plan_suite(service, caller, body)
    show = partial(_suite_answer, service, 202)
    with placing.count_wait():
        answer = await place_suite(service, caller, plan, placing.repeat, show, placing.wait)
    return await placing.response_of(answer)


@router.post("/plan", response_model=SuitePlanView, response_description="The plan.")
async def plan_profile(body: SuitePlanRequest, service: ServiceDependency, caller: Writer) -> Response:
    """Plan a suite: the questions, calls, seconds and cost of each cell and of all. Nothing is stored or called."""
    return json_response(await view_of_plan(service, caller, await plan_suite(service, caller, body), body))


@router.get("", **lists_of(SuiteLine, "One page of suites, newest first."))
async def list_suites(lists: Lists, service: ServiceDependency, caller: Reader, query: Paging) -> Response:
    """List your suites, newest first, without their matrices."""
    page = await lists.read(query, "suites", suites.page, caller.tenant)
    progress = await service.database.read(suites.tallies, [suite.id for suite in page.rows])
    return lists.response(query, "suites", page, [suite_line(suite, progress[suite.id]) for suite in page.rows])


@router.get("/{suite_id}", response_model=SuiteView, responses=returns(UNFINISHED))
async def get_suite(
    request: Request, suite_id: str, service: ServiceDependency, caller: Reader, wait: Wait, response: Response
) -> Response:
    """Read a profile: the letter of each cell, the worst letter, and the progress."""
    suite_state = await _read_suite(service, suite_id, caller.tenant)
    # a caller who has this version gets 304 at once
    if wait and not caller_has(request, version_of(suite_state, service.clock())):
        with service.open_streams.count_stream(caller.tenant, caller.key_id):
            await wait_for_end(service, suite_state.cells, wait)
        suite_state = await _read_suite(service, suite_id, caller.tenant)
    return _suite_answer(service, 200, suite_state).response(**response.headers)


@router.get("/{suite_id}/report.html", response_class=Response)
async def get_suite_report_html(suite_id: str, service: ServiceDependency, caller: Reader) -> Response:
    """Download a profile as an HTML report: its matrix of letters, with links to the reports of the ratings."""
    return await _report(service, suite_id, caller.tenant, "html")


@router.get("/{suite_id}/report.md", response_class=Response)
async def get_suite_report_markdown(suite_id: str, service: ServiceDependency, caller: Reader) -> Response:
    """Download a profile as a Markdown report."""
    return await _report(service, suite_id, caller.tenant, "markdown")


async def _report(service: Service, suite_id: str, tenant: str, page_format: PageFormat) -> Response:
    suite_state = await _read_suite(service, suite_id, tenant)
    now_s = service.clock()
    document = suite_view(suite_state, now_s).model_dump(mode="json")
    return page_report(page_format, "suite", document, version_of(suite_state, now_s))


@router.get("/{suite_id}/audits/{name}", response_class=Response, responses=returns({}, *AUDIT_TYPES) | CONFLICT)
async def download_suite_audit(suite_id: str, name: AuditName, service: ServiceDependency, caller: Reader) -> Response:
    """Download a file for regulators: all ratings of a suite by `outcomes` (of several tools or steps) in one document.

    404 until each cell of this method has a rating; 409 if two count people of one file, and could unmask counts.
    """
    try:
        file = audit_file(name)
    except UnknownName as error:
        raise Problem("not-found", str(error)) from None
    audits = existing(await service.database.read(read_audits, suite_id, caller.tenant), "suite", suite_id)
    headers = {"Cache-Control": "private, no-cache", "Vary": "Authorization"}
    return await asyncio.to_thread(audit_report, file, headers, *audits)


@router.post("/{suite_id}/cancel", response_model=SuiteView, responses=returns(UNFINISHED) | CONFLICT)
async def cancel_suite(suite_id: str, service: ServiceDependency, caller: Writer) -> Response:
    """Cancel the jobs that the suite created; jobs that it joined continue. 409 if all have ended."""
    for job_id in existing(await service.database.write(cancel_jobs_of, suite_id, caller.tenant), "suite", suite_id):
        service.statuses.forget(job_id)
    return _suite_answer(service, 200, await _read_suite(service, suite_id, caller.tenant)).response()


async def _read_suite(service: Service, suite_id: str, tenant: str) -> SuiteState:
    return existing(await service.database.read(read_suite, suite_id, tenant), "suite", suite_id)


def _suite_answer(service: Service, status: int, suite_state: SuiteState) -> Answer:
    now_s = service.clock()
    view = suite_view(suite_state, now_s)
    headers = {"ETag": version_of(suite_state, now_s), "Cache-Control": "private, no-cache"}
    unfinished_count = view.progress.queued + view.progress.running
    if status == 202:
        headers["Location"] = f"{router.prefix}/{view.id}"
        headers["Retry-After"] = "0"  # replaced below, unless the suite has ended
    if unfinished_count:
        headers["Retry-After"] = str(min(LONGEST_RETRY_S, unfinished_count))  # one second for each job
    return Answer(status, write_json(view), headers)
