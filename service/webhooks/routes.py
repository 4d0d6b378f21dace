"""``/v1/webhooks``: endpoints that receive notices; the deliveries to them and to a job's `callback_url`."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Response

from assay.document import JsonObject
from service.container import Service, ServiceDependency
from service.http.authentication import Caller, WebhookWriter
from service.http.conditional import entity_tag
from service.http.idempotency import Fingerprint, Repeat, Repeatable, answer_once, once
from service.http.json import Answer, StrictRoute, read_json, tagged, write_json
from service.http.openapi.responses import CONFLICT, LOCATION, TAGGED, created, leads_to, returns
from service.http.problems import Problem, existing, removed
from service.http.rows import Lists, Paging, in_path, lists_of
from service.jobs.routes import FoundJob
from service.webhooks.schemas import (
    DeliveryLine,
    DeliveryQuery,
    DeliveryView,
    NewWebhookView,
    WebhookDescription,
    WebhookView,
)
from service.webhooks.service import Deliveries
from store.core.columns import new_id
from store.core.database import Connection
from store.jobs import jobs
from store.jobs.jobs import Job
from store.security import signing
from store.security.signing import PublicKey
from store.webhooks import fan_out, webhooks
from store.webhooks.delivery_log import to_callback, to_webhook
from store.webhooks.webhooks import NewWebhook, Webhook

router = APIRouter(prefix="/v1/webhooks", tags=["webhooks"], route_class=StrictRoute)
of_jobs = APIRouter(prefix="/v1/jobs/{job_id}/deliveries", tags=["jobs"], route_class=StrictRoute)

WEBHOOK_LINKS = leads_to(
    "webhook_id", "getWebhook", "replaceWebhook", "pingWebhook", "rotateWebhook", "enableWebhook", "removeWebhook"
)


@router.post("", **created(NewWebhookView, "Created.", WEBHOOK_LINKS))
async def create_webhook(
    body: WebhookDescription, service: ServiceDependency, caller: WebhookWriter, repeat: Fingerprint
) -> Response:
    """Create a webhook. Its secret is shown in this answer and never again.

    The endpoint first gets a `webhook.challenge`, and notices only after it has answered it.
    """
    service.target_validator.check_callback(body.url, "url")
    webhook_id = new_id("whk")

    def add(c: Connection) -> Answer:
        sealed_secret = webhooks.seal(service.vault, webhooks.new_secret(), caller.tenant, webhook_id)
        new_webhook = NewWebhook(id=webhook_id, tenant=caller.tenant, sealed_secret=sealed_secret, **body.model_dump())
        webhook = webhooks.add(c, new_webhook, confirmed=False)
        fan_out.challenge(c, webhook, _base_url(service))
        # creates the signing key if there is none, because the answer contains the public key
        signing.current(c, service.vault)
        return _stored_answer(c, webhook, status=201, headers={"Location": f"{router.prefix}/{webhook.id}"})

    return await _with_secret(service, caller, repeat, add)


@router.get("", **lists_of(WebhookView, "One page of endpoints, newest first."))
async def list_webhooks(lists: Lists, service: ServiceDependency, caller: WebhookWriter, query: Paging) -> Response:
    """List your endpoints, newest first."""
    view = partial(WebhookView.of, key=await service.database.read(_current_public_key))
    return await lists.page(query, "webhooks", view, webhooks.page, caller.tenant)


OwnWebhook = Annotated[Webhook, in_path("webhook", webhooks.find, WebhookWriter)]


@router.get("/{webhook_id}", response_model=WebhookView, responses=TAGGED)
async def get_webhook(row: OwnWebhook, service: ServiceDependency) -> Response:
    """Read an endpoint, with only the last characters of its secret."""
    key = await service.database.read(_current_public_key)
    return tagged(WebhookView.of(row, key), _etag(row, key))


@router.put("/{webhook_id}", response_model=WebhookView, responses=CONFLICT)
async def replace_webhook(
    body: WebhookDescription, row: OwnWebhook, service: ServiceDependency, caller: WebhookWriter
) -> Response:
    """Change an endpoint. Its secret stays; waiting deliveries go to the new address, after it answered a challenge."""
    service.target_validator.check_callback(body.url, "url")

    def replace_and_challenge(c: Connection) -> Webhook | None:
        has_moved = webhooks.unconfirm_if_moved(c, row.id, caller.tenant, body.url)
        webhook = webhooks.replace(c, row.id, caller.tenant, **body.model_dump())
        if has_moved and webhook is not None:
            fan_out.challenge(c, webhook, _base_url(service))
        return webhook

    return await _change_webhook(service, row.id, replace_and_challenge)


@router.delete("/{webhook_id}", status_code=204, response_description="Removed.")
async def remove_webhook(webhook_id: str, service: ServiceDependency, caller: WebhookWriter) -> Response:
    """Remove an endpoint and its secret. Its waiting deliveries are dropped."""
    return removed(await service.database.write(webhooks.remove, webhook_id, caller.tenant), "webhook", webhook_id)


@router.post("/{webhook_id}/rotate", response_model=NewWebhookView, responses=TAGGED)
async def rotate_webhook(
    row: OwnWebhook, service: ServiceDependency, caller: WebhookWriter, repeat: Fingerprint
) -> Response:
    """Replace the secret of an endpoint. The new secret is shown in this answer only; the old signs 24 more hours.

    A second rotation within these hours ends the older of the two secrets at once.
    """

    def rotate(c: Connection) -> Answer:
        sealed_secret = webhooks.seal(service.vault, webhooks.new_secret(), caller.tenant, row.id)
        return _stored_answer(c, existing(webhooks.rotate(c, row.id, caller.tenant, sealed_secret), "webhook", row.id))

    return await _with_secret(service, caller, repeat, rotate)


@router.post("/{webhook_id}/enable", response_model=WebhookView)
async def enable_webhook(webhook_id: str, service: ServiceDependency, caller: WebhookWriter) -> Response:
    """Enable a disabled endpoint. Deliveries that were given up meanwhile can be sent again one by one.

    An endpoint that has not answered its challenge gets another one.
    """

    def enable(c: Connection) -> Webhook | None:
        webhook = webhooks.enable(c, webhook_id, caller.tenant)
        if webhook is not None and webhook.confirmed_at is None:
            fan_out.challenge(c, webhook, _base_url(service))
        return webhook

    return await _change_webhook(service, webhook_id, enable)


def queues_delivery(description: str) -> JsonObject:
    """Return FastAPI's arguments for a route that answers 202 with the delivery that it has queued."""
    return {
        "status_code": 202,
        "response_model": DeliveryView,
        "response_description": description,
        "responses": returns(LOCATION, status=202),
    }


