"""Suites: submission (reuse ratings, join running jobs, add the other jobs in one transaction), and the profile."""

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from operator import itemgetter
from typing import NamedTuple

from assay.document import JsonObject, RatingDocument
from assay.rating.difference import worst_of
from reports.regulators import METHOD as AUDITED
from service.container import Service
from service.http.authentication import Caller
from service.http.idempotency import Repeatable, once, store_answer
from service.http.json import Answer
from service.http.problems import Problem
from service.jobs.service import as_rated, count_active, permit, refuse_cooling, too_many_jobs
from service.suites.planning import Plan
from service.suites.schemas import CellView, Progress, RowView, ServiceView, SuiteLine, SuiteView, WorstView
from store.core.database import Connection
from store.core.errors import AlreadyFinished
from store.jobs import jobs
from store.jobs.jobs import NewJob
from store.ratings import ratings
from store.ratings.ratings import StoredRating
from store.suites import suites
from store.suites.suites import Cell, NewSuite, StoredCell, StoredSuite, SuiteProgress, tally
from store.targets import domains

Ratings = Mapping[str, RatingDocument]
"""Ratings by id."""


class SuiteState(NamedTuple):
    """A suite with its cells and their ratings."""

    suite: StoredSuite
    cells: Sequence[StoredCell]
    ratings: Ratings


class PlacedSuite(NamedTuple):
    """A new suite, and the ids of its new jobs."""

    state: SuiteState
    job_ids: Sequence[str]


Show = Callable[[SuiteState], Answer]
"""Function that builds the answer to a request from the state of its suite."""


def suite_line(suite: StoredSuite, progress: SuiteProgress) -> SuiteLine:
    """Build the view of a suite in a list."""
    return SuiteLine.from_row(suite, **_suite_fields(suite, progress))


def suite_view(suite_state: SuiteState, now_s: float) -> SuiteView:
    """Build the profile (matrix of letters) of a suite; `now_s` is in seconds since 1970."""
    suite, cells, ratings = suite_state
    profile = _matrix_of_service(cells, suite.request["omitted"], ratings, now_s)
    services = None
    if suite.request.get("services") is not None:
        services = _profiles(suite, cells, ratings, now_s)
        profile |= {"columns": [], "rows": []}  # each service has its own matrix in `services`
    fields = _suite_fields(suite, tally(cells)) | profile
    return SuiteView.from_row(suite, request=suite.request["asked"], services=services, **fields)


def _profiles(suite: StoredSuite, cells: Sequence[StoredCell], ratings: Ratings, now_s: float) -> list[ServiceView]:
    """Build the profiles of several services, ranked by their worst letters, the best first."""
    numbered_cells = list(zip(suite.request["service_of"], cells, strict=True))
    profiles = []
    for number, target in enumerate(suite.request["services"]):
        own_cells = [cell for service_number, cell in numbered_cells if service_number == number]
        omissions = [omission for omission in suite.request["omitted"] if omission["service"] == number]
        matrix = _matrix_of_service(own_cells, omissions, ratings, now_s)
        profiles.append((_severity_key(matrix["worst"]), target, matrix))
    profiles.sort(key=itemgetter(0))  # by severity
    keys = [key for key, _, _ in profiles]  # services with equal keys (equally bad letters) share the first one's rank
    return [ServiceView(rank=keys.index(key) + 1, target=dict(target), **matrix) for key, target, matrix in profiles]


def _severity_key(view: WorstView | None) -> tuple[float, ...]:
    """Return the sort key of a worst letter, the best first; services without a letter come last."""
    if view is None:
        return (math.inf,)
    return ("UCS", "DSBS", "BS").index(view.letter), view.probabilities["BS"], view.probabilities["DSBS"]


def _matrix_of_service(
    cells: Sequence[StoredCell], omissions: Sequence[Mapping[str, str]], ratings: Ratings, now_s: float
) -> JsonObject:
    """Return the ``columns`` (languages) and ``rows`` of a service's matrix of letters, and its ``worst`` letter."""
    views: dict[Cell, CellView] = {cell.cell: _cell_view(cell, ratings, now_s) for cell in cells}
    for omission in omissions:
        views[Cell(omission["method"], omission["attribute"], omission["label"])] = _omitted_view(omission)
    columns = list(dict.fromkeys(cell.label for cell in views))
    return {
        "worst": _worst_view(cells, ratings),
        "columns": [label or None for label in columns],
        "rows": [
            RowView(
                method=method,
                attribute=attribute,
                cells=[views.get(Cell(method, attribute, label)) for label in columns],
            )
            for method, attribute in dict.fromkeys((cell.method, cell.attribute) for cell in views)
        ],
    }


