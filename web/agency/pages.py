"""``/webhooks``, ``/keys`` and ``/settings``: endpoints for notices, API keys, limits and domains."""

import json
from functools import partial

from starlette.responses import Response

from assay.document import JsonObject
from web.frame import Pages, Visit
from web.frame.drafts import read_draft, show_once
from web.frame.visit import whole_number

pages = Pages()

MOST_REDELIVERED = 200
"""Maximum number of deliveries that one press of a button sends again."""


@pages.get("/webhooks")
async def webhooks(visit: Visit) -> Response:
    """List webhook endpoints, with a form for a new endpoint."""
    details = {error["pointer"]: error["detail"] for error in (visit.refused.errors if visit.refused else [])}
    return visit.page("agency/webhooks.html", **await visit.listing("/v1/webhooks"), wrong=details)


@pages.post("/webhooks", "webhooks:write", form_page=webhooks)
async def create_webhook(visit: Visit) -> Response:
    """Create a webhook endpoint, and show its secret on a page of its own."""
    form = visit.form
    body = {"url": form.get("url").strip(), "description": form.get("description"), "events": form.getlist("events")}
    webhook_document = await visit.api.post("/v1/webhooks", body)
    return await show_once(visit, {"secret": webhook_document["secret"], "webhook": webhook_document})


@pages.get("/keys/shown-once")
async def shown_once(visit: Visit) -> Response:
    """Show a new API key, or a webhook endpoint's secret, once; a second request says that it was already shown."""
    defaults = {"secret": None, "webhook": None, "key": None}
    draft = await read_draft(visit, visit.query("draft"), once=True) or {}
    return visit.page("agency/secret.html", **defaults | draft)


@pages.get("/webhooks/{webhook_id}")
async def webhook(visit: Visit) -> Response:
    """Show a webhook endpoint and its deliveries, filtered by their `state` in the address, such as ``given-up``."""
    address = f"/v1/webhooks/{visit.path('webhook_id')}"
    deliveries = await visit.listing(f"{address}/deliveries", ("state",))
    # read after the deliveries, so that no page shows an endpoint as enabled beside the failure that disabled it
    return visit.page("agency/webhook.html", **deliveries, webhook=await visit.api.get(address))


@pages.get("/webhooks/{webhook_id}/deliveries/{delivery_id}")
async def delivery(visit: Visit) -> Response:
    """Show a delivery: its payload, and the answer to each attempt."""
    address = f"/v1/webhooks/{visit.path('webhook_id')}"
    document = await visit.api.get(f"{address}/deliveries/{visit.path('delivery_id')}")
    payload = json.dumps(document["payload"], indent=2, ensure_ascii=False)
    return visit.page("agency/delivery.html", webhook=await visit.api.get(address), delivery=document, payload=payload)


@pages.post("/webhooks/{webhook_id}/rotate", "webhooks:write")
async def rotate(visit: Visit) -> Response:
    """Replace the secret of a webhook endpoint, and show the new secret once."""
    webhook_document = await visit.api.post(f"/v1/webhooks/{visit.path('webhook_id')}/rotate")
    return await show_once(visit, {"secret": webhook_document["secret"], "webhook": webhook_document})


@pages.post("/webhooks/{webhook_id}/redeliver", "webhooks:write")
async def redeliver(visit: Visit) -> Response:
    """Send the failed deliveries of a webhook endpoint again, at most `MOST_REDELIVERED`."""
    path = f"/webhooks/{visit.path('webhook_id')}"
    for delivery_document in await visit.api.items(f"/v1{path}/deliveries", state="given-up", limit=MOST_REDELIVERED):
        await visit.api.ask("POST", f"{delivery_document['href']}/redeliver")
    return visit.redirect(path)


WEBHOOK = "/webhooks/{webhook_id}"
DELIVERY = WEBHOOK + "/deliveries/{delivery_id}"
pages.act(f"{WEBHOOK}/ping", "webhooks:write", "POST", f"/v1{WEBHOOK}/ping", WEBHOOK)
pages.act(f"{WEBHOOK}/enable", "webhooks:write", "POST", f"/v1{WEBHOOK}/enable", WEBHOOK)
pages.act(f"{WEBHOOK}/remove", "webhooks:write", "DELETE", f"/v1{WEBHOOK}", "/webhooks")
pages.act(f"{DELIVERY}/redeliver", "webhooks:write", "POST", f"/v1{DELIVERY}/redeliver", DELIVERY)


DAY_S = 86_400


@pages.get("/keys")
async def keys(visit: Visit) -> Response:
    """List API keys, with a form for a new key."""
    return visit.page("agency/keys.html", **await visit.listing("/v1/keys"), own_key_id=visit.caller.key_id)


@pages.post("/keys", "admin", form_page=keys)
async def create_key(visit: Visit) -> Response:
    """Create an API key, and show it on a page of its own."""
    form = visit.form
    body: JsonObject = {"name": form.get("name"), "scopes": form.getlist("scopes")}
    if (days := whole_number(form.get("days"))) is not None:
        body["expires_in_s"] = days * DAY_S
    key = await visit.api.post("/v1/keys", body)
    return await show_once(visit, {"secret": key["key"], "key": key})


pages.act("/keys/{key_id}/revoke", "admin", "DELETE", "/v1/keys/{key_id}", "/keys")


MAX_LISTED = 200


@pages.get("/settings")
async def settings(visit: Visit) -> Response:
    """Show the caller's own key, the rate limits, facts about the agency, and the claimed domains."""
    own_key = None
    if visit.caller.key_id and visit.caller.may("admin"):
        keys = await visit.api.items("/v1/keys", limit=MAX_LISTED)
        own_key = next((key for key in keys if key["id"] == visit.caller.key_id), None)
    return visit.page(
        "agency/settings.html",
        limits=await visit.api.get("/v1/limits"),
        info=await visit.api.get("/v1/info"),
        domains=await visit.api.items("/v1/domains", limit=MAX_LISTED),
        own_key=own_key,
    )


change_domain = partial(pages.act, scope="targets:write", then="/settings")
CLAIM, RESOURCE = "/settings/domains/{domain_id}", "/v1/domains/{domain_id}"
change_domain("/settings/domains", method="POST", resource="/v1/domains", fields=["host"], form_page=settings)
change_domain(f"{CLAIM}/verify", method="POST", resource=f"{RESOURCE}/verify", headers={"Prefer": "wait=10"})
change_domain(f"{CLAIM}/refuse", method="PATCH", resource=RESOURCE, body={"ratings": "refused"})
change_domain(f"{CLAIM}/allow", method="PATCH", resource=RESOURCE, body={"ratings": "allowed"})
change_domain(f"{CLAIM}/remove", method="DELETE", resource=RESOURCE)
