"""All wiring of the service: settings in, an application out. Nothing is decided here."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig
from opentelemetry.trace import TracerProvider
from prometheus_client import CollectorRegistry

import assay
from assay.methodology import Methodologies, shipped
from service import errors, openapi
from service.bell import Bell
from service.context import Service
from service.desk import TargetDesk
from service.exchange import Exchange
from service.feed import Feed
from service.meter import Meter
from service.moments import Moments
from service.rates import Rates
from service.routes import (
    badges,
    callbacks,
    catalog,
    certificates,
    compositions,
    corpora,
    domains,
    history,
    jobs,
    keys,
    log,
    meta,
    methodology,
    publishing,
    ratings,
    registry,
    replies,
    schedules,
    specifications,
    suites,
    targets,
    uploads,
    webhooks,
    wellknown,
)
from service.showcase import Showcase
from service.status import StatusCache
from store.database import AsyncDatabase
from store.events import events
from store.secrets import Vault
from store.settings import Settings

ROUTERS = (
    jobs.router,
    callbacks.router,
    suites.router,
    schedules.router,
    ratings.router,
    badges.router,
    certificates.router,
    publishing.router,
    compositions.router,
    targets.router,
    history.router,
    registry.router,
    log.router,
    uploads.router,
    specifications.router,
    corpora.router,
    methodology.of_ratings,
    replies.router,
    domains.router,
    catalog.router,
    methodology.router,
    webhooks.router,
    keys.router,
    meta.router,
    wellknown.router,
)
"""One for each resource, in the order of the documentation."""


def create_app(
    settings: Settings,
    *,
    desk: TargetDesk,
    doorbell: Callable[[str], None],
    lifespan: Callable[[], AbstractAsyncContextManager[object]] = nullcontext,
    clock: Callable[[], float] = time.time,
    tracer_provider: TracerProvider | None = None,
    more_numbers: Sequence[CollectorRegistry] = (),
    methodologies: Methodologies | None = None,
) -> FastAPI:
    """Make the application.

    Parameters
    ----------
    settings : Settings
        The operator's decisions.
    desk : TargetDesk
        What the service must know of targets.
    doorbell : callable
        Wakes a worker for a job id. It is called after the commit, in a thread of its own; what it raises is
        logged and counted.
    lifespan : callable
        Makes a context manager that is entered when the service starts and left when it stops;
        the composition root runs its reconciler, or an embedded worker, in it.
    clock : callable
        Seconds since 1970, for estimates.
    tracer_provider : TracerProvider, optional
        Takes a span for each request; without it none are made.
    more_numbers : sequence of CollectorRegistry
        What else ``/metrics`` shows: an embedded worker's.
    methodologies : Methodologies, optional
        The versions of the methodology, in place of those that are shipped.
    """
    service = _wire(settings, desk, doorbell, clock, more_numbers, methodologies)

    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        async with lifespan():
            try:
                yield
            finally:
                await service.feed.close()
                service.bell.close()
                await service.rates.close()
                await service.database.close()

    app = FastAPI(
        title="Assay",
        version=assay.__version__,
        summary=openapi.SUMMARY,
        description=openapi.DESCRIPTION,
        openapi_tags=openapi.TAGS,
        contact={"name": "The Assay authors"},
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        lifespan=living,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=_telemetry(tracer_provider),
    )
    app.state.service = service
    app.add_middleware(
        Exchange,
        meter=service.meter,
        max_body_bytes=settings.max_body_bytes,
        max_upload_bytes=settings.max_upload_bytes,
    )
    errors.register(app)
    for router in ROUTERS:
        app.include_router(router)
    openapi.describe(app, keys_required=settings.keys_required)
    return app


def _telemetry(tracer_provider: TracerProvider | None) -> TelemetryConfig:
    """Trace requests only: an exception's text, which the framework would send too, may hold a secret."""
    quiet: TelemetryConfig = {"metrics": False, "logs": False, "operation_spans": False}
    if tracer_provider is None:
        return {**quiet, "tracing": False}
    return {**quiet, "tracing": True, "tracer_provider": tracer_provider}


def _wire(
    settings: Settings,
    desk: TargetDesk,
    doorbell: Callable[[str], None],
    clock: Callable[[], float],
    more_numbers: Sequence[CollectorRegistry],
    methodologies: Methodologies | None,
) -> Service:
    meter = Meter(more_numbers)
    statuses = StatusCache(settings.status_cache_s, meter)
    database = AsyncDatabase(
        settings.resolved_database_url,
        pool_size=settings.pool_size,
        max_overflow=settings.pool_overflow,
        pool_timeout_s=settings.pool_timeout_s,
    )
    return Service(
        settings=settings,
        database=database,
        vault=Vault.from_settings(settings),
        desk=desk,
        bell=Bell(doorbell, meter),
        meter=meter,
        rates=Rates(settings.job_rate, settings.redis_url, meter),
        feed=Feed(lambda job_id, after, limit: database.read(events, job_id, after, limit), statuses.forget),
        statuses=statuses,
        showcase=Showcase(settings.badge_cache_s, meter.registry),
        recent_keys=Moments(settings.status_cache_s, settings.status_cache_s),
        clock=clock,
        methodologies=methodologies or shipped(),
    )
