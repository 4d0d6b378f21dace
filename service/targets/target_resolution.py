"""Resolution of a job's target: described in the request, or saved; both are validated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from assay.errors import SpecificationError
from service.dependencies import Service
from service.http.authentication import Caller
from service.http.problem_mapping import located
from service.jobs.input_resolution import check_uploaded
from service.targets.chains import with_links
from service.targets.schemas import TargetDescription, TargetReference
from store.targets import targets
from store.targets.targets import StoredTarget


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
        ordered = ResolvedTarget(asked.descriptor(), asked.plain_secret())
    with located(field):
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


def of_saved(here: Service, row: StoredTarget) -> ResolvedTarget:
    """Return a saved target.

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
    return here.vault.open(row.sealed_secret, tenant=row.tenant, target=row.id, field="secret")


def check_target(here: Service, target: ResolvedTarget) -> None:
    """Refuse an invalid description of a target.

    Raises
    ------
    SpecificationError
        With the invalid field, relative to the target.
    """
    here.target_validator.check({**target.descriptor, "secret": target.secret})
