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


async def verification(service: Service, tenant: str, parts: Parts) -> dict[str, Any]:
    """Return the request that measures a chain, and whether it would be accepted from `tenant`.

    `parts` are the ratings of the services, first to last, with the saved targets that the composition names.
    """
    kind = Kind(parts[-1][0].target["kind"])
    owned = {
        rating.target_id
        for rating, target in parts
        if target is None and rating.tenant == tenant and rating.target_id is not None
    }
    saved = await service.database.read(compositions.targets_named, tenant, owned)
    links: list[dict[str, Any]] = []
    for index, (rating, target) in enumerate(parts):
        last = index == len(parts) - 1
        saved_target = target or (saved.get(rating.target_id or "") if rating.tenant == tenant else None)
        path = [] if last else [HOME, _middle(parts, index), HOME]
        links += _links(rating, saved_target, path, is_owner=rating.tenant == tenant)
    name = " * ".join(str(rating.target["name"]) for rating, _ in parts)
    described = {
        "name": name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…",
        "kind": kind.value,
        "protocol": CHAIN,
        "settings": {"links": links},
    }
    body = {"target": described, "experiment": _experiment(parts)}
    reason = await _why_not(service, tenant, body)
    return {"method": "POST", "href": HREF, "ready": reason is None, "why": reason, "body": body}


def _links(
    rating: StoredRating, saved_target: StoredTarget | None, path: list[str], *, is_owner: bool
) -> list[dict[str, Any]]:
    """Return a service as links of a chain: by the id of its saved target, or by its rated description.

    A service that is a chain itself is replaced by its links; its last link gets `path`.
    """
    protocol = saved_target.protocol if saved_target is not None else rating.target["protocol"]
    settings = saved_target.settings if saved_target is not None else rating.target.get("settings") or {}
    if protocol == CHAIN:
        inner = [_inner(link, is_owner=is_owner) for link in settings["links"]]
        return [*inner[:-1], _with_path(inner[-1], path)]
    if saved_target is not None:
        return [_with_path({"id": saved_target.id}, path)]
    target = rating.target
    described = {
        "name": target["name"],
        "kind": target["kind"],
        "protocol": protocol,
        "base_url": target.get("url") or None,
        "settings": settings,
    }
    return [_with_path(described, path)]


def _inner(link: Mapping[str, Any], *, is_owner: bool) -> dict[str, Any]:
    """Return a link of a rated chain: by id if it names a target of the caller, otherwise described."""
    path = list(link.get("path") or ())
    if link.get("id") and is_owner:
        return _with_path({"id": link["id"]}, path)
    names = ("name", "kind", "protocol", "base_url", "settings")
    return _with_path({name: link[name] for name in names if name in link}, path)


def _with_path(link: Mapping[str, Any], path: Sequence[str]) -> dict[str, Any]:
    return {**link, "path": list(path)} if path else dict(link)


def _middle(parts: Parts, index: int) -> str:
    """Return the middle language of a translator before the last link: the language with which it was rated.

    If the last service is a translator and all services were rated with the same languages, return ``*``, the language
    of the question. If a translator was rated with several languages, return the one that decides its letter.
    """
    by_part = [tuple(rating.rating.experiment.get("languages") or ()) for rating, _ in parts]
    if parts[-1][0].target["kind"] == Kind.TRANSLATOR and all(languages == by_part[0] for languages in by_part):
        return "*"
    rating = parts[index][0].rating
    languages = {component.name: component.language for component in rating.components}
    language = next((languages[name] for name in rating.aggregation.deciding if languages.get(name)), None)
    return str(language or next(iter(by_part[index]), "es"))


def _experiment(parts: Parts) -> dict[str, Any]:
    """Return the experiment: the first service's, in the last service's languages, if all have the same method."""
    first, last = parts[0][0], parts[-1][0]
    experiment = dict(last.rating.experiment or {"method": last.method, "attribute": last.attribute})
    if len({rating.method for rating, _ in parts}) == 1 and first.rating.experiment:
        languages = {"languages": experiment["languages"]} if "languages" in experiment else {}
        experiment = {**first.rating.experiment, **languages}
    return {name: value for name, value in experiment.items() if value is not None}


async def _why_not(service: Service, tenant: str, body: Mapping[str, Any]) -> str | None:
    target = {"base_url": "", "limits": {}, **body["target"], "secret": None}
    if len(target["settings"]["links"]) > MOST:
        return f"the chain has {len(target['settings']['links'])} services in all; at most {MOST} can be called in one"
    try:
        service.target_validator.check(await with_links(service, tenant, target))
    except SpecificationError as refused:
        return str(refused)
    return None
