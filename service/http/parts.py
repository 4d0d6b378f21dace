"""Parts of a running service that requests need, whatever resource they ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from service.http.metrics import Meter
from service.http.rate_limit import OpenStreams, RateLimiter
from service.http.swr_cache import SwrCache
from store.core.database import AsyncDatabase
from store.core.settings import Settings
from store.security.keys import ApiKey


@dataclass(frozen=True, kw_only=True)
class HttpParts:
    """Parts of a service on which authentication, limits and answers depend (`service.container` adds the others)."""

    settings: Settings
    database: AsyncDatabase
    meter: Meter
    rate_limiter: RateLimiter
    open_streams: OpenStreams
    recent_keys: SwrCache[bytes, ApiKey]


def parts_of(request: Request) -> HttpParts:
    """Return the parts of the service that answers this request."""
    parts: HttpParts = request.app.state.service
    return parts


async def get_parts(request: Request) -> HttpParts:
    """Return the parts of the service that answers this request (a coroutine, so that FastAPI uses no thread)."""
    return parts_of(request)


PartsDependency = Annotated[HttpParts, Depends(get_parts)]
