"""``/ratings``, ``/ratings/{id}`` and ``/r/{id}``: the list of ratings, and the pages of one rating."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from starlette.responses import Response

from assay.document import Json, JsonObject
from assay.explain import Vocabulary
from assay.methods import method_of
from reports import outline
from reports.cases import KINDS, UNJUDGED_KINDS
from reports.embeds import EMBEDS
from reports.regulators import AUDIT_FILES
from reports.view import Effect
from service.catalog.service import title_of
from service.http.problems import Problem
from web.frame import Pages, Visit
from web.ratings.evidence import address_of, row_of
from web.ratings.finding import part_of
from web.ratings.rating import Rating, rating_in_path, ratings_by_mention, render_page

pages = Pages()
public = Pages(public=True)

OWN, PUBLIC = "/ratings/{rating_id}", "/r/{rating_id}"

ROWS = 50
"""Number of cases on a page."""

FILTERS = ("kind", "order", "q", "question")
"""Filters and order of the evidence, by their names in the API."""

FILES = frozenset(
    {
        *("rating.json", "report.html", "report.md", "observations.csv", "sentences.csv", "export.jsonl"),
        "attestation.json",
        *(embed.file for embed in EMBEDS),
        *(file.name for file in AUDIT_FILES),
    }
)
"""Files about a rating that the API makes."""

MOST_STEPS = 5
"""Maximum number of differences between consecutive ratings that the history shows."""


@pages.get(OWN)
@public.get(PUBLIC)
async def finding(visit: Visit) -> Response:
    """Show the letter, its derivation, the evidence behind it, and its limits."""
    rating = await rating_in_path(visit)
    part_values = part_of(rating, visit.query("part"), square_set=visit.query("cases"))
    values = {"part": part_values, "mention_rows": await ratings_by_mention(visit, rating)}
    outline_lists = {"reasons": outline.reasons(rating.view), "other_rules": outline.other_rules(rating.view)}
    return render_page(visit, rating, "finding", **values, **outline_lists)


@pages.get(OWN + "/evidence")
@public.get(PUBLIC + "/evidence")
async def evidence(visit: Visit) -> Response:
    """List the cases; the filters and the number of the opened case are in the address.

    A question that is looked up opens its case. With `first` in the address, only the first case is listed.
    """
    rating = await rating_in_path(visit)
    filters = {name: visit.query(name).strip() for name in FILTERS}
    cases_path = f"/v1/ratings/{rating.id}/cases"
    limit = 1 if visit.query("first") else ROWS
    page = await visit.api.get(cases_path, **filters, cursor=visit.query("cursor"), limit=limit)
    case_id = visit.query("case")
    if filters["question"] and page["items"] and not case_id:
        case_id = str(page["items"][0]["id"])
    case = None
    if case_id.isascii() and case_id.isdecimal():
        case = await visit.api.get(f"{cases_path}/{case_id}", kind=filters["kind"], order=filters["order"])
    write_row = partial(row_of, search_text=filters["q"], vocabulary=Vocabulary.of(method_of(rating.document)))
    return render_page(
        visit,
        rating,
        "evidence",
        page=page,
        rows=list(map(write_row, page["items"])),
        opened=None if case is None else write_row(case),
        filters=filters,
        address=partial(address_of, rating.base, filters),
        kinds=KINDS,
        unjudged_kinds=UNJUDGED_KINDS,
        next=visit.older(page),
    )


@pages.get(OWN + "/history")
@public.get(PUBLIC + "/history")
async def history(visit: Visit) -> Response:
    """List the other ratings of the service, and the changes between comparable ones."""
    rating = await rating_in_path(visit)
    comparable = [other_rating for other_rating in rating.others if _key_of(other_rating) == _key_of(rating.document)]
    changes = [
        await visit.api.get(f"/v1/ratings/{before['id']}/difference", **{"with": after["id"]})
        for after, before in list(pairwise(comparable))[:MOST_STEPS]  # newest first
    ]
    return render_page(visit, rating, "history", changes=changes, line=line_of_effects(rating, changes))


def line_of_effects(rating: Rating, changes: Sequence[Json]) -> JsonObject:
    """Return a chart's values: the deciding component's effects in each rating of `changes`, and each effect's scale.

    Of the hidden effects, only the one that changed most between two ratings is included.
    """
    because = rating.document.get("because")  # what decided the letter, if there is one
    components = {component.name: component for component in rating.view.components}
    part_name = because["component"] if because else next(iter(components), "")
    drawn_effects: dict[str, Effect] = {}
    if component := components.get(part_name):
        drawn_effects = {effect.name: effect for effect in component.effects}
        # the API's name of a hidden effect in a difference is its kind and its name
        names_in_changes = (f"{effect.kind}: {effect.name}" for effect in component.part.hidden)
        hidden = dict(zip(names_in_changes, component.hidden, strict=True))
        effects = [effect for change in changes for effect in change["effects"] if effect["component"] == part_name]
        # effects that are not hidden count as unchanged
        most_changed = max(effects, key=lambda effect: abs(effect["moved"]) * (effect["name"] in hidden), default=None)
        if most_changed is not None and most_changed["name"] in hidden:
            drawn_effects[most_changed["name"]] = hidden[most_changed["name"]]
    ratings: dict[str, JsonObject] = {}
    for change in changes:
        for side in ("after", "before"):
            rating_row = ratings.setdefault(change[side]["id"], {**change[side], "effects": {}, "since": None})
            for effect in change["effects"]:
                if effect["component"] == part_name and effect["name"] in drawn_effects:
                    rating_row["effects"][effect["name"]] = effect[side]
        ratings[change["after"]["id"]]["since"] = change  # since the rating before
    bounds: dict[str, list[float]] = {}
    for rating_row in ratings.values():
        for effect_name, effect in rating_row["effects"].items():
            bounds.setdefault(effect_name, [0.0]).extend((effect["low"], effect["high"]))
    # a margin of 0.02 at both ends
    scales = {effect_name: (min(values) - 0.02, max(values) + 0.02) for effect_name, values in bounds.items()}
    return {
        "part": component.title if component else part_name,
        "ratings": list(ratings.values()),
        "scales": scales,
        "drawn": drawn_effects,
    }


def _key_of(rating: Json) -> tuple[object, ...]:
    """Return a key that is equal for comparable ratings: method, attribute, requester's role, kind of description."""
    requester = rating.get("requester") or {}
    return (rating["method"], rating["attribute"], rating["standing"]["requester"], requester.get("description"))


