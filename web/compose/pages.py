"""``/compose``: build a chain of ratings, and infer its letter. The chain so far is stored in the address.

A button's value names its action (``up-1``, ``remove-0``), so that every action works without a script.
"""

from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response

from assay.composition.compatibility import MAX_LINKS as MOST_LINKS
from assay.document import JsonObject
from web.compare.pages import search
from web.frame import Pages, Visit, segment
from web.frame.visit import at_most, whole_number

pages = Pages()

SAVED = 20
"""Number of compositions on a page."""


@pages.get("/compose")
async def compose(visit: Visit) -> Response:
    """Show the chain so far, ratings to put into it, and the saved compositions."""
    query = visit.request.query_params
    chain = _ids_of_chain(visit)
    if "act" in query:  # a reload must not repeat the action
        chain, focus = rearranged_chain(chain, query["act"])
        parameters = [("rating", rating_id) for rating_id in chain] + [("at", focus)]
        return RedirectResponse(f"/compose?{urlencode(parameters)}", 303)
    links = [await visit.api.get(f"/v1/ratings/{segment(rating_id)}") for rating_id in chain]
    attributes = await visit.api.items("/v1/attributes")
    # ratings of one chain are for one attribute
    attribute = links[0]["attribute"] if links else visit.query("attribute")
    listing = await search(visit.api, visit.query("q"), attribute=attribute)
    return visit.page(
        "compose/compose.html",
        links=links,
        attributes=attributes,
        attribute=attribute,
        matches=listing["items"],
        more=listing.get("next_cursor"),
        **await visit.listing("/v1/compositions", limit=SAVED),
    )


def _ids_of_chain(visit: Visit) -> list[str]:
    """Return the ids of the chain's ratings, from the form or the address."""
    rating_ids = visit.form.getlist("rating") or visit.request.query_params.getlist("rating")
    return [*at_most(MOST_LINKS, [rating_id for rating_id in rating_ids if rating_id], "ratings")]


@pages.post("/compose", "jobs:write", form_page=compose)
async def infer(visit: Visit) -> Response:
    """Request the inferred letter of the chain, and show it."""
    chain = [{"rating": rating_id} for rating_id in _ids_of_chain(visit)]
    body = {"chain": chain, "table": visit.form.get("table", "published")}
    return visit.redirect(f"/compose/{(await visit.api.post('/v1/compositions', body))['id']}")


@pages.get("/compose/{composition_id}")
async def composition(visit: Visit) -> Response:
    """Show the letter of a chain, its reason, and hidden effects that may add up."""
    document = await visit.api.get(f"/v1/compositions/{visit.path('composition_id')}")
    return visit.page("compose/composition.html", composition=document, hidden=_hidden_effects(document))


pages.file("/compose/{composition_id}/report.html", "/v1/compositions/{composition_id}/report.html")


@pages.post("/compose/{composition_id}/verify", "jobs:write")
async def verify(visit: Visit) -> Response:
    """Request a rating of the chain as one service."""
    document = await visit.api.get(f"/v1/compositions/{visit.path('composition_id')}")
    job = await visit.api.post(document["verification"]["href"], document["verification"]["body"])
    return visit.redirect(f"/jobs/{job['id']}")


pages.act("/compose/{composition_id}/remove", "jobs:write", "DELETE", "/v1/compositions/{composition_id}", "/compose")


def rearranged_chain(chain: list[str], act: str) -> tuple[list[str], str]:
    """Return the chain after an action, and the form's element that gets the focus: a link's position, or ``add``.

    Actions are ``up-N``, ``down-N`` and ``remove-N`` for the position N, from 0; others change nothing.
    """
    name, _, number = act.partition("-")
    index = whole_number(number)
    if index is None or index >= len(chain):
        return chain, "add"
    other_ids = chain[:index] + chain[index + 1 :]  # of ratings
    if name == "remove":
        return other_ids, "add"
    position = {"up": index - 1, "down": index + 1}.get(name, index)
    position = min(max(position, 0), len(other_ids))  # the first link moves no further up, nor the last one down
    return [*other_ids[:position], chain[index], *other_ids[position:]], str(position)


def _hidden_effects(document: JsonObject) -> list[JsonObject]:
    """Return the predicted effects that a mean can hide, the largest first."""
    effects: list[JsonObject] = []
    for component in (document.get("predicted") or {}).get("components") or ():
        path = " → ".join(component["names"])  # the components of the links that it consists of
        effects += [{**effect, "path": path} for effect in component.get("hidden") or ()]
    return sorted(effects, key=lambda effect: -abs(effect["effect"]["estimate"]))
