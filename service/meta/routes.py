"""Health, metrics, limits, kinds of problems, the interactive documentation, and the API catalog (RFC 9727)."""

import asyncio
from functools import partial
from pathlib import Path

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import FileResponse, HTMLResponse

import assay
from assay.methods import every_method, method_name
from assay.rating.decision import METHODOLOGY_DIGEST, METHODOLOGY_VERSION
from reports.embeds.linkset import MEDIA_TYPE, link, linkset
from reports.formats import installed_formats
from service.container import ServiceDependency
from service.http.authentication import MetricsReader, Reader
from service.http.json import StrictRoute, json_response
from service.http.openapi.responses import NOT_MODIFIED, returns
from service.http.problems import KINDS, Problem, base_url, kind_named
from service.http.rate_limit import LONGEST_WAIT_S
from service.http.rows import MAX_ROWS
from service.jobs.schemas import MAX_CALLS
from service.meta.schemas import (
    ActiveView,
    Health,
    InfoView,
    LimitsView,
    ProblemKindList,
    ProblemKindView,
    RateView,
    Readiness,
    StorageView,
)
from service.ratings.schemas import Methodology
from service.ratings.service import caching
from store.core import migrate
from store.core.errors import SchemaMismatch, StoreUnavailable
from store.jobs import idempotency, jobs
from store.quota import quota

router = APIRouter(tags=["service"], route_class=StrictRoute)

STATIC = Path(__file__).parent.parent / "static"
ASSETS = {"swagger-ui.css": "text/css", "swagger-ui-bundle.js": "text/javascript", "docs.js": "text/javascript"}
DOCS_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; frame-ancestors 'none'"
)
BY_ACCEPT = {"Vary": "Accept"}
"""Headers of addresses at which browsers get a page instead (`web`)."""
READINESS_TIMEOUT_S = 5

PATH = "/.well-known/api-catalog"
PROFILE = "https://www.rfc-editor.org/info/rfc9727"
OPENAPI_TYPE = "application/vnd.oai.openapi+json;version=3.1"
CATALOG_TYPE = f'{MEDIA_TYPE}; profile="{PROFILE}"'


@router.get("/livez")
async def livez() -> Health:
    """Check that the process is running."""
    return Health(status="alive")


@router.get("/readyz", response_model_exclude_none=True)
async def readyz(service: ServiceDependency) -> Readiness:
    """Check that requests can be served: the database has the schema of this version and can be written.

    Reads still work while it cannot be written, for instance because its disk is full. A later schema is accepted too,
    so that running processes stay ready during an upgrade. The replica is not needed: its state is only reported.
    """
    try:
        async with asyncio.timeout(READINESS_TIMEOUT_S):
            await asyncio.to_thread(migrate.check, service.settings.resolved_database_url, or_newer=True)
            # the cache limits this to one write a second
            await service.can_write.get("proof", partial(service.database.write, idempotency.prove_write))
    except (SchemaMismatch, StoreUnavailable, TimeoutError) as error:
        detail = f"the database is not usable ({type(error).__name__})"
        raise Problem("not-ready", detail, headers={"Retry-After": "5"}) from None
    return Readiness(status="ready", replica=None if service.replica is None else await service.replica.state())


