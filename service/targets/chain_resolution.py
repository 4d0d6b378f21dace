"""Resolution of the saved targets in a chain, so that a job holds the descriptions of all its services.

A link cannot override fields of the saved target that it names. Therefore a secret is sent only to the address with
which it was saved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.composition.compatibility import MOST
from assay.errors import SpecificationError
from service.dependencies import Service
from store.ratings import compositions
from store.targets.targets import StoredTarget, descriptor

CHAIN = "chain"
"""Protocol of chains of targets (implemented in `workers.targets.chain.chain`)."""

OWN_FIELD = "path"
"""Field of a link that a saved target does not have."""


async def with_links(
    service: Service, tenant: str, target: Mapping[str, Any], *, saved: bool = False
) -> dict[str, Any]:
    """Insert the descriptions of the saved targets that a chain's links name; return other targets unchanged.

    The links of a `saved` chain get the current descriptions of their targets; in a request, a link that contradicts
    its saved target is refused, with a field such as ``settings.links.0.id``.
    """
    links = target["settings"].get("links") if target["protocol"] == CHAIN else None
    if not isinstance(links, list) or not any(map(_names_target, links[:MOST])):
        return dict(target)  # malformed links are refused later, when the settings are validated
    ids = {link["id"] for link in links[:MOST] if _names_target(link)}
    saved_targets = await service.database.read(compositions.targets_named, tenant, ids)
    filled = [
        _filled(link, saved_targets, index, saved) if _names_target(link) else link for index, link in enumerate(links)
    ]
    return {**target, "settings": {**target["settings"], "links": filled}}


def _names_target(link: Any) -> bool:
    return isinstance(link, Mapping) and isinstance(link.get("id"), str)


def _filled(
    link: Mapping[str, Any], saved_targets: Mapping[str, StoredTarget], index: int, saved: bool
) -> dict[str, Any]:
    where = f"settings.links.{index}"
    row = saved_targets.get(link["id"])
    if row is None:
        raise SpecificationError(f"no target has the id {link['id'][:80]!r}; POST /v1/targets saves one", f"{where}.id")
    link_of_target = {"id": link["id"], **descriptor(row)}
    for name in () if saved else sorted(link.keys() - {OWN_FIELD}):
        if name not in link_of_target or link[name] != link_of_target[name]:
            reason = f"{where} names a saved target, which has its own {name}; leave {name} out"
            raise SpecificationError(reason, f"{where}.{name}")
    path = {name: link[name] for name in link.keys() & {OWN_FIELD}}
    return {**link_of_target, **path}
