"""Authentication by API key, and authorisation by scope.

A key is sent as ``Authorization: Bearer assay_…``. If no key is required (see `Settings.keys_required`), a
caller without a key is the tenant `OPERATOR_TENANT` with every scope. A key that is sent is always checked.
"""

from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPBearer
from fastapi.security.base import SecurityBase

from service.http.metrics import Meter
from service.http.problems import Problem, scope_missing
from service.http.rate_limit import DOWNLOADS, OpenStreams, RateLimiter, address_of
from service.http.replica import PublicDatabase, ReplicaReader
from service.http.swr_cache import SwrCache
from store.core.database import AsyncDatabase
from store.core.settings import Settings
from store.security import keys
from store.security.keys import ApiKey
from store.security.rights import OPERATOR_TENANT, is_local


@dataclass(frozen=True, kw_only=True)
class HttpParts:
    """Parts of a service on which authentication, limits and answers depend (`service.container` adds the others)."""

    settings: Settings
    database: AsyncDatabase
    replica: ReplicaReader | None
    meter: Meter
    rate_limiter: RateLimiter
    open_streams: OpenStreams
    recent_keys: SwrCache[bytes, ApiKey]

    def database_for(self, request: Request) -> PublicDatabase:
        """Return the database from which a request's public data are read: the replica, if there is one.

        Callers who may just have written read the primary, and so see their own writes: those with a key or a cookie
        (which ``assay.has_cookie`` notes for a page's calls of the API), and all callers of an agency without keys.
        """
        scope = request.scope
        is_known = scope.get("assay.has_cookie") or scope.get("assay.caller", UNKNOWN_CALLER).tenant != NO_TENANT
        if self.replica is None or is_known or {"authorization", "cookie"} & {*request.headers}:
            return self.database
        return self.replica


def parts_of(request: Request) -> HttpParts:
    """Return the parts of the service that answers this request."""
    parts: HttpParts = request.app.state.service
    return parts


async def get_parts(request: Request) -> HttpParts:
    """Return the parts of the service that answers this request (a coroutine, so that FastAPI uses no thread)."""
    return parts_of(request)


PartsDependency = Annotated[HttpParts, Depends(get_parts)]


_bearer = HTTPBearer(
    scheme_name="ApiKey",
    bearerFormat="assay_<short>_<secret>",
    description="An API key, created with `POST /v1/keys` or `assay keys create`. "
    "A service that runs embedded and listens on loopback only does not require one.",
    auto_error=False,
)

NO_TENANT = ""
"""The tenant of a caller without a key, who can read public data only."""


@dataclass(frozen=True)
class Caller:
    """Sender of a request: a tenant with its scopes."""

    tenant: str
    scopes: frozenset[str]
    key_id: str | None = None

    def may(self, scope: str) -> bool:
        """Return whether the caller has `scope` or ``admin``; ``metrics:read`` also requires the operator's tenant."""
        return bool({scope, "admin"} & self.scopes) and (scope != "metrics:read" or self.tenant == OPERATOR_TENANT)


DEFAULT_CALLER = Caller(OPERATOR_TENANT, frozenset(keys.SCOPES))
UNKNOWN_CALLER = Caller(NO_TENANT, frozenset())


async def identify(request: Request, *, cached: bool = False) -> Caller:
    """Return the caller, identified once for each request, or raise `Problem` ``key-invalid``.

    With `cached`, the key may come from a cache instead of the database.
    """
    caller: Caller | None = request.scope.get("assay.caller")
    if caller is None:
        caller = request.scope["assay.caller"] = await _identify_caller(request, cached=cached)
    return caller


