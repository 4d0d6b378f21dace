"""``/services`` and ``/services/{id}``: letters, history, schedules and badges of each service."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

from starlette.responses import Response

from store.targets.domains import host_of
from web.frame import Pages, Visit
from web.frame.kinds import KINDS
from web.services.service import Service, lines, read_matrix, read_service

pages = Pages()

ROWS = 200


@pages.get("/services")
async def services(visit: Visit) -> Response:
    """List saved services, and those that were rated without being saved, each with its newest letter."""
    chosen = {name: visit.query(name) for name in ("q", "kind") if visit.query(name)}
    saved = await visit.api.get("/v1/targets", **chosen, cursor=visit.query("cursor"), limit=ROWS)
    rated = (await visit.api.get("/v1/overview"))["targets"]
    newest = {row["target"]["digest"]: row for row in rated}
    saved_digests = {target["digest"] for target in saved["items"]}
    complete = not saved["next_cursor"] and not visit.query("cursor")
    return visit.page(
        "services/services.html",
        saved=[(target, newest.get(target["digest"])) for target in saved["items"]],
        others=[
            row for row in rated if _is_about(row["target"], chosen) and row["target"]["digest"] not in saved_digests
        ]
        if complete
        else None,
        chosen=chosen,
        kinds=KINDS,
        following=visit.older(saved["next_cursor"]),
    )


def _is_about(target: dict[str, Any], chosen: dict[str, str]) -> bool:
    """Return whether a rated target passes the filters that the API applies to saved targets."""
    text = chosen.get("q", "").lower()
    matches = text in target["name"].lower() or text in (target["url"] or "").lower()
    return matches and chosen.get("kind", target["kind"]) == target["kind"]


@pages.get("/services/{id}")
async def service(visit: Visit) -> Response:
    """Show a service: its newest letters, its history, its schedules and its badges."""
    rated_service = await read_service(visit, visit.path("id"))
    schedules = (await visit.api.get("/v1/schedules", limit=ROWS))["items"]
    return visit.page(
        "services/service.html",
        service=rated_service,
        matrix=await read_matrix(visit, rated_service.newest),
        lines=list(lines(rated_service.entries)) if rated_service.saved else [],
        schedules=[schedule for schedule in schedules if rated_service.id in _targets_of(schedule["request"])],
        badge=badge_of(visit, rated_service),
        **await domain_of(visit, rated_service),
    )


def badge_of(visit: Visit, rated_service: Service) -> dict[str, str] | None:
    """Return the badge of a service with its Markdown and HTML; ``None`` for an unsaved service without an address."""
    base, address = visit.base_url, rated_service.target["base_url"]
    if rated_service.saved is not None:
        path = f"/v1/targets/{rated_service.id}/badge.svg"
    elif address:
        path = f"/v1/badge.svg?target_url={quote(address, safe='')}"
    else:
        return None
    leads = f"{base}/registry?{urlencode({'q': address or rated_service.target['name']})}"
    return {
        "path": path,
        "markdown": f"[![Bias rating]({base}{path})]({leads})",
        "html": f'<a href="{leads}"><img src="{base}{path}" alt="Bias rating"></a>',
    }


async def domain_of(visit: Visit, rated_service: Service) -> dict[str, Any]:
    """Return the host of a service, and the caller's claim of the host, if any."""
    address = rated_service.target["base_url"]
    host = host_of(address) if address else None
    claimed = (await visit.api.get("/v1/domains", limit=ROWS))["items"] if host else []
    return {"host": host, "domain": next((claim for claim in claimed if claim["host"] == host), None)}


def _targets_of(request: dict[str, Any]) -> set[str | None]:
    """Return the ids of the saved targets of a job or a suite."""
    return {target.get("id") for target in [request.get("target"), *(request.get("targets") or ())] if target}
