"""Link set (RFC 9264) of a rated service, its rating and the rating's other formats."""

from collections.abc import Sequence

from assay.document import Json, JsonObject
from reports.embeds.notation import json_text
from reports.embeds.public_view import PublicView

MEDIA_TYPE = "application/linkset+json"

REPORTS = (("report.html", "text/html"), ("report.md", "text/markdown"), ("attestation.json", "application/json"))
"""File names and media types of a rating's formats that are no embeds."""


def render(view: PublicView, embeds: Sequence[tuple[str, str]]) -> str:
    """Return the link set of the service and of its rating as JSON; `embeds` are file names and media types."""
    return linkset([context for context in (_target_context(view), _rating_context(view, embeds)) if context])


def linkset(contexts: Sequence[Json]) -> str:
    """Return a link set as JSON (RFC 9264, section 4.2); a context has an ``anchor`` and lists of links by relation."""
    return json_text({"linkset": list(contexts)})


def link(href: str | None, media_type: str, title: str | None = None) -> JsonObject:
    """Return a link to `href` (``None`` only without a rating), as an object for the lists in contexts of `linkset`."""
    return {"href": href, "type": media_type} | ({"title": title} if title else {})


def _target_context(view: PublicView) -> JsonObject:
    """Return the service's link to its rating, with facts; empty without a public rating."""
    if view.rating.target.url is None or view.address() is None:
        return {}
    description_link = link(view.address(), "application/json", f"{view.subject}: {view.message}")
    # facts as extension attributes, which are lists of texts (RFC 9264, section 4.2.4.3)
    names = ("rated_at", "expires_at", "methodology", "status", "requester", "host_proved", "description", "objection")
    facts = {name.replace("_", "-"): [view.known_texts[name]] for name in names if name in view.known_texts}
    return {"anchor": view.rating.target.url, "describedby": [description_link | facts]}


def _rating_context(view: PublicView, embeds: Sequence[tuple[str, str]]) -> JsonObject:
    """Return the rating's links: to the service, to its other formats and to the list of ratings."""
    if view.address() is None:
        return {}
    return {
        "anchor": view.address(),
        **({"about": [{"href": view.rating.target.url}]} if view.rating.target.url else {}),
        "alternate": [link(view.address(file), media_type) for file, media_type in (*REPORTS, *embeds)],
        "collection": [link(f"{view.base_url}/v1/ratings", "application/json")],
    }
