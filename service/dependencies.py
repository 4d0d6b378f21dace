"""What every route can reach: one object, wired in `service.app`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request

from assay.rating.methodology import Methodologies, shipped
from service.http.rate_limit import Rates
from service.http.swr_cache import Moments
from service.jobs.dispatcher import Bell
from service.jobs.event_stream import Feed
from service.jobs.status import StatusCache
from service.metrics import Meter
from service.publishing.embed_cache import Showcase
from service.targets.target_validator import TargetDesk
from store.core.database import AsyncDatabase
from store.core.settings import Settings
from store.security.keys import ApiKey
from store.security.secrets import Vault


@dataclass(frozen=True)
class Service:
    """The parts of a running service.

    `clock` gives seconds since 1970; it is only used to estimate (everything that matters is timed
    by the database's clock).
    """

    settings: Settings
    database: AsyncDatabase
    vault: Vault
    desk: TargetDesk
    bell: Bell
    meter: Meter
    rates: Rates
    feed: Feed
    statuses: StatusCache
    showcase: Showcase
    recent_keys: Moments[bytes, ApiKey]
    clock: Callable[[], float]
    methodologies: Methodologies = field(default_factory=shipped)


def service_of(request: Request) -> Service:
    """Give the service that answers this request."""
    service: Service = request.app.state.service
    return service


async def here(request: Request) -> Service:
    """Give the service that answers this request (a coroutine: others would be run in a thread)."""
    return service_of(request)


Here = Annotated[Service, Depends(here)]