async def _identify_caller(request: Request, *, cached: bool) -> Caller:
    service = parts_of(request)
    if "authorization" not in request.headers:
        return UNKNOWN_CALLER if service.settings.keys_required else DEFAULT_CALLER
    credentials = await _bearer(request)
    secret = "" if credentials is None else credentials.credentials
    read_key = partial(verified_key, service, secret)
    key = await (service.recent_keys.get(sha256(secret.encode()).digest(), read_key) if cached else read_key())
    return Caller(key.tenant, frozenset(key.scopes), key.id)


async def verified_key(service: HttpParts, secret: str) -> keys.ApiKey:
    """Return the key whose plain text is `secret`, or raise `Problem` ``key-invalid``."""
    key = await service.database.read(keys.verify, secret) if secret.isascii() else None  # all keys are ASCII
    if key is None:
        raise _unauthorized("key-invalid", 'Bearer realm="assay", error="invalid_token"')
    return key


class Needs(SecurityBase):
    """A FastAPI dependency that requires a scope.

    It is also FastAPI's security scheme: a separate scheme would be a second dependency (5 % of a POST's time).
    """

    model, scheme_name = _bearer.model, _bearer.scheme_name  # read by FastAPI

    def __init__(self, scope: str, *, cached: bool = False) -> None:
        self._scope, self._cached = scope, cached

    async def __call__(self, request: Request) -> Caller:
        """Return the caller, or raise ``key-missing``, ``key-invalid`` or ``scope-missing``."""
        caller = await identify(request, cached=self._cached)
        if caller.tenant == NO_TENANT:
            raise _unauthorized("key-missing", 'Bearer realm="assay"')
        if not caller.may(self._scope):
            raise scope_missing(self._scope)
        return caller


class MetricsReader(Needs):
    """A FastAPI dependency for metrics: admits processes of this machine, and the operator's key for ``metrics:read``.

    This applies even if no other request requires a key: a service without keys may listen on every address.
    """

    def __init__(self) -> None:
        super().__init__("metrics:read")

    async def __call__(self, request: Request) -> Caller:
        """Return the caller, or raise ``key-missing``, ``key-invalid`` or ``scope-missing``."""
        if "authorization" in request.headers:
            return await super().__call__(request)
        if not is_local(request.client and request.client.host, request.headers):
            detail = "metrics are read on the service's own machine, or with the operator's key for metrics:read"
            raise _unauthorized("key-missing", 'Bearer realm="assay"', detail)
        return UNKNOWN_CALLER


class ReaderOrNobody(SecurityBase):
    """A FastAPI dependency for public data, open to all; with ``ratings:read``, callers see their tenant's data too."""

    model, scheme_name = _bearer.model, _bearer.scheme_name  # read by FastAPI

    async def __call__(self, request: Request) -> Caller:
        """Return the caller, or `UNKNOWN_CALLER` without the scope ``ratings:read``."""
        caller = await identify(request)
        return caller if caller.may("ratings:read") else UNKNOWN_CALLER


Writer = Annotated[Caller, Depends(Needs("jobs:write"))]
Reader = Annotated[Caller, Depends(Needs("ratings:read"))]
Poller = Annotated[Caller, Depends(Needs("ratings:read", cached=True))]
TargetWriter = Annotated[Caller, Depends(Needs("targets:write"))]
WebhookWriter = Annotated[Caller, Depends(Needs("webhooks:write"))]
Admin = Annotated[Caller, Depends(Needs("admin"))]
PublicReader = Annotated[Caller, Depends(ReaderOrNobody())]


async def public_download(request: Request, caller: PublicReader) -> None:
    """Count a costly download of a caller without a key; raise ``rate-limited`` above the limit of the IP address."""
    if caller.tenant == NO_TENANT:
        await parts_of(request).rate_limiter.take(address_of(request), work=DOWNLOADS)


DOWNLOAD = [Depends(public_download)]
"""FastAPI dependencies of the routes of costly public downloads, which limit their number."""


def _unauthorized(code: str, challenge: str, detail: str | None = None) -> Problem:
    return Problem(code, detail, headers={"WWW-Authenticate": challenge})
