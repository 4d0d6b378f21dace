"""Resolution of a job's target: described in the request, or saved; both are validated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from assay.errors import SpecificationError
from assay.model import Kind
from service.dependencies import Service
from service.http.authentication import Caller
from service.http.json import located
from service.targets.chains import CHAIN, with_links
from service.targets.schemas import TargetDescription, TargetReference
from service.uploads.intake import check_embedding
from store.targets import targets
from store.targets.targets import StoredTarget

ONLY_AUTHORS = frozenset({"openai-images"})
"""Protocols of services that can be authors and nothing else (`workers.targets`, which are not known here)."""


@dataclass(frozen=True)
class ResolvedTarget:
    """A target's descriptor, its secret in plain text, and the id of the saved target if it is one."""

    descriptor: Mapping[str, Any]
    secret: str | None = field(repr=False)
    saved_id: str | None = None


async def resolve_target(
    here: Service, caller: Caller, asked: TargetDescription | TargetReference, field: str = "target"
) -> ResolvedTarget:
    """Return the target of a request, saved or described, after checking its description.

    Parameters
    ----------
    here : Service
    caller : Caller
        Owner of the saved targets.
    asked : TargetDescription or TargetReference
        The target in the request.
    field : str
        Name of its field in the request, for errors.

    Raises
    ------
    Problem
        If there is no such target, or its description is invalid.
    """
    if isinstance(asked, TargetReference):
        row = await here.database.read(targets.find, asked.id, caller.tenant)
        if row is None:
            with located(field):
                raise SpecificationError(f"no target has the id {asked.id!r}; POST /v1/targets saves one", "id")
        ordered = of_saved(here, row)
    else:
        ordered = of_described(asked)
    with located(field):
        if ordered.descriptor["protocol"] == CHAIN:
            ordered = await with_described_links(here, caller, ordered)
        check_target(here, ordered)
        await check_uploaded(here, caller.tenant, ordered.descriptor)
    return ordered


async def with_described_links(here: Service, caller: Caller, target: ResolvedTarget) -> ResolvedTarget:
    """Insert the saved targets that the links of a chain name.

    Raises
    ------
    SpecificationError
        With the invalid field, relative to the target.
    """
    described = await with_links(here, caller.tenant, target.descriptor, saved=target.saved_id is not None)
    return replace(target, descriptor=described)


def of_described(asked: TargetDescription) -> ResolvedTarget:
    """Return the target that a request describes, with its secret apart, to be sealed at once."""
    descriptor = asked.model_dump(exclude={"secret"}) | {"base_url": asked.base_url or ""}
    return ResolvedTarget(descriptor, None if asked.secret is None else asked.secret.get_secret_value())


def of_saved(here: Service, row: StoredTarget) -> ResolvedTarget:
    """Order a saved target.

    Raises
    ------
    SecretLost, SecretMoved
        If its secret cannot be decrypted.
    """
    return ResolvedTarget(targets.descriptor(row), open_secret(here, row), row.id)


def open_secret(here: Service, row: StoredTarget) -> str | None:
    """Decrypt a saved target's secret."""
    if row.sealed_secret is None:
        return None
    described = targets.descriptor(row)
    return here.vault.open_for_target(row.sealed_secret, tenant=row.tenant, target=row.id, described=described)


def check_target(here: Service, target: ResolvedTarget) -> None:
    """Refuse an invalid description of a target.

    Raises
    ------
    SpecificationError
        With the invalid field, relative to the target.
    """
    here.target_validator.check({**target.descriptor, "secret": target.secret})


async def check_uploaded(here: Service, tenant: str, target: Mapping[str, Any]) -> None:
    """Refuse a target whose vectors are an upload that is not there.

    Raises
    ------
    SpecificationError
        With the field ``"settings.upload"``.
    """
    if target["kind"] == Kind.EMBEDDER:
        await check_embedding(here, tenant, target)


def check_rated(target: Mapping[str, Any]) -> None:
    """Refuse to rate a service that can only be an author.

    Raises
    ------
    SpecificationError
        With the field ``"protocol"``.
    """
    if target["protocol"] in ONLY_AUTHORS:
        why = f"{target['protocol']} makes images and answers no question; it can be the author of a job"
        raise SpecificationError(why, "protocol")
