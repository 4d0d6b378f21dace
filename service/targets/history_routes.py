"""Rating histories of targets and addresses, with the changes from one rating to the next."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from assay.canonical import described_digest
from assay.rating.difference import difference
from service.dependencies import ServiceDependency
from service.http.authentication import PublicReader, Reader
from service.http.json import StrictRoute
from service.http.pagination import Page, PageQuery, list_response
from service.publishing.schemas import AddressHistoryQuery, HistoryEntry, HistoryList, HistoryQuery
from service.targets.routes import FoundTarget
from store.ratings import history
from store.ratings.history import Step

router = APIRouter(route_class=StrictRoute)


@router.get("/v1/targets/{target_id}/history", tags=["targets"], response_model=HistoryList)
async def target_history(
    request: Request,
    row: FoundTarget,
    service: ServiceDependency,
    caller: Reader,
    query: Annotated[HistoryQuery, Query()],
) -> Response:
    """List a saved target's ratings, newest first, with the changes between them; withdrawn ratings are marked.

    Ratings of a target that was described in the request, with an equal description, are included.
    """
    name = f"history of {row.id}"
    parameters = {**query.filters(), "before": query.before(name), "limit": query.limit + 1}
    same = (row.id, row.base_url, described_digest(vars(row)))
    steps = await service.database.read(history.of_target, caller.tenant, *same, **parameters)
    return await _listed(request, query, name, steps)


@router.get("/v1/registry/history", tags=["registry"], response_model=HistoryList)
async def address_history(
    request: Request, service: ServiceDependency, caller: PublicReader, query: Annotated[AddressHistoryQuery, Query()]
) -> Response:
    """List the ratings that stand for an address, newest first, with the changes between those of one requester."""
    parameters = {**query.filters(), "before": query.before("history"), "limit": query.limit + 1}
    return await _listed(
        request, query, "history", await service.database.read(history.of_url, caller.tenant, **parameters)
    )


async def _listed(request: Request, query: PageQuery, name: str, steps: Sequence[Step]) -> Response:
    page = Page.of(steps, query.limit, lambda step: (step.rating.created_at, step.rating.id))
    return list_response(request, query, name, page, await asyncio.to_thread(_entries, page.rows))


def _entries(steps: Sequence[Step]) -> list[HistoryEntry]:
    """Compare each rating with the previous one; a page of long ratings takes several milliseconds."""
    return [
        HistoryEntry.of(step, None if step.previous is None else difference(step.previous.rating, step.rating.rating))
        for step in steps
    ]
