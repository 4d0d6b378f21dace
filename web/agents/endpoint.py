"""``/mcp``: the tools over streamable HTTP, within the service.

No session is kept and no stream stays open, so that callers occupy no resources between two requests.
"""

from __future__ import annotations

import asyncio
from functools import cache
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

    from web.agents.tools import Ask, ToolServer

PATH = "/mcp"


async def answer(request: Request) -> Response:
    """Identify the caller, count the request, and return a response that the MCP library sends."""
    caller = await identify(request)
    caller_id = address_of(request) if caller.tenant == NO_TENANT else caller.tenant
    await service_of(request).rate_limiter.take(caller_id, work=VISITS)
    return ToolResponse(await asyncio.to_thread(_tool_server))


class ToolResponse(Response):
    """A response that the MCP library sends; it makes its own session manager, as no session outlives a request."""

    def __init__(self, server: ToolServer) -> None:
        super().__init__()
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle the request, and send the answer; raise what the library `mcp` raises, such as for a large body."""
        from mcp.server.transport_security import TransportSecuritySettings

        # origins and the size of bodies are checked by `service.http.middleware` for every request
        security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        # the app itself is not used, but making it makes the session manager
        self._server.streamable_http_app(json_response=True, stateless_http=True, transport_security=security)
        manager = self._server.session_manager
        failure: Exception | None = None
        async with manager.run():
            try:
                await manager.handle_request(scope, receive, send)
            except Exception as error:  # noqa: BLE001  the manager would wrap it in a group
                failure = error
        if failure is not None:
            raise failure


@cache
def _tool_server() -> ToolServer:
    """Return the server of the tools; made at the first request, since importing the library takes most of a second."""
    from web.agents.tools import AgencyTools

    return AgencyTools(_api_of).server()


def _api_of(context: Context) -> Ask:
    request: Request = cast("Any", context.request_context.request)
    return Api(request, request.scope["assay.caller"]).ask


def add_agents(app: FastAPI) -> None:
    """Add the endpoint for AI agents (MCP) to an application (`service.app.create_app`)."""
    app.router.routes.append(Route(PATH, answer, methods=["POST"], include_in_schema=False))
