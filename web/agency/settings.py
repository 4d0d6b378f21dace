"""``/settings``: the caller's identity, the limits, the agency, and domains."""

from __future__ import annotations

from starlette.responses import Response

from web.frame import Pages, Refused, Visit

pages = Pages()

MOST = 200


@pages.get("/settings")
async def settings(visit: Visit) -> Response:
    """Show the caller, limits, the agency, and claimed domains."""
    return await _shown(visit)


@pages.post("/settings/domains", "targets:write")
async def add_domain(visit: Visit) -> Response:
    """Claim a host."""
    host = str((await visit.form()).get("host", "")).strip()
    try:
        await visit.api.ask("POST", "/v1/domains", body={"host": host})
    except Refused as refused:
        return await _shown(visit, host, refused)
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


async def _shown(visit: Visit, host: str = "", refused: Refused | None = None) -> Response:
    own_key = None
    if visit.caller.key_id and visit.caller.may("admin"):
        keys = (await visit.api.get("/v1/keys", limit=MOST))["items"]
        own_key = next((key for key in keys if key["id"] == visit.caller.key_id), None)
    return visit.page(
        "agency/settings.html",
        200 if refused is None else refused.status,
        limits=await visit.api.get("/v1/limits"),
        info=await visit.api.get("/v1/info"),
        domains=(await visit.api.get("/v1/domains", limit=MOST))["items"],
        own=own_key,
        host=host,
        problem=refused.problem if refused else None,
    )
