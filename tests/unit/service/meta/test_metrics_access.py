"""Access to the metrics. Earlier versions showed them to every caller.

Row 77 of docs/reliability.md: at c37b512 `/metrics` was open to everybody.
"""

from __future__ import annotations

import httpx
import pytest

pytestmark = pytest.mark.anyio

ELSEWHERE = "192.0.2.7"
SHOWN = "assay_http_requests_total"
PROXIED = [
    {"Forwarded": "for=127.0.0.1"},
    {"X-Forwarded-For": "127.0.0.1"},
    {"X-Forwarded-Host": "localhost"},
    {"X-Real-IP": "127.0.0.1"},
    {"Via": "1.1 a-proxy"},
]


@pytest.fixture
def ask(serve):
    """Return a function that requests the metrics over a connection from the address `peer`."""

    async def ask(settings, peer: str | None, headers: dict[str, str] | None = None) -> httpx.Response:
        app = (await serve(settings))._transport.app
        transport = httpx.ASGITransport(app, client=(peer, 50_000) if peer else (None, 0))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
            return await client.get("/metrics", headers=headers)

    return ask


@pytest.mark.parametrize("peer", ["127.0.0.1", "127.8.9.10", "::1"])
async def test_a_process_on_the_same_machine_reads_metrics_without_a_key(ask, settings, guarded, peer):
    for chosen in (settings, guarded):
        answer = await ask(chosen, peer)
        assert (answer.status_code, SHOWN in answer.text) == (200, True)


@pytest.mark.parametrize("peer", [ELSEWHERE, "10.0.0.1", "fe80::1", "127.0.0.1.example.com", None])
async def test_another_machine_gets_no_metrics_without_a_key(ask, settings, guarded, peer):
    for chosen in (settings, guarded):
        answer = await ask(chosen, peer)
        assert (answer.status_code, answer.json()["code"]) == (401, "key-missing")
        assert "metrics:read" in answer.json()["detail"]
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
        assert SHOWN not in answer.text


@pytest.mark.parametrize("headers", PROXIED, ids=lambda one: next(iter(one)))
async def test_a_request_through_a_proxy_on_the_same_machine_needs_a_key(ask, settings, guarded, headers):
    for chosen in (settings, guarded):
        answer = await ask(chosen, "127.0.0.1", headers)
        assert (answer.status_code, SHOWN in answer.text) == (401, False)


@pytest.mark.parametrize(
    ("scopes", "status"),
    [(("metrics:read",), 200), (("admin",), 200), (("ratings:read", "jobs:write", "targets:write"), 403)],
)
async def test_a_key_reads_metrics_from_anywhere_if_it_has_the_scope(ask, guarded, worker, scopes, status):
    key = worker.make_key("default", *scopes)
    for peer in (ELSEWHERE, "127.0.0.1"):
        answer = await ask(guarded, peer, {"Authorization": f"Bearer {key}", "X-Forwarded-For": "198.51.100.1"})
        assert (answer.status_code, SHOWN in answer.text) == (status, status == 200)


@pytest.mark.parametrize("scope", ["metrics:read", "admin"])
async def test_a_key_of_another_tenant_reads_no_metrics_and_creates_no_key_for_them(ask, serve, guarded, worker, scope):
    """Metrics have numbers of every tenant."""
    bearer = {"Authorization": f"Bearer {worker.make_key('acme', scope)}"}
    for peer in (ELSEWHERE, "127.0.0.1"):
        answer = await ask(guarded, peer, bearer)
        assert (answer.status_code, answer.json()["code"], SHOWN in answer.text) == (403, "scope-missing", False)
        assert "a key of the operator with the scope metrics:read" in answer.json()["detail"]
    client = await serve(guarded)
    wanted = {"name": "prometheus", "scopes": ["ratings:read", "metrics:read"]}
    assert (await client.post("/v1/keys", json=wanted, headers=bearer)).status_code == 403
    operator = {"Authorization": f"Bearer {worker.make_key('default')}"}
    assert (await client.post("/v1/keys", json=wanted, headers=operator)).status_code == 201


async def test_an_invalid_key_is_refused_from_every_address(ask, guarded):
    for peer in (ELSEWHERE, "127.0.0.1"):
        answer = await ask(guarded, peer, {"Authorization": "Bearer assay_abcdefgh_x"})
        assert (answer.status_code, answer.json()["code"]) == (401, "key-invalid")


async def test_a_key_with_only_the_metrics_scope_cannot_read_other_resources(serve, guarded, worker):
    client = await serve(guarded)
    bearer = {"Authorization": f"Bearer {worker.make_key('default', 'metrics:read')}"}
    for path in ("/v1/jobs", "/v1/targets", "/v1/keys", "/v1/limits"):
        assert (await client.get(path, headers=bearer)).status_code == 403
