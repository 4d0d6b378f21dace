"""``/v1/jobs/{id}/progress``: questions by part, and the newest exchanges.

Pages show both while a job runs. Each job's progress is read at most once a second, for all callers together.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

from fastapi import APIRouter, Response

from service.dependencies import ServiceDependency
from service.http.authentication import Reader
from service.http.json import StrictRoute, json_response
from service.http.openapi.common_schemas import ResponseModel
from service.http.problems import existing
from service.jobs.schemas import ObservationView
from store.core.database import Connection
from store.jobs import jobs, observations

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=StrictRoute)

NEWEST = 4
"""Number of exchanges that are shown."""


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
    read = partial(service.database.read, _progress, job_id, caller.tenant)
    return json_response(existing(await service.progress.get((caller.tenant, job_id), read), "job", job_id))


def _progress(c: Connection, job_id: str, tenant: str) -> ProgressView | None:
    job = jobs.find(c, job_id, tenant)
    if job is None:
        return None
    languages = (job.experiment or {}).get("languages") or ()
    counts: Counter[str] = observations.asked_by_part(c, job_id) if languages else Counter()
    return ProgressView(
        parts=[PartView(name=name, asked=counts[name]) for name in languages],
        newest=[ObservationView.of(row) for row in observations.newest(c, job_id, NEWEST)],
    )