@router.post("/{webhook_id}/ping", **queues_delivery("A notice of type `ping` is queued."))
async def ping_webhook(repeat: Repeat, row: OwnWebhook, service: ServiceDependency, caller: WebhookWriter) -> Response:
    """Send a test notice to an endpoint, regardless of its event types."""

    def ping(c: Connection) -> Answer:
        webhook = _require_enabled(webhooks.find(c, row.id, caller.tenant), row.id)
        return _webhook_deliveries(webhook).accepted_answer(c, fan_out.ping(c, webhook, _base_url(service)))

    return await answer_once(service, repeat, ping)


@router.get("/{webhook_id}/deliveries", **lists_of(DeliveryLine, "One page of deliveries, newest first."))
async def list_deliveries(lists: Lists, row: OwnWebhook, query: Annotated[DeliveryQuery, Query()]) -> Response:
    """List waiting deliveries to an endpoint, and deliveries of the last 30 days, newest first."""
    return await _webhook_deliveries(row).page_response(lists, query)


@router.get("/{webhook_id}/deliveries/{delivery_id}", response_model=DeliveryView)
async def get_delivery(delivery_id: str, row: OwnWebhook, service: ServiceDependency) -> Response:
    """Read a delivery: its payload, and every attempt with its answer."""
    return await _webhook_deliveries(row).delivery_response(service, delivery_id)


@router.post("/{webhook_id}/deliveries/{delivery_id}/redeliver", **queues_delivery("Queued again."))
async def redeliver(
    repeat: Repeat, delivery_id: str, row: OwnWebhook, service: ServiceDependency, caller: WebhookWriter
) -> Response:
    """Send a delivery again, under the same `webhook-id`, to the current address of its endpoint."""

    def send_again(c: Connection) -> Answer:
        webhook = _require_enabled(webhooks.find(c, row.id, caller.tenant), row.id)
        return _webhook_deliveries(webhook).send_again(c, delivery_id, webhook.url)

    return await answer_once(service, repeat, send_again)


