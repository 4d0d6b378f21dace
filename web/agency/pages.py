"""``/webhooks``, ``/keys`` and ``/settings``: endpoints for notices, API keys, limits and domains."""

from __future__ import annotations

import json

from starlette.responses import Response

from assay.document import JsonObject
from web.frame import Pages, Visit
from web.frame.drafts import read_draft, show_once
from web.frame.visit import whole_number

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
    "service.changed": "A watched service changed silently",
}
"""Types of notice (`EventType` of the API), in words."""


@pages.get("/webhooks")
async def webhooks(visit: Visit) -> Response:
    """List endpoints, with a form for a new one."""
    listing = await visit.api.get("/v1/webhooks", limit=SHOWN, cursor=visit.query("cursor"))
    errors = visit.refused.errors if visit.refused else []
    return visit.page(
        "agency/webhooks.html",
        webhooks=listing["items"],
        older=visit.older(listing),
        events=EVENTS,
        wrong={error["pointer"]: error["detail"] for error in errors},
    )


@pages.post("/webhooks", "webhooks:write", form_page=webhooks)
async def create_webhook(visit: Visit) -> Response:
    """Create an endpoint, and show its secret on a page of its own."""
    form = visit.form
    body = {
        "url": form.get("url").strip(),
        "description": form.get("description"),
        "events": form.getlist("events"),
    }
    created = await visit.api.post("/v1/webhooks", body)
    return await show_once(visit, {"secret": created["secret"], "webhook": created})


@pages.get("/keys/shown-once")
async def shown_once(visit: Visit) -> Response:
    """Show the secret of a new key or endpoint once; a second request shows that it was already shown."""
    content = {"secret": None, "webhook": None, "key": None}
    return visit.page(
        "agency/secret.html", **content | (await read_draft(visit, visit.query("draft"), once=True) or {})
    )


@pages.get("/webhooks/{webhook_id}")
async def webhook(visit: Visit) -> Response:
    """Show an endpoint and its deliveries; `state` filters them, for example ``given-up``."""
    address = f"/v1/webhooks/{visit.path('webhook_id')}"
    state = visit.query("state")
    deliveries = await visit.api.get(f"{address}/deliveries", state=state, limit=SHOWN, cursor=visit.query("cursor"))
    return visit.page(
        "agency/webhook.html",
        # read after the deliveries, so that no page shows an endpoint as enabled beside the failure that disabled it
        webhook=await visit.api.get(address),
        deliveries=deliveries["items"],
        older=visit.older(deliveries),
        state=state,
        events=EVENTS,
    )


@pages.get("/webhooks/{webhook_id}/deliveries/{delivery_id}")
async def delivery(visit: Visit) -> Response:
    """Show a delivery: its payload, and the answer to each attempt."""
    address = f"/v1/webhooks/{visit.path('webhook_id')}"
    document = await visit.api.get(f"{address}/deliveries/{visit.path('delivery_id')}")
    payload = json.dumps(document["payload"], indent=2, ensure_ascii=False)
    return visit.page("agency/delivery.html", webhook=await visit.api.get(address), delivery=document, payload=payload)


@pages.post("/webhooks/{webhook_id}/{act}", "webhooks:write")
async def act(visit: Visit) -> Response:
    """Ping an endpoint, rotate its secret, enable or remove it, or resend failed deliveries."""
    webhook_id, action = visit.path("webhook_id"), visit.path("act")
    address = f"/v1/webhooks/{webhook_id}"
    match action:
        case "rotate":
            rotated = await visit.api.post(f"{address}/rotate")
            return await show_once(visit, {"secret": rotated["secret"], "webhook": rotated})
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


DELIVERY = "/webhooks/{webhook_id}/deliveries/{delivery_id}"
pages.act(f"{DELIVERY}/redeliver", "webhooks:write", "POST", f"/v1{DELIVERY}/redeliver", DELIVERY)


SCOPES = {
    "ratings:read": "Read ratings, jobs and targets",
    "jobs:write": "Ask for ratings, publish and withdraw them",
    "targets:write": "Save services and their secrets, claim domains",
    "webhooks:write": "Manage webhooks",
    "metrics:read": "Read the metrics of the agency",
    "admin": "Everything, keys included",
}
"""Scopes of the API, in words."""

DAY_S = 86_400
LIVES = {"": "never", "30": "after 30 days", "90": "after 90 days", "365": "after a year"}
"""Days after which a new key expires, in words."""


@pages.get("/keys")
async def keys(visit: Visit) -> Response:
    """List keys, with a form for a new one."""
    listing = await visit.api.get("/v1/keys", limit=SHOWN, cursor=visit.query("cursor"))
    return visit.page(
        "agency/keys.html",
        keys=listing["items"],
        older=visit.older(listing),
        scopes=SCOPES,
        lives=LIVES,
        own=visit.caller.key_id,
    )


@pages.post("/keys", "admin", form_page=keys)
async def create_key(visit: Visit) -> Response:
    """Create a key, and show it on a page of its own."""
    form = visit.form
    body: JsonObject = {"name": form.get("name"), "scopes": form.getlist("scopes")}
    if (days := whole_number(form.get("days"))) is not None:
        body["expires_in_s"] = days * DAY_S
    created = await visit.api.post("/v1/keys", body)
    return await show_once(visit, {"secret": created["key"], "key": created})


pages.act("/keys/{key_id}/revoke", "admin", "DELETE", "/v1/keys/{key_id}", "/keys")


MAX_LISTED = 200


@pages.get("/settings")
async def settings(visit: Visit) -> Response:
    """Show the caller, limits, the agency, and claimed domains."""
    own_key = None
    if visit.caller.key_id and visit.caller.may("admin"):
        keys = (await visit.api.get("/v1/keys", limit=MAX_LISTED))["items"]
        own_key = next((key for key in keys if key["id"] == visit.caller.key_id), None)
    return visit.page(
        "agency/settings.html",
        limits=await visit.api.get("/v1/limits"),
        info=await visit.api.get("/v1/info"),
        domains=(await visit.api.get("/v1/domains", limit=MAX_LISTED))["items"],
        own=own_key,
    )


@pages.post("/settings/domains", "targets:write", form_page=settings)
async def add_domain(visit: Visit) -> Response:
    """Claim a host."""
    await visit.api.post("/v1/domains", {"host": visit.form.get("host").strip()})
    return visit.redirect("/settings")


@pages.post("/settings/domains/{domain_id}/{act}", "targets:write")
async def change_domain(visit: Visit) -> Response:
    """Verify a claimed host, refuse or allow ratings of it, or remove the claim."""
    address = f"/v1/domains/{visit.path('domain_id')}"
    match visit.path("act"):
        case "verify":
            await visit.api.ask("POST", f"{address}/verify", headers={"Prefer": "wait=10"})
        case "refuse":
            await visit.api.ask("PATCH", address, body={"ratings": "refused"})
        case "allow":
            await visit.api.ask("PATCH", address, body={"ratings": "allowed"})
        case "remove":
            await visit.api.ask("DELETE", address)
    return visit.redirect("/settings")
