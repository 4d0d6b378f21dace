"""``/v1/targets``: saved targets. Their secrets are never shown."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from assay.document import JsonObject
from service.container import Service, ServiceDependency
from service.http.authentication import Reader, TargetWriter
from service.http.conditional import entity_tag
from service.http.idempotency import Repeat, answer_once
from service.http.json import Answer, StrictRoute, tagged, write_json
from service.http.openapi.common_schemas import KindName
from service.http.openapi.responses import CONFLICT, TAGGED, created, leads_to
from service.http.problems import Problem, existing, removed
from service.http.rows import Lists, PageQuery, Search, in_path, lists_of
from service.jobs.routes import JOB_PLACED, Placing
from service.jobs.service import probe_order
from service.targets.schemas import NewestLetterView, TargetDescription, TargetLine, TargetView
from service.targets.service import (
    ResolvedTarget,
    check_target,
    check_uploaded,
    checked_target,
    open_secret,
    resolve_description,
    resolve_saved,
    with_described_links,
    with_links,
)
from store.core.columns import new_id
from store.core.database import Connection
from store.ratings.services import newest_of_services
from store.security.secrets import destination_of
from store.targets import targets
from store.targets.targets import NewTarget, StoredTarget

router = APIRouter(prefix="/v1/targets", tags=["targets"], route_class=StrictRoute)

TARGET_LINKS = leads_to("target_id", "getTarget", "replaceTarget", "probeTarget", "removeTarget")


@router.post("", **created(TargetView, "Saved.", TARGET_LINKS))
async def save_target(
    body: TargetDescription, service: ServiceDependency, caller: TargetWriter, repeat: Repeat
) -> Response:
    """Save a target, so that jobs can name it by id and its secret is sent only once."""
    new_target = await _new_target(service, caller.tenant, new_id("tgt"), body)

    def add(c: Connection) -> Answer:
        row = targets.add(c, new_target)
        headers = {"Location": f"{router.prefix}/{row.id}", "ETag": entity_tag(row.id, row.version)}
        return Answer(201, write_json(TargetView.of(row)), headers)

    return await answer_once(service, repeat, add)


class TargetQuery(PageQuery):
    """Filters of the list of targets."""

    kind: Annotated[KindName | None, Field(description="Kind of service.")] = None
    q: Search = None


@router.get("", **lists_of(TargetLine, "One page of targets, newest first."))
async def list_targets(
    lists: Lists, service: ServiceDependency, caller: Reader, query: Annotated[TargetQuery, Query()]
) -> Response:
    """List your targets, newest first, each with your newest rating of it."""
    page = await lists.read(query, "targets", targets.page, caller.tenant)
    views = [TargetView.of(row) for row in page.rows]
    letters = await service.database.read(newest_of_services, caller.tenant, [view.digest for view in views])
    lines = [TargetLine(**vars(view), newest=NewestLetterView.of(letters.get(view.digest))) for view in views]
    return lists.response(query, "targets", page, lines)


FoundTarget = Annotated[StoredTarget, in_path("target", targets.find, Reader)]
OwnTarget = Annotated[StoredTarget, in_path("target", targets.find, TargetWriter)]


@router.get("/{target_id}", response_model=TargetView, responses=TAGGED)
async def get_target(row: FoundTarget) -> Response:
    """Read a target, with only the last characters of its secret."""
    return tagged(TargetView.of(row), entity_tag(row.id, row.version))


@router.put("/{target_id}", response_model=TargetView, responses=CONFLICT)
async def replace_target(
    body: TargetDescription, row: OwnTarget, service: ServiceDependency, caller: TargetWriter
) -> Response:
    """Replace a target. Without `secret`, it keeps its secret; `null` removes the secret.

    If the protocol, address or way of authentication changes, the secret of the target must be sent again (422
    `secret-required`).

    Running jobs continue with the earlier description.
    """
    keep_secret = "secret" not in body.model_fields_set
    target = await _new_target(service, caller.tenant, row.id, body, row if keep_secret else None)
    replace = partial(targets.replace, keep_secret=keep_secret)
    stored_target = existing(await service.database.write(replace, row.id, caller.tenant, target), "target", row.id)
    return tagged(TargetView.of(stored_target), entity_tag(stored_target.id, stored_target.version))


@router.delete("/{target_id}", status_code=204, response_description="Removed.")
async def remove_target(target_id: str, service: ServiceDependency, caller: TargetWriter) -> Response:
    """Remove a target and its secret. Its jobs and ratings stay."""
    return removed(await service.database.write(targets.remove, target_id, caller.tenant), "target", target_id)


@router.post("/probe", **JOB_PLACED)
async def probe_described_target(
    body: TargetDescription, service: ServiceDependency, caller: TargetWriter, placing: Placing
) -> Response:
    """Test a target that is not saved: ask it one question, and examine it if the question is answered.

    The test is a job. With `Prefer: wait=N` the answer is 200 with the result if it ends in time. Its `result` has
    the `exchange` (request and response, with secrets masked and bodies cut to 2,000 characters), the `reading` (the
    parsed answer), `latency_s`, the `capability`, of a model that decides the `decision` (each call of the question
    with its `prompt`, its `answer`, the `reading` and what was `read`), and after a failure `code`, `cause`, `remedy`
    and, if the service gave its own error message, `service_said`. The secret is deleted when the test ends.
    """
    return await placing.answer(probe_order(service, caller, await checked_target(service, caller, body)))


@router.post("/{target_id}/probe", **JOB_PLACED)
async def probe_target(placing: Placing, row: OwnTarget, service: ServiceDependency, caller: TargetWriter) -> Response:
    """Test a target without rating it: reachability, latency, and order and completeness of its answers.

    The probe is a job. With `Prefer: wait=N` the answer is 200 with the result if it ends in time.
    """
    target = await with_described_links(service, caller, resolve_saved(service, row))
    await check_target(service, target)
    return await placing.answer(probe_order(service, caller, target))


async def _new_target(
    service: Service, tenant: str, target_id: str, body: TargetDescription, previous: StoredTarget | None = None
) -> NewTarget:
    """Return a target to store, validated with its secret: that in `body`, or else that of `previous`."""
    described_target = resolve_description(body)
    descriptor = await with_links(service, tenant, described_target.descriptor)
    if previous is not None and previous.sealed_secret is not None:
        _check_destination(targets.descriptor(previous), descriptor)
    secret = described_target.secret if previous is None else open_secret(service, previous)
    await check_target(service, ResolvedTarget(descriptor, secret))
    await check_uploaded(service, tenant, descriptor)
    sealed_secret = None
    if described_target.secret is not None:
        owner = {"tenant": tenant, "target": target_id}
        sealed_secret = service.vault.seal_for_target(described_target.secret, **owner, description=descriptor)
    return NewTarget(id=target_id, tenant=tenant, sealed_secret=sealed_secret, **descriptor)


def _check_destination(old_descriptor: JsonObject, new_descriptor: JsonObject) -> None:
    """Refuse a change that would send a stored secret to another destination."""
    if destination_of(old_descriptor) != destination_of(new_descriptor):
        detail = (
            "the target's protocol, address or way of authentication changes, so its stored secret is not kept: send "
            "`secret` again, or null to remove it"
        )
        raise Problem("secret-required", detail, errors=[{"pointer": "/secret", "detail": "needed for a new address"}])