def _current_public_key(c: Connection) -> PublicKey | None:
    """Return the public part of the current signing key; ``None`` before the first key is created."""
    return next((key for key in signing.all_keys(c) if key.retired_at is None), None)


def _base_url(service: Service) -> str:
    return (service.settings.public_url or "").rstrip("/")


def _webhook_deliveries(webhook: Webhook) -> Deliveries:
    return Deliveries(to_webhook(webhook.id, webhook.tenant), f"{router.prefix}/{webhook.id}")


def _require_enabled(row: Webhook | None, webhook_id: str) -> Webhook:
    row = existing(row, "webhook", webhook_id)
    if row.state != "enabled":
        raise Problem("webhook-disabled", f"{row.id} is disabled ({row.disabled_why}); enable it first")
    return row


def _stored_answer(c: Connection, row: Webhook, *, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    """Return an answer that shows an endpoint with a new secret, but not the secret, because answers are stored."""
    key = _current_public_key(c)
    view = NewWebhookView(**WebhookView.of(row, key).model_dump(), secret=None)
    return Answer(status, write_json(view), {**(headers or {}), "ETag": _etag(row, key)})


async def _with_secret(
    service: Service, caller: Caller, repeat: Repeatable, work: Callable[[Connection], Answer]
) -> Response:
    """Call `work` once per Idempotency-Key; add the endpoint's secret to the answer, unless it has been replaced."""
    answer, _ = await service.database.write(once, repeat, lambda c: (work(c), None))  # None: nothing else is created
    document = read_json(answer.body)
    webhook = await service.database.read(webhooks.find, document["id"], caller.tenant)
    if webhook is not None and document["secret_hint"] == WebhookView.of(webhook, None).secret_hint:
        document["secret"] = webhooks.reveal(service.vault, webhook.sealed_secret, caller.tenant, webhook.id)
    return replace(answer, body=write_json(document)).response(**{"Cache-Control": "no-store"})


async def _change_webhook(
    service: Service, webhook_id: str, change: Callable[[Connection], Webhook | None]
) -> Response:
    """Change a webhook, and return it with its tag (ETag); status 404 if `change` returns ``None``."""

    def change_and_read_key(c: Connection) -> tuple[Webhook, PublicKey | None]:
        return existing(change(c), "webhook", webhook_id), _current_public_key(c)

    webhook, key = await service.database.write(change_and_read_key)
    return tagged(WebhookView.of(webhook, key), _etag(webhook, key))


def _etag(row: Webhook, key: PublicKey | None) -> str:
    return entity_tag(row.id, row.version, "" if key is None else key.id[:8])


def _callback_deliveries(job: Job) -> Deliveries:
    return Deliveries(to_callback(job.id, job.tenant), f"/v1/jobs/{job.id}")


@of_jobs.get("", **lists_of(DeliveryLine, "One page of deliveries, newest first."))
async def list_job_deliveries(lists: Lists, job: FoundJob, query: Annotated[DeliveryQuery, Query()]) -> Response:
    """List waiting deliveries to a job's `callback_url`, and deliveries of the last 30 days, newest first."""
    return await _callback_deliveries(job).page_response(lists, query)


@of_jobs.get("/{delivery_id}", response_model=DeliveryView)
async def get_job_delivery(delivery_id: str, job: FoundJob, service: ServiceDependency) -> Response:
    """Read a delivery to a job's `callback_url`: its payload, and every attempt with its answer."""
    return await _callback_deliveries(job).delivery_response(service, delivery_id)


@of_jobs.post("/{delivery_id}/redeliver", **queues_delivery("Queued again."))
async def redeliver_to_callback(
    job_id: str, delivery_id: str, service: ServiceDependency, caller: WebhookWriter, repeat: Repeat
) -> Response:
    """Send a delivery to a job's `callback_url` again, under the same `webhook-id`."""

    def send_again(c: Connection) -> Answer:
        job = existing(jobs.find(c, job_id, caller.tenant), "job", job_id)
        return _callback_deliveries(job).send_again(c, delivery_id)

    return await answer_once(service, repeat, send_again)