@pages.get(OWN + "/provenance")
@public.get(PUBLIC + "/provenance")
async def provenance(visit: Visit) -> Response:
    """Show the facts needed to repeat the rating, and its letters by other methodologies."""
    rating = await rating_in_path(visit)
    letters = await visit.api.items(f"/v1/ratings/{rating.id}/methodologies")
    shown_versions = {letter["version"] for letter in letters}
    methodologies = await visit.api.items("/v1/methodology")
    methods_by_version = {methodology["version"]: methodology["methods"] for methodology in methodologies}
    # other versions are offered only while the rating's own exists, because else the rating cannot be replayed
    replayable = methods_by_version if rating.rated.methodology.version in methods_by_version else {}
    method = rating.rated.method
    return render_page(
        visit,
        rating,
        "provenance",
        tables=outline.provenance_tables(rating.view),
        letters=letters,
        known=methods_by_version,
        title_of=title_of,
        versions=[
            version for version, methods in replayable.items() if version not in shown_versions and method in methods
        ],
        job=await _read_job(visit, rating),
    )


async def _read_job(visit: Visit, rating: Rating) -> Json | None:
    """Return the job of the caller's own rating, for its number of calls; ``None`` for ratings of others."""
    if not rating.mine:
        return None
    return next(iter(await visit.api.items("/v1/jobs", made=rating.id)), None)


@pages.get(OWN + "/certificate")
@public.get(PUBLIC + "/certificate")
async def certificate(visit: Visit) -> Response:
    """Show the signature and the entries of the log, to be verified in the browser."""
    rating = await rating_in_path(visit)
    envelope = await visit.api.get(f"/v1/ratings/{rating.id}/attestation.json")
    entries = await visit.api.items("/v1/log/entries", rating=rating.id)
    head = await visit.api.get("/v1/log")
    # a checkpoint is a text, an empty line and signatures, of which the first is the agency's own
    witnesses = head["checkpoint"].partition("\n\n")[2].splitlines()[1:]
    return render_page(visit, rating, "certificate", envelope=envelope, entries=entries, head=head, witnesses=witnesses)


@pages.get(OWN + "/reply")
@public.get(PUBLIC + "/reply")
async def reply(visit: Visit) -> Response:
    """Show the reply of the service's owner to a rating; signed-in readers get forms to reply and to answer."""
    text, link = visit.typed.get("text", ""), visit.typed.get("link", "")
    # a refused text belongs to the form of the answer, or to that of the reply
    texts = {"text": "", "answer": text} if visit.url_path.endswith("/answer") else {"text": text, "answer": ""}
    return render_page(visit, await rating_in_path(visit), "reply", wrong=visit.refused, link=link, **texts)


@pages.get(OWN + "/files/{name}")
async def file(visit: Visit) -> Response:
    """Send a file of the API to a signed-in user."""
    name = visit.path("name")
    if name not in FILES:
        raise Problem("not-found", f"there is no file {name[:100]}")
    address = f"/v1/ratings/{visit.path('rating_id')}"
    query = {"summary": True} if visit.query("summary") else {}
    return visit.api.forward(address if name == "rating.json" else f"{address}/{name}", **query)


# the proof that an observation is part of the evidence, and the thumbnail of a question's picture
for _file in ("observations/{seq}/proof", "thumbnails/{digest}"):
    pages.file(f"{OWN}/files/{_file}", f"/v1{OWN}/{_file}")


LIST_FILTERS = ("q", "kind", "letter", "method", "attribute", "state")


@pages.get("/ratings")
async def ratings(visit: Visit) -> Response:
    """List the caller's ratings and all public ones, newest first; the filters are in the address."""
    mine = visit.query("mine") == "true"
    return visit.page(
        "ratings/ratings.html",
        **await visit.listing("/v1/ratings", LIST_FILTERS, mine=mine),
        mine=mine,
        methods=sorted(method["name"] for method in await visit.api.items("/v1/methods")),
    )
