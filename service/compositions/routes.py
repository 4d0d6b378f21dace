"""``/v1/compositions``: ratings of chains of services, inferred without calling the services."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Request, Response

import assay
from reports.pages import PageFormat
from service.compositions.inference import compose
from service.compositions.schemas import CompositionList, CompositionRequest, CompositionView, shown
from service.dependencies import Service, ServiceDependency
from service.http.authentication import PublicReader, Reader, Writer
from service.http.conditional import entity_tag, not_modified
from service.http.idempotency import Repeat, answer_once
from service.http.json import Answer, StrictRoute, json_response, write_json
from service.http.openapi.examples import COMPOSITIONS
from service.http.pagination import Paging, read_list
from service.http.problems import existing, removed
from service.ratings.reports import page_report
from store.ratings import compositions
from store.ratings.compositions import StoredComposition

router = APIRouter(prefix="/v1/compositions", tags=["compositions"], route_class=StrictRoute)


@router.post("", status_code=201, response_model=CompositionView, response_description="Inferred and stored.")
async def create_composition(
    body: Annotated[CompositionRequest, Body(openapi_examples=COMPOSITIONS)],
    service: ServiceDependency,
    caller: Writer,
    _: Reader,
    repeat: Repeat,
) -> Response:
    """Infer the rating of a chain of services from the ratings of its links, without calling them.

    To measure the chain instead, send `verification.body` to `POST /v1/jobs`: it rates the chain as one target.
    """
    new = await compose(service, caller.tenant, body)

    def add(c: Any) -> Answer:
        stored = compositions.add(c, new)
        headers = {"Location": f"{router.prefix}/{stored.id}", "ETag": entity_tag(stored.id)}
        return Answer(201, write_json(shown(stored, is_owner=True)), headers)

    return await answer_once(service, caller, repeat, add)


@router.get("", response_model=CompositionList)
async def list_compositions(request: Request, service: ServiceDependency, caller: Reader, query: Paging) -> Response:
    """List your compositions, newest first."""
    return await read_list(
        request, service, query, "compositions", lambda row: shown(row, is_owner=True), compositions.page, caller.tenant
    )


@router.get("/{composition_id}", response_model=CompositionView)
async def get_composition(
    request: Request, composition_id: str, service: ServiceDependency, caller: PublicReader
) -> Response:
    """Read a composition, which never changes. Those of other tenants require that you can read all their ratings."""
    row = await _found(service, composition_id, caller.tenant)
    headers = {"ETag": entity_tag(row.id), "Cache-Control": "private, no-cache", "Vary": "Authorization"}
    return not_modified(request, headers) or json_response(
        shown(row, is_owner=row.tenant == caller.tenant), headers=headers
    )


@router.delete("/{composition_id}", status_code=204, response_description="Removed.")
async def remove_composition(composition_id: str, service: ServiceDependency, caller: Writer) -> Response:
    """Remove a composition. The ratings that it was inferred from stay."""
    return removed(
        await service.database.write(compositions.remove, composition_id, caller.tenant), "composition", composition_id
    )


@router.get("/{composition_id}/report.html", response_class=Response)
async def get_composition_report_html(
    request: Request, composition_id: str, service: ServiceDependency, caller: PublicReader
) -> Response:
    """Download a composition as an HTML report, with links to the reports of its ratings."""
    return _report(request, await _found(service, composition_id, caller.tenant), "html")


@router.get("/{composition_id}/report.md", response_class=Response)
async def get_composition_report_markdown(
    request: Request, composition_id: str, service: ServiceDependency, caller: PublicReader
) -> Response:
    """Download a composition as a Markdown report."""
    return _report(request, await _found(service, composition_id, caller.tenant), "markdown")


async def _found(service: Service, composition_id: str, tenant: str) -> StoredComposition:
    return existing(
        await service.database.read(compositions.find, composition_id, tenant), "composition", composition_id
    )


def _report(request: Request, row: StoredComposition, form: PageFormat) -> Response:
    tag = entity_tag(f"{row.id}-{assay.__version__}")
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Authorization"}
    return not_modified(request, headers) or page_report(form, "composition", shown(row, is_owner=False), headers)
