"""Who is asking, and what they may do.

A key comes as ``Authorization: Bearer assay_…``. Where none is needed (see `Settings.keys_required`), a
caller without one is the tenant `DEFAULT_TENANT` with every scope. A key that is sent is always
checked, so that a wrong one never passes unnoticed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from service.callers import ANYONE, NOBODY, NOBODY_KNOWN, Caller
from service.context import Service, service_of
from service.problems import Problem
from store import keys

_bearer = HTTPBearer(
    scheme_name="ApiKey",
    bearerFormat="assay_<short>_<secret>",
    description="An API key, made with `POST /v1/keys` or `assay keys create`. "
    "A service that runs embedded and listens on loopback only needs none.",
    auto_error=False,
)


async def identify(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> Caller:
    """Find out who is asking.

    Raises
    ------
    Problem
        ``key-invalid`` if a key was sent that is not valid.
    """
    here = service_of(request)  # as a dependency it would be resolved once more for each request
    if credentials is None and "authorization" not in request.headers:
        return NOBODY_KNOWN if here.settings.keys_required else ANYONE
    key = None
    if credentials is not None and credentials.credentials.isascii():
        key = await verify(here, credentials.credentials)
    if key is None:
        raise _unauthorized("key-invalid", 'Bearer realm="assay", error="invalid_token"')
    caller = Caller(key.tenant, frozenset(key.scopes), key.id)
    here.recent.remember(request.headers["authorization"].encode("latin-1"), caller)
    return caller


async def verify(here: Service, plain: str) -> keys.ApiKey | None:
    """Look a key up by its digest."""
    return await here.database.read(keys.verify, plain)


def needs(scope: str) -> Callable[[Caller], Awaitable[Caller]]:
    """Make a dependency that lets only callers with `scope` through."""

    async def allowed(caller: Annotated[Caller, Depends(identify)]) -> Caller:
        if caller.tenant == NOBODY:
            raise _unauthorized("key-missing", 'Bearer realm="assay"')
        if not caller.may(scope):
            header = f'Bearer realm="assay", error="insufficient_scope", scope="{scope}"'
            raise Problem(
                "scope-missing",
                f"this needs a key with the scope {scope}",
                headers={"WWW-Authenticate": header},
                scope=scope,
            )
        return caller

    return allowed


async def reader_or_nobody(caller: Annotated[Caller, Depends(identify)]) -> Caller:
    """Let everyone read what is public, and holders of ``ratings:read`` what is theirs too."""
    return caller if caller.may("ratings:read") else NOBODY_KNOWN


Writer = Annotated[Caller, Depends(needs("jobs:write"))]
Reader = Annotated[Caller, Depends(needs("ratings:read"))]
TargetWriter = Annotated[Caller, Depends(needs("targets:write"))]
WebhookWriter = Annotated[Caller, Depends(needs("webhooks:write"))]
Admin = Annotated[Caller, Depends(needs("admin"))]
PublicReader = Annotated[Caller, Depends(reader_or_nobody)]


def _unauthorized(code: str, challenge: str) -> Problem:
    return Problem(code, headers={"WWW-Authenticate": challenge})
