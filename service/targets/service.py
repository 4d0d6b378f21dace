"""Resolution of a job's target, which the request describes or names as a saved target; validation of either.

The saved targets that the links of a chain name are inserted, so that a job holds the descriptions of all its services.
A link cannot override fields of the saved target that it names. Therefore a secret is sent only to the address with
which it was saved.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from assay.composition.compatibility import MAX_LINKS
from assay.document import Json, JsonObject
from assay.errors import SpecificationError
from assay.model import Kind
from service.container import Service
from service.http.authentication import Caller
from service.http.json import located
from service.targets.schemas import TargetDescription, TargetReference
from service.uploads.service import UPLOADED, find_upload
from store.targets import targets
from store.targets.domains import host_of
from store.targets.targets import StoredTarget, descriptor

ONLY_AUTHORS = frozenset({"openai-images"})
"""Protocols of services that can only be authors; listed here, because the service does not import `workers`."""

CHAIN = "chain"
"""Protocol of chains of targets (implemented in `workers.targets.chain.chain`)."""

OWN_FIELD = "path"
"""Field of a chain's link, its languages; the only field that a link to a saved target adds to the target."""


@dataclass(frozen=True)
class ResolvedTarget:
    """A target's descriptor, its secret in plain text, and its id if it is a saved target."""

    descriptor: Json
    secret: str | None = field(default=None, repr=False)
    saved_id: str | None = None


async def resolve_target(
    service: Service, caller: Caller, request: TargetDescription | TargetReference, *path: str | int
) -> ResolvedTarget:
    """Return the target that a request names by its id or describes, after checking its description.

    Raise `Problem` if there is no such target, or its description is invalid; the problem points into the part of the
    request body at `path`, by default ``target``.
    """
    with located(*path or ("target",)):
        return await checked_target(service, caller, request)


async def checked_target(
    service: Service, caller: Caller, request: TargetDescription | TargetReference
) -> ResolvedTarget:
    """Return the target of a request as `resolve_target` does; the errors name fields relative to the target."""
    target = await with_described_links(service, caller, await find_target(service, caller, request))
    await check_target(service, target)
    await check_uploaded(service, caller.tenant, target.descriptor)
    return target


async def find_target(service: Service, caller: Caller, request: TargetDescription | TargetReference) -> ResolvedTarget:
    """Return the target that a request names by id or describes, without checking it; an unknown id is refused."""
    if isinstance(request, TargetDescription):
        return resolve_description(request)
    row = await service.database.read(targets.find, request.id, caller.tenant)
    if row is None:
        raise SpecificationError(f"no target has the id {request.id!r}; POST /v1/targets saves one", "id")
    return resolve_saved(service, row)


async def with_described_links(service: Service, caller: Caller, target: ResolvedTarget) -> ResolvedTarget:
    """Return a chain with the descriptions of the saved targets that its links name; other targets are unchanged."""
    descriptor = await with_links(service, caller.tenant, target.descriptor, saved=target.saved_id is not None)
    return replace(target, descriptor=descriptor)


def resolve_description(description: TargetDescription) -> ResolvedTarget:
    """Return the target that a request describes; its secret is separate, so that it can be encrypted at once."""
    descriptor = description.model_dump(exclude={"secret"}) | {"base_url": description.base_url or ""}
    descriptor["name"] = description.name or host_of(descriptor["base_url"]) or description.protocol
    return ResolvedTarget(descriptor, None if description.secret is None else description.secret.get_secret_value())


def resolve_saved(service: Service, row: StoredTarget) -> ResolvedTarget:
    """Return a saved target, with its secret decrypted."""
    return ResolvedTarget(targets.descriptor(row), open_secret(service, row), row.id)


def open_secret(service: Service, row: StoredTarget) -> str | None:
    """Return a saved target's secret in plain text; ``None`` if it has none."""
    if row.sealed_secret is None:
        return None
    descriptor = targets.descriptor(row)
    return service.vault.open_for_target(row.sealed_secret, tenant=row.tenant, target=row.id, description=descriptor)


async def check_target(service: Service, target: ResolvedTarget) -> None:
    """Refuse an invalid description of a target; the error names the field, relative to the target.

    A saved target's secret is not checked again. The check runs in a thread, because to check a private key takes
    milliseconds.
    """
    secret_field = {} if target.saved_id is not None else {"secret": target.secret}
    await asyncio.to_thread(service.target_validator.check, {**target.descriptor, **secret_field})


async def check_uploaded(service: Service, tenant: str, target: Json) -> None:
    """Refuse a target of uploaded vectors if the tenant lacks the upload; the error names ``settings.upload``."""
    if target["kind"] == Kind.EMBEDDER and target["protocol"] == UPLOADED:
        await find_upload(service, tenant, target["settings"]["upload"], "embedding", field="settings.upload")


def check_language_model(author: ResolvedTarget) -> None:
    """Refuse an author (a service that writes test sentences) that is no language model; the error names ``kind``."""
    if (kind := author.descriptor["kind"]) != Kind.LANGUAGE_MODEL:
        raise SpecificationError(f"an author must be a language-model, not a {kind}", "kind")


def check_rated(target: Json) -> None:
    """Refuse to rate a service that only makes images and answers no question; the error names ``protocol``."""
    if target["protocol"] in ONLY_AUTHORS:
        reason = f"{target['protocol']} makes images and answers no question; it can be the author of a job"
        raise SpecificationError(reason, "protocol")


async def with_links(service: Service, tenant: str, target: Json, *, saved: bool = False) -> JsonObject:
    """Insert the descriptions of the saved targets that a chain's links name; return other targets unchanged.

    The links of a `saved` chain get the current descriptions of their targets. In a request, a link that contradicts
    its saved target is refused; the error names a field such as ``settings.links.0.id``.
    """
    links = target["settings"].get("links") if target["protocol"] == CHAIN else None
    if not isinstance(links, list) or not any(map(_names_target, links[:MAX_LINKS])):
        return dict(target)  # malformed links are refused later, when the settings are validated
    ids = {link["id"] for link in links[:MAX_LINKS] if _names_target(link)}
    saved_targets = await service.database.read(targets.find_by_ids, tenant, ids)
    full_links = [
        _full_link(link, saved_targets, f"settings.links.{index}", saved=saved) if _names_target(link) else link
        for index, link in enumerate(links)
    ]
    return {**target, "settings": {**target["settings"], "links": full_links}}


def _names_target(link: object) -> bool:
    return isinstance(link, Mapping) and isinstance(link.get("id"), str)


def _full_link(link: Json, saved_targets: Mapping[str, StoredTarget], field: str, *, saved: bool) -> JsonObject:
    """Return a link with the description of the saved target that it names; errors name the link's `field`."""
    row = saved_targets.get(link["id"])
    if row is None:
        raise SpecificationError(f"no target has the id {link['id'][:80]!r}; POST /v1/targets saves one", f"{field}.id")
    full_link = {"id": link["id"], **descriptor(row)}
    if not saved:  # a saved chain holds the descriptions from when it was saved
        for name in sorted(link.keys() - {OWN_FIELD}):  # its languages, `path`, are its own
            if name not in full_link or link[name] != full_link[name]:
                reason = f"{field} names a saved target, which has its own {name}; leave {name} out"
                raise SpecificationError(reason, f"{field}.{name}")
    if OWN_FIELD in link:
        full_link[OWN_FIELD] = link[OWN_FIELD]
    return full_link
