"""AI agents with the official client of the Model Context Protocol: over HTTP at /mcp, and through `assay mcp`."""

from __future__ import annotations

import asyncio
import json
import os
import sys

import httpx
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from tests.support.commands import run_command
from tests.support.scripted_server import Answer, scripted_server

pytestmark = pytest.mark.slow

EXPERIMENT = {"method": "round-trip", "attribute": "gender", "languages": ["es"]}
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPTS = {"Accept": "application/json, text/event-stream"}


def translator(services, name="faithful"):
    return {"name": name, "kind": "translator", "protocol": "libretranslate", "base_url": services.url(name)}


def through_command(url, key=None):
    environment = {} if key is None else {"ASSAY_KEY": key}
    command = ["-c", "import sys; sys.argv[0] = 'assay'; from cli.main import main; main()", "mcp", "--agency", url]
    return stdio_client(StdioServerParameters(command=sys.executable, args=command, env=environment))


def called(server, *calls, mode="auto", key=None):
    """Call tools one after another; a result of the form ``(is_error, answer)`` for each."""

    async def run():
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        async with (
            create_mcp_http_client(headers=headers) as http,
            Client(
                streamable_http_client(server, http_client=http) if isinstance(server, str) else server, mode=mode
            ) as client,
        ):
            results = []
            for name, arguments in calls:
                made = arguments(results) if callable(arguments) else arguments
                result = await client.call_tool(name, made)
                text = result.content[0].text
                results.append((bool(result.is_error), text if result.is_error else json.loads(text)))
            return results

    return asyncio.run(run())


@pytest.fixture(scope="module")
def address(shared_agency):
    return f"http://127.0.0.1:{shared_agency.port}"


@pytest.mark.parametrize("way", ["http", "http, the protocol before 2026", "command"])
def test_an_ai_agent_can_plan_request_find_explain_and_verify_a_rating(address, services, way):
    server = through_command(address) if way == "command" else f"{address}/mcp"
    target = translator(services)
    asked = {"target": target, "experiment": EXPERIMENT}
    results = called(
        server,
        ("choices", {"kind": "translator"}),
        ("plan_rating", asked),
        ("rate_service", {**asked, "visibility": "public", "wait_s": 0}),
        ("job_status", lambda results: {"job_id": results[2][1]["id"], "wait_s": 25}),
        ("find_ratings", {"service": target["base_url"]}),
        ("explain_rating", lambda results: {"rating_id": results[3][1]["rating"]["id"]}),
        ("verify_rating", lambda results: {"rating_id": results[3][1]["rating"]["id"]}),
        mode="legacy" if "before" in way else "auto",
    )
    assert not any(is_error for is_error, _ in results), results
    choices, plan, _, job, found, explained, verified = (answer for _, answer in results)
    assert "round-trip" in [method["name"] for method in choices["methods"]]
    assert "libretranslate" in [protocol["name"] for protocol in choices["protocols"]]
    assert all("translator" in method["kinds"] for method in choices["methods"])
    assert plan["questions"] == 120
    assert job["status"] == "succeeded"
    rating = httpx.get(f"{address}/v1/ratings/{job['rating']['id']}").json()
    latest = httpx.get(f"{address}/v1/ratings/latest", params={"target_url": target["base_url"]}).json()
    badge = httpx.get(f"{address}/v1/badge.json", params={"target_url": target["base_url"]}).json()
    assert (rating["letter"], rating["declared"]) == ("DSBS", True)
    assert rating["id"] in [brief["id"] for brief in found["ratings"]]
    assert (found["stands"]["id"], found["stands"]["letter"]) == (latest["id"], latest["letter"])
    assert latest["letter"] in badge["message"]
    assert {name: explained[name] for name in ("letter", "in_words", "probabilities", "reasons")} == {
        name: rating[name] for name in ("letter", "in_words", "probabilities", "reasons")
    }
    assert explained["components"][0]["effects"] == rating["components"][0]["effects"]
    assert (verified["verified"], verified["differs"]) == (True, [])
    assert {"signature 1", "signature 2", "target", "rating"} <= set(verified["checked"])


def test_a_rating_that_differs_from_its_certificate_does_not_verify(address, services, shared_agency):
    body = {"target": translator(services), "experiment": EXPERIMENT, "visibility": "public"}
    job = shared_agency.finished(httpx.post(f"{address}/v1/jobs", json=body, timeout=60).json()["id"])
    rating_id = job["rating"]["id"]

    def forged(request):
        answer = httpx.get(f"{address}{request.path}")
        document = answer.json()
        if request.path == f"/v1/ratings/{rating_id}":
            document["letter"] = "UCS" if document["letter"] != "UCS" else "BS"
        return Answer(document, answer.status_code)

    with scripted_server(forged) as url:
        ((is_error, verified),) = called(through_command(url), ("verify_rating", {"rating_id": rating_id}))
    assert not is_error
    assert verified["verified"] is False
    assert any("rating" in difference for difference in verified["differs"])


