"""Public ratings: counts and download of all (``/v1/registry``), and the histories of targets and addresses."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from starlette.responses import StreamingResponse

from assay.canonical import described_digest
from assay.rating.difference import difference
from service.container import Service, ServiceDependency, sum_of
from service.http.authentication import DOWNLOAD, PublicReader, Reader
from service.http.conditional import entity_tag
from service.http.json import StrictRoute, json_response, write_json
from service.http.openapi.responses import ETAG, returns
from service.http.replica import PublicDatabase
from service.http.rows import Key, Lists, Page, PageQuery, lists_of, newest_first
from service.log.schemas import digest_text
from service.ratings.service import PUBLIC_CACHE
from service.registry.schemas import (
    AddressHistoryQuery,
    DistributionQuery,
    DistributionView,
    DumpQuery,
    HistoryEntry,
    HistoryQuery,
)
from service.targets.routes import FoundTarget
from store.core.errors import BeyondTheLog
from store.ratings import history, log, rating_statistics
from store.ratings.history import Step
from store.ratings.log import TreeHead
from store.ratings.rating_statistics import LogPart

router = APIRouter(route_class=StrictRoute)

RATINGS_PER_READ = 50
"""Maximum number of ratings in memory during a download; a rating can have hundreds of kilobytes."""

LICENCE = {
    "licence": "CC-BY-4.0",
    "licence_url": "https://creativecommons.org/licenses/by/4.0/",
    "attribution": "Ratings by Assay",
}
"""Licence of the download."""


@router.get(
    "/v1/targets/{target_id}/history",
    tags=["targets"],
    **lists_of(HistoryEntry, "One page of a history, newest first."),
)
async def target_history(
    lists: Lists, row: FoundTarget, caller: Reader, query: Annotated[HistoryQuery, Query()]
) -> Response:
    """List a saved target's ratings, newest first, with the changes between them; withdrawn ratings are marked.

    Ratings of a target that was described in the request, with an equal description, are included.
    """
    list_name = f"history of {row.id}"
    identity = (row.id, row.base_url, described_digest(vars(row)))
    page = await lists.read(query, list_name, history.of_target, caller.tenant, *identity, key=_step_key)
    return await _history_response(lists, query, list_name, page)


@router.get("/v1/registry/history", tags=["registry"], **lists_of(HistoryEntry, "One page of a history, newest first."))
async def address_history(
    lists: Lists, service: ServiceDependency, caller: PublicReader, query: Annotated[AddressHistoryQuery, Query()]
) -> Response:
    """List the ratings that stand for an address, newest first, with the changes between those of one requester."""
    database = service.database_for(lists.request)
    page = await lists.read(query, "history", history.of_url, caller.tenant, database=database, key=_step_key)
    return await _history_response(lists, query, "history", page)


def _step_key(step: Step) -> Key:
    return newest_first(step.rating)


async def _history_response(lists: Lists, query: PageQuery, list_name: str, page: Page[Step]) -> Response:
    return lists.response(query, list_name, page, await asyncio.to_thread(_history_entries, page.rows))


def _history_entries(steps: Sequence[Step]) -> list[HistoryEntry]:
    """Return the ratings of a history, each with its difference from the previous one; takes several milliseconds."""
    return [
        HistoryEntry.of(step, None if step.previous is None else difference(step.previous.rating, step.rating.rating))
        for step in steps
    ]


@router.get("/v1/registry/distribution", tags=["registry"], response_model=DistributionView)
async def letter_distribution(
    request: Request, service: ServiceDependency, query: Annotated[DistributionQuery, Query()]
) -> Response:
    """Count targets by letter, for each kind of service, attribute and method.

    Only the newest public rating of each target counts, if it is neither expired nor withdrawn.
    """
    letters = await count_letters(service, service.database_for(request), query)
    return json_response(DistributionView.of(letters), headers={"Cache-Control": PUBLIC_CACHE})


async def count_letters(
    service: Service, database: PublicDatabase, query: DistributionQuery
) -> Counter[tuple[str, str, str, str]]:
    """Count the services that a query selects, by (kind, attribute, method, letter)."""
    filters = query.model_dump()
    count_part = partial(rating_statistics.distribution, **filters)
    return await service.merge(database, ("letters", *filters.values()), read_part=count_part, merge=sum_of)


@router.get(
    "/v1/registry/dump.jsonl",
    tags=["registry"],
    response_class=Response,
    dependencies=DOWNLOAD,
    responses=returns(ETAG, "application/jsonl"),
)
async def download_registry(
    request: Request, service: ServiceDependency, query: Annotated[DumpQuery, Query()]
) -> Response:
    """Download every public rating that is not withdrawn, in the order of publication, one per line.

    The first line has the licence, the methodology versions, the size of the log at the time of the download, and the
    part that was requested. With `after`, the lines are the ratings published since, and the `id` and `withdrawn` of
    the ratings withdrawn since. The shards have no rating in common, and together they have all.
    """
    database = service.database_for(request)
    head = await database.read(log.head)
    if query.after > head.size:
        raise BeyondTheLog("after", query.after, head.size)
    part = LogPart(size=head.size, **query.model_dump())
    tag = entity_tag(head.size, head.root.hex()[:16], query.after, query.shard, query.shards)
    headers = {"ETag": tag, "Cache-Control": PUBLIC_CACHE}
    headers["Content-Disposition"] = 'attachment; filename="assay-registry.jsonl"'
    return StreamingResponse(_dump_lines(database, head, part), media_type="application/jsonl", headers=headers)


async def _dump_lines(database: PublicDatabase, head: TreeHead, part: LogPart) -> AsyncIterator[bytes]:
    """Yield a header, and the ratings of a `part` of the log (a shard, from an entry on) whose state is `head`."""
    versions = await database.read(rating_statistics.methodologies, part)
    header = {"dump": "assay-registry", "format": 1, **LICENCE, "methodologies": versions}
    header |= {"log": {"size": head.size, "root": digest_text(head.root)}}
    yield write_json(header | {"after": part.after, "shard": part.shard, "shards": part.shards}) + b"\n"
    start = part.after
    while rows := await database.read(rating_statistics.changes, part, start, RATINGS_PER_READ):
        for position, rating in rows:
            start = position + 1
            withdrawal = rating.shown["withdrawn"]
            yield write_json({"id": rating.id, "withdrawn": withdrawal} if withdrawal else rating.shown) + b"\n"
