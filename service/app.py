"""All wiring of the service: settings in, an application out. Nothing is decided here."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

from fastapi import FastAPI

import assay
from service import errors, openapi
from service.bell import Bell
from service.context import Service
from service.desk import TargetDesk
from service.exchange import Exchange
from service.feed import Feed
from service.meter import Meter
from service.rates import Rates
from service.routes import catalog, jobs, keys, meta, ratings, targets
from store.database import AsyncDatabase
from store.events import events
from store.secrets import Vault
from store.settings import Settings

ROUTERS = (jobs.router, ratings.router, targets.router, catalog.router, keys.router, meta.router)
"""One for each resource, in the order of the documentation."""


def create_app(
    settings: Settings,
    *,
    desk: TargetDesk,
    doorbell: Callable[[str], None],
    lifespan: Callable[[], AbstractAsyncContextManager[object]] = nullcontext,
    job_rate: str = "1200/minute",
    clock: Callable[[], float] = time.time,
) -> FastAPI:
    """Make the application.

    Parameters
    ----------
    settings : Settings
        The operator's decisions.
    desk : TargetDesk
        What the service must know of targets.
    doorbell : callable
        Wakes a worker for a job id. It is called after the commit, in a thread of its own; what it
        raises is logged and counted.
    lifespan : callable
        Makes a context manager that is entered when the service starts and left when it stops;
        the composition root runs its reconciler, or an embedded worker, in it.
    job_rate : str
        New jobs that each key (without keys: each tenant) may ask for, over a time.
    clock : callable
        Seconds since 1970, for estimates.
    """
    service = _wire(settings, desk, doorbell, job_rate, clock)

    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        async with lifespan():
            try:
                yield
            finally:
                await service.feed.close()
                service.bell.close()
                await service.database.close()

    app = FastAPI(
        title="Assay",
        version=assay.__version__,
        summary=openapi.SUMMARY,
        description=openapi.DESCRIPTION,
        openapi_tags=openapi.TAGS,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        lifespan=living,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.service = service
    app.add_middleware(Exchange, meter=service.meter, max_body_bytes=settings.max_body_bytes)
    errors.register(app)
    for router in ROUTERS:
        app.include_router(router)
    openapi.describe(app, keys_required=settings.keys_required)
    return app


def _wire(
    settings: Settings, desk: TargetDesk, doorbell: Callable[[str], None], job_rate: str, clock: Callable[[], float]
) -> Service:
    meter = Meter()
    database = AsyncDatabase(
        settings.resolved_database_url,
        pool_size=settings.pool_size,
        max_overflow=settings.pool_overflow,
        pool_timeout_s=settings.pool_timeout_s,
    )
    broker = settings.broker_url or ""
    redis_url = broker if broker.startswith(("redis://", "rediss://")) else None
    return Service(
        settings=settings,
        database=database,
        vault=Vault.from_settings(settings),
        desk=desk,
        bell=Bell(doorbell, meter),
        meter=meter,
        rates=Rates(job_rate, redis_url, meter),
        feed=Feed(lambda job_id, after, limit: database.read(events, job_id, after, limit)),
        clock=clock,
    )
