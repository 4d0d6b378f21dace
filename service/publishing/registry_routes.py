"""``/v1/registry``: the public ratings as a whole. Nothing that is not public is read here."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from starlette.responses import StreamingResponse

from service.dependencies import Here, Service
from service.http.conditional import none_match
from service.http.json import StrictRoute, json_response
from service.publishing.log_schemas import written
from service.publishing.schemas import DistributionQuery, DistributionView
from service.ratings.freshness import FRESH_S
from store.ratings import log, rating_statistics
from store.ratings.log import TreeHead

router = APIRouter(prefix="/v1/registry", tags=["registry"], route_class=StrictRoute)

ROWS_A_READ = 50
"""Ratings in memory at once while the dump is sent; one can have hundreds of kilobytes."""

LICENCE = {
    "licence": "CC-BY-4.0",
    "licence_url": "https://creativecommons.org/licenses/by/4.0/",
    "attribution": "Ratings by Assay",
}
"""Under what the dump may be used."""


@router.get("/distribution", response_model=DistributionView, operation_id="letterDistribution")
async def letter_distribution(here: Here, query: Annotated[DistributionQuery, Query()]) -> Response:
    """Count targets by letter, for each kind of service, attribute and method.

    The newest public rating of each target counts, if it has neither expired nor been withdrawn.
    """
    tallies = await here.database.read(
        rating_statistics.distribution, kind=query.kind, attribute=query.attribute, method=query.method
    )
    return json_response(DistributionView.of(tallies), headers={"Cache-Control": f"public, max-age={FRESH_S}"})


@router.get("/dump.jsonl", response_class=Response, operation_id="downloadRegistry")
async def download_registry(request: Request, here: Here) -> Response:
    """Download every public rating that was not withdrawn, oldest first, one a line.

    The first line tells the licence, the methodology versions, and how long the log was when it was sent.
    """
    head = await here.database.read(log.head)
    headers = {"ETag": f'"{head.size}-{head.root.hex()[:16]}"', "Cache-Control": f"public, max-age={FRESH_S}"}
    if none_match(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    headers["Content-Disposition"] = 'attachment; filename="assay-registry.jsonl"'
    return StreamingResponse(_lines(here, head), media_type="application/jsonl", headers=headers)


async def _lines(here: Service, head: TreeHead) -> AsyncIterator[str]:
    versions = await here.database.read(rating_statistics.methodologies)
    about = {"dump": "assay-registry", "format": 1, **LICENCE, "methodologies": versions}
    yield _line(about | {"log": {"size": head.size, "root": written(head.root)}})
    after = None
    while rows := await here.database.read(rating_statistics.page, after, ROWS_A_READ):
        for rating in rows:
            yield _line(rating.shown)
        after = (rows[-1].created_at, rows[-1].id)


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False) + "\n"
