"""Current description of a saved target, including the targets that a chain refers to.

A secret is sent only to the saved address of its target. Therefore scheduled jobs read the description again
before each run.
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
"""Protocol of targets that are chains of other targets (`workers.targets.chain.chain`)."""


class TargetRemoved(StoreError):
    """A saved target was removed."""

    code = "target-removed"

    def __init__(self, target_id: str) -> None:
        super().__init__(f"the target {target_id} has been removed; use another target")
        self.target_id = target_id


class TargetChanged(StoreError):
    """A saved target is no longer of the same kind as at the time of the request."""

    code = "target-changed"

    def __init__(self, target_id: str, was: str, now: str) -> None:
        super().__init__(f"the target {target_id} was a {was} and is now a {now}; send a new request")
        self.target_id, self.was, self.now = target_id, was, now


def describe_now(c: Connection, tenant: str, target_id: str | None, target: Mapping[str, Any]) -> dict[str, Any]:
    """Read the current description of a target.

    Parameters
    ----------
    target_id : str or None
        The saved target; ``None`` if the request contains the description.
    target : mapping
        The description at the time of the request.

    Raises
    ------
    TargetRemoved, TargetChanged
        If the target, or a target of a chain, was removed or has another kind now.
    """
    described = dict(target)
    if target_id is not None:
        described = _same_kind(targets.find(c, target_id, tenant), target_id, target["kind"])
    if described["protocol"] != CHAIN:
        return described
    links = described["settings"]["links"]
    kinds = [link.get("kind") for link in target["settings"].get("links", ())]
    saved_targets = compositions.targets_named(c, tenant, {link["id"] for link in links if "id" in link})
    now = [_link(link, saved_targets, kinds[index] if index < len(kinds) else None) for index, link in enumerate(links)]
    return {**described, "settings": {**described["settings"], "links": now}}


def _link(link: Mapping[str, Any], saved_targets: Mapping[str, StoredTarget], kind: str | None) -> dict[str, Any]:
    if "id" not in link:
        return dict(link)
    described = _same_kind(saved_targets.get(link["id"]), link["id"], kind)
    path = {"path": link["path"]} if "path" in link else {}
    return {"id": link["id"], **described, **path}


def _same_kind(row: StoredTarget | None, target_id: str, kind: str | None) -> dict[str, Any]:
    if row is None:
        raise TargetRemoved(target_id)
    if kind not in {None, row.kind}:
        raise TargetChanged(target_id, str(kind), row.kind)
    return targets.descriptor(row)
