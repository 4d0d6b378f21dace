"""``/schedules``: repeated ratings, their next runs in words, and a form for a new schedule."""

import re
from collections.abc import Mapping
from functools import partial

from starlette.responses import Response

from assay.document import Json, JsonObject
from web.frame import Api, Pages, Visit, segment
from web.suites.pages import choices, description_of_rated, target_of
from web.wizard.answers import saved_id, saved_second_services

pages = Pages()

MOST_TARGETS = 200
"""Number of saved services that are read for their names."""

USUAL = {"every": "week", "weekday": "1", "day": "1", "hour": "3"}
"""Default values of the fields of a new schedule."""


@pages.get("/schedules")
async def schedules(visit: Visit) -> Response:
    """List schedules with their next five runs."""
    names = {target["id"]: target["name"] for target in await visit.api.items("/v1/targets", limit=MOST_TARGETS)}
    listing = await visit.listing("/v1/schedules")
    return visit.page("schedules/schedules.html", **listing, names=names, in_words=in_words)


@pages.get("/schedules/new")
async def new_schedule(visit: Visit) -> Response:
    """Show the form of a new schedule; `rating` names a rating to repeat, and the address may fill other fields."""
    names = ("rating", "service", "attribute", "method", "every")
    texts = visit.typed or {name: visit.query(name) for name in names if visit.query(name)}
    rating = await visit.api.get(f"/v1/ratings/{segment(texts['rating'])}") if texts.get("rating") else None
    service_ids = [texts["service"]] if texts.get("service") else []
    services, complete = ([], True) if rating else await choices(visit.api, visit.query("q"), service_ids)
    return visit.page(
        "schedules/new.html",
        typed_or_default={**USUAL, **texts},
        rating=rating,
        services=services,
        more=not complete,
        filter=visit.query("q"),
        methods=await visit.api.items("/v1/methods"),
        attributes=await visit.api.items("/v1/attributes"),
        weekdays=WEEKDAYS,
        last_day=LAST_DAY,
    )


@pages.post("/schedules/new", "jobs:write", form_page=new_schedule)
async def create_schedule(visit: Visit) -> Response:
    """Create the schedule that a form describes, and go to the list of schedules."""
    texts = visit.typed
    body = {"name": texts["name"], "cron": cron_of(texts), "request": await _request_of_form(visit.api, texts)}
    await visit.api.post("/v1/schedules", body)
    return visit.redirect("/schedules")


SCHEDULE = "/schedules/{schedule_id}"
change_schedule = partial(pages.act, scope="jobs:write", then="/schedules")
change_schedule(f"{SCHEDULE}/run", method="POST", resource=f"/v1{SCHEDULE}/run")
change_schedule(f"{SCHEDULE}/pause", method="PATCH", resource=f"/v1{SCHEDULE}", body={"paused": True})
change_schedule(f"{SCHEDULE}/resume", method="PATCH", resource=f"/v1{SCHEDULE}", body={"paused": False})
change_schedule(f"{SCHEDULE}/remove", method="DELETE", resource=f"/v1{SCHEDULE}")


async def _request_of_form(api: Api, texts: dict[str, str]) -> JsonObject:
    """Return the request of each run: to watch a rating, to repeat a rating, or to rate a service anew."""
    if texts.get("rating"):
        if texts.get("every") == "watch":  # a watch asks a few cases of the rating again
            return {"rating": texts["rating"]}
        rating = await api.get(f"/v1/ratings/{segment(texts['rating'])}")
        experiment = {name: value for name, value in rating["experiment"].items() if value is not None}
        second_services = await saved_second_services(api, rating) or {}  # author, judge; the API names a missing one
        return {"target": await _saved_target(api, rating["target"]), "experiment": experiment, **second_services}
    experiment = {name: texts[name] for name in ("method", "attribute") if texts.get(name)}
    return {"target": await target_of(api, texts.get("service", "")), "experiment": experiment}


async def _saved_target(api: Api, target: JsonObject) -> JsonObject:
    """Return a rated target for a request: the id under which it is saved or, if it is not, its description."""
    target_id = await saved_id(api, target)
    return {"id": target_id} if target_id else description_of_rated(target)


WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
"""Days of the week; the index of a day is its number in a cron expression."""

LAST_DAY = 28
"""Last day of the month that every month has."""

DAY_S, HOUR_S = 86_400, 3_600

_CRON = re.compile(r"(?P<minute>\d+) (?P<hour>\d+) (?P<day>\*|\d+) \* (?P<weekday>\*|[0-6])")


def cron_of(form: Mapping[str, str]) -> str:
    """Return the cron expression of a form: `every` day (as for a watch), week or month, at an `hour` (UTC)."""
    day = form["day"] if form["every"] == "month" else "*"
    weekday = form["weekday"] if form["every"] == "week" else "*"
    return f"0 {form['hour']} {day} * {weekday}"


def in_words(schedule: Json) -> tuple[str, JsonObject]:
    """Return how often a schedule runs, in words: a text to translate, and the values of its placeholders.

    A cron expression that the form cannot make is shown as it is.
    """
    if schedule["interval_s"] is not None:
        return _interval_in_words(schedule["interval_s"])
    match = _CRON.fullmatch(schedule["cron"])
    if match is None or (match["day"] != "*" and match["weekday"] != "*"):
        return "cron %(cron)s (UTC)", {"cron": schedule["cron"]}
    time = {"time": f"{int(match['hour']):02}:{int(match['minute']):02}"}
    if match["weekday"] != "*":
        return f"every {WEEKDAYS[int(match['weekday'])]} at %(time)s UTC", time
    if match["day"] == "*":
        return "every day at %(time)s UTC", time
    return "on day %(day)s of every month at %(time)s UTC", {"day": match["day"], **time}


def _interval_in_words(seconds: int) -> tuple[str, JsonObject]:
    units = ((DAY_S, "every %(count)s days"), (HOUR_S, "every %(count)s hours"), (60, "every %(count)s minutes"))
    whole_intervals = ((text, {"count": seconds // unit_s}) for unit_s, text in units if seconds % unit_s == 0)
    return next(whole_intervals, ("every %(count)s seconds", {"count": seconds}))
