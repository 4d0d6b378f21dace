"""The endpoint of AI agents within the service, without a session and with the limits of the API."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from service.app import create_app
from store.core import migrate
from store.core.settings import Settings
from web.agents.endpoint import add_agents
from workers.targets.registry import TargetChecker

pytestmark = [pytest.mark.anyio, pytest.mark.slow]  # the MCP library is imported

LIST_TOOLS = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


@pytest.fixture
async def client(tmp_path):
    settings = Settings(data_dir=tmp_path, auth="none", public_url="http://testserver")
    migrate.upgrade(settings.resolved_database_url)
    app = create_app(settings, validator=TargetChecker(settings), doorbell=lambda _: None)
    add_agents(app)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://testserver") as opened:
        yield opened


async def test_concurrent_agents_get_the_same_list_of_tools_and_no_session(client):
    answers = await asyncio.gather(*(client.post("/mcp", json=LIST_TOOLS) for _ in range(20)))
    assert {answer.status_code for answer in answers} == {200}
    assert {len(answer.json()["result"]["tools"]) for answer in answers} == {7}
    assert not any("mcp-session-id" in answer.headers for answer in answers)


async def test_a_body_of_unstated_length_above_the_limit_is_refused_with_413(client):
    async def chunks():
        for _ in range(40):
            yield b" " * 2**16

    refused = await client.post("/mcp", content=chunks(), headers={"Content-Type": "application/json"})
    assert (refused.status_code, refused.json()["code"]) == (413, "body-too-large")
