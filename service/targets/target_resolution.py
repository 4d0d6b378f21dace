"""Whom a job calls: a target described in the request, or a saved one, looked up and checked."""

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
class OrderedTarget:
    """A target as a job keeps it: described, with its secret (plain, for a moment) apart."""

    descriptor: Mapping[str, Any]
    secret: str | None = field(repr=False)
    saved_id: str | None = None


async def resolve_target(
    here: Service, caller: Caller, asked: TargetDescription | TargetReference, field: str = "target"
) -> OrderedTarget:
    """Look a saved target up, or take the description in the request; check that it can be reached.

    Parameters
    ----------
    here : Service
    caller : Caller
        Whose saved targets are meant.
    asked : TargetDescription or TargetReference
        As the request has it.
    field : str
        Of the request, which errors point into.

    Raises
    ------
    Problem
        If there is no such target, or it cannot be carried out as described.
    """
    if isinstance(asked, TargetReference):
        row = await here.database.read(targets.find, asked.id, caller.tenant)
        if row is None:
            with located(field):
                raise SpecificationError(f"no target has the id {asked.id!r}; POST /v1/targets saves one", "id")
        ordered = of_saved(here, row)
    else:
        ordered = OrderedTarget(asked.descriptor(), asked.plain_secret())
    with located(field):
        if ordered.descriptor["protocol"] == CHAIN:
            ordered = await with_described_links(here, caller, ordered)
        check_target(here, ordered)
        await check_uploaded(here, caller.tenant, ordered.descriptor)
    return ordered


async def with_described_links(here: Service, caller: Caller, target: OrderedTarget) -> OrderedTarget:
    """Fill in the saved targets that the links of a chain name.

    Raises
    ------
    SpecificationError
        With the field to mend, relative to the target.
    """
    described = await with_links(here, caller.tenant, target.descriptor, saved=target.saved_id is not None)
    return replace(target, descriptor=described)


def of_saved(here: Service, row: StoredTarget) -> OrderedTarget:
    """Order a saved target.

    Raises
    ------
    SecretLost, SecretMoved
        If its secret cannot be opened.
    """
    return OrderedTarget(targets.descriptor(row), open_secret(here, row), row.id)


def open_secret(here: Service, row: StoredTarget) -> str | None:
    """Open a saved target's secret, to check that it goes with the rest."""
    if row.sealed_secret is None:
        return None
    return here.vault.open(row.sealed_secret, tenant=row.tenant, target=row.id, field="secret")


def check_target(here: Service, target: OrderedTarget) -> None:
    """Refuse a target that no call could reach.

    Raises
    ------
    SpecificationError
        With the field to mend, relative to the target.
    """
    here.desk.check({**target.descriptor, "secret": target.secret})


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