def version_of(suite_state: SuiteState, now_s: float) -> str:
    """Return the entity tag of a profile; it changes when a job changes, or a rating expires or is withdrawn."""
    expired_count = sum(_is_expired(cell, now_s) for cell in suite_state.cells)
    withdrawn_count = sum(cell.withdrawn_at is not None for cell in suite_state.cells)
    return f'W/"{sum(cell.version for cell in suite_state.cells)}-{expired_count}-{withdrawn_count}"'


def _suite_fields(suite: StoredSuite, progress: SuiteProgress) -> JsonObject:
    path = f"/v1/suites/{suite.id}"
    links = {"self": path}
    if progress.ended_at is None:
        links["cancel"] = f"{path}/cancel"
    unfinished_status = "queued" if set(progress.by_status) == {"queued"} else "running"
    statuses = ("queued", "running", "succeeded", "failed", "cancelled")
    counts = {status: progress.by_status.get(status, 0) for status in statuses}
    return {
        "status": unfinished_status if progress.ended_at is None else "ended",
        "ended_at": progress.ended_at,
        "progress": Progress.from_row(
            progress, cells=sum(progress.by_status.values()), omitted=len(suite.request["omitted"]), **counts
        ),
        "links": links,
    }


def _cell_view(cell: StoredCell, ratings: Ratings, now_s: float) -> CellView:
    rating = ratings.get(cell.rating_id or "", RatingDocument())
    return CellView.from_row(
        cell,
        column=cell.cell.label or None,
        probabilities=rating.probabilities or None,
        reason=_missing_reason(cell, rating),
        expired=_is_expired(cell, now_s),
        withdrawn=cell.withdrawn_at is not None,
        href=f"/v1/jobs/{cell.job_id}" if cell.rating_id is None else f"/v1/ratings/{cell.rating_id}",
        job=cell.job_id,
    )


def _missing_reason(cell: StoredCell, rating: RatingDocument) -> str | None:
    """Return why a cell has no letter: its job failed, or nothing was measured; ``None`` for any other cell."""
    if cell.error is not None:
        return str(cell.error.get("detail") or cell.error.get("title"))
    is_unmeasured = cell.rating_id is not None and cell.letter is None
    return rating.reasons[0].text if is_unmeasured and rating.reasons else None


def _omitted_view(omission: Mapping[str, str]) -> CellView:
    empty_fields = dict.fromkeys(("letter", "declared", "probabilities", "rated_at", "expires_at", "href", "job"))
    facts: JsonObject = {"column": omission["label"] or None, "reason": omission["reason"], "status": "omitted"}
    return CellView(**facts, **empty_fields, expired=False, withdrawn=False)


def _worst_view(cells: Sequence[StoredCell], ratings: Ratings) -> WorstView | None:
    """Return the worst letter of ratings that are not withdrawn; ``None`` if there is none."""
    graded_cells = [cell for cell in cells if cell.letter is not None and cell.withdrawn_at is None]
    graded_ratings = [ratings[str(cell.rating_id)] for cell in graded_cells]
    verdict = worst_of(graded_ratings, missing=len(cells) - len(graded_ratings))
    if verdict is None:
        return None
    probabilities = {letter: getattr(verdict.probabilities, letter) for letter in ("BS", "DSBS", "UCS")}
    return WorstView(letter=verdict.letter.value, declared=verdict.declared, probabilities=probabilities)


def _is_expired(cell: StoredCell, now_s: float) -> bool:
    return cell.expires_at is not None and cell.expires_at <= now_s * 1000


