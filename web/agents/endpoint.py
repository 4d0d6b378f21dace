"""``/mcp``: the tools over streamable HTTP, within the service.

No session is kept and no stream stays open, so that callers occupy no resources between two requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from fastapi import FastAPI, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from service.container import service_of
from service.http.authentication import NO_TENANT, identify
from service.http.rate_limit import VISITS, address_of
from web.frame.api import Api

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from web.agents.tools import Ask

PATH = "/mcp"


class AgentEndpoint:
    """HTTP endpoint for AI agents. It loads the MCP library at the first request; this takes most of a second."""

    def __init__(self) -> None:
        self._manager_future: asyncio.Future[StreamableHTTPSessionManager] | None = None
        self._task: asyncio.Task[None] | None = None

    async def answer(self, request: Request) -> Response:
        """Identify the caller, count the request, and return a response that the MCP library sends."""
        caller = await identify(request)
        visitor = address_of(request) if caller.tenant == NO_TENANT else caller.tenant
        (await service_of(request).rate_limiter.take(visitor, work=VISITS)).check()
        return _DelegatedResponse((await self._manager()).handle_request)

    async def _manager(self) -> StreamableHTTPSessionManager:
        if self._manager_future is None:
            self._manager_future = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._run(self._manager_future))
        return await asyncio.shield(self._manager_future)  # other requests still wait if this one is cancelled

    async def _run(self, manager_future: asyncio.Future[StreamableHTTPSessionManager]) -> None:
        """Run the library's task group until this task is cancelled; only the task that entered it can leave it."""
        try:
            manager = await asyncio.to_thread(_make_manager)
            async with manager.run():
                manager_future.set_result(manager)
                await asyncio.Event().wait()  # never set: until this task is cancelled
        finally:
            if not manager_future.done():  # the waiting requests fail, and the next one tries again
                self._manager_future = None
                manager_future.cancel()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Return a context; at its end, the MCP library's tasks are stopped."""
        try:
            yield
        finally:
            if self._task is not None:
                self._task.cancel()
                await asyncio.gather(self._task, return_exceptions=True)


class _DelegatedResponse(Response):
    """A response that another ASGI application, the MCP library's handler, sends."""

    def __init__(self, application: Callable[..., Any]) -> None:
        super().__init__()
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the application, which sends the response."""
        await self._application(scope, receive, send)


def _make_manager() -> StreamableHTTPSessionManager:
    from mcp.server.transport_security import TransportSecuritySettings

    from web.agents.tools import AgencyTools

    server = AgencyTools(_api_of).server()
    # origins and the size of bodies are checked by `service.http.middleware` for every request
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    # the app itself is not used, but making it makes the session manager
    server.streamable_http_app(json_response=True, stateless_http=True, transport_security=security)
    return server.session_manager


def _api_of(context: Context) -> Ask:
    request: Request = cast("Any", context.request_context.request)
    return Api(request, request.scope["assay.caller"]).ask


def add_agents(app: FastAPI) -> None:
    """Add the endpoint of agents to an application (`service.app.create_app`)."""
    endpoint = AgentEndpoint()
    app_lifespan: Callable[[FastAPI], AbstractAsyncContextManager[Any]] = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(application: FastAPI) -> AsyncIterator[Any]:
        async with app_lifespan(application) as state, endpoint.running():
            yield state

    app.router.lifespan_context = lifespan
    app.router.routes.append(Route(PATH, endpoint.answer, methods=["POST"], include_in_schema=False))
