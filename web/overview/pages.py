"""``/overview``: the page with the newest letters, problems that need attention, and running jobs."""

from collections.abc import Iterable

from starlette.responses import Response

from assay.document import Json, JsonObject
from web.frame import Pages, Visit
from web.frame.rendering import WORDING

pages = Pages()

COLUMNS = ("UCS", "DSBS", "BS", None)
"""Letters in the order of their columns; ``None`` for ratings without a letter."""

NEWEST = 8
"""Number of ratings and of running jobs that are shown."""

SHOWN = 5
"""Number of problems that are shown; the others are folded."""


@pages.get("/overview")
async def overview(visit: Visit) -> Response:
    """Show the newest letters, problems that need attention, and running jobs."""
    document = await visit.api.get("/v1/overview")
    # findings are results of ratings (BS, or no declared letter); `needs` are all other entries, such as failed jobs
    return visit.page(
        "overview/overview.html",
        wall=list(_ratings_by_kind(document)),
        newest=await visit.api.items("/v1/ratings", mine=True, limit=NEWEST, fields="full"),  # with probabilities
        needs=[entry for entry in document["attention"] if entry["code"] not in WORDING["finding_acts"]],
        findings=[entry for entry in document["attention"] if entry["code"] in WORDING["finding_acts"]],
        shown=SHOWN,
        **await _queue_context(visit, document),
    )


@pages.get("/overview/running")
async def running(visit: Visit) -> Response:
    """Render the part of the overview that shows running jobs, which the page loads again while jobs run."""
    return visit.page("overview/running.html", **await _queue_context(visit, await visit.api.get("/v1/overview")))


async def _queue_context(visit: Visit, document: Json) -> JsonObject:
    jobs = await visit.api.items("/v1/jobs", status="running", limit=NEWEST)
    return {"overview": document, "queue": document["queue"]["jobs"], "running": jobs}


def _ratings_by_kind(overview: Json) -> Iterable[tuple[str, str, int, list[list[Json]]]]:
    """Yield each kind of service with ratings: name, heading, number of services, ratings for each of `COLUMNS`."""
    for kind, heading in WORDING["service_kinds"].items():
        ratings = [rating for rating in overview["targets"] if rating["target"]["kind"] == kind]
        ratings_by_letter = [[rating for rating in ratings if rating["letter"] == letter] for letter in COLUMNS]
        if any(ratings_by_letter):
            yield kind, heading, overview["services"][kind], ratings_by_letter