async def place_suite(
    service: Service, caller: Caller, plan: Plan, repeat: Repeatable, show: Show, wait: int | None
) -> Answer:
    """Place a suite completely or not at all; with `wait`, answer when it has ended, or after `wait` seconds.

    Each new job counts towards the caller's rate limit, and is refused as in `permit`, or with ``too-many-jobs``.
    """
    if new_count := await service.database.read(_count_new, plan):
        for target in plan.targets[1:]:  # `permit` checks the first
            await refuse_cooling(service, caller, target.descriptor["base_url"])
        await permit(service, caller, plan.targets[0].descriptor["base_url"], count=new_count)
    answer, placed_suite = await service.database.write(
        _add_suite, caller.tenant, plan, repeat, show, service.settings.max_active_jobs, waits=bool(wait)
    )
    if placed_suite is not None:
        suite, cells, _ = placed_suite.state
        for job_id in placed_suite.job_ids:
            service.dispatcher.ring(job_id)
        if wait and not _all_finished(cells):
            await wait_for_end(service, cells, wait)
            answer = await service.database.write(_answer_after_wait, suite.id, caller.tenant, repeat, show)
    return answer


async def wait_for_end(service: Service, cells: Sequence[StoredCell], within_s: float) -> None:
    """Wait until every job has ended, at most `within_s` seconds."""
    clock = asyncio.get_running_loop().time
    end_s = clock() + within_s
    for cell in cells:
        if not cell.finished and (left_s := end_s - clock()) > 0:
            await service.event_stream.wait_for_end(cell.job_id, left_s)


def read_suite(c: Connection, suite_id: str, tenant: str) -> SuiteState | None:
    """Read a suite with its cells and their ratings, in three queries; ``None`` if the tenant has no such suite."""
    suite = suites.find(c, suite_id, tenant)
    if suite is None:
        return None
    cells = suites.cells(c, suite_id)
    ratings = suites.rating_documents(c, [cell.rating_id for cell in cells if cell.rating_id is not None])
    return SuiteState(suite, cells, ratings)


def read_audits(c: Connection, suite_id: str, tenant: str) -> list[StoredRating] | None:
    """Read a suite's ratings by `outcomes` (of recorded decisions); ``None`` if the tenant has no such suite.

    Raise `Problem` if the suite has no cell of this method, or if such a cell has no rating: a file about some of the
    tools or steps would look like a file about all.
    """
    if suites.find(c, suite_id, tenant) is None:
        return None
    cells = [cell for cell in suites.cells(c, suite_id) if cell.cell.method == AUDITED]
    missing = sum(cell.rating_id is None for cell in cells)
    if missing or not cells:
        reason = f"{missing} of its {len(cells)} cells have no rating" if cells else "it has no cell of this method"
        raise Problem("no-rating", f"files for regulators need ratings by {AUDITED}, and {reason}")
    ids = dict.fromkeys(cell.rating_id for cell in cells if cell.rating_id is not None)
    rating_of = ratings.find_all(c, ids, tenant)
    return [rating_of[rating_id] for rating_id in ids if rating_id in rating_of]


def cancel_jobs_of(c: Connection, suite_id: str, tenant: str) -> list[str] | None:
    """Cancel the jobs that a suite created; jobs that it joined continue.

    Returns the sorted ids of the cancelled jobs, or ``None`` if the tenant has no such suite. If all of its jobs
    have ended, raises ``already-finished``.
    """
    suite = suites.find(c, suite_id, tenant)
    if suite is None:
        return None
    unfinished_ids = [cell.job_id for cell in suites.cells(c, suite_id) if not cell.finished]
    if not unfinished_ids:
        raise Problem("already-finished", "every job of the suite has ended")
    own_ids = sorted(set(unfinished_ids) - set(suite.request["joined"]))
    for job_id in own_ids:  # sorted, so that two concurrent cancellations cannot deadlock
        with suppress(AlreadyFinished):  # the job may have ended after its cell was read
            jobs.request_cancel(c, job_id, tenant)
    return own_ids


def _count_new(c: Connection, plan: Plan) -> int:
    """Count the new jobs of a suite; only an estimate, because it reads without a transaction."""
    return sum(rating_id is None for _, rating_id in _settle_jobs(c, plan)[0])