@pytest.mark.parametrize(
    ("tool", "arguments", "named"),
    [
        ("explain_rating", {"rating_id": "../keys"}, "is no id"),
        ("explain_rating", {"rating_id": "rat_none"}, "not-found"),
        ("job_status", {"job_id": "job_none"}, "not-found"),
        ("find_ratings", {"limit": 10**9}, "limit: "),
        ("find_ratings", {"attribute": "colour of eyes", "kind": "\u202e"}, "invalid-request"),
        ("plan_rating", {"target": {}, "experiment": {}}, "/target/kind"),
        ("rate_service", {"target": {"name": "T"}, "experiment": EXPERIMENT}, "/target/"),
        ("rate_service", {"target": [], "experiment": EXPERIMENT}, "target: "),
        ("rate_service", {"experiment": EXPERIMENT}, "target: "),
        ("forget_everything", {}, "Unknown tool"),
    ],
)
def test_hostile_tool_arguments_are_refused_in_one_message_as_by_the_api(address, tool, arguments, named):
    ((is_error, message),) = called(f"{address}/mcp", (tool, arguments))
    assert is_error
    assert named in message
    assert "Traceback" not in message
    assert "pydantic" not in message


def test_tools_refuse_addresses_inside_the_operators_network(address, services):
    target = {**translator(services), "base_url": "http://10.1.2.3/"}
    asked = {"target": target, "experiment": EXPERIMENT}
    over_http = httpx.post(f"{address}/v1/jobs", json=asked).json()
    ((is_error, message),) = called(f"{address}/mcp", ("rate_service", asked))
    assert is_error
    assert over_http["code"] in message
    assert over_http["errors"][0]["detail"] in message


def test_tools_require_the_same_keys_and_scopes_as_the_api(serve, services):
    agency = serve(ASSAY_AUTH="keys")
    address = f"http://127.0.0.1:{agency.port}"
    admin = {"Authorization": f"Bearer {(agency.data / 'first-admin-key').read_text().strip()}"}

    def key(*scopes):
        body = {"name": "agent", "scopes": list(scopes)}
        return httpx.post(f"{address}/v1/keys", json=body, headers=admin).json()["key"]

    asked = {"target": translator(services), "experiment": EXPERIMENT}
    reader, writer = key("ratings:read"), key("jobs:write", "ratings:read")
    url = f"{address}/mcp"
    ((is_error, message),) = called(url, ("rate_service", asked))
    assert (is_error, "key-missing" in message, "give the agency's key" in message) == (True, True, True)
    ((is_error, message),) = called(url, ("rate_service", asked), key=reader)
    assert (is_error, "scope-missing" in message) == (True, True)
    for server in (url, through_command(address, writer)):
        ((is_error, job),) = called(server, ("rate_service", {**asked, "wait_s": 25}), key=writer)
        assert (is_error, job["status"]) == (False, "succeeded")
    private = job["rating"]["id"]
    ((is_error, explained),) = called(url, ("explain_rating", {"rating_id": private}), key=reader)
    assert (is_error, explained["letter"]) == (False, "DSBS")
    ((is_error, message),) = called(url, ("explain_rating", {"rating_id": private}))
    assert (is_error, "not-found" in message) == (True, True)
    ((is_error, found),) = called(url, ("find_ratings", {}))
    assert (is_error, found["ratings"]) == (False, [])
    wrong = httpx.post(url, json=INITIALIZE, headers={**ACCEPTS, "Authorization": "Bearer assay_wrong"})
    assert (wrong.status_code, wrong.json()["code"]) == (401, "key-invalid")


def test_the_mcp_endpoint_has_no_session_and_no_stream_and_the_request_limits_of_the_api(address):
    url = f"{address}/mcp"
    listed = httpx.post(url, json=INITIALIZE, headers=ACCEPTS)
    assert (listed.status_code, len(listed.json()["result"]["tools"])) == (200, 7)
    assert "mcp-session-id" not in listed.headers
    assert httpx.get(url, headers=ACCEPTS).status_code in {404, 405}
    assert httpx.delete(url, headers=ACCEPTS).status_code in {404, 405}
    large = httpx.post(
        url, content=b'{"a": "' + b"x" * 2**21 + b'"}', headers={**ACCEPTS, "Content-Type": "application/json"}
    )
    assert (large.status_code, large.json()["code"]) == (413, "body-too-large")
    foreign = httpx.post(url, json=INITIALIZE, headers={**ACCEPTS, "Host": "evil.example"})
    assert foreign.status_code in {400, 403, 421}
    for content in (b"", b"[", b"[]", b"null", b"[" * 5_000 + b"]" * 5_000, b'{"jsonrpc": "2.0"}', b"\xff\xfe"):
        answer = httpx.post(url, content=content, headers={**ACCEPTS, "Content-Type": "application/json"})
        assert 400 <= answer.status_code < 500, (content[:20], answer.status_code)
    assert httpx.get(f"{address}/livez").status_code == 200


def test_the_mcp_command_reports_a_malformed_agency_address_in_one_line():
    done = run_command("mcp", "--agency", "agency.example", environment=dict(os.environ))
    assert (done.returncode, done.stdout) == (64, "")
    assert len(done.stderr.strip().splitlines()) == 1
    assert "must begin with http" in done.stderr


def test_the_error_of_an_unreachable_agency_names_its_address():
    ((is_error, message),) = called(through_command("http://127.0.0.1:9"), ("find_ratings", {}))
    assert is_error
    assert "http://127.0.0.1:9 cannot be reached" in message
