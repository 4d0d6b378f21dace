"""A service for its page: saved or only rated, with its ratings, newest letters and history charts."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from assay.document import EffectDocument, Json, JsonObject
from reports.figures.timeline import Moment, timeline
from service.http.problems import not_found
from web.frame import Api, Visit

MOST_ENTRIES = 50
MOST_MEASURED = 12
"""Maximum number of ratings whose documents are read for the matrix."""


@dataclass(frozen=True)
class Service:
    """A rated or saved service."""

    id: str
    """Id of the saved target or, if the service is not saved, of one of its ratings."""
    target: Json
    """Name, kind, protocol, address (``base_url``) and settings."""
    saved: Json | None
    """The saved target (``GET /v1/targets/{id}``); ``None`` if the service is not saved."""
    entries: Sequence[Json]
    """Ratings, newest first. Only a saved service's have probabilities and the change ``since`` the previous rating."""
    more: bool
    """Whether there are older ratings."""

    @property
    def newest(self) -> Sequence[Json]:
        """The newest rating of each method and attribute that was not withdrawn."""
        valid_entries = [entry for entry in self.entries if entry["withdrawn"] is None]
        newest = {(entry["attribute"], entry["method"]): entry for entry in reversed(valid_entries)}  # newer ones win
        return sorted(newest.values(), key=lambda entry: (entry["attribute"], entry["method"]))

    @property
    def description(self) -> JsonObject:
        """The target for a job request: the id if it is saved, otherwise a description without a secret."""
        if self.saved is not None:
            return {"id": self.id}
        return {name: self.target[name] for name in ("name", "kind", "protocol", "base_url", "settings")}


async def read_service(visit: Visit, service_id: str) -> Service:
    """Read a service by the id of its saved target, or of one of the caller's ratings of the service."""
    if not service_id.startswith("rat_"):
        saved = await visit.api.get(f"/v1/targets/{service_id}")
        history = await visit.api.get(f"/v1/targets/{service_id}/history", limit=MOST_ENTRIES)
        return Service(service_id, saved, saved, entries=history["items"], more=history["next_cursor"] is not None)
    target = (await visit.api.get(f"/v1/ratings/{service_id}"))["target"]
    history = await visit.api.get("/v1/ratings", mine=True, state="all", limit=200, digest=target["digest"] or "none")
    if not (entries := history["items"]):
        raise not_found("service", service_id)
    target |= {"base_url": target["url"], "settings": target.get("settings", {})}  # as saved targets have them
    return Service(service_id, target, saved=None, entries=entries, more=history["next_cursor"] is not None)


MOST_RATED = 200
"""Maximum number of services in the overview, and of ratings that a search reads."""


async def find_rated(api: Api, **filters: str) -> tuple[list[Json], bool]:
    """Return the newest rating of each matching service of the caller, and whether these ratings are all."""
    if not any(filters.values()):
        rows = (await api.get("/v1/overview"))["targets"]
        return rows, len(rows) < MOST_RATED
    listing = await api.get("/v1/ratings", mine=True, **filters, limit=MOST_RATED)
    newest = {row["target"]["digest"]: row for row in reversed(listing["items"])}  # a newer row replaces an older one
    return list(newest.values())[::-1], not listing["next_cursor"]


async def read_matrix(visit: Visit, newest: Sequence[Json]) -> JsonObject:
    """Return the template's values for the matrix of a service: its newest ratings by attribute and method."""
    documents = {}
    for entry in newest[:MOST_MEASURED]:
        documents[entry["attribute"], entry["method"]] = await visit.api.get(f"/v1/ratings/{entry['id']}")
    return {
        "methods": sorted({method for _, method in documents}),
        "attributes": sorted({attribute for attribute, _ in documents}),
        "cells": documents,
        "left_out": max(0, len(newest) - MOST_MEASURED),
    }


def history_charts(entries: Iterable[Json]) -> Iterator[JsonObject]:
    """Yield a history chart for each method and attribute with at least two ratings that were not withdrawn."""
    series: dict[tuple[str, str], list[Json]] = {}
    for entry in entries:
        if entry["withdrawn"] is None:
            series.setdefault((entry["method"], entry["attribute"]), []).append(entry)
    for (method, attribute), series_entries in series.items():
        chances = [(entry["probabilities"] or {}).get(entry["letter"]) for entry in series_entries]  # of the letters
        points = [{**entry, "methodology": entry["methodology"]["version"]} for entry in series_entries]
        if svg := line_of(points, map(EffectDocument, chances), "probability of the letter", f"{method}-{attribute}"):
            yield {
                "method": method,
                "attribute": attribute,
                "svg": svg,
                "changes": [entry for entry in series_entries if entry["since"] and entry["since"]["changed"]],
                "rows": list(zip(series_entries, chances, strict=True)),
            }


def line_of(
    entries: Sequence[Json], sizes: Iterable[EffectDocument], axis: str, key: str, limit: float | None = None
) -> Markup | None:
    """Draw `sizes`, one per rating (newest first), over time (SVG), labelled `axis`; ``None`` for fewer than two."""
    moments = [
        Moment(entry["rated_at"], entry["letter"], entry["declared"], entry["methodology"], size)
        for entry, size in zip(entries, sizes, strict=True)
    ]
    figure = timeline(moments, axis, key, limit)
    return None if figure is None else figure.svg
