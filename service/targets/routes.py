"""``/v1/targets``: saved targets. Their secrets are never shown."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Query, Request, Response

from service.dependencies import Here, Service, Wait
from service.http.authentication import Reader, TargetWriter
from service.http.conditional import entity_tag, not_modified
from service.http.idempotency import Repeat, once
from service.http.json import Answer, StrictRoute, json_response, located, write_json
from service.http.openapi.examples import TARGETS
from service.http.pagination import Page, PageQuery, link_next
from service.http.problems import Problem, not_found
from service.jobs.routes import answer_order
from service.jobs.schemas import JobView
from service.jobs.submission import probe_order
from service.targets.chains import with_links
from service.targets.schemas import TargetDescription, TargetList, TargetView
from service.targets.target_resolution import (
    ResolvedTarget,
    check_target,
    check_uploaded,
    of_described,
    of_saved,
    open_secret,
    with_described_links,
)
from store.core.columns import new_id
from store.security.secrets import destination_of
from store.targets import targets
from store.targets.targets import NewTarget, StoredTarget

router = APIRouter(prefix="/v1/targets", tags=["targets"], route_class=StrictRoute)

Description = Annotated[TargetDescription, Body(openapi_examples=TARGETS)]


@router.post("", status_code=201, response_model=TargetView, operation_id="saveTarget", response_description="Saved.")
async def save_target(body: Description, here: Here, caller: TargetWriter, repeat: Repeat) -> Response:
    """Save a target, so that jobs can name it by id and its secret is sent only once."""
    with located():
        asked = of_described(body)
        described = await with_links(here, caller.tenant, asked.descriptor)
        check_target(here, ResolvedTarget(described, asked.secret))
        await check_uploaded(here, caller.tenant, described)
    target_id = new_id("tgt")
    new = _new_target(here, asked.secret, described, caller.tenant, target_id)

    def add(c: Any) -> Answer:
        saved = targets.add(c, new)
        headers = {"Location": f"{router.prefix}/{saved.id}", "ETag": entity_tag(saved.id, saved.version)}
        return Answer(201, write_json(TargetView.of(saved)), headers)

    answer = await here.database.write(once, repeat.by(caller), add)
    return answer.response()


@router.get("", response_model=TargetList, operation_id="listTargets")
async def list_targets(
    request: Request, response: Response, here: Here, caller: Reader, query: Annotated[PageQuery, Query()]
) -> Response:
    """List your targets, newest first."""
    before = query.before("targets")
    rows = await here.database.read(targets.page, caller.tenant, before=before, limit=query.limit + 1)
    page = Page.of(rows, query.limit, lambda row: (row.created_at, row.id))
    items = [TargetView.of(row) for row in page.rows]
    listed = TargetList(items=items, next_cursor=link_next(request, response, query, "targets", page.next_key))
    return json_response(listed, headers=response.headers)


async def found_target(target_id: str, here: Here, caller: Reader) -> StoredTarget:
    """Return the target in the path."""
    row = await here.database.read(targets.find, target_id, caller.tenant)
    if row is None:
        raise not_found("target", target_id)
    return row


async def own_target(target_id: str, here: Here, caller: TargetWriter) -> StoredTarget:
    """Return the target in the path, for a caller who can change it."""
    return await found_target(target_id, here, caller)


FoundTarget = Annotated[StoredTarget, Depends(found_target)]
OwnTarget = Annotated[StoredTarget, Depends(own_target)]


@router.get("/{target_id}", response_model=TargetView, operation_id="getTarget")
async def get_target(request: Request, row: FoundTarget) -> Response:
    """Read a target, with only the last characters of its secret."""
    headers = {"ETag": entity_tag(row.id, row.version), "Cache-Control": "private, no-cache"}
    return not_modified(request, headers) or json_response(TargetView.of(row), headers=headers)


@router.put("/{target_id}", response_model=TargetView, operation_id="replaceTarget")
async def replace_target(body: Description, row: OwnTarget, here: Here, caller: TargetWriter) -> Response:
    """Replace a target. Without `secret`, it keeps its secret; `null` removes it.

    If the protocol, address or way of authentication changes, a target with a secret needs it again (422
    `secret-required`).

    Running jobs continue with the earlier description.
    """
    keep = "secret" not in body.model_fields_set
    asked = of_described(body)
    with located():
        described = await with_links(here, caller.tenant, asked.descriptor)
        if keep and row.sealed_secret is not None:
            _check_destination(targets.descriptor(row), described)
        check_target(here, ResolvedTarget(described, open_secret(here, row) if keep else asked.secret))
        await check_uploaded(here, caller.tenant, described)
    new = _new_target(here, asked.secret, described, caller.tenant, row.id)
    replaced = await here.database.write(targets.replace, row.id, caller.tenant, new, keep_secret=keep)
    if replaced is None:
        raise not_found("target", row.id)
    return json_response(TargetView.of(replaced), headers={"ETag": entity_tag(replaced.id, replaced.version)})


@router.delete("/{target_id}", status_code=204, operation_id="removeTarget", response_description="Removed.")
async def remove_target(target_id: str, here: Here, caller: TargetWriter) -> Response:
    """Remove a target and its secret. Its jobs and ratings stay."""
    if not await here.database.write(targets.remove, target_id, caller.tenant):
        raise not_found("target", target_id)
    return Response(status_code=204)


@router.post(
    "/{target_id}/probe",
    status_code=202,
    response_model=JobView,
    operation_id="probeTarget",
    response_description="Accepted; 200 instead if the job ended within the requested wait.",
)
async def probe_target(
    request: Request, row: OwnTarget, here: Here, caller: TargetWriter, repeat: Repeat, wait: Wait, response: Response
) -> Response:
    """Test a target without rating it: reachability, order and length of its answers, cost of a call.

    The probe is a job. With `Prefer: wait=N` the answer is 200 with the result if it ends in time.
    """
    with located():
        target = await with_described_links(here, caller, of_saved(here, row))
        check_target(here, target)
    order = probe_order(here, caller, target)
    answer = await answer_order(request, here, caller, order, repeat.by(caller), wait, response)
    if wait and b'"status":"succeeded"' in answer.body:
        answer.status_code = 200
    return answer


def _check_destination(saved: dict[str, Any], described: dict[str, Any]) -> None:
    """Refuse to send a stored secret anywhere but where it was given for."""
    if destination_of(saved) != destination_of(described):
        detail = (
            "the target's protocol, address or way of authentication changes, so its stored secret is not kept: send "
            "`secret` again, or null to remove it"
        )
        raise Problem("secret-required", detail, errors=[{"pointer": "/secret", "detail": "needed for a new address"}])


def _new_target(here: Service, plain: str | None, described: dict[str, Any], tenant: str, target_id: str) -> NewTarget:
    place = {"tenant": tenant, "target": target_id}
    sealed = None if plain is None else here.vault.seal_for_target(plain, **place, described=described)
    return NewTarget(id=target_id, tenant=tenant, sealed_secret=sealed, **described)
