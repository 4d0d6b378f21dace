"""`assay mcp`: tools for AI agents over standard input and output, which call a remote agency."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import httpx
from starlette.datastructures import Headers

from web.agents.tools import AgencyTools
from web.frame.api import Answer, Refused, accepted_answer

TIMEOUT_S = 60.0
NOT_REACHED = 503


class RemoteAgency:
    """Client for the API of a remote agency, with the rights of an API key."""

    def __init__(self, url: str, key: str | None) -> None:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._client = httpx.AsyncClient(base_url=url, headers=headers, timeout=TIMEOUT_S, trust_env=True)
        self._url = url

    async def ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request and return its answer; raise `Refused` for a status of 400 or more, or without an answer."""
        parameters = {name: value for name, value in (query or {}).items() if value not in (None, "")}
        try:
            response = await self._client.request(method, path, params=parameters, json=body, headers=headers)
        except httpx.HTTPError as failure:
            problem = {"code": "unreachable", "detail": f"{self._url} cannot be reached: {type(failure).__name__}"}
            raise Refused(NOT_REACHED, problem) from None
        return accepted_answer(Answer(response.status_code, Headers(dict(response.headers)), response.content))


def serve_tools(url: str, key: str | None) -> None:
    """Answer an AI agent's requests (MCP) on standard input and output, until the agent closes them.

    Raise `ValueError` if `url` is not an address, or `key` has characters that no key has.
    """
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"the agency's address must begin with http:// or https://, not {url[:80]!r}")
    if key is not None and not (key.isascii() and key.isprintable()):
        raise ValueError("ASSAY_KEY has characters that no key has")
    logging.disable(logging.INFO)  # standard output is the agent's
    ask = RemoteAgency(url, key).ask  # the same key for every request of the agent
    asyncio.run(AgencyTools(lambda _: ask).server().run_stdio_async())
