"""``/webhooks``: endpoints for notices, and the deliveries to them."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from web.frame import Pages, Refused, Visit

pages = Pages()

SHOWN = 50
MOST_REDELIVERED = 200
"""Maximum number of deliveries that one press of a button sends again."""

EVENTS = {
    "job.succeeded": "A job has given a rating",
    "job.failed": "A job has failed",
    "job.cancelled": "A job was cancelled",
    "rating.published": "A rating was made public",
    "rating.changed": "The letter of a service changed",
    "rating.expiring": "A rating is about to expire",
    "rating.withdrawn": "A rating was withdrawn",
}
"""Types of notice (`EventType` of the API), in words."""


@pages.get("/webhooks")
async def webhooks(visit: Visit) -> Response:
    """List endpoints, with a form for a new one."""
    return await _listed(visit, {})


@pages.post("/webhooks", "webhooks:write")
async def create_webhook(visit: Visit) -> Response:
    """Create an endpoint, and show its secret once."""
    form = await visit.form()
    body = {
        "url": str(form.get("url", "")).strip(),
        "description": str(form.get("description", "")),
        "events": [str(event) for event in form.getlist("events")],
    }
    try:
        created = (await visit.api.ask("POST", "/v1/webhooks", body=body)).document
    except Refused as refused:
        return await _listed(visit, body, refused)
    return visit.page("agency/secret.html", webhook=created, secret=created["secret"], key=None)


@pages.get("/webhooks/{webhook_id}")
async def webhook(visit: Visit) -> Response:
    """Show an endpoint and its deliveries; `state` filters them, for example ``given-up``."""
    address = f"/v1/webhooks/{visit.path('webhook_id')}"
    state = visit.query("state")
    sent = await visit.api.get(f"{address}/deliveries", state=state, limit=SHOWN, cursor=visit.query("cursor"))
    return visit.page(
        "agency/webhook.html",
        # read after the deliveries, so that no page shows an endpoint as enabled beside the failure that disabled it
        webhook=await visit.api.get(address),
        deliveries=sent["items"],
        older=visit.older(sent["next_cursor"]),
        state=state,
        events=EVENTS,
    )


@pages.get("/webhooks/{webhook_id}/deliveries/{delivery_id}")
async def delivery(visit: Visit) -> Response:
    """Show a delivery: its payload, and the answer to each attempt."""
    address = f"/v1/webhooks/{visit.path('webhook_id')}"
    sent = await visit.api.get(f"{address}/deliveries/{visit.path('delivery_id')}")
    payload = json.dumps(sent["payload"], indent=2, ensure_ascii=False)
    return visit.page("agency/delivery.html", webhook=await visit.api.get(address), delivery=sent, payload=payload)


@pages.post("/webhooks/{webhook_id}/{act}", "webhooks:write")
async def act(visit: Visit) -> Response:
    """Ping an endpoint, rotate its secret, enable or remove it, or resend failed deliveries."""
    webhook_id, action = visit.path("webhook_id"), visit.path("act")
    address = f"/v1/webhooks/{webhook_id}"
    match action:
        case "rotate":
            rotated = (await visit.api.ask("POST", f"{address}/rotate")).document
            return visit.page("agency/secret.html", webhook=rotated, secret=rotated["secret"], key=None)
        case "remove":
            await visit.api.ask("DELETE", address)
            return visit.redirect("/webhooks")
        case "ping" | "enable":
            await visit.api.ask("POST", f"{address}/{action}")
        case "redeliver":
            failed = await visit.api.get(f"{address}/deliveries", state="given-up", limit=MOST_REDELIVERED)
            for failed_delivery in failed["items"]:
                await visit.api.ask("POST", f"{failed_delivery['href']}/redeliver")
    return visit.redirect(f"/webhooks/{webhook_id}")


@pages.post("/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver", "webhooks:write")
async def redeliver(visit: Visit) -> Response:
    """Send a delivery again."""
    webhook_id, delivery_id = visit.path("webhook_id"), visit.path("delivery_id")
    await visit.api.ask("POST", f"/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver")
    return visit.redirect(f"/webhooks/{webhook_id}/deliveries/{delivery_id}")


async def _listed(visit: Visit, texts: dict[str, Any], refused: Refused | None = None) -> Response:
    listing = await visit.api.get("/v1/webhooks", limit=SHOWN, cursor=visit.query("cursor"))
    return visit.page(
        "agency/webhooks.html",
        200 if refused is None else refused.status,
        webhooks=listing["items"],
        older=visit.older(listing["next_cursor"]),
        events=EVENTS,
        given=texts,
        problem=refused.problem if refused else None,
        wrong={error.get("pointer", ""): error["detail"] for error in refused.errors} if refused else {},
    )
