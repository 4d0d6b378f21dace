"""``/keys``: API keys of the tenant."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from web.frame import Pages, Refused, Visit
from web.frame.visit import whole_number

pages = Pages()

SHOWN = 50

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
    return await _listed(visit, {})


@pages.post("/keys", "admin")
async def create_key(visit: Visit) -> Response:
    """Create a key, and show it once."""
    form = await visit.form()
    days = whole_number(form.get("days"))
    body: dict[str, Any] = {
        "name": str(form.get("name", "")),
        "scopes": [str(scope) for scope in form.getlist("scopes")],
    }
    if days is not None:
        body["expires_in_s"] = days * DAY_S
    try:
        created = (await visit.api.ask("POST", "/v1/keys", body=body)).document
    except Refused as refused:
        return await _listed(visit, body, refused)
    return visit.page("agency/secret.html", key=created, secret=created["key"], webhook=None)


@pages.post("/keys/{key_id}/revoke", "admin")
async def revoke_key(visit: Visit) -> Response:
    """Revoke a key, at once and for good."""
    await visit.api.ask("DELETE", f"/v1/keys/{visit.path('key_id')}")
    return visit.redirect("/keys")


async def _listed(visit: Visit, texts: dict[str, Any], refused: Refused | None = None) -> Response:
    listing = await visit.api.get("/v1/keys", limit=SHOWN, cursor=visit.query("cursor"))
    return visit.page(
        "agency/keys.html",
        200 if refused is None else refused.status,
        keys=listing["items"],
        older=visit.older(listing["next_cursor"]),
        scopes=SCOPES,
        lives=LIVES,
        given=texts,
        own=visit.caller.key_id,
        problem=refused.problem if refused else None,
    )
