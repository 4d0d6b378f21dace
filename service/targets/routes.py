"""``/v1/targets``: saved targets. Their secrets are never shown."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Query, Request, Response
from pydantic import Field

from service.container import Service, ServiceDependency
from service.http.authentication import Reader, TargetWriter
from service.http.conditional import entity_tag, not_modified
from service.http.idempotency import Repeat, answer_once
from service.http.json import Answer, StrictRoute, json_response, located, write_json
from service.http.openapi.common_schemas import KindName
from service.http.openapi.examples import TARGETS
from service.http.openapi.responses import CONFLICT, TAGGED, created, leads_to
from service.http.pagination import PageQuery, Search, read_list
from service.http.problems import Problem, existing, removed
from service.http.waits import Wait
from service.jobs.routes import JOB_PLACED, answer_order
from service.jobs.service import probe_order
from service.targets.schemas import TargetDescription, TargetList, TargetView
from service.targets.service import (
    ResolvedTarget,
    check_target,
    check_uploaded,
    of_described,
    of_saved,
    open_secret,
    with_described_links,
    with_links,
)
from store.core.columns import new_id
from store.core.database import Connection
from store.security.secrets import destination_of
from store.targets import targets
from store.targets.targets import NewTarget, StoredTarget

router = APIRouter(prefix="/v1/targets", tags=["targets"], route_class=StrictRoute)

TARGET_LINKS = leads_to("target_id", "getTarget", "replaceTarget", "probeTarget", "removeTarget")

Description = Annotated[TargetDescription, Body(openapi_examples=TARGETS)]


@router.post("", **created(TargetView, "Saved.", TARGET_LINKS))
async def save_target(body: Description, service: ServiceDependency, caller: TargetWriter, repeat: Repeat) -> Response:
    """Save a target, so that jobs can name it by id and its secret is sent only once."""
    new = await _new_target(service, caller.tenant, new_id("tgt"), body)

    def add(c: Connection) -> Answer:
        saved = targets.add(c, new)
        headers = {"Location": f"{router.prefix}/{saved.id}", "ETag": entity_tag(saved.id, saved.version)}
        return Answer(201, write_json(TargetView.of(saved)), headers)

    return await answer_once(service, caller, repeat, add)


class TargetQuery(PageQuery):
    """Filters of the list of targets."""

    kind: Annotated[KindName | None, Field(description="Kind of service.")] = None
    q: Search = None


@router.get("", response_model=TargetList)
async def list_targets(
    request: Request, service: ServiceDependency, caller: Reader, query: Annotated[TargetQuery, Query()]
) -> Response:
    """List your targets, newest first."""
    return await read_list(request, service, query, "targets", TargetView.of, targets.page, caller.tenant)


async def found_target(target_id: str, service: ServiceDependency, caller: Reader) -> StoredTarget:
    """Return the target in the path."""
    return existing(await service.database.read(targets.find, target_id, caller.tenant), "target", target_id)


async def own_target(target_id: str, service: ServiceDependency, caller: TargetWriter) -> StoredTarget:
    """Return the target in the path, for a caller who can change it."""
    return await found_target(target_id, service, caller)


FoundTarget = Annotated[StoredTarget, Depends(found_target)]
OwnTarget = Annotated[StoredTarget, Depends(own_target)]


@router.get("/{target_id}", response_model=TargetView, responses=TAGGED)
async def get_target(request: Request, row: FoundTarget) -> Response:
    """Read a target, with only the last characters of its secret."""
    headers = {"ETag": entity_tag(row.id, row.version), "Cache-Control": "private, no-cache"}
    return not_modified(request, headers) or json_response(TargetView.of(row), headers=headers)


@router.put("/{target_id}", response_model=TargetView, responses=CONFLICT)
async def replace_target(
    body: Description, row: OwnTarget, service: ServiceDependency, caller: TargetWriter
) -> Response:
    """Replace a target. Without `secret`, it keeps its secret; `null` removes the secret.

    If the protocol, address or way of authentication changes, the secret of the target must be sent again (422
    `secret-required`).

    Running jobs continue with the earlier description.
    """
    keep = "secret" not in body.model_fields_set
    new = await _new_target(service, caller.tenant, row.id, body, row if keep else None)
    replaced = existing(
        await service.database.write(targets.replace, row.id, caller.tenant, new, keep_secret=keep), "target", row.id
    )
    return json_response(TargetView.of(replaced), headers={"ETag": entity_tag(replaced.id, replaced.version)})


@router.delete("/{target_id}", status_code=204, response_description="Removed.")
async def remove_target(target_id: str, service: ServiceDependency, caller: TargetWriter) -> Response:
    """Remove a target and its secret. Its jobs and ratings stay."""
    return removed(await service.database.write(targets.remove, target_id, caller.tenant), "target", target_id)


@router.post("/probe", **JOB_PLACED)
async def probe_described_target(
    request: Request,
    body: Description,
    service: ServiceDependency,
    caller: TargetWriter,
    repeat: Repeat,
    wait: Wait,
    response: Response,
) -> Response:
    """Test a target that is not saved: ask it one question, and examine it if the question is answered.

    The test is a job. With `Prefer: wait=N` the answer is 200 with the result if it ends in time. Its `result` has
    the `exchange` (request and response, with secrets masked and bodies cut to 2,000 characters), the `reading` (the
    parsed answer), `latency_s`, the `capability`, and after a failure `code`, `cause`, `remedy` and, if the service
    gave its own error message, `service_said`. The secret is deleted when the test ends.
    """
    with located():
        target = await with_described_links(service, caller, of_described(body))
        await check_target(service, target)
        await check_uploaded(service, caller.tenant, target.descriptor)
    order = probe_order(service, caller, target)
    return await answer_order(
        request, service, caller, order, repeat.by(caller), wait, response, status_if_succeeded=200
    )


@router.post("/{target_id}/probe", **JOB_PLACED)
async def probe_target(
    request: Request,
    row: OwnTarget,
    service: ServiceDependency,
    caller: TargetWriter,
    repeat: Repeat,
    wait: Wait,
    response: Response,
) -> Response:
    """Test a target without rating it: reachability, latency, and order and completeness of its answers.

    The probe is a job. With `Prefer: wait=N` the answer is 200 with the result if it ends in time.
    """
    with located():
        target = await with_described_links(service, caller, of_saved(service, row))
        await check_target(service, target)
    order = probe_order(service, caller, target)
    return await answer_order(
        request, service, caller, order, repeat.by(caller), wait, response, status_if_succeeded=200
    )


async def _new_target(
    service: Service, tenant: str, target_id: str, body: TargetDescription, previous: StoredTarget | None = None
) -> NewTarget:
    """Return a target to store, validated with the secret in `body` or in `previous`; a new secret is encrypted."""
    described_target = of_described(body)
    with located():
        described = await with_links(service, tenant, described_target.descriptor)
        if previous is not None and previous.sealed_secret is not None:
            _check_destination(targets.descriptor(previous), described)
        secret = described_target.secret if previous is None else open_secret(service, previous)
        await check_target(service, ResolvedTarget(described, secret))
        await check_uploaded(service, tenant, described)
    plain, sealed = described_target.secret, None
    if plain is not None:
        sealed = service.vault.seal_for_target(plain, tenant=tenant, target=target_id, described=described)
    return NewTarget(id=target_id, tenant=tenant, sealed_secret=sealed, **described)


def _check_destination(saved: dict[str, Any], described: dict[str, Any]) -> None:
    """Refuse a change that would send a stored secret to another destination."""
    if destination_of(saved) != destination_of(described):
        detail = (
            "the target's protocol, address or way of authentication changes, so its stored secret is not kept: send "
            "`secret` again, or null to remove it"
        )
        raise Problem("secret-required", detail, errors=[{"pointer": "/secret", "detail": "needed for a new address"}])
