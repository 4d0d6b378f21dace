"""Request for a job that measures a chain as one target, with the experiment of its first service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.composition.compatibility import MOST
from assay.errors import SpecificationError
from assay.model import Kind
from service.dependencies import Service
from service.targets.chain_resolution import CHAIN, with_links
from store.ratings import compositions
from store.ratings.ratings import StoredRating
from store.targets.targets import StoredTarget

HREF = "/v1/jobs"
HOME = "en"
"""Language of the methods' texts."""

LONGEST_NAME = 200

Parts = Sequence[tuple[StoredRating, StoredTarget | None]]


async def verification(here: Service, tenant: str, parts: Parts) -> dict[str, Any]:
    """Return the request that measures a chain, and whether it would be accepted from `tenant`.

    `parts` are the ratings of the services, first to last, with the saved targets that the composition names.
    """
    kind = Kind(parts[-1][0].target["kind"])
    owned = {
        rating.target_id
        for rating, target in parts
        if target is None and rating.tenant == tenant and rating.target_id is not None
    }
    saved = await here.database.read(compositions.targets_named, tenant, owned)
    links: list[dict[str, Any]] = []
    for place, (rating, target) in enumerate(parts):
        last = place == len(parts) - 1
        named = target or (saved.get(rating.target_id or "") if rating.tenant == tenant else None)
        path = [] if last else [HOME, _middle(parts, place), HOME]
        links += _links(rating, named, path, own=rating.tenant == tenant)
    name = " * ".join(str(rating.target["name"]) for rating, _ in parts)
    described = {
        "name": name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…",
        "kind": kind.value,
        "protocol": CHAIN,
        "settings": {"links": links},
    }
    body = {"target": described, "experiment": _experiment(parts)}
    why = await _why_not(here, tenant, body)
    return {"method": "POST", "href": HREF, "ready": why is None, "why": why, "body": body}


def _links(rating: StoredRating, named: StoredTarget | None, path: list[str], *, own: bool) -> list[dict[str, Any]]:
    """Return a service as links of a chain: by the id of its saved target, or by its rated description.

    A service that is a chain itself is replaced by its links; its last link gets `path`.
    """
    protocol = named.protocol if named is not None else rating.target["protocol"]
    settings = named.settings if named is not None else rating.target.get("settings") or {}
    if protocol == CHAIN:
        inner = [_inner(link, own=own) for link in settings["links"]]
        return [*inner[:-1], _with_path(inner[-1], path)]
    if named is not None:
        return [_with_path({"id": named.id}, path)]
    target = rating.target
    described = {
        "name": target["name"],
        "kind": target["kind"],
        "protocol": protocol,
        "base_url": target.get("url") or None,
        "settings": settings,
    }
    return [_with_path(described, path)]


def _inner(link: Mapping[str, Any], *, own: bool) -> dict[str, Any]:
    """Return a link of a rated chain: by id if it names a target of the caller, otherwise described."""
    path = list(link.get("path") or ())
    if link.get("id") and own:
        return _with_path({"id": link["id"]}, path)
    kept = ("name", "kind", "protocol", "base_url", "settings")
    return _with_path({name: link[name] for name in kept if name in link}, path)


def _with_path(link: Mapping[str, Any], path: Sequence[str]) -> dict[str, Any]:
    return {**link, "path": list(path)} if path else dict(link)


def _middle(parts: Parts, place: int) -> str:
    """Return the middle language of a translator before the last link: the language with which it was rated.

    If the last service is a translator and all services were rated with the same languages, return ``*``, the language
    of the question. If a translator was rated with several languages, return the one that decides its letter.
    """
    spoken = [tuple(one.document.get("experiment", {}).get("languages") or ()) for one, _ in parts]
    if parts[-1][0].target["kind"] == Kind.TRANSLATOR and all(one == spoken[0] for one in spoken):
        return "*"
    document = parts[place][0].document
    deciding = (document.get("aggregation") or {}).get("deciding") or ()
    languages = {one["name"]: one.get("language") for one in document["components"]}
    found = next((languages[name] for name in deciding if languages.get(name)), None)
    return str(found or next(iter(spoken[place]), "es"))


def _experiment(parts: Parts) -> dict[str, Any]:
    """Return the experiment: the first service's, in the last service's languages, if all have the same method."""
    first, last = parts[0][0], parts[-1][0]
    asked = dict(last.document.get("experiment") or {"method": last.method, "attribute": last.attribute})
    if len({rating.method for rating, _ in parts}) == 1 and first.document.get("experiment"):
        languages = {"languages": asked["languages"]} if "languages" in asked else {}
        asked = {**first.document["experiment"], **languages}
    return {name: value for name, value in asked.items() if value is not None}


async def _why_not(here: Service, tenant: str, body: Mapping[str, Any]) -> str | None:
    target = {"base_url": "", "limits": {}, **body["target"], "secret": None}
    if len(target["settings"]["links"]) > MOST:
        return f"the chain has {len(target['settings']['links'])} services in all; at most {MOST} can be called in one"
    try:
        here.target_validator.check(await with_links(here, tenant, target))
    except SpecificationError as refused:
        return str(refused)
    return None
