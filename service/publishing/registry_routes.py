"""``/v1/registry``: counts and download of all public ratings."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from starlette.responses import StreamingResponse

from service.dependencies import Service, ServiceDependency
from service.http.authentication import DOWNLOAD
from service.http.conditional import not_modified
from service.http.json import StrictRoute, json_response
from service.publishing.log_schemas import written
from service.publishing.schemas import DistributionQuery, DistributionView
from service.ratings.freshness import FRESH_S
from store.ratings import log, rating_statistics
from store.ratings.log import TreeHead

router = APIRouter(prefix="/v1/registry", tags=["registry"], route_class=StrictRoute)

ROWS_A_READ = 50
"""Maximum number of ratings in memory during a download; a rating can have hundreds of kilobytes."""

LICENCE = {
    "licence": "CC-BY-4.0",
    "licence_url": "https://creativecommons.org/licenses/by/4.0/",
    "attribution": "Ratings by Assay",
}
"""Licence of the download."""


@router.get("/distribution", response_model=DistributionView)
async def letter_distribution(service: ServiceDependency, query: Annotated[DistributionQuery, Query()]) -> Response:
    """Count targets by letter, for each kind of service, attribute and method.

    Only the newest public rating of each target counts, if it is neither expired nor withdrawn.
    """
    tallies = await service.database.read(rating_statistics.distribution, **query.model_dump())
    return json_response(DistributionView.of(tallies), headers={"Cache-Control": f"public, max-age={FRESH_S}"})


@router.get("/dump.jsonl", response_class=Response, dependencies=DOWNLOAD)
async def download_registry(request: Request, service: ServiceDependency) -> Response:
    """Download every public rating that is not withdrawn, oldest first, one per line.

    The first line has the licence, the methodology versions, and the size of the log at the time of the download.
    """
    head = await service.database.read(log.head)
    headers = {"ETag": f'"{head.size}-{head.root.hex()[:16]}"', "Cache-Control": f"public, max-age={FRESH_S}"}
    if unchanged := not_modified(request, headers):
        return unchanged
    headers["Content-Disposition"] = 'attachment; filename="assay-registry.jsonl"'
    return StreamingResponse(_lines(service, head), media_type="application/jsonl", headers=headers)


async def _lines(service: Service, head: TreeHead) -> AsyncIterator[str]:
    versions = await service.database.read(rating_statistics.methodologies)
    header = {"dump": "assay-registry", "format": 1, **LICENCE, "methodologies": versions}
    yield _line(header | {"log": {"size": head.size, "root": written(head.root)}})
    after = None
    while rows := await service.database.read(rating_statistics.page, after, ROWS_A_READ):
        for rating in rows:
            yield _line(rating.shown)
        after = (rows[-1].created_at, rows[-1].id)


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False) + "\n"
