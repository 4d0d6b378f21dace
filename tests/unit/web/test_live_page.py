"""The live part of a job's page, requested by many viewers."""

from __future__ import annotations

import asyncio
import re
import time

import httpx
import pytest

from service.app import create_app
from store.core import migrate
from store.core.settings import Settings
from tests.support.counting_target import rating_request
from web.site import add_pages
from workers.targets.registry import TargetChecker

pytestmark = pytest.mark.anyio

VIEWERS = 1000
MOST_READS = 4
"""Maximum number of status reads per second."""


@pytest.fixture
async def client(tmp_path):
    settings = Settings(data_dir=tmp_path, auth="none", public_url="http://testserver", egress_allow="127.0.0.0/8")
    migrate.upgrade(settings.resolved_database_url)
    app = create_app(settings, validator=TargetChecker(settings), doorbell=lambda _: None)
    add_pages(app)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://testserver") as opened:
        yield opened


async def status_reads(client: httpx.AsyncClient) -> float:
    told = (await client.get("/metrics")).text
    found = re.search(r'assay_status_cache_total\{outcome="read"\} (\S+)', told)
    return float(found[1]) if found else 0.0


async def test_a_thousand_viewers_of_a_job_cause_at_most_four_status_reads_a_second(client):
    job = (await client.post("/v1/jobs", json=rating_request("http://127.0.0.1:9/x", 1))).json()["id"]
    before, begun = await status_reads(client), time.monotonic()
    answers = []
    for _ in range(2):
        answers += await asyncio.gather(*(client.get(f"/jobs/{job}/now") for _ in range(VIEWERS)))
    most = 1 + MOST_READS * (time.monotonic() - begun)
    assert {answer.status_code for answer in answers} == {200}
    assert all("Waits for a worker" in answer.text for answer in answers)
    assert 1 <= await status_reads(client) - before <= most


async def test_a_browser_that_has_the_newest_state_of_a_job_page_gets_304_without_content(client):
    job = (await client.post("/v1/jobs", json=rating_request("http://127.0.0.1:9/x", 1))).json()["id"]
    first = await client.get(f"/jobs/{job}/now")
    again = await client.get(f"/jobs/{job}/now", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    plain = await client.get(f"/jobs/{job}/now", headers={"Accept-Encoding": "identity"})
    assert (plain.text, "content-encoding" in plain.headers) == (first.text, False)
    page = await client.get(f"/jobs/{job}")
    token = re.search(r'name="form_token" value="([^"]+)"', page.text)[1]
    assert token not in first.text, "the part is the same for all viewers"
    await client.post(f"/jobs/{job}/cancel", data={"form_token": token})
    ended = await client.get(f"/jobs/{job}/now", headers={"If-None-Match": first.headers["etag"]})
    assert "It was cancelled" in ended.text
