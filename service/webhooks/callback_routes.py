"""``/v1/jobs/{id}/deliveries``: deliveries to a job's `callback_url`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from service.dependencies import ServiceDependency
from service.http.authentication import WebhookWriter
from service.http.idempotency import Repeat, answer_once
from service.http.json import Answer, StrictRoute
from service.jobs.routes import FoundJob, found_job
from service.webhooks.deliveries import Deliveries
from service.webhooks.schemas import DeliveryList, DeliveryQuery, DeliveryView
from store.core.database import Connection
from store.jobs.jobs import Job
from store.webhooks.delivery_log import ToCallback

router = APIRouter(prefix="/v1/jobs/{job_id}/deliveries", tags=["jobs"], route_class=StrictRoute)


def _deliveries(job: Job) -> Deliveries:
    return Deliveries(ToCallback(job.id, job.tenant), f"/v1/jobs/{job.id}")


@router.get("", response_model=DeliveryList)
async def list_job_deliveries(
    request: Request, job: FoundJob, service: ServiceDependency, query: Annotated[DeliveryQuery, Query()]
) -> Response:
    """List waiting deliveries to a job's `callback_url`, and deliveries of the last 30 days, newest first."""
    return await _deliveries(job).listed(request, service, query)


@router.get("/{delivery_id}", response_model=DeliveryView)
async def get_job_delivery(delivery_id: str, job: FoundJob, service: ServiceDependency) -> Response:
    """Read a delivery to a job's `callback_url`: its payload, and every attempt with its answer."""
    return await _deliveries(job).shown(service, delivery_id)


@router.post(
    "/{delivery_id}/redeliver", status_code=202, response_model=DeliveryView, response_description="Queued again."
)
async def redeliver_to_callback(
    job_id: str, delivery_id: str, service: ServiceDependency, caller: WebhookWriter, repeat: Repeat
) -> Response:
    """Send a delivery to a job's `callback_url` again, under the same `webhook-id`."""
    deliveries = _deliveries(await found_job(job_id, service, caller))

    def again(c: Connection) -> Answer:
        return deliveries.send_again(c, delivery_id)

    return await answer_once(service, caller, repeat, again)
