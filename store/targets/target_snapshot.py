"""A target as it is saved now: its own description, and those of the targets that a chain's links name.

A secret goes only to where its target is saved, so whatever waits for long is described anew before it calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from store.core.errors import StoreError
from store.ratings import compositions
from store.targets import targets
from store.targets.targets import StoredTarget

CHAIN = "chain"
"""The protocol of targets that are several (`workers.targets.chain.chain`)."""

KEPT_OF_A_LINK = "path"
"""What a link of a chain says itself, whichever target it names."""


class TargetRemoved(StoreError):
    """A target that is to be called is not saved any more."""

    code = "target-removed"

    def __init__(self, target_id: str) -> None:
        super().__init__(f"the target {target_id} has been removed; name another")
        self.target_id = target_id


class TargetChanged(StoreError):
    """A target is of another kind than it was when something was asked of it."""

    code = "target-changed"

    def __init__(self, target_id: str, was: str, now: str) -> None:
        super().__init__(f"the target {target_id} was a {was} and is a {now} now; ask anew")
        self.target_id, self.was, self.now = target_id, was, now


def describe_now(c: Connection, tenant: str, target_id: str | None, target: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a target as it is saved now.

    Parameters
    ----------
    c : Connection
        Where to read.
    tenant : str
        Whose it is.
    target_id : str or None
        The saved target; ``None`` where it was described in the request.
    target : mapping
        How it was described before.

    Raises
    ------
    TargetRemoved, TargetChanged
        If it, or one that a link names, cannot take its own place any more.
    """
    described = dict(target)
    if target_id is not None:
        described = _same_kind(targets.find(c, target_id, tenant), target_id, target["kind"])
    if described["protocol"] != CHAIN:
        return described
    links = described["settings"]["links"]
    kinds = [link.get("kind") for link in target["settings"].get("links", ())]
    named = compositions.targets_named(c, tenant, {link["id"] for link in links if "id" in link})
    now = [_link(link, named, kinds[place] if place < len(kinds) else None) for place, link in enumerate(links)]
    return {**described, "settings": {**described["settings"], "links": now}}


def _link(link: Mapping[str, Any], named: Mapping[str, StoredTarget], kind: str | None) -> dict[str, Any]:
    if "id" not in link:
        return dict(link)
    own = _same_kind(named.get(link["id"]), link["id"], kind)
    kept = {name: link[name] for name in (KEPT_OF_A_LINK,) if name in link}
    return {"id": link["id"], **own, **kept}


def _same_kind(row: StoredTarget | None, target_id: str, kind: str | None) -> dict[str, Any]:
    if row is None:
        raise TargetRemoved(target_id)
    if kind not in {None, row.kind}:
        raise TargetChanged(target_id, str(kind), row.kind)
    return targets.descriptor(row)
