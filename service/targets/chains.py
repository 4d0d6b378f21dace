"""Chains: the saved targets that links name are looked up, so that a job carries what it will call.

A link that names a saved target says nothing else of it than the target itself does: a secret is
only ever sent to where its target was saved for.
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
"""The protocol of targets that are several (`workers.targets.chain.chain`, which is not known here)."""

WRITTEN_IN_THE_CHAIN = "path"
"""What a link says itself, whichever target it names."""


async def with_links(here: Service, tenant: str, target: Mapping[str, Any], *, saved: bool = False) -> dict[str, Any]:
    """Fill the descriptions of the targets that links name into a target's description.

    Parameters
    ----------
    here : Service
    tenant : str
        Whose targets are meant.
    target : mapping
        Any target's description; one that is no chain is left as it is.
    saved : bool
        Whether the chain was saved: its links are then as they are now, and not as they were.

    Raises
    ------
    SpecificationError
        With the field to mend, such as ``settings.links.0.id``.
    """
    links = target["settings"].get("links") if target["protocol"] == CHAIN else None
    if not isinstance(links, list) or not any(map(_names_target, links[:MOST])):
        return dict(target)  # what is no list of links is refused with the rest of the settings
    named = {link["id"] for link in links[:MOST] if _names_target(link)}
    found = await here.database.read(compositions.targets_named, tenant, named)
    filled = [_filled(link, found, place, saved) if _names_target(link) else link for place, link in enumerate(links)]
    return {**target, "settings": {**target["settings"], "links": filled}}


def _names_target(link: Any) -> bool:
    return isinstance(link, Mapping) and isinstance(link.get("id"), str)


def _filled(link: Mapping[str, Any], found: Mapping[str, StoredTarget], place: int, saved: bool) -> dict[str, Any]:
    where = f"settings.links.{place}"
    row = found.get(link["id"])
    if row is None:
        raise SpecificationError(f"no target has the id {link['id'][:80]!r}; POST /v1/targets saves one", f"{where}.id")
    own = {"id": link["id"], **descriptor(row)}
    for name in () if saved else sorted(link.keys() - {WRITTEN_IN_THE_CHAIN}):
        if name not in own or link[name] != own[name]:
            why = f"{where} names a saved target, which says this itself; leave {name} out"
            raise SpecificationError(why, f"{where}.{name}")
    path = {name: link[name] for name in link.keys() & {WRITTEN_IN_THE_CHAIN}}
    return {**own, **path}
