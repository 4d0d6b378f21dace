"""Dependencies of routes: the service, built in `service.app`, and ``Prefer: wait=N`` (RFC 7240)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Depends, Header, Request, Response

from assay.rating.methodology import Methodologies, shipped
from assay.references import HeldBack
from service.http.open_streams import OpenStreams
from service.http.rate_limit import RateLimiter
from service.http.swr_cache import SwrCache
from service.jobs.dispatcher import Dispatcher
from service.jobs.event_stream import EventStream
from service.jobs.status import StatusCache
from service.metrics import Meter
from service.publishing.embed_cache import EmbedCache
from service.targets.target_validator import TargetValidator
from store.core.database import AsyncDatabase
from store.core.settings import Settings
from store.jobs.fair_order import QueueState
from store.security.keys import ApiKey
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
    progress: SwrCache[tuple[str, str], Any]
    reports: SwrCache[tuple[str, str], Response]
    open_streams: OpenStreams
    queue_state: SwrCache[str, QueueState]
    embed_cache: EmbedCache
    recent_keys: SwrCache[bytes, ApiKey]
    write_proof: SwrCache[str, bool]
    clock: Callable[[], float]
    methodologies: Methodologies = field(default_factory=shipped)
    held_back: HeldBack = field(default_factory=HeldBack)


def service_of(request: Request) -> Service:
    """Return the service that answers this request."""
    service: Service = request.app.state.service
    return service


async def get_service(request: Request) -> Service:
    """Return the service that answers this request (a coroutine, so that FastAPI uses no thread)."""
    return service_of(request)


ServiceDependency = Annotated[Service, Depends(get_service)]

LONGEST_WAIT_S = 30

_WAIT = re.compile(r'^\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:;.*)?$', re.IGNORECASE)


def wait_of(prefer: Sequence[str]) -> int | None:
    """Return the seconds of the first ``wait`` preference, at most `LONGEST_WAIT_S`; ``None`` if there is none.

    A preference that cannot be parsed is ignored, as RFC 7240 (section 2) requires.
    """
    for header in prefer:
        for part in header.split(","):
            if match := _WAIT.match(part):
                return min(int(match[1]), LONGEST_WAIT_S)
    return None


async def preferred_wait(
    request: Request,
    response: Response,
    prefer: Annotated[  # noqa: ARG001  declared for the documentation; there may be several such headers
        str | None,
        Header(
            description="`wait=N` answers when the job has ended, or after N seconds (at most 30).",
            examples=["wait=10"],
        ),
    ] = None,
) -> int | None:
    """Read the ``wait`` preference, and confirm it in the header ``Preference-Applied``."""
    seconds = wait_of(request.headers.getlist("prefer"))
    if seconds is not None:
        response.headers["Preference-Applied"] = f"wait={seconds}"
        response.headers["Vary"] = "Prefer"
    return seconds


Wait = Annotated[int | None, Depends(preferred_wait)]
