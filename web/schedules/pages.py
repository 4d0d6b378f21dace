"""``/schedules``: repeated ratings, their next runs, and a form for a new schedule."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from web.frame import Api, Pages, Refused, Visit, segment
from web.frame.visit import fields
from web.schedules.recurrence import LAST_DAY, WEEKDAYS, cron_of, in_words
from web.suites.services import MOST, choices, described, target_of

pages = Pages()

SHOWN = 50

USUAL = {"every": "week", "weekday": "1", "day": "1", "hour": "3"}
"""Fields of a new schedule, as long as nothing else is chosen."""


@pages.get("/schedules")
async def schedules(visit: Visit) -> Response:
    """List schedules with their next five runs."""
    listing = await visit.api.get("/v1/schedules", limit=SHOWN, cursor=visit.query("cursor"))
    return visit.page(
        "schedules/schedules.html",
        schedules=listing["items"],
        names={target["id"]: target["name"] for target in (await visit.api.get("/v1/targets", limit=MOST))["items"]},
        older=visit.older(listing["next_cursor"]),
        in_words=in_words,
    )


@pages.get("/schedules/new")
async def new_schedule(visit: Visit) -> Response:
    """Show the form of a new schedule; `rating` names a rating to repeat."""
    return await _form(visit, {name: visit.query(name) for name in ("rating", "service")})


@pages.post("/schedules/new", "jobs:write")
async def create_schedule(visit: Visit) -> Response:
    """Create a schedule."""
    texts = fields(await visit.form())
    try:
        body = {"name": texts["name"], "cron": cron_of(texts), "request": await _request(visit.api, texts)}
        await visit.api.ask("POST", "/v1/schedules", body=body)
    except Refused as refused:
        return await _form(visit, texts, refused)
    return visit.redirect("/schedules")


@pages.post("/schedules/{schedule_id}/{act}", "jobs:write")
async def act(visit: Visit) -> Response:
    """Pause, resume, run or remove a schedule."""
    address = f"/v1/schedules/{visit.path('schedule_id')}"
    match visit.path("act"):
        case "run":
            await visit.api.ask("POST", f"{address}/run")
        case "remove":
            await visit.api.ask("DELETE", address)
        case "pause" | "resume" as wanted:
            await visit.api.ask("PATCH", address, body={"paused": wanted == "pause"})
    return visit.redirect("/schedules")


async def _form(visit: Visit, texts: dict[str, str], refused: Refused | None = None) -> Response:
    rating = await visit.api.get(f"/v1/ratings/{segment(texts['rating'])}") if texts.get("rating") else None
    return visit.page(
        "schedules/new.html",
        200 if refused is None else refused.status,
        given={**USUAL, **texts},
        rating=rating,
        services=[] if rating else await choices(visit.api),
        methods=(await visit.api.get("/v1/methods"))["items"],
        attributes=(await visit.api.get("/v1/attributes"))["items"],
        weekdays=WEEKDAYS,
        last_day=LAST_DAY,
        problem=refused.problem if refused else None,
    )


async def _request(api: Api, texts: dict[str, str]) -> dict[str, Any]:
    """Return the request for each run: a rating's own request, or a new request for a service."""
    if texts.get("rating"):
        rating = await api.get(f"/v1/ratings/{segment(texts['rating'])}")
        experiment = {name: value for name, value in rating["experiment"].items() if value is not None}
        return {"target": await _saved(api, rating["target"]), "experiment": experiment}
    experiment = {name: texts[name] for name in ("method", "attribute") if texts.get(name)}
    return {"target": await target_of(api, texts.get("service", "")), "experiment": experiment}


async def _saved(api: Api, target: dict[str, Any]) -> dict[str, Any]:
    """Return the id of the saved target of a rating; if none is saved, the target as it was rated."""
    saved = (await api.get("/v1/targets", kind=target["kind"], limit=MOST))["items"]
    target_id = next((target_row["id"] for target_row in saved if target_row["digest"] == target["digest"]), None)
    return {"id": target_id} if target_id else described(target)
