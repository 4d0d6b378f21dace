"""The `Service` object that every route receives; `service.app` creates it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request

from assay.rating.methodology import Methodologies, shipped
from service.http.rate_limit import RateLimiter
from service.jobs.dispatcher import Dispatcher
from service.jobs.event_stream import EventStream
from service.jobs.status import StatusCache
from service.metrics import Meter
from service.publishing.embed_cache import EmbedCache
from service.targets.target_validator import TargetValidator
from store.core.database import AsyncDatabase
from store.core.settings import Settings
from store.security.secrets import Vault


@dataclass(frozen=True)
class Service:
    """Parts of a running service. `clock` returns seconds since 1970; it is used for estimates only."""

    settings: Settings
    database: AsyncDatabase
    vault: Vault
    target_validator: TargetValidator
    dispatcher: Dispatcher
    meter: Meter
    rate_limiter: RateLimiter
    event_stream: EventStream
    statuses: StatusCache
    embed_cache: EmbedCache
    clock: Callable[[], float]
    methodologies: Methodologies = field(default_factory=shipped)


def service_of(request: Request) -> Service:
    """Return the service that answers this request."""
    service: Service = request.app.state.service
    return service


async def here(request: Request) -> Service:
    """Return the service that answers this request (a coroutine, so that FastAPI uses no thread)."""
    return service_of(request)


Here = Annotated[Service, Depends(here)]
