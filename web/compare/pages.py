"""``/compare``: ratings side by side; for two ratings by one method, the changes between them; a search for ratings."""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from assay.document import NO_EFFECT, ComponentDocument, Json, RatingDocument
from assay.methods import rating_of
from service.jobs.ledger import csv_lines
from service.services.ranking import SizeInLimits, in_limits
from web.compare.sentences import joined_by_question
from web.frame import Api, Pages, Refused, Visit, segment
from web.frame.rendering import WORDING
from web.frame.visit import whole_number, with_query

pages = Pages(open_to_visitors=True)

MAX_COMPARED = 8
"""Maximum number of ratings that are compared at once."""

ROWS = 50
"""Number of services on a page of a ranking."""

RANKED_BY = ("method", "attribute", "language", "sort")
"""Parameters of a ranking; the page's address and the API use the same names."""

LARGEST_DRAWN = 20.0
"""Largest effect that an axis shows, as a multiple of the effect's limit; longer intervals end at the edge."""

SENTENCES = 40
"""Number of sentences or words on a page."""


@pages.get("/compare")
async def compare(visit: Visit) -> Response:
    """Show ratings side by side, and a search for more ratings by the same method and attribute."""
    documents = await _read_ratings(visit)
    ratings = [rating_of(document) for document in documents]
    ids = [str(document["id"]) for document in documents]
    sizes = {str(document["id"]): size for document in documents if (size := _relative_effect(document.get("because")))}
    filters = {"method": ratings[0].method, "attribute": ratings[0].attribute} if ratings else {}
    # as long as no rating is chosen, services of a kind are ranked, in place of the newest ratings
    ranked_kind = visit.query("kind") if not ratings and visit.query("kind") in WORDING["service_kinds"] else ""
    listing: Json = {"items": []}
    if visit.query("q") or not ranked_kind:
        listing = await search(visit.api, visit.query("q"), cursor=visit.query("cursor"), **filters)
    changes = await _changes(visit.api, *ratings) if len(ratings) == 2 else {}
    return visit.page(
        "compare/compare.html",
        ratings=ratings,
        address=address,  # a function, as is `deciding`
        deciding=deciding,
        ids=ids,
        matches=[match for match in listing["items"] if match["id"] not in ids],
        following=visit.older(listing),
        full=len(ids) == MAX_COMPARED,
        kind=ranked_kind,
        sizes=sizes,
        axis=size_axis([size.high for size in sizes.values()]),
        documents=documents,
        **(await _ranking(visit, ranked_kind) if ranked_kind else {}),
        scales=[_scale(ratings, step) for step in ("step_1", "step_2")],
        page=max(whole_number(visit.query("page")) or 1, 1),
        page_size=SENTENCES,
        **NO_CHANGES | changes,
    )


async def _read_ratings(visit: Visit) -> list[Json]:
    query = visit.request.query_params
    ids = [query.get("first", ""), query.get("second", ""), *query.getlist("more")]
    unique_ids = [rating_id for rating_id in dict.fromkeys(ids) if rating_id][:MAX_COMPARED]
    return [await visit.api.get(f"/v1/ratings/{segment(rating_id)}") for rating_id in unique_ids]


@pages.get("/compare/ratings.csv")
async def ratings_csv(visit: Visit) -> Response:
    """Send the compared ratings as CSV, a row each."""
    rows = [_csv_row(document) for document in await _read_ratings(visit)]
    headers = {"Content-Disposition": 'attachment; filename="comparison.csv"'}
    return Response(csv_lines([COLUMNS, *rows]), media_type="text/csv; charset=utf-8", headers=headers)


COLUMNS = (
    *("rating", "letter", "declared", "name", "url", "method", "attribute", "UCS", "DSBS", "BS"),
    *("effect", "estimate", "low", "high", "limit", "because"),
    *("step_1", "step_1_low", "step_1_high", "step_2", "step_2_low", "step_2_high", "tolerance"),
    *("questions", "rated_at", "expires_at", "methodology"),
)


def _csv_row(document: Json) -> list[object]:
    """Return the row of one rating in the CSV file, with a value for each of `COLUMNS`."""
    rating, because = rating_of(document), document.get("because") or {}
    probabilities = rating.probabilities or {}
    step_effects = [deciding(rating).effects.get(step) or NO_EFFECT for step in ("step_1", "step_2")]
    return [
        *(document["id"], rating.letter, rating.declared, rating.target.name),
        *(document["target"]["url"], rating.method, rating.attribute),
        *(*(probabilities.get(letter) for letter in ("UCS", "DSBS", "BS")), because.get("effect")),
        *(because.get(name) for name in ("estimate", "low", "high", "limit", "text")),
        *(number for effect in step_effects for number in (effect.estimate, effect.low, effect.high)),
        *(rating.delta, document["questions"], rating.rated_at, rating.expires_at, rating.methodology.version),
    ]


