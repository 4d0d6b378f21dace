"""Application factory: builds the FastAPI application from the settings and wires its parts."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any

import structlog
from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi.telemetry import TelemetryConfig
from opentelemetry.trace import TracerProvider
from prometheus_client import CollectorRegistry

import assay
from assay.rating.methodology import Methodologies, shipped
from service.badges import routes as badges
from service.cases import routes as cases
from service.catalog import routes as catalog
from service.certificates import routes as certificates
from service.compositions import routes as compositions
from service.container import Service
from service.corpora import routes as corpora
from service.domains import routes as domains
from service.http import problem_mapping
from service.http.authentication import NO_TENANT
from service.http.metrics import Meter
from service.http.middleware import RequestMiddleware, own_hosts
from service.http.openapi import document
from service.http.rate_limit import CALLS, DOWNLOADS, JOBS, SIGN_INS, UPLOADS, VISITS, WRITES, OpenStreams, RateLimiter
from service.http.replica import ReplicaReader
from service.http.swr_cache import SwrCache
from service.jobs import routes as jobs
from service.jobs.dispatcher import Dispatcher
from service.jobs.events import EventStream
from service.jobs.inputs import read_held_back
from service.jobs.status import StatusCache
from service.keys import routes as keys
from service.log import routes as log
from service.meta import routes as meta
from service.methodology import routes as methodology
from service.overview import routes as overview
from service.ratings import routes as ratings
from service.registry import routes as registry
from service.registry.schemas import DistributionQuery
from service.replies import routes as replies
from service.schedules import routes as schedules
from service.services import routes as services
from service.specifications import routes as specifications
from service.suites import routes as suites
from service.targets import routes as targets
from service.targets.validator import TargetValidator
from service.uploads import routes as uploads
from service.webhooks import routes as webhooks
from service.webhooks.notices import describe_notices
from store.core.database import AsyncDatabase
from store.core.errors import StoreError
from store.core.settings import Settings
from store.jobs.job import events
from store.ratings.standing import part_after
from store.security.rights import OPERATOR_TENANT
from store.security.secrets import Vault

logger = structlog.get_logger(__name__)

ROUTERS = (
    jobs.router,
    webhooks.of_jobs,
    suites.router,
    schedules.router,
    ratings.router,
    badges.router,
    certificates.router,
    compositions.router,
    targets.router,
    registry.router,
    services.router,
    log.router,
    log.witness,
    uploads.router,
    specifications.router,
    corpora.router,
    methodology.of_ratings,
    replies.router,
    cases.router,
    domains.router,
    overview.router,
    catalog.router,
    methodology.router,
    webhooks.router,
    keys.router,
    meta.router,
)
"""One router per resource, in the order of the documentation."""


def operation_id(route: APIRoute) -> str:
    """Return the ``operationId`` of a route: its function's name in camel case."""
    first_word, *other_words = route.name.split("_")
    return first_word + "".join(map(str.capitalize, other_words))


# `include_router` is not used: it would analyse each route a second time, which takes a tenth of the start-up time
ROUTES = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
for route in ROUTES:
    route.unique_id = operation_id(route)


def create_app(
    settings: Settings,
    *,
    validator: TargetValidator,
    doorbell: Callable[[str], None],
    lifespan: Callable[[], AbstractAsyncContextManager[object]] = nullcontext,
    clock: Callable[[], float] = time.time,
    tracer_provider: TracerProvider | None = None,
    more_registries: Sequence[CollectorRegistry] = (),
    methodologies: Methodologies | None = None,
) -> FastAPI:
    """Create the application.

    Parameters
    ----------
    settings : Settings
        The operator's settings.
    validator : TargetValidator
        Lists the protocols of targets, and checks a target's description and callback addresses.
    doorbell : callable
        Wakes a worker for the job with this id. Called in a separate thread once the job is stored; errors are logged.
    lifespan : callable
        Returns a context manager, entered when the application starts and left when it ends, for background work.
    clock : callable
        Returns the seconds since 1970, for waiting times and for whether a rating has expired.
    tracer_provider : TracerProvider, optional
        Receives a span for each request; by default there is no tracing.
    more_registries : sequence of CollectorRegistry
        Further metrics for ``/metrics``, such as those of an embedded worker.
    methodologies : Methodologies, optional
        Versions of the methodology; the shipped ones by default.
    """
    service = _build_service(settings, validator, doorbell, clock, more_registries, methodologies)
    app = FastAPI(
        title="Assay",
        version=assay.__version__,
        summary=document.ABOUT["summary"],
        description=document.ABOUT["description"],
        openapi_tags=document.ABOUT["tags"],
        contact={"name": "The Assay authors"},
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        lifespan=_lifespan(service, lifespan),
        routes=[*ROUTES],  # FastAPI analyses them once per process, not once per application
        openapi_url=None,  # `document.describe` serves it
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=_telemetry_config(tracer_provider),
    )
    app.state.service = service
    app.add_middleware(
        RequestMiddleware,
        meter=service.meter,
        max_body_bytes=settings.max_body_bytes,
        max_upload_bytes=settings.max_upload_bytes,
        hosts=None if settings.keys_required else own_hosts(settings.public_url),
    )
    problem_mapping.register(app)
    document.describe(app, add_webhooks=describe_notices, keys_required=settings.keys_required)
    return app


