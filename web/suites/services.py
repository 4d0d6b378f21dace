"""Services that a form offers: saved targets, and rated services that were not saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from web.frame import Api, segment

MOST = 200


@dataclass(frozen=True)
class Choice:
    """A service of a form; `value` is the id of a saved target, or of a rating that describes the service."""

    value: str
    name: str
    kind: str
    address: str | None


async def choices(api: Api) -> list[Choice]:
    """List the caller's services by name: saved ones, and those that have a rating."""
    saved = (await api.get("/v1/targets", limit=MOST))["items"]
    rated = (await api.get("/v1/overview"))["targets"]
    saved_digests = {target["digest"] for target in saved}
    services = [Choice(target["id"], target["name"], target["kind"], target["base_url"]) for target in saved]
    for row in rated:
        target = row["target"]
        if target["digest"] not in saved_digests and target["protocol"] != "uploaded":
            saved_digests.add(target["digest"])
            services.append(Choice(row["id"], target["name"], target["kind"], target["url"]))
    return sorted(services, key=lambda service: (service.kind, service.name.casefold()))


async def target_of(api: Api, value: str) -> dict[str, Any]:
    """Return the target for a request: the id of a saved target, or the description in a rating."""
    if not value.startswith("rat_"):
        return {"id": value}
    return described((await api.get(f"/v1/ratings/{segment(value)}"))["target"])


def described(target: Mapping[str, Any]) -> dict[str, Any]:
    """Return the description of a rated service for a request, without a secret: the agency has none."""
    return {
        "name": target["name"],
        "kind": target["kind"],
        "protocol": target["protocol"],
        "base_url": target.get("url") or None,
        "settings": target.get("settings") or {},
    }