async def _ranking(visit: Visit, kind: str) -> dict[str, Any]:
    """Return the template's values for a page of a ranking; `scale` has the ends of the common axis of all effects."""
    name_text = visit.query("of")
    start = min(whole_number(visit.query("start")) or 0, 10**6)  # the API's limit
    parameters = {name: visit.query(name) for name in RANKED_BY}
    ranking = await visit.api.get("/v1/services/ranking", **parameters, kind=kind, q=name_text, start=start, limit=ROWS)
    filters = {name: value for name, value in parameters.items() if value}
    effects = (row["rating"]["effect"] for row in ranking["items"])
    upper_ends = [SizeInLimits(*effect["of_limit"]).high for effect in effects if effect]

    def ranked_by(**changes: Any) -> str:  # query of the address of another ranking
        return urlencode({name: value for name, value in {"kind": kind, **filters, **changes}.items() if value})

    values = {"ranking": ranking, "searched": name_text, "filters": filters, "scale": size_axis(upper_ends)}
    return {**values, "ranked_by": ranked_by, "sort": parameters["sort"]}


def size_axis(ends: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis: 0, and a value above all `ends` of intervals, but at most `LARGEST_DRAWN`."""
    return 0.0, min(1.05 * max([1.0, *ends]), LARGEST_DRAWN)  # a margin of 5 % beyond the limit and the largest end


@pages.get("/compare/ranking.csv")
async def ranking_csv(visit: Visit) -> Response:
    """Send a ranking as CSV, with the ratings that the visitor may see."""
    query = {"kind": visit.query("kind", "translator"), **{name: visit.query(name) for name in RANKED_BY}}
    return visit.api.forward("/v1/services/ranking.csv", **query)


def _relative_effect(because: Mapping[str, Any] | None) -> SizeInLimits | None:
    """Return the deciding effect (`because`) and its interval as multiples of its limit; ``None`` if one is missing."""
    if not because or not because["limit"]:
        return None
    estimate = because["estimate"]
    low, high = (estimate if because[end] is None else because[end] for end in ("low", "high"))
    return in_limits(estimate, low, high, because["limit"])


def address(ids: Sequence[str], **parameters: str | int) -> str:
    """Return the address of the page that compares these ratings, with further query `parameters`."""
    names = ("first", "second")
    query = [(names[index] if index < len(names) else "more", rating_id) for index, rating_id in enumerate(ids)]
    return with_query("/compare", [*query, *parameters.items()])


def deciding(rating: RatingDocument) -> ComponentDocument:
    """Return the component that decides the letter, or the first one if none does."""
    names, components = rating.aggregation.deciding, rating.components
    return next((component for component in components if component.name in names), components[0])


NO_CHANGES: dict[str, Any] = {"difference": None, "refused": None, "joined": [], "words": None, "cut": False}
"""Default values of the template's variables about two ratings: comparisons by the API, and joined questions."""


async def _changes(api: Api, before: RatingDocument, after: RatingDocument) -> dict[str, Any]:
    """Return the template's values about what changed from `before` to `after`, or why they cannot be compared."""
    changes: dict[str, Any] = {}
    try:
        changes["difference"] = await api.get(f"/v1/ratings/{before.id}/difference", **{"with": after.id})
        if before.method == "association":
            comparison = await api.get(f"/v1/ratings/{before.id}/comparison", **{"with": after.id})
            comparison["words"].sort(key=lambda word: -abs(word["p_after_greater"] - 0.5))  # the clearest change first
            return changes | {"words": comparison}
    except Refused as error:
        if error.status != 422:  # ratings that cannot be compared
            raise
        return changes | {"refused": error.problem.get("detail")}
    sentences, is_cut = await joined_by_question(api, before, after)
    return changes | {"joined": sentences, "cut": is_cut}


def _scale(ratings: Sequence[RatingDocument], step: str) -> tuple[float, float]:
    """Return the ends of the scale for the effects of a `step`; it contains 0, all intervals and all tolerances."""
    effects = [deciding(rating).effects.get(step) or NO_EFFECT for rating in ratings]
    ends = [0.0, *(rating.delta or 0.0 for rating in ratings)]
    ends += [end for effect in effects for end in (effect.low, effect.high) if end is not None]
    margin = 0.05 * (max(ends) - min(ends)) or 0.05  # 5 %; all ends are 0 without effects and tolerances
    lower_margin = margin if min(ends) < 0 else 0.0  # none below 0 if no effect is negative
    return min(ends) - lower_margin, max(ends) + margin


SHOWN = 30
"""Maximum number of ratings that a search shows."""

_ID = re.compile(r"rat_[0-9A-Za-z]+")


async def search(api: Api, text: str, **filters: str | None) -> Json:
    """Find the newest ratings by the service's name or address, or a single rating by its id or a URL with its id.

    Return a page of the API's list of ratings; with an id in `text`, the list has this rating only, or is empty.
    """
    if match := _ID.search(text):
        rating = await api.find(f"/v1/ratings/{match[0]}")
        return {"items": [] if rating is None else [rating]}
    page: Json = await api.get("/v1/ratings", q=text.strip(), limit=SHOWN, **filters)
    return page
