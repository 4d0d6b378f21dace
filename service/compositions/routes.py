"""``/v1/compositions``: ratings of chains of services, inferred without calling the services."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Response

from reports.pages import PageFormat
from service.compositions.schemas import CompositionList, CompositionRequest, CompositionView, view_of
from service.compositions.service import compose
from service.container import ServiceDependency
from service.http.authentication import PublicReader, Reader, Writer
from service.http.conditional import entity_tag
from service.http.idempotency import Repeat, answer_once
from service.http.json import Answer, StrictRoute, tagged, write_json
from service.http.openapi.responses import ETAG, TAGGED, created, leads_to, returns
from service.http.problems import removed
from service.http.rows import Lists, Paging, in_path
from service.ratings.service import page_report
from store.core.database import Connection
from store.ratings import compositions
from store.ratings.compositions import StoredComposition

router = APIRouter(prefix="/v1/compositions", tags=["compositions"], route_class=StrictRoute)

FoundComposition = Annotated[StoredComposition, in_path("composition", compositions.find, PublicReader)]

COMPOSITION_LINKS = leads_to("composition_id", "getComposition", "removeComposition")


@router.post("", **created(CompositionView, "Inferred and stored.", COMPOSITION_LINKS))
async def create_composition(
    body: CompositionRequest, service: ServiceDependency, caller: Writer, _: Reader, repeat: Repeat
) -> Response:
    """Infer the rating of a chain of services from the ratings of its links, without calling them.

    To measure the chain instead, send `verification.body` to `POST /v1/jobs`: it rates the chain as one target.
    """
    composition = await compose(service, caller.tenant, body)

    def add(c: Connection) -> Answer:
        row = compositions.add(c, composition)
        headers = {"Location": f"{router.prefix}/{row.id}", "ETag": entity_tag(row.id)}
        return Answer(201, write_json(view_of(row, is_owner=True)), headers)

    return await answer_once(service, repeat, add)


@router.get("", response_model=CompositionList)
async def list_compositions(lists: Lists, caller: Reader, query: Paging) -> Response:
    """List your compositions, newest first."""
    return await lists.page(query, "compositions", partial(view_of, is_owner=True), compositions.page, caller.tenant)


@router.get("/{composition_id}", response_model=CompositionView, responses=TAGGED)
async def get_composition(row: FoundComposition, caller: PublicReader) -> Response:
    """Read a composition, which never changes. Those of other tenants require that you can read all their ratings."""
    return tagged(view_of(row, is_owner=row.tenant == caller.tenant), entity_tag(row.id))


@router.delete("/{composition_id}", status_code=204, response_description="Removed.")
async def remove_composition(composition_id: str, service: ServiceDependency, caller: Writer) -> Response:
    """Remove a composition. The ratings that it was inferred from stay."""
    was_removed = await service.database.write(compositions.remove, composition_id, caller.tenant)
    return removed(was_removed, "composition", composition_id)


@router.get("/{composition_id}/report.html", response_class=Response, responses=returns(ETAG, "text/html"))
async def get_composition_report_html(row: FoundComposition) -> Response:
    """Download a composition as an HTML report, with links to the reports of its ratings."""
    return _report_response(row, "html")


@router.get("/{composition_id}/report.md", response_class=Response, responses=returns(ETAG, "text/markdown"))
async def get_composition_report_markdown(row: FoundComposition) -> Response:
    """Download a composition as a Markdown report."""
    return _report_response(row, "markdown")


def _report_response(row: StoredComposition, page_format: PageFormat) -> Response:
    document = view_of(row, is_owner=False)  # a report has no ids of targets
    return page_report(page_format, "composition", document, entity_tag(row.id))