@router.get(
    "/metrics", response_class=Response, dependencies=[Depends(MetricsReader())], responses=returns({}, "text/plain")
)
async def metrics(service: ServiceDependency) -> Response:
    """Read the service's metrics in Prometheus's text format.

    Processes on the service's own machine need no key, unless they come through a proxy; others need a key with the
    scope `metrics:read`.
    """
    backlog = await service.database.read(jobs.backlog)
    return Response(service.meter.exposition(backlog), media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/v1/info")
async def get_info(service: ServiceDependency) -> InfoView:
    """Read the version, the methodology and the features of this service."""
    return InfoView(
        name="Assay",
        version=assay.__version__,
        methodology=Methodology(version=METHODOLOGY_VERSION, digest=METHODOLOGY_DIGEST),
        keys_needed=service.settings.keys_required,
        methods=[method_name(method) for method in every_method()],
        protocols=[protocol.name for protocol in service.target_validator.protocols()],
        report_formats=list(installed_formats()),
        documentation="/docs",
        openapi="/openapi.json",
    )


@router.get("/v1/limits")
async def get_limits(service: ServiceDependency, caller: Reader) -> LimitsView:
    """Read your limits, and how much of them is left."""
    allowance = await service.rate_limiter.remainder(caller.tenant)
    active_limit = service.settings.max_active_jobs
    active_count = await service.database.read(jobs.count_unfinished, caller.tenant)
    bytes_by_kind = await service.database.read(quota.by_kind, caller.tenant)
    return LimitsView(
        new_jobs=RateView.from_row(allowance),
        active_jobs=ActiveView(limit=active_limit, used=active_count),
        storage_bytes=StorageView(
            limit=service.settings.storage_quota_bytes, used=sum(bytes_by_kind.values()), by_kind=bytes_by_kind
        ),
        body_bytes=service.settings.max_body_bytes,
        upload_bytes=service.settings.max_upload_bytes,
        page_rows=MAX_ROWS,
        wait_s=LONGEST_WAIT_S,
        deadline_s=service.settings.longest_deadline_s,
        calls_a_job=MAX_CALLS,
    )


@router.get("/problems", response_model=ProblemKindList)
async def list_problems() -> Response:
    """List all kinds of problems with their causes and remedies. Browsers get a page."""
    kinds = [ProblemKindView.of(kind) for kind in KINDS.values()]
    return json_response(ProblemKindList(items=kinds), headers=BY_ACCEPT)


@router.get("/problems/{code}", response_model=ProblemKindView)
async def explain_problem(code: str) -> Response:
    """Read the cause and the remedy of a kind of problem. The `type` of problem documents links here.

    Browsers get a page.
    """
    kind = kind_named(code)
    if kind is None:
        raise Problem("not-found", f"no problem has the code {code[:80]!r}")
    return json_response(ProblemKindView.of(kind), headers=BY_ACCEPT)


@router.get("/docs/operations", response_class=HTMLResponse, include_in_schema=False)
async def show_operations(request: Request) -> Response:
    """Show the interactive documentation, without external files."""
    root = request.scope.get("root_path", "")
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<title>Assay API</title><link rel="stylesheet" href="{root}/static/swagger-ui.css"></head><body>'
        f'<p><a href="{root}/docs">Assay: the API</a></p><div id="documentation"></div>'
        f'<script src="{root}/static/swagger-ui-bundle.js"></script>'
        f'<script src="{root}/static/docs.js" data-schema="{root}/openapi.json"></script></body></html>'
    )
    return HTMLResponse(page, headers={"Content-Security-Policy": DOCS_POLICY})


@router.get("/static/{name}", include_in_schema=False)
async def get_asset(name: str) -> Response:
    """Serve a file of the documentation page."""
    if name not in ASSETS:
        raise Problem("not-found", f"no file is called {name[:80]!r}")
    return FileResponse(STATIC / name, media_type=ASSETS[name], headers={"Cache-Control": "public, max-age=86400"})


@router.get(
    PATH,
    operation_id="getApiCatalog",
    response_class=Response,
    responses={
        200: {
            "description": "Links to the API and to its descriptions (RFC 9264).",
            "content": {MEDIA_TYPE: {"schema": {"type": "object"}, "example": {"linkset": [{"anchor": "/v1"}]}}},
            "headers": {
                "ETag": {"required": True, "schema": {"type": "string"}, "description": "Identifies this version."},
                "Link": {
                    "required": True,
                    "schema": {"type": "string"},
                    "description": "The catalog and the API in it, also for HEAD (RFC 9727, section 3).",
                },
            },
        },
        304: NOT_MODIFIED,
    },
)
async def get_api_catalog(request: Request) -> Response:
    """Read the API catalog, for programs that look for APIs. HEAD answers with the same `Link`."""
    base = base_url(request)
    item = {"href": f"{base}/v1", "title": "Assay: bias ratings of AI services"}
    body = linkset([{"anchor": f"{base}{PATH}", "item": [item]}, _api_links(base)]).encode()
    headers = {
        "Content-Type": CATALOG_TYPE,
        "Link": f'<{base}{PATH}>; rel="api-catalog"; type="{MEDIA_TYPE}", <{base}/v1>; rel="item"',
        "Cache-Control": caching(private=False),
    }
    return Response(body, headers=headers)


def _api_links(base: str) -> dict[str, object]:
    """Return the links of the API, with the relations of RFC 8631."""
    return {
        "anchor": f"{base}/v1",
        "service-desc": [link(f"{base}/openapi.json", OPENAPI_TYPE)],
        "service-doc": [link(f"{base}/docs", "text/html")],
        "service-meta": [link(f"{base}/v1/info", "application/json")],
        "status": [link(f"{base}/readyz", "application/json")],
    }