def _lifespan(
    service: Service, outer_lifespan: Callable[[], AbstractAsyncContextManager[object]]
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """Return a lifespan that enters `outer_lifespan`, fills caches at the start and closes the service at the end."""

    @asynccontextmanager
    async def run_lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with outer_lifespan():
            cache_warming = asyncio.create_task(_warm_caches(service))
            try:
                yield
            finally:
                cache_warming.cancel()
                await asyncio.wait([cache_warming])
                await service.close()

    return run_lifespan


async def _warm_caches(service: Service) -> None:
    """Cache a large registry's counts and rankings, so that the first caller without a key need not wait."""
    database = service.replica or service.database
    try:
        _, last_address = await database.read(part_after, after="")
        if last_address is not None:  # there are several parts (ranges of addresses), whose merged results are cached
            await registry.count_letters(service, database, DistributionQuery())
            tenant_without_key = NO_TENANT if service.settings.keys_required else OPERATOR_TENANT
            await services.warm_ranking_cache(service, database, tenant_without_key)
    except StoreError as error:  # the first request reads the registry instead
        logger.warning("the registry was not read ahead", error=str(error))


def _telemetry_config(tracer_provider: TracerProvider | None) -> TelemetryConfig:
    """Return FastAPI's telemetry settings: traces of requests only, as an exception's text may hold a secret."""
    quiet: TelemetryConfig = {"metrics": False, "logs": False, "operation_spans": False}
    if tracer_provider is None:
        return {**quiet, "tracing": False}
    return {**quiet, "tracing": True, "tracer_provider": tracer_provider}


def _build_service(
    settings: Settings,
    validator: TargetValidator,
    doorbell: Callable[[str], None],
    clock: Callable[[], float],
    more_registries: Sequence[CollectorRegistry],
    methodologies: Methodologies | None,
) -> Service:
    """Build the parts of the service: database, limits and caches (`keep_s`, `stale_s`: seconds fresh, and usable)."""
    meter = Meter(more_registries)
    rates = {
        JOBS: settings.job_rate,
        UPLOADS: settings.upload_rate,
        CALLS: settings.call_rate,
        WRITES: settings.write_rate,
        VISITS: settings.visit_rate,
        SIGN_INS: settings.sign_in_rate,
        DOWNLOADS: settings.download_rate,
    }
    statuses = StatusCache(settings.status_cache_s, meter)
    pool_options: Any = {
        "pool_size": settings.pool_size,
        "max_overflow": settings.pool_overflow,
        "pool_timeout_s": settings.pool_timeout_s,
    }
    database = AsyncDatabase(settings.resolved_database_url, quota=settings.storage_quota_bytes, **pool_options)
    replica = None
    if (url := settings.replica_url) is not None:
        replica_db = AsyncDatabase(url, read_only=True, **pool_options)
        replica = ReplicaReader(database, replica_db, url, settings.replica_max_lag_s, meter.replica_fallbacks.inc)
    return Service(
        settings=settings,
        database=database,
        replica=replica,
        vault=Vault.from_settings(settings),
        target_validator=validator,
        dispatcher=Dispatcher(doorbell, meter),
        meter=meter,
        rate_limiter=RateLimiter(rates, settings.redis_url, meter),
        event_stream=EventStream(
            lambda job_id, after, limit: database.read(events, job_id, after, limit), on_end=statuses.forget
        ),
        statuses=statuses,
        progress=SwrCache(keep_s=1.0, stale_s=2.0),
        reports=SwrCache(keep_s=60.0, stale_s=60.0, capacity=32),  # a report can have a megabyte
        open_streams=OpenStreams(settings.max_streams),
        queue_state=SwrCache(keep_s=1.0, stale_s=10.0),
        case_indexes=SwrCache(keep_s=600.0, stale_s=600.0, capacity=8),  # the cases of a rating take up to 10 MB
        embeds=SwrCache(keep_s=settings.badge_cache_s, stale_s=badges.OLDEST_S, count=meter.count_embed),
        recent_keys=SwrCache(keep_s=settings.status_cache_s, stale_s=settings.status_cache_s),
        can_write=SwrCache(keep_s=1.0, stale_s=0.0),
        merged_reads=SwrCache(keep_s=300.0, stale_s=86_400.0, capacity=24),  # rankings and counts of a large registry
        leaf_hashes=SwrCache(keep_s=600.0, stale_s=600.0, capacity=4),  # 2 MB for 25,000 observations
        evidence_slots=asyncio.Semaphore(2),  # at most two costly steps with evidence run at once
        clock=clock,
        methodologies=methodologies or shipped(),
        held_back=read_held_back(settings.held_back),
    )