def _add_suite(
    c: Connection, tenant: str, plan: Plan, repeat: Repeatable, show: Show, max_active: int, *, waits: bool
) -> tuple[Answer, PlacedSuite | None]:
    """Add a suite and its jobs in a transaction; return `show`'s answer, and the suite (``None``: request repeated)."""

    def add_jobs_and_suite(c: Connection) -> tuple[Answer, PlacedSuite]:
        wanted_jobs, job_ids = _settle_jobs(c, plan)  # jobs with the id of their rating or None; a job id for each cell
        new_jobs = [job for job, rating_id in wanted_jobs if rating_id is None]
        _refuse_too_many(c, tenant, new_jobs, max_active)
        domains.check(c, tenant, *(target for job in new_jobs for target in (job.target, job.author)))
        rating_of = ratings.find_all(c, [rating_id for _, rating_id in wanted_jobs if rating_id is not None], tenant)
        jobs_and_ratings = [(job, rating_of.get(rating_id or "")) for job, rating_id in wanted_jobs]
        jobs.add_all(c, [(as_rated(job, rating), rating) for job, rating in jobs_and_ratings])
        joined_ids = sorted(set(job_ids) - {job.id for job, _ in wanted_jobs})  # jobs of earlier requests
        suite_state = read_suite(c, suites.add(c, _new_suite(tenant, plan, job_ids, joined_ids)).id, tenant)
        assert suite_state is not None  # noqa: S101  the suite was just stored
        return show(suite_state), PlacedSuite(suite_state, [job.id for job in new_jobs])

    return once(c, repeat, add_jobs_and_suite, is_final=lambda placed: not waits or _all_finished(placed.state.cells))


def _all_finished(cells: Sequence[StoredCell]) -> bool:
    return all(cell.finished for cell in cells)


def _answer_after_wait(c: Connection, suite_id: str, tenant: str, repeat: Repeatable, show: Show) -> Answer:
    """Return an answer that shows the suite after the wait for its end, and store it for repetitions of the request."""
    suite_state = read_suite(c, suite_id, tenant)
    assert suite_state is not None  # noqa: S101  suites are never removed
    answer = show(suite_state)
    store_answer(c, repeat, answer)
    return answer


def _settle_jobs(c: Connection, plan: Plan) -> tuple[list[tuple[NewJob, str | None]], list[str]]:
    """Return the jobs to add, each with the id of a rating that answers it, if any; and a job's id for each cell."""
    digests = {planned_cell.order.job.request_digest for planned_cell in plan.planned}
    order = plan.planned[0].order  # all orders of a suite have the same tenant, age, visibility and callback
    known_work = suites.reusable_work(c, order.job, digests, order.age_s)
    wanted_jobs: dict[str, tuple[NewJob, str | None]] = {}
    job_ids: list[str] = []
    for planned_cell in plan.planned:
        job = planned_cell.order.job
        work = known_work[job.request_digest]
        if work.rating_id is None and work.twin_id is not None:
            job_ids.append(work.twin_id)  # the cell joins an unfinished job of an equal request
            continue
        # two cells with equal requests share one job
        shared_job, _ = wanted_jobs.setdefault(job.request_digest, (job, work.rating_id))
        job_ids.append(shared_job.id)
    return list(wanted_jobs.values()), job_ids


def _refuse_too_many(c: Connection, tenant: str, new_jobs: Sequence[NewJob], limit: int) -> None:
    active = count_active(c, tenant) if new_jobs else 0
    if active + len(new_jobs) > limit:
        detail = f"{active} of your jobs are queued or running; with {len(new_jobs)} more there would be over {limit}"
        raise too_many_jobs(detail)


def _new_suite(tenant: str, plan: Plan, job_ids: Sequence[str], joined_ids: Sequence[str]) -> NewSuite:
    first_order = plan.planned[0].order
    omissions = [omission.as_json() for omission in plan.omitted]
    descriptions = [target.descriptor for target in plan.targets]
    service_numbers = [planned_cell.service for planned_cell in plan.planned]
    services = {"services": descriptions, "service_of": service_numbers} if plan.several else {}
    return NewSuite(
        tenant=tenant,
        target={"name": f"{len(descriptions)} services"} if plan.several else descriptions[0],
        request={"asked": dict(plan.request), "omitted": omissions, "joined": list(joined_ids), **services},
        callback_url=first_order.job.callback_url,
        visibility=first_order.job.visibility,
        cells=[(planned_cell.cell, job_id) for planned_cell, job_id in zip(plan.planned, job_ids, strict=True)],
    )
