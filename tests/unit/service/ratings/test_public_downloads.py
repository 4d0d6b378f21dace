"""Reports and exports of public ratings: a rate limit per address, and one rendering for many requests.

Row 101 of docs/reliability.md: at ffe18d3c a public export of a large rating took 1.1 s each time, without a rate.
"""

from __future__ import annotations

import asyncio
import time

import httpx
import pytest

from service.jobs import ledger
from service.ratings import routes

pytestmark = pytest.mark.anyio

PATHS = (
    *("report.html", "report.md", "observations.csv", "observations", "export.jsonl"),
    *("comparison?with=rat_1", "difference?with=rat_1"),
)


@pytest.fixture
async def public(serve, guarded, request_body, worker):
    """Create a public rating; return a function that makes a service with a download rate, and the rating's address."""

    async def make(rate: str):
        client = await serve(guarded.model_copy(update={"download_rate": rate}))
        key = {"Authorization": f"Bearer {worker.make_key('mine')}"}
        job = (await client.post("/v1/jobs", json=request_body(visibility="public"), headers=key)).json()
        return client, key, f"/v1/ratings/{await asyncio.to_thread(worker.rate, job['id'])}"

    return make


@pytest.mark.parametrize("path", PATHS)
async def test_callers_without_a_key_have_a_rate_limit_per_ip_address(public, path):
    # earlier, exports of large ratings had no limit, and each took a second
    client, key, rating = await public("2/minute")
    statuses = [(await client.get(f"{rating}/{path}")).status_code for _ in range(3)]
    assert 429 not in statuses[:2]
    assert statuses[2] == 429
    refused = (await client.get(f"{rating}/report.md")).json()
    assert (refused["code"], "2 requests" in refused["detail"]) == ("rate-limited", True)
    assert (await client.get(f"{rating}/{path}", headers=key)).status_code != 429
    assert (await client.get(rating)).status_code == 200, "reading the rating itself is not limited"
    elsewhere = httpx.ASGITransport(client._transport.app, client=("192.0.2.7", 1))
    async with httpx.AsyncClient(transport=elsewhere, base_url=client.base_url) as other:
        assert (await other.get(f"{rating}/{path}")).status_code != 429


async def test_concurrent_requests_for_one_report_render_it_once_and_do_not_block_the_event_loop(public, monkeypatch):
    client, key, rating = await public("1000/minute")
    rendered, original = [], routes.report

    def slowly(name, *arguments):
        rendered.append(name)
        time.sleep(0.3)
        return original(name, *arguments)

    monkeypatch.setattr(routes, "report", slowly)
    answers = asyncio.gather(*(client.get(f"{rating}/report.html") for _ in range(8)))
    ticks = 0
    while not answers.done():
        await asyncio.sleep(0.01)
        ticks += 1
    refused = [answer.text for answer in await answers if answer.status_code != 200]
    assert not refused
    bodies = {answer.content for answer in await answers}
    assert (rendered, len(bodies)) == (["html"], 1)
    assert ticks > 5
    assert (await client.get(f"{rating}/report.md", headers=key)).status_code == 200
    assert rendered == ["html", "markdown"]
    await client.post(f"{rating}/withdraw", json={"reason": "a mistake"}, headers=key)
    assert "a mistake" in (await client.get(f"{rating}/report.html")).text


async def test_two_evidence_files_at_a_time_are_written_and_the_others_wait(public, monkeypatch):
    client, _, rating = await public("1000/minute")
    writing, most, original = [], [], ledger.csv_lines

    def slowly(rows):
        writing.append(rows)
        most.append(len(writing))
        time.sleep(0.1)
        writing.pop()
        return original(rows)

    monkeypatch.setattr(ledger, "csv_lines", slowly)
    answers = await asyncio.gather(*(client.get(f"{rating}/observations.csv") for _ in range(6)))
    assert ({answer.status_code for answer in answers}, len({answer.content for answer in answers})) == ({200}, 1)
    assert max(most) <= 2
