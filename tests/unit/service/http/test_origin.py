"""Web pages that try to use a service without API keys (row 69 of docs/reliability.md)."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.anyio

KEY = {"name": "a page's", "scopes": ["admin"]}


@pytest.fixture
async def unkeyed(serve, settings):
    return await serve(settings.model_copy(update={"public_url": None}))


# Row 69 of docs/reliability.md: at c37b512 a web page could make an admin key, as Host and Origin were not checked.
@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "rebound.example:8000"},
        {"Host": "192.168.1.7:8000"},
        {"Host": "localhost.evil.example"},
        {"Host": "127.0.0.1:8000", "Origin": "https://evil.example"},
        {"Host": "127.0.0.1:8000", "Origin": "null"},
        {"Host": "127.0.0.1:8000", "Origin": "http://127.0.0.1:9000"},
        {"Host": "127.0.0.1:8000", "Sec-Fetch-Site": "cross-site"},
        {"Host": "localhost:8000", "Sec-Fetch-Site": "same-site"},
    ],
)
async def test_web_page_of_another_origin_cannot_create_a_key(unkeyed, headers):
    # guards against eb55f1e, where each of these requests created an admin key
    refused = await unkeyed.post("/v1/keys", json=KEY, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (403, "foreign-origin")
    assert (await unkeyed.get("/v1/keys", headers={"Host": "localhost"})).json()["items"] == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "127.0.0.1:8000"},
        {"Host": "127.8.8.8"},
        {"Host": "[::1]:8000"},
        {"Host": "localhost:8000", "Origin": "http://localhost:8000", "Sec-Fetch-Site": "same-origin"},
    ],
)
async def test_requests_with_a_loopback_host_header_are_answered(unkeyed, headers):
    assert (await unkeyed.post("/v1/keys", json=KEY, headers=headers)).status_code == 201


async def test_request_with_a_foreign_host_header_is_refused(unkeyed):
    assert (await unkeyed.get("/v1/jobs", headers={"Host": "rebound.example"})).status_code == 403


async def test_requests_from_pages_under_the_public_url_may_create_keys(serve, settings):
    client = await serve(settings.model_copy(update={"public_url": "https://assay.example"}))
    headers = {"Host": "assay.example", "Origin": "https://assay.example", "Sec-Fetch-Site": "same-origin"}
    assert (await client.post("/v1/keys", json=KEY, headers=headers)).status_code == 201


async def test_a_service_with_keys_answers_requests_with_any_host_header(serve, guarded, worker):
    client = await serve(guarded)
    headers = {"Host": "assay.example", "Authorization": f"Bearer {worker.make_key('mine')}"}
    assert (await client.get("/v1/jobs", headers=headers)).status_code == 200
