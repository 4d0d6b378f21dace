"""``/v1/jobs/{id}/deliveries``: what was sent to a job's own `callback_url`, and sending it again."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from service.dependencies import Here
from service.http.authentication import WebhookWriter
from service.http.idempotency import Repeat, once
from service.http.json import Answer, StrictRoute
from service.jobs.routes import FoundJob, found_job
from service.webhooks.deliveries import Sent
from service.webhooks.schemas import DeliveryList, DeliveryQuery, DeliveryView
from store.jobs.jobs import Job
from store.webhooks.delivery_log import ToCallback

router = APIRouter(prefix="/v1/jobs/{job_id}/deliveries", tags=["jobs"], route_class=StrictRoute)


def _sent(job: Job) -> Sent:
    return Sent(ToCallback(job.id, job.tenant), f"/v1/jobs/{job.id}")


@router.get("", response_model=DeliveryList, operation_id="listJobDeliveries")
async def list_job_deliveries(
    request: Request, response: Response, job: FoundJob, here: Here, query: Annotated[DeliveryQuery, Query()]
) -> Response:
    """List what was sent to a job's `callback_url` within the last 30 days, or still waits, newest first."""
    return await _sent(job).listed(request, response, here, query)


@router.get("/{delivery_id}", response_model=DeliveryView, operation_id="getJobDelivery")
async def get_job_delivery(delivery_id: str, job: FoundJob, here: Here) -> Response:
    """Read a delivery to a job's `callback_url`: what is sent, and every attempt with its answer."""
    return await _sent(job).shown(here, delivery_id)


@router.post(
    "/{delivery_id}/redeliver",
    status_code=202,
    response_model=DeliveryView,
    operation_id="redeliverToCallback",
    response_description="It is on its way again.",
)
async def redeliver_to_callback(
    job_id: str, delivery_id: str, here: Here, caller: WebhookWriter, repeat: Repeat
) -> Response:
    """Send a delivery to a job's `callback_url` again, under the same `webhook-id`."""
    sent = _sent(await found_job(job_id, here, caller))

    def again(c: Any) -> Answer:
        return sent.again(c, delivery_id)

    answer = await here.database.write(once, repeat.by(caller), again)
    return answer.response()
